"""The seam between the loop of a turn and its features: the slots that a feature may fill.

The loop knows no feature by name. It calls the slots below at fixed moments, and a slot that is
unset is never called. A feature hides its state. The session's part of that state goes into the log
as records and comes back through ``DurableState``.
`session_features` describes the effect of a fault in a feature.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from indwell.agent.core.events import EditApplied, Listener
from indwell.agent.core.prompt import Prompt
from indwell.messages import Message, Source, Text, ToolResult, ToolUse
from indwell.sessions.records import Ending, Record
from indwell.tools.base import Call, Outcome, Tool
from indwell.workspace.base import AppliedChange

SessionT = TypeVar("SessionT")  # Session holds its features, so this module cannot name it
StateT = TypeVar("StateT")


@dataclass(frozen=True, slots=True)
class Moment(Generic[SessionT]):
    """The state of a session when a feature is called.

    Attributes:
        session: The session of the feature.
        turn: The number of the running turn, or of the last one.
        emit: Takes the events of the turn.
    """

    session: SessionT
    turn: int
    emit: Listener


class Reminder(NamedTuple):
    """Blocks for the end of the next request, and a function to call once they are queued, if any.

    A preview of the request asks for the same blocks and never calls ``told``, so a preview changes
    no state.
    """

    blocks: tuple[Text, ...]
    told: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DurableState(Generic[StateT]):
    """Saves and restores a feature's state, across a restart or into a new session.

    Attributes:
        read: The state that a log describes: from the records where the conversation continues, and
            from all records. Pure; it runs in a thread.
        now: The state as it is.
        restore: Continue with a state that was read from the session's own log.
        inherit: Take over the state of another session, whose task this session continues.
    """

    read: Callable[[Sequence[Record], Sequence[Record]], StateT]
    now: Callable[[], StateT]
    restore: Callable[[StateT], None]
    inherit: Callable[[StateT], None]


class Checked(NamedTuple):
    """A feature's answer about a prompt before sending: a refusal, or attached blocks."""

    reason: str = ""
    blocks: tuple[Text, ...] = ()


class Ended(NamedTuple):
    """How a turn ended.

    Attributes:
        words: The user's words that it began with.
        ending: How the turn ended.
        message: The message for the user.
    """

    words: str
    ending: Ending
    message: str


