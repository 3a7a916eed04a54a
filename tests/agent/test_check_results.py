"""Results of a check: the meaning of the exit code, the cause of errors, the output."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from indwell.agent.core.events import Checking, Event, TurnFinished
from indwell.agent.core.prompt import Prompt
from indwell.agent.loop.turn import run_turn
from support.bubblewrap import needs_bubblewrap
from support.checked_project import OLD, READ, WRONG, Project, a_project
from support.session import asks, call, says

pytestmark = needs_bubblewrap

CHECK = f"{sys.executable} checker.py"
BAD = "grep -q totl a.txt"
SCRIPT = [READ, WRONG, says("done"), says("stay")]


async def during(project: Project, n_check: int, act: object) -> TurnFinished:
    """Run a turn in which ``act`` is called as soon as ``n_check`` checks have begun."""

    def hear(event: Event) -> None:
        project.events.append(event)
        if isinstance(event, Checking) and len(project.checking) == n_check:
            act()  # type: ignore[operator]

    return await run_turn(project.session, Prompt("go"), hear)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (f"echo '{OLD}'; {BAD} && kill -9 $$; exit 1", "was ended before it was done"),
        (f"echo '{OLD}'; {BAD} && bash -c 'kill -SEGV $$'", "was ended before it was done"),
        (f"echo '{OLD}'; {BAD} && echo Traceback: x; exit 1", "broke off (exit code 1)"),
        (f"echo '{OLD}'; {BAD} && exit 3; exit 1", "ended with exit code 3, which"),
        (f"{BAD} && echo 'a.txt:1:1: warning: m' && exit 2; true", "ended with exit code 2, which"),
        (f"{BAD} && echo '../l/x.py:1:1: error: b' && exit 1; true", "ended with exit code 1"),
        (f"{BAD} && echo 'src/no.ts:1:1: error: b' && exit 1; true", "names files that are not"),
        (
            f'for i in $(seq 6000); do echo "old.txt:$i:1: error: $i"; done; {BAD}; exit 1',
            "printed more than is read",
        ),
    ],
)
async def test_a_check_that_may_have_skipped_files_does_not_verify_the_turn(
    tmp_path: Path, command: str, why: str
) -> None:
    files = {"old.txt": "x\n"}
    async with a_project(tmp_path, SCRIPT, files=files, check_command=command) as project:
        finished = await project.turn()
        assert finished.verified.startswith("not verified: ")
        assert why in finished.verified
        assert project.told() == []


async def test_errors_printed_by_a_check_before_a_kill_count(tmp_path: Path) -> None:
    command = f"{CHECK} || kill -9 $$"
    async with a_project(tmp_path, SCRIPT, check_command=command) as project:
        assert (await project.turn()).verified == "1 new error stays"


async def test_a_check_without_output_counts_as_passed_but_verifies_nothing_more(
    tmp_path: Path,
) -> None:
    async with a_project(tmp_path, SCRIPT, check_command="true") as project:
        assert (await project.turn()).verified == "`true` passed"


async def test_error_paths_of_a_subpackage_are_reported_relative_to_the_root(
    tmp_path: Path,
) -> None:
    said = "src/x.ts(1,1): error TS1: b"
    command = f"cd packages/a && ! grep -q totl src/x.ts || {{ echo '{said}'; exit 2; }}"
    path = "packages/a/src/x.ts"
    make = asks(call("write_file", path=path, content="total\n"))
    spoil = asks(call("edit_file", "c2", path=path, edits=[{"old": "total", "new": "totl"}]))
    script = [make, says(), spoil, says(), says()]
    async with a_project(tmp_path, script, check_command=command) as project:
        await project.turn()
        finished = await project.turn()
        assert finished.verified == "1 new error stays"
        assert f"- {path}:1: b" in project.told()[0]


async def test_errors_in_a_file_that_the_user_changed_meanwhile_are_not_caused_by_the_turn(
    tmp_path: Path,
) -> None:
    files = {"mine.txt": "ok\n"}
    edit = asks(call("edit_file", "c2", path="a.txt", edits=[{"old": "total", "new": "sum"}]))
    async with a_project(
        tmp_path, [READ, edit, says()], files=files, check_command=CHECK
    ) as project:
        mine = project.folder / "mine.txt"
        finished = await during(project, 2, lambda: mine.write_bytes(b"totl half typed\n"))
        assert project.told() == []
        assert finished.verified.endswith("; errors in 1 file changed meanwhile are not counted")


async def test_errors_in_a_file_that_a_command_of_the_turn_changed_are_caused_by_the_turn(
    tmp_path: Path,
) -> None:
    run = asks(call("bash", "c3", command="echo totl > other.txt"))
    edit = asks(call("edit_file", "c2", path="a.txt", edits=[{"old": "total", "new": "sum"}]))
    script = [READ, edit, run, says(), says()]
    async with a_project(tmp_path, script, is_reviewed=True, check_command=CHECK) as project:
        assert (await project.turn()).verified == "1 new error stays"


async def test_plan_mode_chosen_during_the_first_check_stops_the_edit(
    tmp_path: Path,
) -> None:
    async with a_project(tmp_path, [READ, WRONG, says()], check_command=CHECK) as project:

        def plan() -> None:
            project.settings[0] = msgspec.structs.replace(project.settings[0], mode="plan")

        finished = await during(project, 1, plan)
        assert (project.folder / "a.txt").read_text(encoding="utf-8") == "total\n"
        assert finished.verified == ""


async def test_files_that_a_check_writes_are_reported_and_reviewable(tmp_path: Path) -> None:
    command, files = "echo more >> old.txt", {"old.txt": "x\n"}
    async with a_project(
        tmp_path, [READ, WRONG, says()], files=files, is_reviewed=True, check_command=command
    ) as project:
        await project.turn()
        words = f"the check `{command}` changed 'old.txt'; rewind the turn to undo the change"
        assert project.notices.count(words) == 2
        review, path = project.session.parts.changes.ledger, project.folder / "old.txt"
        assert review is not None
        assert path.read_text(encoding="utf-8") == "x\nmore\nmore\n"
        assert review.before(path, project.session.id, 1) == "x\n"


async def test_an_ask_rule_for_a_check_is_not_overridden_by_another_setting(tmp_path: Path) -> None:
    async with a_project(
        tmp_path, [READ, WRONG, says()], check_command="touch ran", rules_ask=("touch *",)
    ) as project:
        finished = await project.turn()
        (notice,) = [one for one in project.notices if "not checked" in one]
        assert notice.endswith("from `rules_ask` in your settings")
        assert "'touch *'" in notice
        why = "`touch ran` was not run: it needs your permission"
        assert finished.verified == f"not verified: {why}"


async def test_a_changed_configuration_file_with_a_leading_dot_is_noticed(
    tmp_path: Path,
) -> None:
    more = asks(call("edit_file", "c4", path="a.txt", edits=[{"old": "sum", "new": "all"}]))
    edit = asks(call("edit_file", "c2", path="a.txt", edits=[{"old": "total", "new": "sum"}]))
    files = {".lint.toml": "strict = false\n"}
    async with a_project(
        tmp_path, [READ, edit, says(), more, says()], files=files, check_command=CHECK
    ) as project:
        await project.turn()
        project.events.clear()
        (project.folder / ".lint.toml").write_bytes(b"strict = true\n")
        await project.turn()
        assert project.checking == [CHECK] * 2
