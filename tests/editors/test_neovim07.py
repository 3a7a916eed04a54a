"""Tests Neovim 0.7 of Debian 12: the older API, utf-16, numbered questions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from editors.neovim07 import neovim07, play
from editors.test_neovim import BEFORE, SHIPPING, UMLAUTS
from indwell.cli.setup.configurations import CONFIGURATIONS
from indwell.service.demo_project import Project

UMLAUTS_BEFORE = UMLAUTS.files[UMLAUTS.path]
UMLAUTS_AFTER = UMLAUTS_BEFORE.replace("größe > grenze", "größe >= grenze")


@pytest.mark.parametrize(
    ("project", "before", "after"),
    [(UMLAUTS, UMLAUTS_BEFORE, UMLAUTS_AFTER)],
    ids=["umlauts"],
)
def test_fix_this_is_one_edit_reverted_by_one_undo(
    project: Project, before: str, after: str, tmp_path: Path
) -> None:
    seen = play("mend", project, tmp_path).report
    assert (seen["buffer"], seen["undone"], seen["steps"]) == (after, before, 1)
    assert seen["saved"] == before
    assert seen["encoding"] == "utf-16"
    assert f"Indwell: done · {Path(project.path).name} +1 −1" in seen["messages"]
    assert seen["choices"][0] == "Fix this"


def test_text_typed_during_a_question_is_kept(tmp_path: Path) -> None:
    seen = play("edited_while_asked", SHIPPING, tmp_path).report
    first = BEFORE.split("\n", 1)[0]
    assert seen["buffer"].startswith(f"{first}  # mine\n")


def test_an_old_neovim_names_the_setup_command_for_old_versions(tmp_path: Path) -> None:
    init = tmp_path / "init.lua"
    init.write_text(CONFIGURATIONS["nvim"].text(("indwell", "serve", "--stdio")), "utf-8")
    started = [neovim07(), "--clean", "--headless", "-u", str(init), "+qa"]
    said = subprocess.run(started, capture_output=True, text=True, check=True).stderr
    assert said.strip() == (
        "Indwell: this file is for Neovim 0.11 or later; "
        "for yours: indwell setup nvim-older --write"
    )
