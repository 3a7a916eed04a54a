"""Checks in a real Neovim the instructions of the user and of the workspace folder."""

from __future__ import annotations

import json
from pathlib import Path

from editors.neovim import play
from indwell.service.demo_project import Project, make_project

SHIPPING = make_project(1)
BEFORE = SHIPPING.files[SHIPPING.path]
FOLDER = SHIPPING.path.rpartition("/")[0]


def test_user_instructions_and_folder_instructions_reach_the_model_once_each(
    tmp_path: Path,
) -> None:
    own = tmp_path / "xdg" / "config" / "indwell" / "AGENTS.md"
    own.parent.mkdir(parents=True)
    own.write_text("MY-OWN-WAY é 🙂\n", "utf-8")
    files = {
        **SHIPPING.files,
        f"{FOLDER}/AGENTS.md": "FOLDERS-WAY é 🙂\n",
        "AGENTS.md": "ROOT-WAY\n",
    }
    project = Project(
        files, SHIPPING.path, SHIPPING.function, SHIPPING.first_line, SHIPPING.last_line
    )
    played = play("mend", project, tmp_path)
    assert played.report["buffer"] != BEFORE, "the turn did its work"
    records = [json.loads(line) for line in played.sessions.split("\n") if line.startswith("{")]
    told = [
        block["text"]
        for one in records
        if one.get("type") == "said"
        for block in one["message"]["blocks"]
        if block["meta"].get("source") == "instructions"
    ]
    assert [text.splitlines()[0] for text in told] == [
        "<project-instructions>",
        f'<project-instructions path="{FOLDER}/AGENTS.md">',
    ]
    assert "FOLDERS-WAY é 🙂" in told[1]
    (prefix,) = [one for one in records if one.get("type") == "prefixed"]
    assert "MY-OWN-WAY é 🙂" in "".join(prefix["system"])
    assert "WAY" not in "".join(prefix["system"]).replace("MY-OWN-WAY", ""), "no folder's"
    assert played.log == ""
