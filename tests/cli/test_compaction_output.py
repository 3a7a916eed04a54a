"""Messages about compaction at a terminal: one for each run, and only a few per turn."""

from __future__ import annotations

import io

from rich.console import Console

from indwell.agent.core import events
from indwell.cli.terminal.output import HINT, MOST_TOLD, TerminalView
from indwell.messages import Usage


def shown(*told: events.Event) -> list[str]:
    written = io.StringIO()
    view = TerminalView(Console(file=written, force_terminal=False, width=300))
    for event in told:
        view(event)
    return written.getvalue().splitlines()


def end(message: str = "", rounds: int = 0) -> events.TurnFinished:
    return events.TurnFinished(1, "done", message, "", "", rounds, Usage(), 0.0, 1.0)


def test_steps_of_one_run_are_one_line_with_the_total() -> None:
    lines = shown(
        events.Notice(1, "info", "summing up turn 1"),
        events.Compacted(1, "digest", 900, 700, "3 results"),
        events.Notice(1, "info", "summing up turn 2"),
        events.Compacted(1, "regions", 700, 400, ""),
        events.ToolStarted(1, "a", "grep", "x"),
    )
    assert lines == [
        "summing up turn 1",
        "summing up turn 2",
        "earlier parts were shortened: 900 → 400 tokens; 3 results",
        "▸ grep x",
    ]


def test_a_requested_compaction_is_reported_only_at_the_end() -> None:
    lines = shown(events.Compacted(1, "digest", 900, 400, "3 results"), end("shorter now"))
    assert lines == ["shorter now; 3 results"]


def test_after_several_compactions_in_a_turn_the_terminal_shows_one_hint_only() -> None:
    rounds = [
        one
        for number in range(40)
        for one in (
            events.Notice(1, "info", "summing up x"),
            events.Compacted(1, "digest", 900, 400, ""),
            events.ToolStarted(1, str(number), "grep", "x"),
        )
    ]
    started = events.TurnStarted(1, "", "", "m")
    lines = [one for one in shown(started, *rounds, end(rounds=40)) if "grep" not in one]
    assert len([one for one in lines if "earlier parts" in one]) == MOST_TOLD
    assert len([one for one in lines if one == HINT]) == 1
    assert len([one for one in lines if "summing up" in one]) <= MOST_TOLD + 1
    again = shown(*rounds, started, *rounds[:3])
    assert "earlier parts" in again[-2]
