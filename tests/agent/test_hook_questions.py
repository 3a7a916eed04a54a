"""A user's yes to a hook applies only to the shown hook, and only if the rules still allow it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from indwell.policy.approvals import Question, Reply
from indwell.settings.load import WORKSPACE_FILE
from support.checked_project import READ, Project, a_project
from support.platforms import posix_only
from support.session import says

HOOK = '[[hooks]]\nevent = "before_tool"\ncommand = "./hook.sh"\n'
SCRIPT = "#!/bin/sh\necho ran >> ran\n"


class Meanwhile:
    """Says yes, after running a callback."""

    def __init__(self, happens: Callable[[], object]) -> None:
        self._happens = happens

    async def ask(self, _question: Question) -> Reply:
        self._happens()
        return "once"


def nothing(_project: Project, _script: Path) -> None:
    """Change nothing, as a control in which the hook runs."""


def a_new_rule(project: Project, _script: Path) -> None:
    project.settings[0] = msgspec.structs.replace(project.settings[0], rules_deny=("./hook.sh",))


def another_script(_project: Project, script: Path) -> None:
    script.write_bytes((SCRIPT + "echo more\n").encode())


@posix_only("shell")
@pytest.mark.parametrize(
    ("happens", "written"), [(nothing, "ran\n"), (a_new_rule, ""), (another_script, "")]
)
async def test_a_hook_whose_script_changed_during_the_question_does_not_run(
    tmp_path: Path, happens: Callable[[Project, Path], None], written: str
) -> None:
    files = {WORKSPACE_FILE: HOOK, "hook.sh": SCRIPT, "ran": ""}
    async with a_project(tmp_path, [READ, says()], files=files, mode="ask") as project:
        work = project.session.parts.workspace.roots[0]
        script = work / "hook.sh"
        script.chmod(0o755)
        approver = Meanwhile(lambda: happens(project, script))
        project.session.parts = dataclasses.replace(project.session.parts, approver=approver)
        await project.turn()
        assert (work / "ran").read_text(encoding="utf-8") == written
