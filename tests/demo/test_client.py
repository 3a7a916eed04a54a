"""The demo's LSP client: how it handles edits, and a server that ends."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from indwell.cli.demo.client import ENDED, DemoClient, edited
from indwell.errors import UserError


def text_edit(start: tuple[int, int], end: tuple[int, int], text: str) -> dict[str, Any]:
    ends = ({"line": line, "character": character} for line, character in (start, end))
    return {"range": dict(zip(("start", "end"), ends, strict=True)), "newText": text}


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        (
            "a\nb\nc\n",
            [text_edit((0, 0), (0, 1), "A"), text_edit((2, 0), (2, 1), "C")],
            "A\nb\nC\n",
        ),
        ("a\nb\n", [text_edit((1, 0), (1, 0), "x"), text_edit((1, 0), (1, 0), "y")], "a\nxyb\n"),
        ("😀x\r\ny", [text_edit((0, 1), (1, 1), "-")], "😀-"),
        ("a", [text_edit((7, 0), (7, 0), "!")], "a!"),
        ("", [text_edit((0, 0), (0, 0), "new")], "new"),
    ],
)
def test_all_edits_of_one_request_refer_to_the_original_text(
    text: str, edits: list[dict[str, Any]], expected: str
) -> None:
    assert edited(text, edits) == expected


SERVER = """
import json, sys

def read():
    length = int(sys.stdin.buffer.readline().split()[1])
    sys.stdin.buffer.readline()
    return json.loads(sys.stdin.buffer.read(length))

def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
    sys.stdout.buffer.flush()

assert read()["method"] == "initialize"
send({"id": 1, "result": {"capabilities": {}}})
assert read()["method"] == "initialized"
uri = read()["params"]["textDocument"]["uri"]
place = {"line": 0, "character": 0}
edits = [{"range": {"start": place, "end": place}, "newText": "# "}]
answers = []
for number, target, version in ((1, uri, 1), (2, uri, 1), (3, uri + "x", 1)):
    document = {"uri": target, "version": version}
    edit = {"documentChanges": [{"textDocument": document, "edits": edits}]}
    send({"id": number, "method": "workspace/applyEdit", "params": {"edit": edit}})
    while "result" not in (message := read()):
        assert message["params"]["contentChanges"] == [{"text": "# x = 1\\n"}]
    answers.append(message["result"].get("failureReason", ""))
send({"id": 4, "method": "x/unknown", "params": {}})
answers.append(read()["error"]["message"])
send({"method": "window/showMessage", "params": {"message": json.dumps(answers)}})
"""


async def test_a_stale_edit_and_an_edit_of_a_closed_file_are_refused(tmp_path: Path) -> None:
    client = DemoClient(tmp_path, on_event=lambda _event: None, permit=refuse)
    await client.start([sys.executable, "-c", SERVER], {})
    document = client.open(tmp_path / "a.py", "x = 1\n")
    with pytest.raises(UserError, match="the server ended before the turn did"):
        await client.wait_for_turn(60.0)
    await client.stop()
    assert document.text == "# x = 1\n"
    (told,) = client.messages
    assert told == '["", "the document has changed", "the file is not open", "unknown: x/unknown"]'


async def test_a_server_that_ends_at_once_is_an_error_for_the_user(tmp_path: Path) -> None:
    client = DemoClient(tmp_path, on_event=lambda _event: None, permit=refuse)
    with pytest.raises(UserError, match=ENDED):
        await client.start([sys.executable, "-c", ""], {})
    await client.stop()


async def refuse(_params: object) -> str:
    return "no"
