"""The JSON object that a hook reads on standard input, for each event. Pure.

Texts are as the model was told them: without the secrets in them.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from indwell.policy.call_facts import Effect
from indwell.sessions.records import Ending
from indwell.settings.model import Mode

MOST_CHARACTERS = 100_000  # of a result, a diff or an answer; arguments are never cut


class _Payload(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """What all events say.

    Attributes:
        session: Its id.
        turn: Of the session, 1-based.
        cwd: Absolute; where the hook runs.
        mode: As the user has set it now.
        in_agent: A sub-agent of the turn does it.
    """

    session: str
    turn: int
    cwd: str
    mode: Mode
    in_agent: bool


class PromptSubmitted(_Payload, frozen=True, kw_only=True, tag="prompt_submitted"):
    """The user has said something.

    Attributes:
        words: As typed.
        attached: What goes with them, a few words each.
        steering: They were said while the turn ran.
    """

    words: str
    attached: tuple[str, ...] = ()
    steering: bool = False


class BeforeTool(_Payload, frozen=True, kw_only=True, tag="before_tool"):
    """The model calls a tool; nobody has decided yet whether it may.

    Attributes:
        call: Its id.
        tool: Its name.
        effect: Does it read, edit or run?
        arguments: As the model wrote them, whole.
    """

    call: str
    tool: str
    effect: Effect
    arguments: Any


class AfterTool(_Payload, frozen=True, kw_only=True, tag="after_tool"):
    """A call has run.

    Attributes:
        call: Its id.
        tool: Its name.
        arguments: As the model wrote them, whole.
        result: What the model reads of it; cut if it is long.
        is_error: Did it fail?
    """

    call: str
    tool: str
    arguments: Any
    result: str
    is_error: bool


class EditAppliedPayload(_Payload, frozen=True, kw_only=True, tag="edit_applied"):
    """A file reads differently now, in the editor and on disk.

    Attributes:
        call: The id of the call that did it.
        tool: Its name.
        path: As shown to people: relative to its folder of the workspace.
        file: Absolute.
        diff: Unified; cut if it is long.
        created: Was there no such file before?
    """

    call: str
    tool: str
    path: str
    file: str
    diff: str
    created: bool


class TurnEnd(_Payload, frozen=True, kw_only=True, tag="turn_end"):
    """The model is content, or a limit is reached.

    Attributes:
        ending: As in ``TurnFinished``.
        message: Why, if it is not done.
        answer: The model's last words; cut if they are long.
        files: Paths that the turn has changed.
        again: A hook has asked to go on in this turn already; nobody can ask again.
    """

    ending: Ending
    message: str
    answer: str
    files: tuple[str, ...] = ()
    again: bool = False


class Compaction(_Payload, frozen=True, kw_only=True, tag="compaction"):
    """Older parts of the conversation are shorter now.

    Attributes:
        before: Tokens of the conversation before.
        after: The same now.
    """

    before: int
    after: int


Payload: TypeAlias = (
    PromptSubmitted | BeforeTool | AfterTool | EditAppliedPayload | TurnEnd | Compaction
)
EventName: TypeAlias = Literal[
    "prompt_submitted", "before_tool", "after_tool", "edit_applied", "turn_end", "compaction"
]


def event_of(payload: Payload) -> EventName:
    """The name of the event, as settings have it."""
    name: EventName = payload.__struct_config__.tag  # type: ignore[assignment]
    return name


def encoded(payload: Payload) -> bytes:
    """One line of JSON."""
    return msgspec.json.encode(payload) + b"\n"


def parsed(arguments: str) -> object:
    """Arguments of a call as JSON; as text if they are none, which the tool then refuses."""
    try:
        return msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, RecursionError):
        return arguments


def cut(text: str) -> str:
    """As much of a text as a payload holds."""
    if len(text) <= MOST_CHARACTERS:
        return text
    left = len(text) - MOST_CHARACTERS
    return f"{text[:MOST_CHARACTERS]}\n[… {left:,} characters left out …]"
