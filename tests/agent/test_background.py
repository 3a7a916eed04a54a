"""Background commands in real turns: start, output, stop, reports and end (PRC-13)."""

from __future__ import annotations

import asyncio
import functools
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from faults.escape_tree import asleep, grown, tree
from indwell.agent.core.events import CommandsChanged, Event
from indwell.agent.core.prompt import Prompt
from indwell.agent.features.background.board import MOST, BackgroundBoard
from indwell.agent.features.background.feature import BETWEEN
from indwell.agent.loop.turn import run_turn
from indwell.messages import Reply, Request
from indwell.review.verdicts import rewind_files
from indwell.sessions.branches import commands_of
from indwell.sessions.records import CommandSet, Record, Rewound
from indwell.sessions.storage.store import SessionStore
from indwell.tools.truncate import OUTPUT_LIMIT
from support.bubblewrap import needs_bubblewrap
from support.checked_project import Project
from support.doc_examples import examples
from support.made_secrets import made_secrets
from support.running_on import (
    SOON_S,
    WAITS,
    background,
    has_written,
    let_go,
    looks,
    reminders,
    results,
    starts,
    told,
)
from support.session import asks, call, says, with_parts

pytestmark = needs_bubblewrap


async def test_prc_13_the_model_reads_output_of_a_background_command_until_the_command_ends(
    tmp_path: Path,
) -> None:
    script = [starts(WAITS), looks(id="b1"), says("it runs"), looks(id="b1"), looks(), says("ok")]
    async with background(tmp_path, script, begun=has_written) as project:
        await project.turn()
        begun, second = results(project)
        assert begun.startswith("ready\n[b1 runs on in the background; ")
        assert second.startswith("b1 runs, ")
        assert second.endswith("\n(no new output)")
        ((row,),) = told(project)
        assert (row.id, row.command, row.state, row.exit_code, row.tail) == (
            *("b1", WAITS, "running", None),
            "ready\n",
        )
        await let_go(project)
        assert told(project)[-1][0].state == "ended"
        await project.turn()
        (reminder,) = reminders(project)
        assert "b1: exit code 0, after " in reminder
        *_, look, listed = results(project)
        assert look.splitlines()[1:] == ["open", "over"]
        assert listed.startswith("b1: exit code 0, after ")
        assert listed.endswith(f": {WAITS}")
        assert Path(row.path).read_text(encoding="utf-8") == "ready\nopen\nover\n"


async def test_a_background_command_that_fails_at_once_returns_its_failure(tmp_path: Path) -> None:
    script = [starts("echo no; exit 3"), looks(), says("it failed")]
    async with background(tmp_path, script, begin_s=SOON_S) as project:
        await project.turn()
        failed, listed = results(project)
        assert failed == "no\nexit code 3"
        assert listed.startswith("no background commands")
        assert told(project) == []


async def test_the_model_stops_a_background_command_and_all_its_processes(tmp_path: Path) -> None:
    script = [starts(WAITS), looks(id="b1", stop=True), says("stopped"), says("and now")]
    async with background(tmp_path, script) as project:
        await project.turn()
        assert results(project)[1].startswith("b1 stopped, after ")
        await asyncio.sleep(0)
        assert (told(project)[-1][0].state, told(project)[-1][0].by) == ("stopped", "model")
        assert project.session.parts.features.door(BackgroundBoard).running == ()
        await project.turn()
        # No reminder, because the model has already seen the end of the command.
        assert reminders(project) == []


async def test_the_model_is_told_once_about_a_command_that_the_user_stopped(tmp_path: Path) -> None:
    script = [starts(WAITS), says("it runs"), says("I see"), says("again")]
    async with background(tmp_path, script) as project:
        await project.turn()
        board = project.session.parts.features.door(BackgroundBoard)
        await board.stop(board.get("b1"), "user")
        await project.turn()
        (reminder,) = reminders(project)
        assert "b1: stopped by the user, after " in reminder
        await project.turn()
        assert len(reminders(project)) == 1


async def test_a_background_command_that_ends_during_a_turn_is_reported_in_the_next_request(
    tmp_path: Path,
) -> None:
    script = [starts("cat gate"), looks(wait_s=int(SOON_S)), says("ok")]
    async with background(tmp_path, script) as project:
        begun = asyncio.Event()

        def hear(event: Event) -> None:
            if isinstance(event, CommandsChanged):
                begun.set()

        turn = asyncio.ensure_future(run_turn(project.session, Prompt("go"), hear))
        await asyncio.wait_for(begun.wait(), SOON_S)
        await let_go(project)
        await turn
        assert ["b1: exit code 0, after " in one for one in reminders(project)] == [True]


@pytest.mark.parametrize("unsandboxed", [False, True])
async def test_no_background_command_survives_the_end_of_its_session(
    tmp_path: Path, *, unsandboxed: bool
) -> None:
    number = 7_301 if unsandboxed else 7_300
    script = [starts(tree(number), unsandboxed=unsandboxed), says("it runs")]
    async with background(tmp_path, script) as project:
        project.approver._answers.append("once")
        await project.turn()
        await grown(number)
        assert project.session.parts.features.door(BackgroundBoard).running
    assert asleep(number) == []


