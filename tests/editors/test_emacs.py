"""Tests Emacs with eglot: no progress, no shown documents, and edits that need confirmation."""

from __future__ import annotations

from pathlib import Path

import pytest

from editors.emacs import elisp, play
from editors.test_neovim import BEFORE, SHIPPING, UMLAUTS
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
    played = play("mend", project, tmp_path)
    seen = played.report
    assert (seen["buffer"], seen["undone"], seen["saved"]) == (after, before, before)
    assert f"Indwell: done · {Path(project.path).name} +1 −1" in played.log


def test_an_edit_that_the_user_refuses_in_eglot_changes_nothing(tmp_path: Path) -> None:
    asking = "".join(line for line in elisp().splitlines(keepends=True) if "confirm" not in line)
    seen = play("confirm", SHIPPING, tmp_path, setup=asking).report
    assert (seen["buffer"], seen["disk"]) == (BEFORE, BEFORE)


def test_text_typed_during_a_question_is_kept(tmp_path: Path) -> None:
    seen = play("edited_while_asked", SHIPPING, tmp_path).report
    first = BEFORE.split("\n", 1)[0]
    assert seen["buffer"].startswith(f"{first}  # mine\n")
