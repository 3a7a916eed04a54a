from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from rich.console import Console

from indwell.agent.core import events
from indwell.agent.core.events import BackgroundCommand
from indwell.cli.terminal.front_door import AllowingApprover, TerminalApprover
from indwell.cli.terminal.output import UNCHECKED, TerminalView
from indwell.messages import Usage
from indwell.policy.approvals import Question, question_for
from indwell.policy.call_facts import Ask, CallFacts
from indwell.policy.commands.verdict import CommandPart
from indwell.policy.rules import Widening


@contextmanager
def closed_stdin() -> Iterator[None]:
    """A terminal without a user."""
    before, sys.stdin = sys.stdin, io.StringIO()
    try:
        yield
    finally:
        sys.stdin = before


def test_no_event_of_a_turn_can_send_control_characters_to_the_terminal() -> None:
    written = io.StringIO()
    view = TerminalView(Console(file=written, force_terminal=False))
    evil = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\u202e"
    view(events.TextAdded(1, evil))
    view(events.ToolStarted(1, "1", "bash", evil))
    view(events.ToolStarted(1, "1", evil, "a.py"))
    view(events.ToolOutput(1, "1", evil))
    view(events.EditApplied(1, "2", "a.py", 1, 0, f"+{evil}\n", created=False, verified=True))
    view(
        events.ToolFinished(1, "1", "bash", evil, is_error=True, figure="", seconds=0, message=evil)
    )
    view(events.ToolFinished(1, "1", evil, evil, is_error=False, figure=evil, seconds=0))
    view(events.Notice(1, "warning", evil))
    assert not {"\x1b", "\x07", "\u202e"} & set(written.getvalue())
    assert written.getvalue().count("\\u001b") == 16


def finished(**fields: object) -> events.TurnFinished:
    values = {
        "turn": 1, "ending": "done", "message": "", "answer": "", "draft": "", "rounds": 3,
        "usage": Usage(12_000, cached=9_000, output=340), "cost": 0.0123, "seconds": 4.2,
    }  # fmt: skip
    return events.TurnFinished(**(values | fields))  # type: ignore[arg-type] # as named


def test_the_end_of_a_turn_is_printed_as_a_receipt() -> None:
    written = io.StringIO()
    view = TerminalView(Console(file=written, force_terminal=False, width=200))
    view(finished())
    view(finished(usage=Usage(10, output=2, reported=False), cost=None, rounds=1))
    assert written.getvalue().splitlines() == [
        "3 rounds · 12,000 tokens in (9,000 cached), 340 out · $0.0123 · 4.2 s",
        "1 round · 10 tokens in (0 cached), 2 out, estimated · cost unknown · 4.2 s",
    ]


def test_attachments_and_background_commands_of_a_run_are_reported() -> None:
    written = io.StringIO()
    view = TerminalView(Console(file=written, force_terminal=False, width=200))
    view(events.TurnStarted(1, "go", "go", "m", attached=("skill tidy",)))
    runs = BackgroundCommand("b1", "serve [red]", "running", None, 1, "")
    ended = BackgroundCommand("b2", "make", "ended", 0, 1, "")
    view(events.CommandsChanged(1, (runs, ended)))
    view(finished(rounds=0, verified="not verified"))
    assert written.getvalue().splitlines() == [
        "with skill tidy",
        f"not verified{UNCHECKED}",
        "b1 still runs and will be stopped with this run: serve [red]",
    ]


def test_a_check_command_and_its_outcome_are_separate_lines() -> None:
    written = io.StringIO()
    view = TerminalView(Console(file=written, force_terminal=False, width=200))
    view(events.Checking(1, "make [check]\x1b"))
    view(finished(rounds=0, verified="verified by `make [check]\x1b`"))
    assert written.getvalue().splitlines() == [
        "checking: make [check]\\u001b",
        "verified by `make [check]\\u001b`",
    ]


def test_the_terminal_shows_a_steering_message_when_the_model_receives_it() -> None:
    written = io.StringIO()
    view = TerminalView(Console(file=written, force_terminal=False))
    view(events.TextAdded(1, "Tabs or"))
    view(events.Steered(1, "use tabs\x1b[2J", delivered=True))
    view(events.Steered(1, "too late", delivered=False))
    assert written.getvalue().splitlines() == ["Tabs or", "you: use tabs\\u001b[2J"]


