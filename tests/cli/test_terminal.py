from __future__ import annotations

import io

from rich.console import Console

from indwell.agent import events
from indwell.cli.terminal import TerminalView


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
