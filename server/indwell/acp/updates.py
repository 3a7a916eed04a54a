"""Translates events of a turn into updates of the Agent Client Protocol.

The protocol cannot express versions, verdicts on hunks, or compactions; `docs/acp.md` describes how
a client shows these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from acp import schema
from indwell.agent.core import events
from indwell.agent.core.events import compaction_words
from indwell.context.task_state import TodoItem, TodoState
from indwell.context.untrusted_text import short_line, visible
from indwell.lazy_pattern import lazy_pattern

Update: TypeAlias = (
    schema.UserMessageChunk
    | schema.AgentMessageChunk
    | schema.AgentThoughtChunk
    | schema.ToolCallStart
    | schema.ToolCallProgress
    | schema.AgentPlanUpdate
    | schema.AvailableCommandsUpdate
    | schema.CurrentModeUpdate
    | schema.ConfigOptionUpdate
    | schema.SessionInfoUpdate
    | schema.UsageUpdate
)


@dataclass(frozen=True, slots=True)
class LargeUpdate:
    """An update that takes long to make; a thread makes the update right before it is sent.

    Attributes:
        make: Makes the update.
        n_characters: About how many characters the update has.
    """

    make: Callable[[], Update]
    n_characters: int


# A longer diff takes over 1 ms to split into old and new text; 3 million characters took 26 ms.
LARGE_CHARACTERS = 100_000
TITLE_CHARACTERS = 200  # the limit of characters for a call's title, which clients show on one line
OUTPUT_CHARACTERS = 20_000  # the limit of characters for a command's output; the end is kept
OUTPUT_STEP = 2_000  # The output is sent again after 2,000 new characters.
RESULT_CHARACTERS = 20_000  # the limit of characters for a stored result that is read from the log

_KINDS: Mapping[str, schema.ToolKind] = {
    "read_file": "read",
    "edit_file": "edit",
    "write_file": "edit",
    "glob": "search",
    "grep": "search",
    "navigate": "search",
    "bash": "execute",
    "commands": "execute",
    "web_fetch": "fetch",
    "agent": "think",
    "ask_user": "think",
    "plan": "think",
    "todo": "think",
}
_STATUSES: Mapping[TodoState, schema.PlanEntryStatus] = {
    "open": "pending",
    "doing": "in_progress",
    "done": "completed",
}
_LINE = lazy_pattern(r"[^\n]*\n|[^\n]+")
_PLACE = lazy_pattern(r"(?P<path>.*?)(?: (?P<line>\d{1,7})(?:[-–]\d{1,7})?)?", re.DOTALL)
_HUNK = lazy_pattern(r"^@@ -\d+(?:,\d+)? \+(?P<line>\d+)(?:,\d+)? @@")


def text_block(text: str) -> schema.TextContentBlock:
    """Return text as a content block."""
    return schema.TextContentBlock(type="text", text=text)


def text_content(text: str) -> schema.ContentToolCallContent:
    """Return text as the content of a tool call."""
    return schema.ContentToolCallContent(type="content", content=text_block(text))


def said(text: str) -> schema.AgentMessageChunk:
    """Return an update that adds text to the answer."""
    return schema.AgentMessageChunk(session_update="agent_message_chunk", content=text_block(text))


def remark(words: str, call: str) -> schema.ToolCallStart:
    """Return a remark by Indwell as a tool-call card, which text by a model cannot imitate.

    Args:
        words: The remark.
        call: The id of the tool-call card.
    """
    words = visible(words)
    title = short_line(f"Indwell: {words}", TITLE_CHARACTERS)
    is_whole = title == f"Indwell: {words}"
    return schema.ToolCallStart(
        session_update="tool_call",
        tool_call_id=call,
        title=title,
        kind="other",
        status="completed",
        content=None if is_whole else [text_content(_fenced(words))],
    )


def thought(text: str) -> schema.AgentThoughtChunk:
    """Return an update that adds text to the model's reasoning."""
    return schema.AgentThoughtChunk(session_update="agent_thought_chunk", content=text_block(text))


def kind_of(tool: str) -> schema.ToolKind:
    """Return the kind of a tool; ``other`` for a tool of an MCP server."""
    return _KINDS.get(tool, "other")


