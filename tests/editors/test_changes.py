"""Git's changes in a real Neovim: @changes is completed and attached; a commit message is shown."""

from __future__ import annotations

import json
from pathlib import Path

from editors import neovim
from editors.place import environment, put_files, run, serve_model
from editors.scenarios import FILES, PATH, Model
from indwell.cli.setup.configurations import CONFIGURATIONS
from support import git_shell
from support.loopback_endpoint import endpoint_in_thread, say

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
    init = folder / "init.lua"
    init.write_text(CONFIGURATIONS["nvim"].text(serve_model()), "utf-8")
    place = {"path": str(path), "root": str(root)}
    model = Model([say("Looks good.", usage=USAGE), say("Say more of the shop", usage=USAGE)])
    with endpoint_in_thread(model) as endpoint:
        variables = {
            **environment(folder),
            "INDWELL_PLACE": json.dumps(place, ensure_ascii=False),
            "INDWELL_REPORT": str(folder / "report.json"),
            "OPENAI_BASE_URL": endpoint.base_url,
            "INDWELL_MODEL": "loopback-model",
        }
        options = ("--clean", "--headless", "-n", "-u", str(init), "-l", str(SCRIPT))
        seen = run([neovim.neovim(), *options], folder, folder / "report.json", variables)
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