async def test_a_cancelled_turn_ends_only_a_background_command_that_was_still_starting(
    tmp_path: Path,
) -> None:
    script = [starts(WAITS), says("it runs"), starts("cat gate", "s2"), says("never")]
    async with background(tmp_path, script) as project:
        await project.turn()
        board = project.session.parts.features.door(BackgroundBoard)
        board.begin_s = SOON_S
        spilled = asyncio.Event()
        spill = project.session.parts.spill.keep

        async def told_spill(name: str, text: str) -> Path:
            spilled.set()
            return await spill(name, text)

        with_parts(project.session, keep=told_spill)
        turn = asyncio.ensure_future(project.turn())
        await asyncio.wait_for(spilled.wait(), SOON_S)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert [one.id for one in board.running] == ["b1"]
        assert [one.id for one in board.commands] == ["b1"]


async def test_a_ninth_parallel_background_command_is_refused(
    tmp_path: Path,
) -> None:
    named = [
        call("bash", f"s{n}", command=f"cat gate; true {n}", background=True)
        for n in range(MOST + 1)
    ]
    script = [asks(*named), asks(call("bash", "f1", command="echo still")), says("ok")]
    async with background(tmp_path, script, begin_s=0.05) as project:
        await project.turn()
        *begun, refused, free = results(project)
        assert [one.partition(" ")[0] for one in begun] == [f"[b{n + 1}" for n in range(MOST)]
        assert refused.startswith("8 background commands run already, so this one was not begun")
        assert free.startswith("still\n")


async def test_a_long_background_output_is_cut_for_the_model_and_complete_on_disk(
    tmp_path: Path,
) -> None:
    script = [starts("seq 1 20000; cat gate"), says("it runs"), looks(id="b1"), says("ok")]
    is_written = functools.partial(has_written, last="20000\n")
    async with background(tmp_path, script, begun=is_written) as project:
        await project.turn()
        begun = results(project)[0]
        whole = "".join(f"{n}\n" for n in range(1, 20_001))
        path = project.session.parts.features.door(BackgroundBoard).get("b1").path
        assert len(begun) < OUTPUT_LIMIT + 4_000
        assert f"characters left out; it is whole in {path!r}, for read_file or grep …]" in begun
        assert begun.startswith("1\n2\n")
        assert "\n19999\n20000\n[b1 runs on" in begun
        assert Path(path).read_text(encoding="utf-8") == whole
        assert Path(path).stat().st_mode & 0o777 == 0o600
        await project.turn()
        assert results(project)[-1].endswith("(no new output)")


async def test_a_secret_is_hidden_on_disk_for_the_model_and_in_the_list(tmp_path: Path) -> None:
    text, secret = made_secrets()["github"]
    half = len(secret) // 2
    (tmp_path / "halves").mkdir()
    command = f"printf '%s' '{secret[:half]}'; printf '%s\\n' '{secret[half:]}'; cat gate"
    del text
    script = [starts(command), says("it runs"), looks(id="b1"), says("ok")]
    async with background(tmp_path, script) as project:
        await project.turn()
        board = project.session.parts.features.door(BackgroundBoard)
        one = board.get("b1")
        await let_go(project)  # on a busy machine, the output may come after the first result
        await project.turn()
        shown = (
            "".join(results(project)),
            Path(one.path).read_text(encoding="utf-8"),
            one.output.tail,
        )
        assert [secret in text for text in shown] == [False] * 3
        assert all("github" in text or "hidden" in text for text in shown), shown


async def test_changes_of_a_background_command_during_a_turn_can_be_reviewed_and_reverted(
    tmp_path: Path,
) -> None:
    def opened(request: Request) -> Reply:
        del request
        (folder[0] / "gate").write_bytes(b"go\n")
        return looks(id="b1", wait_s=int(SOON_S))

    folder: list[Path] = []
    read = asks(call("read_file", "r1", path="a.txt"))
    edit = asks(call("edit_file", "e1", path="a.txt", edits=[{"old": "total", "new": "sum"}]))
    command = "cat gate; echo made > made.txt; echo more >> old.txt"
    other = asks(call("bash", "f1", command="echo x > fore.txt"))
    script: list[Any] = [starts(command), read, edit, other, opened, says("ok")]
    files = {"old.txt": "old\n"}
    async with background(tmp_path, script, is_reviewed=True, files=files) as project:
        folder.append(project.folder)
        project.settings[0] = msgspec.structs.replace(project.settings[0], mode="review")
        await project.turn()
        ledger = project.session.parts.changes.ledger
        assert ledger is not None
        hunks = {
            name: [(one.old, one.new) for one in ledger.hunks(project.folder / name)]
            for name in ("a.txt", "made.txt", "old.txt")
        }
        assert hunks == {
            "a.txt": [(("total\n",), ("sum\n",))],
            "made.txt": [((), ("made\n",))],
            "old.txt": [((), ("more\n",))],
        }
        lines = (tmp_path / "review" / "changes.jsonl").read_text(encoding="utf-8").split("\n")
        records = [json.loads(line) for line in lines if line]
        by_call = [(Path(one["path"]).name, one["tool_use"]) for one in records if "change" in one]
        assert sorted(by_call) == [
            ("a.txt", "e1"),
            ("fore.txt", "f1"),
            ("made.txt", "s1"),
            ("old.txt", "s1"),
        ]
        await rewind_files(ledger, project.session.parts.workspace, project.session.id, 0)
        assert not (project.folder / "made.txt").exists()
        assert (project.folder / "old.txt").read_text(encoding="utf-8") == "old\n"
        assert (project.folder / "a.txt").read_text(encoding="utf-8") == "total\n"