class SteeredSlot(Protocol):
    """See ``Feature.steered``."""

    def __call__(self, words: str, *, numbered: bool) -> bool:
        """Receive the prompt; True if nobody else gets it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature(Generic[SessionT]):
    """One feature of a session.

    Each function runs on the event loop, and may be called again before an earlier call has ended,
    because tool calls run in parallel.

    Attributes:
        name: For messages about a fault in the feature, and the key of its state.
        tools: The tools for the model, for as long as the session is open.
        late_tools: Tools that come and go while the session is open, such as those of an external
            server. Returns the present tools in a stable order. Called often, so it only reads
            memory. The feature does not decide how the model learns of a change.
        door: The object that front doors use; they find it by its type.
        commands: Words that the user may put behind a ``/``, without the ``/``.
        labels: Names, for people, of blocks that a name in the user's words attaches.
        refuse_words: Why the user's words are not sent; empty if they may be. No disk is touched.
        check_words: May the words go to the model? Asked before anything is queued.
        check_steering: May what the user said to the running turn go to the model? Raises
            ``UserError`` if not, which ends the turn.
        begin: A turn begins: look for changes since the last one.
        prompt_blocks: Blocks that are sent with the user's words.
        remind: Blocks for the next request, in requests and in previews of them.
        before_tool: Runs before the permission question; raises ``ToolError`` to stop the call.
        after_edit: A call has changed these files; called before ``after_tool``.
        after_tool: A call that ran has ended; with the edits that it reported.
        after_reply: All calls of a reply have ended, with their outcomes by the ids of the calls;
            gives words to add to results, by id.
        files_changed: Files may have changed: a call reported edits, or a command of a hook, a
            check or the background has ended. Synchronous, because a turn may be cancelled there.
        answered: The model has answered a request, so it knows what that request said.
        on_stop: The model wants to end the turn; True lets the turn go on.
        result: Replace the result of a call of one of its tools, given the conversation and the
            other results of the same reply. Synchronous, so that two parallel calls see each
            other's results.
        tell: Write changed state to the log and tell the client; after a call of one of its tools
            and when a turn begins.
        around: An async context in which all rounds of a turn run.
        steered: The user says something to the running turn; True if the feature takes the words,
            so that they do not go to the model. ``numbered`` as in ``Session.steer``.
        ends_turn: Whether the turn with this number ends after these results, because the user is
            next. Returns the turn's answer in case the model gave none; None if the turn continues.
        end: The rounds of a turn have ended, unless they were cancelled or failed by a fault.
        changed: Files that the turn with this number has changed. A command that runs on these
            files keeps marks of their earlier state.
        verified: Whether the changes of the turn with this number are verified, in words for its
            end; empty if there are no changes.
        after_compaction: The conversation is shorter; with its tokens before and after.
        unpinned: Kinds of blocks that compaction may cut, though they are pinned.
        compacted: The conversation was compacted, so the model may no longer see what it saw.
        state: How the state survives a restart.
        for_child: The feature as a sub-agent has it, with a state of its own; None as a result
            means that sub-agents do not have it. Unset, they share the session's.
        close: The session ends.
    """

    name: str
    tools: tuple[Tool[Any], ...] = ()
    late_tools: Callable[[], Sequence[Tool[Any]]] | None = None
    door: object = None
    commands: Callable[[], Collection[str]] | None = None
    labels: Callable[[str], tuple[str, ...]] | None = None
    refuse_words: Callable[[str], str] | None = None
    check_words: Callable[[Moment[SessionT], Prompt], Awaitable[Checked]] | None = None
    check_steering: Callable[[Moment[SessionT]], Awaitable[None]] | None = None
    begin: Callable[[Moment[SessionT]], Awaitable[None]] | None = None
    before_tool: Callable[[Moment[SessionT], ToolUse, Call], Awaitable[None]] | None = None
    after_edit: Callable[[Moment[SessionT], Sequence[AppliedChange]], Awaitable[None]] | None = None
    after_tool: (
        Callable[[Moment[SessionT], ToolUse, Call, Outcome, Sequence[EditApplied]], Awaitable[None]]
        | None
    ) = None
    after_reply: (
        Callable[
            [Moment[SessionT], Sequence[ToolUse], Mapping[str, Outcome]],
            Awaitable[Mapping[str, str]],
        ]
        | None
    ) = None
    files_changed: Callable[[Moment[SessionT]], None] | None = None
    answered: Callable[[Moment[SessionT]], Awaitable[None]] | None = None
    on_stop: Callable[[Moment[SessionT]], Awaitable[bool]] | None = None
    prompt_blocks: Callable[[Moment[SessionT], Prompt], Awaitable[tuple[Text, ...]]] | None = None
    remind: Callable[[Moment[SessionT]], Awaitable[Reminder]] | None = None
    result: Callable[[Outcome, Sequence[Message], Collection[ToolResult]], Outcome] | None = None
    tell: Callable[[Moment[SessionT]], Awaitable[None]] | None = None
    around: Callable[[Moment[SessionT]], AbstractAsyncContextManager[None]] | None = None
    steered: SteeredSlot | None = None
    ends_turn: Callable[[int], str | None] | None = None
    end: Callable[[Moment[SessionT], Ended], Awaitable[None]] | None = None
    changed: Callable[[int], Collection[Path]] | None = None
    verified: Callable[[int], str] | None = None
    after_compaction: Callable[[Moment[SessionT], int, int], Awaitable[None]] | None = None
    unpinned: Callable[[], frozenset[Source]] | None = None
    compacted: Callable[[], None] | None = None
    state: DurableState[Any] | None = None
    for_child: Callable[[], Feature[SessionT] | None] | None = None
    close: Callable[[], Awaitable[None]] | None = None