def call_title(tool: str, target: str) -> str:
    """Return the title of a tool call: the tool and its target."""
    return short_line(f"{tool} {target}".strip(), TITLE_CHARACTERS)


class SessionUpdates:
    """Turns the events of one session into updates, and keeps the output of running commands.

    Args:
        root: The folder of the session, to which shown paths are relative.
        is_stored: Whether the events come from a log; the user's prompts are then sent, too.
    """

    def __init__(self, root: Path, *, is_stored: bool = False) -> None:
        self._root = root
        self._is_stored = is_stored
        self._output: dict[str, str] = {}
        self._unsent: dict[str, int] = {}
        self._diffs: dict[str, list[Any]] = {}
        self._large: dict[str, int] = {}  # The characters of large diffs, by call.
        self._n_remarks = 0
        self.window = 0  # the size of the model's context window in tokens, or 0 if unknown

    def of_log(self) -> SessionUpdates:
        """Return an object for stored events of the same session."""
        return SessionUpdates(self._root, is_stored=True)

    def remark(self, words: str) -> Update:
        """Return an update with a remark by Indwell."""
        self._n_remarks += 1
        source = "stored" if self._is_stored else "live"
        return remark(words, f"indwell-{source}-{self._n_remarks}")

    def of_event(  # noqa: C901, PLR0912 - one flat table of events
        self, event: events.Event
    ) -> Iterator[Update | LargeUpdate]:
        """Yield the updates for one event, if a client can show the event.

        Large updates must be made in order.
        """
        match event:
            case events.TurnStarted() if not event.agent:
                yield from self._started(event)
            case events.TextAdded(text=text, restart=restart):
                yield said("\n\n*The answer starts again.*\n\n" if restart else text)
            case events.ThinkingAdded(text=text):
                yield thought(text)
            case events.ToolStarted():
                yield self._call(event)
            case events.ToolOutput(id=id_, text=text):
                yield from self._more_output(id_, text)
            case events.EditApplied(id=id_, diff=diff):
                n_characters = self._large.get(id_, 0) + len(diff)
                if n_characters <= LARGE_CHARACTERS:
                    yield self._edit(event)
                    return
                self._large[id_] = n_characters
                yield LargeUpdate(partial(self._edit, event), n_characters)
            case events.ToolFinished(id=id_) if id_ in self._large:
                yield LargeUpdate(partial(self._finished, event), self._large.pop(id_))
            case events.ToolFinished():
                yield self._finished(event)
            case events.TodoChanged(items=items):
                yield _plan_of(items)
            case events.PlanChanged(text=text, state=state) if text:
                yield self.remark(f"plan ({state})")
                yield said(f"{text}\n\n")
            case events.UsageReported() if not event.agent and self.window:
                yield self._usage(event)
            case events.Notice(level=level, message=message) if level != "info":
                yield self.remark(message)
            case events.Compacted(before=before, after=after, note=note):
                yield thought(f"\n{compaction_words(before, after, note)}\n")
            case events.Steered(text=text, delivered=True) if self._is_stored:
                yield _users(text)
            case _:
                pass

    def _started(self, event: events.TurnStarted) -> Iterator[Update]:
        if self._is_stored and event.words:
            yield _users(event.words)
        elif event.turn == 1 and event.title:
            yield schema.SessionInfoUpdate(
                session_update="session_info_update", title=short_line(event.title, 80)
            )

    def _call(self, event: events.ToolStarted) -> schema.ToolCallStart:
        title = call_title(event.name, event.target)
        return schema.ToolCallStart(
            session_update="tool_call",
            tool_call_id=event.id,
            title=f"sub-agent: {title}" if event.agent else title,
            kind=kind_of(event.name),
            status="in_progress",
            locations=self._locations(event),
            raw_input=_arguments(event.arguments),
        )

    def _locations(self, event: events.ToolStarted) -> list[schema.ToolCallLocation] | None:
        if kind_of(event.name) not in {"read", "edit"} or not event.target:
            return None
        place = _PLACE.fullmatch(event.target)
        assert place is not None, "anything matches"
        line = int(place["line"]) if place["line"] else None
        return [schema.ToolCallLocation(path=self._absolute(place["path"]), line=line)]

    def _absolute(self, shown: str) -> str:
        return str(self._root / shown)

    def _more_output(self, call: str, text: str) -> Iterator[Update]:
        """Send all output after each step, because the protocol cannot append output."""
        whole = self._output.get(call, "") + visible(text)
        self._output[call] = whole[-OUTPUT_CHARACTERS:]
        unsent = self._unsent.get(call, OUTPUT_STEP) + len(text)
        self._unsent[call] = unsent
        if unsent >= OUTPUT_STEP:
            self._unsent[call] = 0
            yield _progress(call, content=[text_content(_fenced(self._output[call]))])

    def _edit(self, event: events.EditApplied) -> schema.ToolCallProgress:
        parts, lines = changes_in(event.diff, is_new=event.created)
        path = self._absolute(event.path)
        diffs = self._diffs.setdefault(event.id, [])
        diffs += [
            schema.FileEditToolCallContent(type="diff", path=path, old_text=old, new_text=new)
            for old, new in parts
        ]
        places = [schema.ToolCallLocation(path=path, line=line) for line in lines[:1]]
        return _progress(event.id, content=list(diffs), locations=places or None)

    def _finished(self, event: events.ToolFinished) -> schema.ToolCallProgress:
        output = self._output.pop(event.id, "")
        self._unsent.pop(event.id, None)
        content: list[Any] = self._diffs.pop(event.id, [])
        shown = output or (event.result or "")[:RESULT_CHARACTERS]
        if shown.strip():
            content.append(text_content(_fenced(visible(shown))))
        if event.message:
            content.append(text_content(visible(event.message)))
        title = call_title(event.name, event.target)
        named = f"sub-agent: {title}" if event.agent else title
        return _progress(
            event.id,
            title=f"{named} · {event.figure}" if event.figure else named,
            status="failed" if event.is_error else "completed",
            content=content or None,
        )

    def _usage(self, event: events.UsageReported) -> schema.UsageUpdate:
        cost = event.total_cost
        return schema.UsageUpdate(
            session_update="usage_update",
            used=event.usage.input + event.usage.output,
            size=self.window,
            cost=None if cost is None else schema.Cost(amount=cost, currency="USD"),
        )