def test_a_tool_call_is_shown_on_one_line_of_limited_length() -> None:
    written = io.StringIO()
    view = TerminalView(Console(file=written, force_terminal=False))
    view(events.ToolStarted(1, "1", "n" * 1_000_000, "a\n▸ bash rm\u2028 b " + "t" * 1_000_000))
    (line,) = written.getvalue().splitlines()
    assert line.startswith("▸ " + "n" * 59 + "… a ▸ bash rm b ttt")
    assert len(line) == 2 + 60 + 1 + 1_000


async def test_a_command_in_a_terminal_question_is_shown_without_markup_or_control_characters() -> (
    None
):
    """Neither the command nor the text around it has emoji codes, markup or control characters."""
    written = io.StringIO()
    console = Console(file=written, force_terminal=False)
    question = Question("1", "Run a command in a:bomb:\x1b?", "echo :bomb: [red]", "why\x07", "")
    with closed_stdin():
        assert await TerminalApprover(console).ask(question) == "unanswered"
    assert written.getvalue().splitlines()[:2] == [
        "Run a command in a:bomb:\\u001b? (why\\u0007)",
        "│ echo :bomb: [red]",
    ]


async def test_a_command_of_several_lines_cannot_imitate_the_notes_of_its_question() -> None:
    written = io.StringIO()
    command = "rm -rf dist\nsandboxed (bubblewrap), no network"
    with closed_stdin():
        question = Question("1", "Run a command?", command, "", "")
        await TerminalApprover(Console(file=written, force_terminal=False)).ask(question)
    lines = written.getvalue().splitlines()
    assert lines[1:3] == ["│ rm -rf dist", "│ sandboxed (bubblewrap), no network"]


async def asked(question: Question) -> str:
    """Show a question in a terminal with colours, without an answer."""
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, color_system="standard", width=200)
    with closed_stdin():
        await TerminalApprover(console).ask(question)
    return written.getvalue()


async def test_a_request_to_leave_the_sandbox_is_highlighted() -> None:
    """The question names the requester, and does not claim that the command is sandboxed (U7)."""
    asked_for = CallFacts("bash", "run", command="docker ps", cwd="/w")
    ask = Ask("it needs more", rule="", widening=Widening(unconfined=True))
    question = question_for("1", asked_for, ask, "", "sandboxed (bubblewrap), no network")
    shown = await asked(question)
    (line,) = [one for one in shown.splitlines() if "A yes allows" in one]
    assert line.startswith("\x1b[1;31m")
    assert "no network; this one: outside the sandbox" in shown


async def test_a_question_title_mentions_further_reasons() -> None:
    parts = tuple(CommandPart(x, 0, 1, (x,), "ask", "r", f"does {x}") for x in ("a", "b", "c"))
    ask = Ask("does a", rule="", risky=parts)
    question = question_for("1", CallFacts("bash", "run", command="a;b;c"), ask, "")
    assert "(does a; and 2 more, below)" in await asked(question)


async def test_a_diff_is_coloured_and_the_output_file_is_named() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-[old]\n+new\n"
    edit = CallFacts("edit_file", "edit", ("x.py",))
    shown = (await asked(question_for("1", edit, Ask("why", ""), diff))).splitlines()
    assert "\x1b[31m-[old]\x1b[0m" in shown
    assert "\x1b[32m+new\x1b[0m" in shown
    read = CallFacts("read_file", "read", (".env", ".env"), arguments='{"path": ".env"}')
    assert question_for("1", read, Ask("why", ""), "").detail == ".env"


async def test_an_advance_permission_covers_only_ordinary_questions() -> None:
    approver = AllowingApprover()
    question = Question("1", "Run?", "x", "why", "")
    assert await approver.ask(question) == "beforehand"
    wanted = msgspec.structs.replace(question, wanted=True)
    assert await approver.ask(wanted) == "uncovered"
    assert await approver.ask(msgspec.structs.replace(question, uncovered="no")) == "uncovered"
