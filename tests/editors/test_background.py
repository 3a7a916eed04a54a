"""A real Neovim: a background command outlives its turn until a button stops the command."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

import pytest

from editors import neovim
from editors.place import put_files
from editors.scenarios import FILES, FIRST, LAST, PATH, tool
from indwell.lsp.methods.commands import CLOSE
from support.doc_examples import examples
from support.editing import running
from support.loopback_endpoint import Answer, Seen, say

SCRIPT = Path(__file__).resolve().parent / "neovim_background.lua"
USAGE = {"prompt_tokens": 10, "completion_tokens": 2}


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_background_command_runs_on_after_its_turn_until_the_user_stops_it(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "user"
    folder.mkdir()
    root = put_files(FILES, folder)
    (key,) = examples("background.md", "lua")
    marker = f"1000.{secrets.randbelow(10**9):09}"
    command = f"sleep {marker}"
    ran: list[bool] = []

    def model(seen: Seen) -> Answer:
        ran.append(bool(running(marker)))
        if len(ran) == 1:
            return tool("bash", command=command, background=True)
        return say("It runs.", usage=USAGE)

    place = {
        "path": str(root / PATH),
        "root": str(root),
        "first": FIRST,
        "last": LAST,
        "stop": f"Stop b1: {command}",
    }
    seen = neovim.run_script(SCRIPT, folder, model, place, lua=key.text)
    assert ran == [False, True]
    question = seen["questions"][0]
    assert question["prompt"].startswith(
        "Indwell: these commands run in the background:\nb1: runs, "
    )
    assert question["titles"] == [CLOSE, place["stop"]]
    assert running(marker) == []