def changes_in(
    diff: str, *, is_new: bool
) -> tuple[Sequence[tuple[str | None, str]], Sequence[int]]:
    """Return the old and new text of each hunk in a unified diff, and the hunks' lines.

    The old text is None for a new file.
    """
    parts: list[tuple[str | None, str]] = []
    lines: list[int] = []
    old: list[str] = []
    new: list[str] = []

    def end() -> None:
        if old or new:
            before = None if is_new else "".join(old)
            parts.append((before, "".join(new)))
        old.clear()
        new.clear()

    # only ``\n`` ends a line of a diff; other line breaks are text
    for found in _LINE.finditer(diff):
        line = found[0]
        begin = _HUNK.match(line)
        if begin is not None:
            end()
            lines.append(int(begin["line"]))
        elif lines and line[:1] in {" ", "-"}:
            old.append(line[1:])
            if line[0] == " ":
                new.append(line[1:])
        elif lines and line[:1] == "+":
            new.append(line[1:])
    end()
    return parts, lines


def _progress(call: str, **fields: Any) -> schema.ToolCallProgress:  # noqa: ANN401 - as the SDK has
    return schema.ToolCallProgress(session_update="tool_call_update", tool_call_id=call, **fields)


def ended(call: str) -> schema.ToolCallProgress:
    """Return an update that ends a tool call made only for a question."""
    return _progress(call, status="completed")


def _users(words: str) -> schema.UserMessageChunk:
    return schema.UserMessageChunk(session_update="user_message_chunk", content=text_block(words))


def _plan_of(items: Sequence[TodoItem]) -> schema.AgentPlanUpdate:
    entries = [
        schema.PlanEntry(content=visible(one.text), priority="medium", status=_STATUSES[one.state])
        for one in items
    ]
    return schema.AgentPlanUpdate(session_update="plan", entries=entries)


def _fenced(text: str) -> str:
    """Return text in a Markdown code fence that the text itself cannot close."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _arguments(written: str) -> Any:  # noqa: ANN401 - whatever the model wrote
    if not written:
        return None
    try:
        return json.loads(written)
    except ValueError:
        return written
