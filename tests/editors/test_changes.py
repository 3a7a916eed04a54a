"""Checks in a real Neovim: completing and attaching @changes, and showing a commit message."""

from __future__ import annotations

from pathlib import Path

from editors import neovim
from editors.place import put_files
from editors.scenarios import FILES, PATH, Model
from support import git_shell
from support.loopback_endpoint import say

SCRIPT = Path(__file__).resolve().parent / "neovim_changes.lua"
USAGE = {"prompt_tokens": 10, "completion_tokens": 2}


def test_changes_are_completed_and_attached_and_a_commit_message_is_shown(tmp_path: Path) -> None:
    folder = tmp_path / "user"
    folder.mkdir()
    root = put_files(FILES, folder)
    git_shell.run(root, "git init -q -b main; git add -A; git commit -qm 'Begin the shop'")
    path = root / PATH
    path.write_text(path.read_text("utf-8") + "\n# STAGED é\n", "utf-8")
    git_shell.run(root, "git add -A")
    place = {"path": str(path), "root": str(root)}
    model = Model([say("Looks good.", usage=USAGE), say("Say more of the shop", usage=USAGE)])
    seen = neovim.run_script(SCRIPT, folder, model, place)
    assert seen["items"] == [
        ["@changes", "what git would commit, or the changes of the tree"],
    ]
    told, asked = (
        "\n".join(one["content"] for one in body["messages"] if one["role"] == "user")
        for body in model.bodies
    )
    assert "Review @changes" in seen["chat"]
    for text in (told, asked):
        assert "The changes of the index" in text
        assert "+# STAGED é" in text
    assert "- Begin the shop" in asked
    assert seen["message"] == {"message": "Say more of the shop", "staged": True}
    assert "Indwell: a message for the staged changes:" in seen["messages"]
