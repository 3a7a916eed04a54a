"""The typed messages of our own: ``indwell/*`` methods and the arguments of commands.

``METHODS`` is the table that the converter, ``docs/protocol.md`` and the TypeScript mirror are made
or checked from. Field names are single words, so they are the same here and on the wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import attrs
import msgspec
from lsprotocol import types

from indwell.agent.events import Event
from indwell.policy.approvals import Answer
from indwell.sessions.records import Ending


@attrs.frozen
class DidChangeSelectionParams:
    """The user marked something; the text comes from the synced buffer, never from here."""

    uri: str
    version: int
    ranges: tuple[types.Range, ...]


@attrs.frozen
class DidFocusParams:
    """The document the user looks at now, or none."""

    uri: str | None = None


@attrs.frozen
class DidChangeDiagnosticsParams:
    """All problems of one document, of all servers."""

    uri: str
    diagnostics: tuple[types.Diagnostic, ...]


@attrs.frozen
class PromptParams:
    """The user's words; ``session`` is an id, ``new``, or left out for the current one."""

    text: str
    session: str | None = None


@attrs.frozen
class UsageResult:
    """Tokens of a turn; ``cost`` in US dollars, null if the price is unknown."""

    input: int
    cached: int
    output: int
    cost: float | None


@attrs.frozen
class FileResult:
    """Lines added and removed in one file."""

    path: str
    added: int
    removed: int


@attrs.frozen
class TurnResult:
    """How a turn ended; ``draft`` gives words back that never reached the model."""

    session: str
    turn: int
    ending: Ending
    message: str
    answer: str
    draft: str
    rounds: int
    usage: UsageResult
    changes: tuple[FileResult, ...]


@attrs.frozen
class EventParams:
    """One event of a session; ``seq`` counts from 1 without gaps."""

    session: str
    seq: int
    event: Mapping[str, Any]


@attrs.frozen
class AskParams:
    """A question to the user with a line of text as the answer."""

    prompt: str
    placeholder: str = ""


@attrs.frozen
class AskResult:
    """What was typed; null if the user closed the box."""

    text: str | None = None


@attrs.frozen
class PermissionParams:
    """May this run? ``detail`` is exactly what would run, or the diff of the edit."""

    id: str
    title: str
    detail: str
    reason: str
    rule: str


@attrs.frozen
class PermissionResult:
    """The user's answer; anything else than these words counts as ``no``."""

    answer: Answer


@attrs.frozen
class SaveParams:
    """Documents to save before a command runs."""

    uris: tuple[str, ...]


@attrs.frozen
class SaveResult:
    """Those that were saved."""

    saved: tuple[str, ...]


@attrs.frozen
class TaskArguments:
    """The one argument of ``indwell.fix`` and its siblings; plain JSON, all of it optional.

    Attributes:
        uri: The document; the focused one if left out.
        version: Its version when the action was offered.
        range: Where; the selection if left out.
        diagnostics: Problems there.
        text: The user's words, for ``refactor`` and ``ask``.
        wait: Answer only when the turn has ended, with its result.
    """

    uri: str | None = None
    version: int | None = None
    range: types.Range | None = None
    diagnostics: tuple[types.Diagnostic, ...] = ()
    text: str = ""
    wait: bool = False


@attrs.frozen
class ModeArguments:
    """The argument of ``indwell.mode``."""

    mode: Literal["ask", "review", "auto", "plan"]


@attrs.frozen
class StartedResult:
    """What a command answers at once: the session and the number of the turn that began."""

    session: str
    turn: int


class Method(NamedTuple):
    """One row of the table; ``direction`` is seen from the server."""

    direction: Literal["in", "out"]
    params: type
    result: type | None


METHODS: Mapping[str, Method] = {
    "indwell/didChangeSelection": Method("in", DidChangeSelectionParams, None),
    "indwell/didFocus": Method("in", DidFocusParams, None),
    "indwell/didChangeDiagnostics": Method("in", DidChangeDiagnosticsParams, None),
    "indwell/prompt": Method("in", PromptParams, TurnResult),
    "indwell/event": Method("out", EventParams, None),
    "indwell/permission": Method("out", PermissionParams, PermissionResult),
    "indwell/ask": Method("out", AskParams, AskResult),
    "indwell/save": Method("out", SaveParams, SaveResult),
}

TASK_COMMANDS = (
    "indwell.fix",
    "indwell.fixAll",
    "indwell.explain",
    "indwell.document",
    "indwell.test",
    "indwell.refactor",
    "indwell.ask",
)
COMMANDS: Mapping[str, type | None] = {
    **dict.fromkeys(TASK_COMMANDS, TaskArguments),
    "indwell.cancel": None,
    "indwell.newSession": None,
    "indwell.mode": ModeArguments,
}
"""Every command with the type of its one argument."""

EventJson: TypeAlias = Mapping[str, Any]


def event_json(event: Event) -> EventJson:
    """An event as it goes over the wire."""
    plain: EventJson = msgspec.to_builtins(event)
    return plain
