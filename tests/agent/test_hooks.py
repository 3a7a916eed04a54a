"""Hooks in the real loop: a scripted model, real commands in the sandbox, the session's log."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from indwell.agent.core.events import Checking, Event, Notice, PermissionAsked
from indwell.agent.core.prompt import Prompt
from indwell.agent.loop.turn import run_turn
from indwell.messages import Request, Text
from indwell.sessions.audit_trail import Act, acts
from indwell.sessions.storage.store import SessionStore
from indwell.settings.model import Mode
from indwell.settings.table_types import Hook, HookEvent, hooks_of
from support.bubblewrap import needs_bubblewrap
from support.checked_project import READ, Project, a_project
from support.doc_examples import examples
from support.made_secrets import made_secrets
from support.session import PATIENCE_S, asks, call, says

pytestmark = needs_bubblewrap

KEEP = "cat >> seen.jsonl"
EDIT = asks(call("edit_file", "c2", path="a.txt", edits=[{"old": "total", "new": "sum"}]))
NO_PUSH = """\
if grep -q '"command":"git push'; then echo "push by hand, after a review" >&2; exit 2; fi
"""


def payloads(project: Project) -> list[dict[str, Any]]:
    """Return the recorded inputs of hooks."""
    text = (project.folder / "seen.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def injected(project: Project) -> list[str]:
    """Return the texts from hooks to the model, in order."""
    return [
        block.text
        for message in project.session.conversation.messages
        for block in message.blocks
        if isinstance(block, Text) and block.meta.source == "hook"
    ]


async def audited(project: Project, folder: Path) -> list[Act]:
    """Return the runs of hooks, as ``indwell audit`` lists the runs."""
    await project.session.parts.log.commit()
    store = SessionStore(folder / "state", project.folder)
    reading = store.open(project.session.id)
    return [act for act in acts(reading.records) if act.tool == "hook"]


async def test_a_hook_stops_a_call_before_the_permission_question(tmp_path: Path) -> None:
    push = asks(call("bash", command="git push"), call("bash", "c2", command="ls"))
    hooks = (Hook("before_tool", NO_PUSH, tools=("bash",)),)
    async with a_project(tmp_path, [READ, push, says()], hooks=hooks) as project:
        await project.turn()
        assert project.approver.questions == []
        results = project.provider.requests[-1].messages[-1].blocks
        assert results[0].text == (
            "not run: a hook of the user's stopped it: push by hand, after a review"
        )
        assert "a.txt" in results[1].text
        told = await audited(project, tmp_path)
        assert [(act.decision, act.ending) for act in told] == [
            ("allow", "exit code 2"),
            ("allow", "exit code 0"),
        ]


async def test_each_hook_event_describes_what_happened(tmp_path: Path) -> None:
    events = ("prompt_submitted", "before_tool", "after_tool", "edit_applied", "turn_end")
    hooks = tuple(Hook(event, KEEP) for event in events)
    async with a_project(tmp_path, [READ, EDIT, says("done")], hooks=hooks) as project:
        await project.turn("rename it")
        seen = payloads(project)
    assert [one["event"] for one in seen] == [
        "prompt_submitted",
        *["before_tool", "after_tool"],
        *["before_tool", "edit_applied", "after_tool", "turn_end"],
    ]
    common = {"session": project.session.id, "turn": 1, "mode": "auto", "in_agent": False}
    assert all(one.items() >= {**common, "cwd": str(project.folder)}.items() for one in seen)
    assert seen[0]["words"] == "rename it"
    assert seen[1]["arguments"] == {"path": "a.txt"}
    assert (seen[1]["tool"], seen[1]["effect"]) == ("read_file", "read")
    assert "total" in seen[2]["result"]
    edit = seen[4]
    assert (edit["path"], edit["file"]) == ("a.txt", str(project.folder / "a.txt"))
    assert "-total\n+sum\n" in edit["diff"]
    assert (seen[6]["ending"], seen[6]["answer"], seen[6]["files"]) == ("done", "done", ["a.txt"])


async def test_a_prompt_that_a_hook_stops_reaches_no_model_and_returns(tmp_path: Path) -> None:
    command = "grep -q customer && { echo 'no names of customers'; exit 2; }; exit 0"
    hooks = (Hook("prompt_submitted", command),)
    async with a_project(tmp_path, [says("hello")], hooks=hooks) as project:
        stopped = await project.turn("ask the customer")
        assert (stopped.ending, stopped.draft) == ("failed", "ask the customer")
        assert stopped.message.startswith("your prompt was not sent; the hook prompt_submitted (")
        assert stopped.message.endswith("): no names of customers")
        assert project.provider.requests == []
        assert (await project.turn("ask nobody")).answer == "hello"


async def test_prompt_hooks_see_steering_messages(tmp_path: Path) -> None:
    command = "grep -q customer && exit 2; exit 0"
    hooks = (Hook("prompt_submitted", command),)

    def steer(request: Request) -> Any:
        del request
        project.session.steer("ask the customer")
        return READ

    async with a_project(tmp_path, [steer, says("never")], hooks=hooks) as project:
        finished = await project.turn("go")
        assert (finished.ending, finished.draft) == ("failed", "ask the customer")
        assert "your later message was not sent" in finished.message
        assert len(project.provider.requests) == 1


async def test_text_that_a_hook_adds_joins_the_request_under_its_own_tag(tmp_path: Path) -> None:
    hooks = (
        Hook("prompt_submitted", "echo 'Mind.'"),
        Hook("before_tool", """echo '{"add": "Mind the tabs."}'"""),
        Hook("after_tool", "echo '<skill>obey'"),
    )
    async with a_project(tmp_path, [READ, says()], hooks=hooks) as project:
        await project.turn()
        assert injected(project) == [
            '<user-prompt-submit-hook event="prompt_submitted">\nMind.\n</user-prompt-submit-hook>',
            '<pre-tool-use-hook event="before_tool">\nMind the tabs.\n</pre-tool-use-hook>',
            '<post-tool-use-hook event="after_tool">\n&lt;skill>obey\n</post-tool-use-hook>',
        ]
        tiers = {
            block.meta.tier
            for message in project.session.conversation.messages
            for block in message.blocks
            if isinstance(block, Text) and block.meta.source == "hook"
        }
        assert tiers == {1}


async def test_changes_of_a_formatting_hook_after_an_edit_can_be_reviewed(tmp_path: Path) -> None:
    command = "sed -i s/sum/SUM/ a.txt"
    hooks = (Hook("edit_applied", command),)
    script = [READ, EDIT, says()]
    async with a_project(tmp_path, script, hooks=hooks, is_reviewed=True) as project:
        await project.turn()
        path = project.folder / "a.txt"
        assert path.read_text(encoding="utf-8") == "SUM\n"
        review = project.session.parts.changes.ledger
        assert review is not None
        assert review.before(path, project.session.id, 1) == "total\n"
        last = project.provider.requests[-1].messages[-1].blocks
        assert any("a.txt" in one.text and "changed" in one.text for one in last[1:])


async def test_a_hook_can_delay_the_end_of_a_turn_once(tmp_path: Path) -> None:
    hooks = (Hook("turn_end", f"{KEEP}; echo 'the changelog is missing' >&2; exit 2"),)
    async with a_project(tmp_path, [says("done"), says("written")], hooks=hooks) as project:
        finished = await project.turn()
        assert (finished.ending, finished.answer) == ("done", "written")
        assert [one["again"] for one in payloads(project)] == [False, True]
        (asked,) = injected(project)
        assert "the changelog is missing" in asked
        assert project.notices[-1].startswith("the model is asked to continue; the hook turn_end (")


async def test_a_hook_is_told_of_a_limit_and_cannot_delay_the_end(tmp_path: Path) -> None:
    hooks = (Hook("turn_end", f"{KEEP}; exit 2"),)
    script = [READ, says("that is all")]
    async with a_project(tmp_path, script, hooks=hooks, round_limit=1) as project:
        assert (await project.turn()).ending == "limit"
        assert [one["ending"] for one in payloads(project)] == ["limit"]


async def test_a_compaction_is_reported_to_hooks(tmp_path: Path) -> None:
    files = {f"{number}.txt": f"line {number}\n" * 3_000 for number in range(4)}
    reads = [asks(call("read_file", f"r{number}", path=f"{number}.txt")) for number in range(4)]
    hooks = (Hook("compaction", f"{KEEP}; echo 'The ticket is 42.'"),)
    script = [*reads, says("read"), says("a summary"), says("on")]
    async with a_project(tmp_path, script, files=files, hooks=hooks) as project:
        await project.turn()
        await project.turn("/compact")
        seen = payloads(project)[-1]
        assert seen["turn"] == 2
        assert seen["after"] < seen["before"]
        await project.turn("go on")
        assert "The ticket is 42." in injected(project)[-1]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("exit 3", "it ended with exit code 3"),
        ("no-such-program", "it ended with exit code 127: "),
        ("sleep 60", "it took longer than 0.5 s, and was ended"),
        ("kill -9 $$", "it ended with "),
        ("""echo '{"add": 1}'""", "'add' and 'block' of its JSON have to be texts"),
    ],
    ids=["fails", "is not there", "hangs", "is killed", "says nonsense"],
)
@pytest.mark.parametrize("if_broken", ["", "go on"])
async def test_a_broken_hook_stops_the_call_unless_if_broken_allows_it(
    command: str, why: str, if_broken: Any, tmp_path: Path
) -> None:
    hooks = (Hook("before_tool", command, timeout_s=0.5, if_broken=if_broken),)
    async with a_project(tmp_path, [READ, says()], hooks=hooks) as project:
        await project.turn()
        (notice,) = project.notices
        assert notice.startswith("the hook before_tool (")
        assert f"does not work: {why}" in notice
        assert notice.endswith("so it was skipped" if if_broken else "so this was stopped")
        result = project.provider.requests[-1].messages[-1].blocks[0].text
        assert result.startswith("not run: ") is not bool(if_broken)


@pytest.mark.parametrize("event", ["after_tool", "turn_end"])
async def test_a_broken_hook_does_not_stop_an_action_that_is_already_done(
    event: HookEvent, tmp_path: Path
) -> None:
    async with a_project(tmp_path, [READ, says()], hooks=(Hook(event, "exit 9"),)) as project:
        assert (await project.turn()).ending == "done"
        assert "so it was skipped" in project.notices[0]


async def test_no_hook_runs_after_the_first_hook_that_stops_an_event(tmp_path: Path) -> None:
    hooks = (
        Hook("before_tool", "touch first"),
        Hook("before_tool", "touch second; exit 2"),
        Hook("before_tool", "touch third"),
    )
    async with a_project(tmp_path, [READ, says()], hooks=hooks) as project:
        await project.turn()
        there = {one.name for one in project.folder.iterdir()}
        assert {"first", "second"} <= there
        assert "third" not in there


@pytest.mark.parametrize(
    ("mode", "rules", "why"),
    [
        ("auto", {"rules_deny": ("touch *",)}, "your rule 'touch *' denies it"),
        ("auto", {"is_trusted": False}, "its folder is not trusted"),
    ],
    ids=["by a rule", "in a folder that is not trusted"],
)
async def test_a_user_hook_does_not_run_if_a_rule_denies_its_command(
    mode: Mode, rules: dict[str, Any], why: str, tmp_path: Path
) -> None:
    hooks = (Hook("before_tool", "touch ran"),)
    async with a_project(tmp_path, [READ, says()], hooks=hooks, mode=mode, **rules) as project:
        await project.turn()
        assert not (project.folder / "ran").exists()
        assert f"it was not run: {why}" in project.notices[-1]
        assert (await audited(project, tmp_path))[0].end == "denied"


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        ("grep -q customer && exit 2; exit 0", "done"),
        ("grep -q hello && exit 2; exit 0", "failed"),
        ("./hook.sh", "failed"),
        ("make", "failed"),
        ("git status", "failed"),
        ("touch ran", "failed"),
        ("bash -c 'touch ran'", "failed"),
    ],
)
async def test_tru_01_in_an_untrusted_folder_only_read_only_hook_commands_run(
    command: str, ending: str, tmp_path: Path
) -> None:
    files = {"hook.sh": "#!/bin/sh\ntouch ran\n", "Makefile": "all:\n\ttouch ran\n"}
    hooks = (Hook("prompt_submitted", command),)
    async with a_project(tmp_path, [says()], files=files, hooks=hooks, is_trusted=False) as project:
        (project.folder / "hook.sh").chmod(0o755)
        assert (await project.turn("hello")).ending == ending
        assert not (project.folder / "ran").exists()
        runs = [act for act in await audited(project, tmp_path) if act.ending]
        assert len(runs) == command.startswith("grep")


async def test_in_plan_mode_a_hook_only_reads(tmp_path: Path) -> None:
    hooks = (Hook("before_tool", "echo x > ran; cat a.txt"),)
    async with a_project(tmp_path, [READ, says()], hooks=hooks, mode="plan") as project:
        await project.turn()
        assert not (project.folder / "ran").exists()
        assert "total" in injected(project)[0]


async def test_an_ask_rule_of_the_user_applies_to_the_users_hooks(tmp_path: Path) -> None:
    hooks = (Hook("before_tool", "echo asked"),)
    script = [READ, READ, says()]
    async with a_project(
        tmp_path, script, hooks=hooks, rules_ask=("echo *",), answers=["once"]
    ) as project:
        await project.turn()
        (question,) = project.approver.questions
        assert question.reason.startswith("a hook of yours for before_tool, asked once a session")
        assert (question.detail, question.rule) == ("echo asked", "")
        assert len([one for one in project.events if isinstance(one, PermissionAsked)]) == 1


async def test_no_secret_goes_to_a_hook_or_from_a_hook_to_the_model(tmp_path: Path) -> None:
    secret = next(iter(made_secrets().values()))[0]
    hooks = (Hook("after_tool", f"{KEEP}; cat a.txt"),)
    async with a_project(
        tmp_path, [READ, says()], files={"a.txt": f"{secret}\n"}, hooks=hooks
    ) as project:
        await project.turn()
        assert secret not in json.dumps(payloads(project))
        assert secret not in injected(project)[0]


async def test_a_long_hook_output_is_cut_and_kept_whole_in_a_file(tmp_path: Path) -> None:
    hooks = (Hook("prompt_submitted", "seq 1 20000"),)
    async with a_project(tmp_path, [says()], hooks=hooks) as project:
        await project.turn()
        (text,) = injected(project)
        assert len(text) < 11_000
        assert text.endswith("19999\n20000\n</user-prompt-submit-hook>")
        assert "characters left out; all of it is in" in text


async def test_cancelling_the_turn_ends_a_hook_and_its_child_processes(tmp_path: Path) -> None:
    command = "sleep 987853 & echo up > fifo; wait"
    hooks = (Hook("before_tool", command, timeout_s=60),)
    async with a_project(tmp_path, [READ, says()], hooks=hooks) as project:
        os.mkfifo(project.folder / "fifo")
        turn = asyncio.ensure_future(run_turn(project.session, Prompt("go"), project.events.append))
        begun = asyncio.to_thread((project.folder / "fifo").read_text)
        assert await asyncio.wait_for(begun, PATIENCE_S) == "up\n"
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert not sleepers("987853")
        assert (await audited(project, tmp_path))[0].ending == "stopped with the turn"


async def test_a_hook_that_takes_long_is_reported(tmp_path: Path) -> None:
    hooks = (Hook("before_tool", "read line < fifo", timeout_s=60),)
    async with a_project(tmp_path, [READ, says()], hooks=hooks) as project:
        fifo = project.folder / "fifo"
        os.mkfifo(fifo)
        told = asyncio.Event()

        def hear(event: Event) -> None:
            if isinstance(event, Checking):
                assert event.what == "before_tool: read line < fifo"
                told.set()

        turn = asyncio.ensure_future(run_turn(project.session, Prompt("go"), hear))
        await asyncio.wait_for(told.wait(), PATIENCE_S)
        await asyncio.to_thread(fifo.write_text, "go on\n")
        assert (await turn).ending == "done"


def sleepers(seconds: str) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if seconds.encode() in words:
                found.append(folder.name)
    return found


async def test_without_hooks_nothing_is_reported_or_run(tmp_path: Path) -> None:
    async with a_project(tmp_path, [READ, says()]) as project:
        await project.turn()
        assert await audited(project, tmp_path) == []
        assert [one for one in project.events if isinstance(one, Notice)] == []


@pytest.mark.parametrize("command", ["git push", 'echo "x"; git -C . push --force'])
async def test_the_documented_hooks_stop_a_push_and_format_files(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = Path(sys.executable).parent  # the folder of ruff, which PATH may lack
    monkeypatch.setenv("PATH", f"{beside}{os.pathsep}{os.environ['PATH']}")
    hooks = hooks_of(tomllib.loads(examples("hooks.md", "toml")[0].text)["hooks"])
    made = asks(call("write_file", path="a.py", content="x  =  1\n"))
    script = [made, asks(call("bash", "c2", command=command)), says()]
    async with a_project(tmp_path, script, hooks=hooks) as project:
        await project.turn()
        assert (project.folder / "a.py").read_text(encoding="utf-8") == "x = 1\n"
        assert project.notices == []
        result = project.provider.requests[-1].messages[-1].blocks[0].text
        assert result == "not run: a hook of the user's stopped it: push by hand, after a review"
