"""Calls, hooks and checks start only if the rules at that moment allow it; errors refuse."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indwell.bounds.rules import Rules, unconfined
from indwell.policy.approvals import Question, Reply
from indwell.policy.call_facts import Allow, Ask, CallFacts, Deny, Policy
from indwell.policy.decide import decide
from indwell.policy.rules import PatternRules
from indwell.sessions.records import Decided, Intent, Record
from indwell.settings.load import WORKSPACE_FILE
from support.bubblewrap import needs_bubblewrap
from support.checked_project import READ, RIGHT, WRONG, Project, a_project
from support.platforms import posix_only
from support.running_on import background, let_go, looks, results, starts
from support.session import MemoryLog, a_world, asks, call, says, with_rules

HOOK = '[[hooks]]\nevent = "before_tool"\ncommand = "./hook.sh"\n'
SCRIPT = "#!/bin/sh\necho ran >> ran\n"
BASH = asks(call("bash", "b1", command="rm -f gone; echo ran >> ran"))
CHECK = "python3 checker.py; echo ran >> ran"
FAULT = "Indwell could not decide on this"


class LogWithPause:
    """A log that runs a callback while certain records are written."""

    def __init__(self, inner: Any, happens: Callable[[Record], bool]) -> None:
        self._inner = inner
        self._happens = happens
        self._new: list[Record] = []

    def append(self, record: Record) -> None:
        self._new.append(record)
        self._inner.append(record)

    async def commit(self) -> None:
        await self._inner.commit()
        new, self._new = self._new, []
        for record in new:
            if self._happens(record):
                await asyncio.sleep(0)

    def commit_soon(self) -> None:
        self._inner.commit_soon()

    async def close(self) -> None:
        await self._inner.close()


class Meanwhile:
    """An approver that says yes, after running a callback."""

    def __init__(self, happens: Callable[[], object]) -> None:
        self._happens = happens
        self.n_asked = 0

    async def ask(self, _question: Question) -> Reply:
        self.n_asked += 1
        self._happens()
        return "once"


def switch(project: Project, **changes: Any) -> None:
    """Change the settings of the running session."""
    project.settings[0] = msgspec.structs.replace(project.settings[0], **changes)


def while_logging(project: Project, wanted: Callable[[Record], bool], **changes: Any) -> None:
    """Change the settings while the first matching record is written."""

    def happens(record: Record) -> bool:
        if not wanted(record):
            return False
        switch(project, **changes)
        return True

    parts = project.session.parts
    project.session.parts = dataclasses.replace(parts, log=LogWithPause(parts.log, happens))


def while_asked(project: Project, happens: Callable[[], object]) -> Meanwhile:
    approver = Meanwhile(happens)
    project.session.parts = dataclasses.replace(project.session.parts, approver=approver)
    return approver


def texts(project: Project) -> str:
    return "".join(map(str, project.session.conversation.messages))


def decided_of(records: list[Record], tool: str) -> list[tuple[str, str, str]]:
    found = [one for one in records if isinstance(one, Decided) and one.tool == tool]
    return [(one.decision, one.rule, one.answer) for one in found if not one.ending]


def kept_records(project: Project) -> list[Record]:
    """Return a list that receives all records that the session logs from now on."""
    records: list[Record] = []
    parts = project.session.parts

    class Keeping(LogWithPause):
        def append(self, record: Record) -> None:
            records.append(record)
            super().append(record)

    log = Keeping(parts.log, lambda _record: False)
    project.session.parts = dataclasses.replace(parts, log=log)
    return records


def of_disk(project: Project) -> str:
    path = project.folder / "ran"
    return path.read_text(encoding="utf-8") if path.exists() else ""


@needs_bubblewrap  # without a sandbox, the user is asked about the command
@pytest.mark.parametrize("changes", [{"mode": "plan"}, {"rules_deny": ("rm",)}])
async def test_a_command_denied_by_a_rule_change_before_its_start_does_not_run(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    async with a_project(tmp_path, [BASH, says()], rules_allow=("rm", "echo")) as project:
        while_logging(project, lambda record: isinstance(record, Intent), **changes)
        finished = await project.turn()
        assert (finished.ending, of_disk(project)) == ("done", "")
        assert "not allowed" in texts(project)


@needs_bubblewrap
async def test_a_command_that_needs_permission_after_a_rule_change_does_not_run(
    tmp_path: Path,
) -> None:
    async with a_project(tmp_path, [BASH, says()], rules_allow=("rm", "echo")) as project:
        asked = while_asked(project, lambda: None)
        rules = {"rules_ask": ("tool: bash",)}
        while_logging(project, lambda record: isinstance(record, Intent), **rules)
        await project.turn()
        assert (asked.n_asked, of_disk(project)) == (0, "")
        assert "the rules for commands changed while this one waited" in texts(project)


async def test_a_yes_still_counts_if_other_settings_change_before_the_start(tmp_path: Path) -> None:
    """As a control, settings without effect change between the yes and the start."""
    async with a_project(tmp_path, [BASH, says()], mode="ask") as project:
        asked = while_asked(project, lambda: None)
        while_logging(project, lambda record: isinstance(record, Intent), mode="review")
        await project.turn()
        assert (asked.n_asked, of_disk(project)) == (1, "ran\n")


@pytest.mark.parametrize("changes", [{"mode": "plan"}, {"rules_deny": ("edit: a.txt",)}])
async def test_an_edit_denied_by_a_rule_change_before_its_start_is_not_made(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    async with a_project(tmp_path, [READ, WRONG, says()]) as project:
        while_logging(project, lambda record: isinstance(record, Intent), **changes)
        await project.turn()
        assert (project.folder / "a.txt").read_text(encoding="utf-8") == "total\n"
        assert "not allowed" in texts(project)


@posix_only("shell")
@pytest.mark.parametrize(
    ("changes", "written"),
    [({}, "ran\n"), ({"mode": "plan"}, ""), ({"rules_deny": ("./hook.sh",)}, "")],
)
async def test_a_hook_denied_by_a_rule_change_before_its_start_does_not_run(
    tmp_path: Path, changes: dict[str, Any], written: str
) -> None:
    files = {WORKSPACE_FILE: HOOK, "hook.sh": SCRIPT}
    async with a_project(tmp_path, [READ, says()], files=files) as project:
        (project.folder / "hook.sh").chmod(0o755)
        while_asked(project, lambda: None)
        is_hook = lambda record: isinstance(record, Decided) and record.tool == "hook"  # noqa: E731
        while_logging(project, is_hook, **changes)
        finished = await project.turn()
        assert (finished.ending, of_disk(project)) == ("done", written)


@pytest.mark.parametrize(
    ("changes", "runs"), [({}, True), ({"mode": "plan"}, False), ({"rules_deny": ("echo",)}, False)]
)
async def test_a_check_denied_by_a_rule_change_before_its_start_does_not_run(
    tmp_path: Path,
    changes: dict[str, Any],
    runs: bool,  # noqa: FBT001 - a column of the table
) -> None:
    script = [READ, WRONG, RIGHT, says(), says()]
    async with a_project(tmp_path, script, check_command=CHECK) as project:
        is_check = lambda record: isinstance(record, Decided) and record.tool == "check"  # noqa: E731
        while_logging(project, is_check, **changes)
        finished = await project.turn()
        assert (finished.ending, bool(of_disk(project))) == ("done", runs)


@pytest.mark.parametrize(
    ("changes", "rule"), [({"mode": "plan"}, "plan"), ({"rules_deny": ("rm",)}, "rm")]
)
async def test_a_call_denied_after_a_yes_does_not_run_and_the_denial_is_recorded(
    tmp_path: Path, changes: dict[str, Any], rule: str
) -> None:
    async with a_project(tmp_path, [BASH, says()], mode="ask") as project:
        records = kept_records(project)
        while_asked(project, lambda: switch(project, **changes))
        await project.turn()
        asked, answered, denied = decided_of(records, "bash")
        assert (asked[::2], answered[::2], denied[0]) == (("ask", ""), ("ask", "once"), "deny")
        assert rule in denied[1]
        assert of_disk(project) == ""
        assert not any(isinstance(one, Intent) for one in records)


@posix_only("shell")
async def test_a_rule_change_that_allows_a_command_does_not_stop_the_permitted_command(
    tmp_path: Path,
) -> None:
    """The approved script has not changed; the new rule only makes the question unnecessary."""
    run = asks(call("bash", "b1", command="./hook.sh"))
    async with a_project(tmp_path, [run, says()], files={"hook.sh": SCRIPT}, mode="ask") as project:
        (project.folder / "hook.sh").chmod(0o755)
        while_asked(project, lambda: switch(project, rules_allow=("./hook.sh",)))
        await project.turn()
        assert of_disk(project) == "ran\n"


@needs_bubblewrap
async def test_a_running_command_keeps_the_rules_it_was_allowed_with(tmp_path: Path) -> None:
    """A later change of the mode does not change the sandbox of a running command."""
    command = (
        "touch began; for i in $(seq 600); do [ -e go ] && break; sleep 0.1; done; echo x > ran"
    )
    script = [asks(call("bash", "b1", command=command)), says()]
    async with a_project(tmp_path, script) as project:
        while_asked(project, lambda: None)
        turn = asyncio.ensure_future(project.turn())
        while not (project.folder / "began").exists():
            assert not turn.done()
            await asyncio.sleep(0.01)
        switch(project, mode="plan")
        (project.folder / "go").touch()
        await asyncio.wait_for(turn, 60)
        assert of_disk(project) == "x\n"


def break_the_facts(project: Project) -> None:
    """Make each permission decision raise an error, by a search for secret files that fails."""

    def broken() -> tuple[str, ...]:
        raise ZeroDivisionError

    bounds = {"writes_confined": False}
    with_rules(project.session, policy=bounds, confine=unconfined, secret_files=broken)


async def test_a_fault_in_the_evaluation_refuses_a_call(tmp_path: Path) -> None:
    async with a_project(tmp_path, [BASH, says()]) as project:
        records = kept_records(project)
        break_the_facts(project)
        asked = while_asked(project, lambda: None)
        finished = await project.turn()
        assert (finished.ending, asked.n_asked, of_disk(project)) == ("done", 0, "")
        assert decided_of(records, "bash") == [("deny", "fault", "")]
        assert FAULT in texts(project)


async def test_a_fault_in_the_evaluation_refuses_a_hook(tmp_path: Path) -> None:
    files = {WORKSPACE_FILE: HOOK, "hook.sh": SCRIPT}
    async with a_project(tmp_path, [READ, says()], files=files) as project:
        (project.folder / "hook.sh").chmod(0o755)
        records = kept_records(project)
        break_the_facts(project)
        asked = while_asked(project, lambda: None)
        finished = await project.turn()
        assert (finished.ending, asked.n_asked, of_disk(project)) == ("done", 0, "")
        assert decided_of(records, "hook")[0] == ("deny", "fault", "")
        assert any(FAULT in notice for notice in project.notices)


async def test_a_fault_in_the_evaluation_refuses_a_check(tmp_path: Path) -> None:
    script = [READ, WRONG, RIGHT, says(), says()]
    async with a_project(tmp_path, script, check_command=CHECK) as project:
        records = kept_records(project)
        break_the_facts(project)
        finished = await project.turn()
        assert (finished.ending, of_disk(project)) == ("done", "")
        assert decided_of(records, "check")[0] == ("deny", "fault", "")
        assert FAULT in finished.verified


@needs_bubblewrap
async def test_a_background_command_keeps_its_bounds_and_hides_keys_learned_later(
    tmp_path: Path,
) -> None:
    """The decision sets the sandbox; output is searched for keys known at the time of reading."""
    key = "learned-meanwhile-0123456789"
    waits = f"echo ready; cat gate; echo {key[:10]}''{key[10:]}; touch made"
    script = [starts(waits), says("it runs"), starts("touch not", "s2"), looks(id="b1"), says()]
    async with background(tmp_path, script) as project:
        await project.turn()
        switch(project, mode="plan")
        project.session.parts.secrets.also_hide(key)
        await let_go(project)
        await project.turn()
        begun, refused, look = results(project)
        assert begun.startswith("ready\n")
        assert refused.startswith("not allowed: the mode is `plan`")
        assert key not in texts(project)
        assert "exit code 0" in look
        assert (project.folder / "made").exists()
        assert not (project.folder / "not").exists()


RULES = st.builds(
    lambda mode, ask, deny: Policy(
        mode, rules=PatternRules(ask=("tool: write_file",) * ask, deny=("tool: write_file",) * deny)
    ),
    st.sampled_from(["auto", "review", "ask", "plan"]),
    st.booleans(),
    st.sampled_from([False, False, False, True]),
)
WRITE = CallFacts("write_file", "edit", ("b.py",), ("/workspace/b.py",))


async def written(folder: Path, moments: Sequence[Policy], says_yes: bool) -> bool:  # noqa: FBT001
    """Is a file written if the rules change during the question, and while the log is written?"""
    index = 0

    class Answering:
        async def ask(self, _question: Question) -> Reply:
            nonlocal index
            index = 1
            return "once" if says_yes else "no"

    def at_start(record: Record) -> bool:
        nonlocal index
        index = 2 if isinstance(record, Intent) else index
        return True

    script = [asks(call("write_file", path="b.py", content="x\n")), says()]
    async with a_world(folder, script, files={"a.py": "x\n"}) as world:
        real = world.session.parts
        world.session.parts = dataclasses.replace(
            real,
            approver=Answering(),
            rules=lambda: Rules(moments[index], hidden=lambda _path: False),
            log=LogWithPause(MemoryLog(), at_start),
        )
        try:
            assert (await world.turn()).ending == "done"
        finally:
            world.session.parts = real
        return not world.results[0].is_error


@settings(deadline=None, max_examples=60)
@given(st.tuples(RULES, RULES, RULES), st.booleans())
def test_a_command_runs_by_the_rules_at_its_start(
    moments: tuple[Policy, Policy, Policy],
    says_yes: bool,  # noqa: FBT001 - drawn
) -> None:
    first, asked, start = (type(decide(WRITE, policy)) for policy in moments)
    if first is Ask:
        runs = says_yes and Deny not in {asked, start}
    else:
        runs = (first, start) == (Allow, Allow)
    with TemporaryDirectory() as folder:
        assert asyncio.run(written(Path(folder), moments, says_yes)) == runs
