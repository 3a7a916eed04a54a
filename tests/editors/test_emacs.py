"""Emacs with eglot as a user has it: no progress, no documents shown, edits that it may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from editors.emacs import elisp, play
from editors.test_neovim import AFTER, BEFORE, SHIPPING, UMLAUTS
from indwell.demo.project import CHECK, Project

UMLAUTS_BEFORE = UMLAUTS.files[UMLAUTS.path]
UMLAUTS_AFTER = UMLAUTS_BEFORE.replace("größe > grenze", "größe >= grenze")


@pytest.mark.parametrize(
    ("project", "before", "after"),
    [(SHIPPING, BEFORE, AFTER), (UMLAUTS, UMLAUTS_BEFORE, UMLAUTS_AFTER)],
    ids=["plain", "umlauts"],
)
def test_fix_this_is_one_edit_that_one_undo_takes_back(
    project: Project, before: str, after: str, tmp_path: Path
) -> None:
    played = play("mend", project, tmp_path)
    seen = played.report
    assert (seen["buffer"], seen["undone"], seen["saved"]) == (after, before, before)
    assert f"Indwell: done · {project.path} +1 −1" in played.log


def test_a_command_is_asked_for_and_no_comes_first(tmp_path: Path) -> None:
    seen = play("refuse", SHIPPING, tmp_path).report
    prompt, choices = seen["asked"][0]
    assert choices[:2] == ["No", "Once"]
    assert f"│ {CHECK}" in prompt
    assert (seen["buffer"], seen["disk"], seen["modified"]) == (BEFORE, BEFORE, False)


def test_an_edit_that_eglot_asks_for_and_the_user_refuses_is_not_made(tmp_path: Path) -> None:
    asking = "".join(line for line in elisp().splitlines(keepends=True) if "confirm" not in line)
    seen = play("confirm", SHIPPING, tmp_path, setup=asking).report
    assert (seen["buffer"], seen["disk"]) == (BEFORE, BEFORE)


def test_a_turn_is_stopped_at_once(tmp_path: Path) -> None:
    seen = play("cancel", SHIPPING, tmp_path, pace_s=0.1).report
    assert seen["took"] < 1_000  # milliseconds
    assert (seen["buffer"], seen["disk"]) == (BEFORE, BEFORE)


def test_what_the_user_types_while_a_question_stands_is_kept(tmp_path: Path) -> None:
    seen = play("edited_while_asked", SHIPPING, tmp_path).report
    first = BEFORE.split("\n", 1)[0]
    assert seen["buffer"].startswith(f"{first}  # mine\n")


def test_the_model_reads_what_is_not_saved_and_the_editor_saves_it_for_a_command(
    tmp_path: Path,
) -> None:
    played = play("unsaved", SHIPPING, tmp_path)
    assert "# mine" in played.report["buffer"]
    assert "# mine" in played.report["disk"]
    assert "# mine" in played.sessions