async def test_changes_between_turns_are_not_the_agents_and_that_is_reported_once(
    tmp_path: Path,
) -> None:
    script = [starts(f"touch log; {WAITS}"), says("it runs"), says("yes"), says("yes")]
    files = {"mine.txt": "mine\n"}
    async with background(tmp_path, script, is_reviewed=True, files=files) as project:
        await project.turn()
        (project.folder / "mine.txt").write_bytes(b"the user's own\n")
        await project.turn()
        await project.turn()
        ledger = project.session.parts.changes.ledger
        assert ledger is not None
        assert ledger.hunks(project.folder / "mine.txt") == ()
        assert project.notices.count(BETWEEN.format(names="b1 runs on")) == 1


async def test_a_resumed_session_names_commands_that_ended_with_the_earlier_process(
    tmp_path: Path,
) -> None:
    script = [starts(WAITS), starts("cat gate", "s2"), looks(id="b2", stop=True), says("fine")]
    async with background(tmp_path, script) as project:
        await project.turn()
        records = await logged(project, tmp_path)
        assert commands_of(records) == (2, ("b1",))
        rewound = (*records, Rewound(0, "small", "2026-11-21T09:00:00.000Z"))
        assert commands_of(rewound) == (2, ())
        forged = msgspec.structs.replace(
            next(one for one in records if isinstance(one, CommandSet)), id="b" + "9" * 5_000
        )
        assert commands_of((*records, forged))[0] == 2
    (tmp_path / "next").mkdir()
    async with background(tmp_path / "next", [starts("cat gate"), says("ok")]) as project:
        project.session.parts.features.door(BackgroundBoard).take_over(*commands_of(records))
        await project.turn()
        (reminder,) = reminders(project)
        assert "b1 ended with the session that began it. Start again" in reminder
        assert results(project)[0].startswith("[b3 runs on in the background")
        known = [
            (one.id, one.runs)
            for one in await logged(project, tmp_path / "next")
            if isinstance(one, CommandSet)
        ]
        assert known == [("b1", False), ("b3", True)]


async def logged(project: Project, folder: Path) -> tuple[Record, ...]:
    await project.session.parts.log.commit()
    return SessionStore(folder / "state", project.folder).open(project.session.id).records


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"id": "b7"}, "there is no background command 'b7'; there are: none"),
        ({"stop": True}, "`stop` needs the `id` of a background command"),
        ({"wait_s": 301}, "bad arguments for commands"),
    ],
)
async def test_an_unreadable_output_file_of_a_command_is_reported(
    tmp_path: Path, arguments: dict[str, Any], words: str
) -> None:
    async with background(tmp_path, [looks(**arguments), says("ok")]) as project:
        await project.turn()
        assert results(project)[0].startswith(words)


async def test_a_call_with_a_time_limit_and_in_the_background_is_refused(tmp_path: Path) -> None:
    async with background(tmp_path, [starts("true", timeout_s=5), says("ok")]) as project:
        await project.turn()
        assert results(project)[0].startswith("a background command has no timeout_s")


async def test_a_background_command_needs_permission_and_the_question_says_how_it_runs(
    tmp_path: Path,
) -> None:
    script = [starts("touch made", network=["example.com"]), says("ok")]
    async with background(tmp_path, script) as project:
        project.settings[0] = msgspec.structs.replace(project.settings[0], mode="review")
        await project.turn()
        (question,) = project.approver.questions
        assert question.title.startswith("Run a command in the background, in ")
        assert results(project)[0].startswith("the user did not allow this")
        assert not (project.folder / "made").exists()
        assert project.session.parts.features.door(BackgroundBoard).commands == ()


async def test_polling_a_background_command_does_not_count_as_a_repeated_call(
    tmp_path: Path,
) -> None:
    script = [starts("cat gate"), *(looks(f"l{n}", id="b1") for n in range(10)), says("enough")]
    async with background(tmp_path, script) as project:
        assert (await project.turn()).ending == "done"


async def test_the_documentation_names_the_outputs_that_the_model_reads(tmp_path: Path) -> None:
    (arguments,), (answer,) = examples("background.md", "json"), examples("background.md", "text")
    given = json.loads(arguments.text)
    script = [asks(call("bash", **given)), says("ok")]
    async with background(tmp_path, script, begun=has_written) as project:
        await project.turn()
        assert results(project) == [answer.text.rstrip("\n")]
