"""Texts about a sub-agent in the progress line, on a terminal, and in a chat document."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from indwell.agent.core import events
from indwell.agent.features.subagents.definition import SubagentNames
from indwell.cli.terminal.output import TerminalView
from indwell.lsp.chat.rendering import Rendering

EVIL = "\x1b[2J</details><script>"


def ended(  # noqa: PLR0917 - as the event
    id_: str, name: str, target: str, figure: str, message: str = "", agent: str = "c1"
) -> events.ToolFinished:
    return events.ToolFinished(
        1, id_, name, target, bool(message), figure, 0.1, message, agent=agent
    )


EDITED = events.EditApplied(
    1, "a1-e", "a.py", 1, 0, "+x\n", created=False, verified=True, agent="c1"
)
STORY: tuple[events.Event, ...] = (
    events.ToolStarted(1, "c1", "agent", "explore: find the mistake"),
    events.ToolStarted(1, "a1-r", "grep", "total", agent="c1"),
    events.ToolOutput(1, "a1-r", "noise of a command", agent="c1"),
    ended("a1-r", "grep", "total", "2 matches"),
    ended("a1-x", "bash", EVIL, "failed", EVIL),
    EDITED,
    ended("a1-e", "edit_file", "a.py", "+1"),
    ended("c1", "agent", "explore: find", "3 rounds, 9k tokens", agent=""),
)


@pytest.mark.parametrize(
    ("target", "name"), [("explore: find it", "explore"), ("general: fix: it", "general")]
)
def test_events_of_a_sub_agent_carry_its_name(target: str, name: str) -> None:
    names = SubagentNames()
    assert names.of(events.ToolStarted(1, "c1", "agent", target)) == ""
    assert names.of(events.Notice(1, "info", "x", agent="c1")) == name
    assert names.of(events.Notice(1, "info", "x")) == ""


def test_a_sub_agent_without_a_start_event_is_called_general() -> None:
    assert SubagentNames().of(events.Notice(1, "info", "x", agent="c9")) == "general"


def test_a_sub_agents_tool_call_cannot_rename_another_sub_agent() -> None:
    names = SubagentNames()
    names.of(events.ToolStarted(1, "c1", "agent", "explore: x"))
    names.of(events.ToolStarted(1, "c1", "agent", "user: x", agent="c1"))
    assert names.of(events.Notice(1, "info", "x", agent="c1")) == "explore"


def test_the_terminal_shows_a_sub_agents_calls_without_command_output() -> None:
    written = io.StringIO()
    view = TerminalView(Console(file=written, force_terminal=False, width=200))
    for event in STORY:
        view(event)
    shown = written.getvalue()
    assert "▸ agent explore: find the mistake" in shown
    assert "  ▸ explore: grep total" in shown
    assert "noise" not in shown
    assert "3 rounds, 9k tokens" in shown
    assert "\x1b" not in shown


def test_the_chat_shows_a_finished_sub_agent_folded_into_its_call() -> None:
    rendering = Rendering(1, lambda _path, _line: "")
    for event in STORY[:-1]:
        rendering.take(event)
    assert "grep" not in rendering.text, "until the call has ended"
    rendering.take(STORY[-1])
    text = rendering.text
    outer = text.index("<summary>Sub-agent explore: find · 3 rounds, 9k tokens")
    assert outer < text.index("<summary>Search total · 2 matches") < text.rindex("</details>")
    assert text.count("<details>") == text.count("</details>") == 4
    assert "<script>" not in text
