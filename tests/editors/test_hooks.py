"""Hooks in a real Neovim: the files that hooks see, the calls that they stop, and the messages."""

from __future__ import annotations

import json
from pathlib import Path

from editors.neovim import ROOT, play
from indwell.service.demo_project import Project, make_project

SHIPPING = make_project(1)  # the project's fault is `amount > limit`
BEFORE = SHIPPING.files[SHIPPING.path]
AFTER = BEFORE.replace("amount > limit", "amount >= limit")


def hooked(event: str, command: str, tools: str = "*") -> Project:
    """Return the project with a hook, in a trusted folder."""
    hook = f'[[hooks]]\nevent = "{event}"\ntools = ["{tools}"]\ncommand = """{command}"""\n'
    files = {**SHIPPING.files, ".indwell/config.toml": hook}
    return Project(files, SHIPPING.path, SHIPPING.function, SHIPPING.first_line, SHIPPING.last_line)


def test_a_hook_after_an_edit_finds_the_buffer_text_on_disk(tmp_path: Path) -> None:
    project = hooked("edit_applied", f"cat > edit.json; cp {SHIPPING.path} found.txt")
    played = play("mend", project, tmp_path)
    assert played.report["buffer"] == AFTER
    root = tmp_path / ROOT
    assert (root / "found.txt").read_text() == AFTER
    edit = json.loads((root / "edit.json").read_text())
    assert (edit["event"], edit["path"]) == ("edit_applied", SHIPPING.path)
    assert edit["file"] == str(root / SHIPPING.path)
    assert "does not work" not in played.report["messages"]
    assert played.log == ""


def test_a_hook_that_stops_edits_leaves_the_buffer_unchanged(tmp_path: Path) -> None:
    project = hooked("before_tool", "echo 'frozen until Monday' >&2; exit 2", "edit_file")
    played = play("stopped", project, tmp_path)
    seen = played.report
    assert (seen["buffer"], seen["disk"], seen["modified"]) == (BEFORE, BEFORE, False)
    assert "editing: failed" in [step["message"] for step in seen["progress"]]
    assert "frozen until Monday" in played.sessions
    assert '"tool":"hook"' in played.sessions
    assert played.log == ""


def test_a_hooks_change_to_an_edit_shows_in_the_open_window(
    tmp_path: Path,
) -> None:
    project = hooked("edit_applied", f"echo '# tidied' >> {SHIPPING.path}")
    played = play("mend", project, tmp_path)
    assert played.report["buffer"] == AFTER + "# tidied\n"
    assert '"source":"changed_file"' in played.sessions, "the model is told"
