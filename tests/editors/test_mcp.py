"""Checks in a real Neovim that a project's MCP server is approved, called and completed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from editors import neovim
from editors.place import put_files
from editors.scenarios import FILES, PATH, Model, tool
from support.loopback_endpoint import say

SCRIPT = Path(__file__).resolve().parent / "neovim_mcp.lua"
PAPER = Path(__file__).resolve().parents[1] / "support" / "mcp_server.py"
USAGE = {"prompt_tokens": 10, "completion_tokens": 2}
REPLIES = [
    tool("find_tools", query="add"),
    tool("paper__add", a=2, b=3),
    say("Five, é 🙂.", usage=USAGE),
]


def test_a_server_of_the_project_is_approved_and_its_tool_called(tmp_path: Path) -> None:
    folder = tmp_path / "user"
    folder.mkdir()
    root = put_files(FILES, folder)
    paper = {"command": sys.executable, "args": [str(PAPER)]}
    (root / ".mcp.json").write_text(json.dumps({"mcpServers": {"paper": paper}}), "utf-8")
    place = {"path": str(root / PATH), "root": str(root)}
    model = Model(REPLIES)
    seen = neovim.run_script(SCRIPT, folder, model, place)
    assert "failed" not in seen, seen["failed"]
    assert seen["ending"] == "done"
    approval, permission = seen["questions"]
    assert f"│ {sys.executable} {PAPER}\n" in approval
    assert "paper" in permission
    assert '"a"' in permission
    assert model.results()[-1] == "5"
    assert seen["items"] == ["@paper:note://today"]
