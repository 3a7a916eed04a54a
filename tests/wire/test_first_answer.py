"""The first answers to an editor need no lsprotocol, whose import would take too long.

The server of these tests cannot import lsprotocol, pygls' converter, cattrs or attrs, nor libraries
for YAML, TOML, terminals and models.
"""

from __future__ import annotations

import sys

import pytest

from support.editing import Home
from support.fake_editor.declared import CAPABILITIES
from support.raw_client import raw_client

UNTYPED = """
import sys
late = ("lsprotocol.types", "lsprotocol.converters", "cattrs", "attr", "attrs")
for name in (*late, "openai", "rich", "tomlkit", "yaml"):
    sys.modules[name] = None  # importing it fails
from indwell.cli import main
sys.exit(main(["serve", "--stdio", "--scripted"]))
"""
TEXT = "def first():\n    return 1\n"


@pytest.mark.parametrize("editor", sorted(CAPABILITIES))
async def test_an_editor_gets_its_first_code_actions_before_lsprotocol_is_loaded(
    editor, tmp_path
) -> None:
    home = Home(tmp_path)
    async with raw_client(home, command=(sys.executable, "-c", UNTYPED), hello=False) as client:
        client.replies["workspace/configuration"] = lambda _params: [None]
        await client.initialize(capabilities=CAPABILITIES[editor])
        uri = (home.workspace / "first.py").as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": TEXT}
        client.notify("textDocument/didOpen", {"textDocument": document})
        answer = await client.request(
            "textDocument/codeAction",
            {
                "textDocument": {"uri": uri},
                "range": {
                    "start": {"line": 0, "character": 0},
                    "end": {"line": 1, "character": 3},
                },
                "context": {"diagnostics": []},
            },
        )
        titles = [action["title"] for action in answer["result"]]
        assert "Explain this" in titles, client.stderr
        assert "ImportError" not in client.stderr, client.stderr
