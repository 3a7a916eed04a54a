"""Checks in a real Neovim the question about an MCP tool's arguments, and a form."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from editors import neovim
from editors.place import put_files
from editors.scenarios import FILES, PATH, Model, tool
from support.loopback_endpoint import say

SCRIPT = Path(__file__).resolve().parent / "neovim_mcp_tools.lua"
SERVER = Path(__file__).resolve().parents[1] / "support" / "mcp_server.py"
USAGE = {"prompt_tokens": 10, "completion_tokens": 2}
REPLIES = [
    tool("find_tools", query="paper__add paper__ask"),
    tool("paper__add", a=2, b=3),
    tool("paper__ask"),
    say("Fine.", usage=USAGE),
]
ANSWERS = ["Once", "Once", "1. red", "Answer in other words"]


def test_an_mcp_tool_call_asks_the_user_and_shows_the_form_of_the_server(tmp_path: Path) -> None:
    folder = tmp_path / "user"
    folder.mkdir()
    root = put_files(FILES, folder)
    settings = folder / "xdg" / "config" / "indwell" / "config.toml"
    words = f"command = {json.dumps(sys.executable)}\nargs = [{json.dumps(str(SERVER))}]\n"
    settings.write_text(
        f"{settings.read_text('utf-8')}[mcp.paper]\n{words}confined = false\n", "utf-8"
    )
    model = Model(REPLIES)
    seen = neovim.run_script(
        SCRIPT,
        folder,
        model,
        {"path": str(root / PATH), "root": str(root)},
        INDWELL_ANSWERS=json.dumps(ANSWERS),
    )
    assert "failed" not in seen, seen["failed"]
    assert seen["ending"] == "done"
    add, ask, colour, _ = seen["questions"]
    assert add["prompt"] == (
        "Use add of the MCP server paper? (the MCP server 'paper' decides what it does)\n"
        '│ {\n│   "a": 2,\n│   "b": 3\n│ }'
    )
    assert add["titles"][:3] == ["No", "Once", "This session"]
    assert ask["prompt"].startswith("Use ask of the MCP server paper?")
    assert "The MCP server 'paper' asks (never tell it a password)" in colour["prompt"]
    results = [one["content"] for one in model.bodies[-1]["messages"] if one["role"] == "tool"]
    assert results[1:] == ["5", '{"action":"accept","data":{"colour":"red","count":3}}']
