from __future__ import annotations

import io

from rich.console import Console

from indwell.agent import events
from indwell.cli.terminal import TerminalView
from indwell.messages import Usage


def test_nothing_of_a_turn_can_drive_the_terminal() -> None:
    written = io.StringIO()
    view = TerminalView(Console(file=written, force_terminal=False))
    evil = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\u202e"
    view(events.Text(1, evil))
    view(events.ToolStarted(1, "1", "bash", evil))
    view(events.ToolOutput(1, "1", evil))
    view(events.EditApplied(1, "2", "a.py", 1, 0, f"+{evil}\n", created=False, verified=True))
    view(
        events.ToolFinished(1, "1", "bash", evil, is_error=True, figure="", seconds=0, message=evil)
    )
    view(events.Notice(1, "warning", evil))
    assert not {"\x1b", "\x07", "\u202e"} & set(written.getvalue())
    assert written.getvalue().count("\\u001b") == 12


def finished(**fields: object) -> events.TurnFinished:
    values = {
        "turn": 1, "ending": "done", "message": "", "answer": "", "draft": "", "rounds": 3,
        "usage": Usage(12_000, cached=9_000, output=340), "cost": 0.0123, "seconds": 4.2,
    }  # fmt: skip
    return events.TurnFinished(**(values | fields))  # type: ignore[arg-type] # as named


def test_the_end_of_a_turn_is_a_receipt() -> None:
    written = io.StringIO()
    view = TerminalView(Console(file=written, force_terminal=False, width=200))
    view(finished())
    view(finished(usage=Usage(10, output=2, reported=False), cost=None, rounds=1))
    assert written.getvalue().splitlines() == [
        "3 rounds · 12,000 tokens in (9,000 cached), 340 out · $0.0123 · 4.2 s",
        "1 round · 10 tokens in (0 cached), 2 out, estimated · cost unknown · 4.2 s",
    ]


def test_words_in_the_middle_of_a_turn_are_shown_where_they_were_heard() -> None:
    written = io.StringIO()
    view = TerminalView(Console(file=written, force_terminal=False))
    view(events.Text(1, "Tabs or"))
    view(events.Steered(1, "use tabs\x1b[2J", delivered=True))
    view(events.Steered(1, "too late", delivered=False))
    assert written.getvalue().splitlines() == ["Tabs or", "you: use tabs\\u001b[2J"]
