"""Defines ``Feature``: the optional functions (slots) by which a feature extends a turn.

The loop knows no feature by name. It calls the slots of ``Feature`` at fixed moments; a slot that
is unset is never called. A feature hides its state. State that survives a restart goes into the log
as records and comes back through ``DurableState``. If a feature fails, ``session_features`` decides
what happens.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from indwell.agent.core.events import EditApplied, Event, Listener
from indwell.agent.core.prompt import Prompt
from indwell.messages import Message, Request, Source, Text, ToolResult, ToolUse
from indwell.sessions.records import Ending, Record
from indwell.tools.base import Call, Outcome, Tool
from indwell.workspace.base import AppliedChange

SessionT = TypeVar("SessionT")  # The type is a variable, because ``session`` imports this module.
StateT = TypeVar("StateT")


@dataclass(frozen=True, slots=True)
class Moment(Generic[SessionT]):
    """The state of a session when a feature is called.

    Attributes:
        session: The session of the feature.
        turn: The number of the running turn, or of the last turn if none runs.
        emit: Receives the events of the turn.
    """

    session: SessionT
    turn: int
    emit: Listener


class Reminder(NamedTuple):
    """Blocks for the end of the next request; ``told`` is called after they are queued.

    A preview of the request never calls ``told``, so a preview changes no state.
    """

    blocks: tuple[Text, ...]
    told: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DurableState(Generic[StateT]):
    """Saves and restores a feature's state, across a restart or into a new session.

    Attributes:
        read: Returns the state that a log describes, given the records of the current branch and
            all records. The function is pure and runs in a thread.
        now: Returns the present state.
        restore: Continues with a state that was read from the session's own log.
        inherit: Copies the state of another session whose task this session continues.
    """

    read: Callable[[Sequence[Record], Sequence[Record]], StateT]
    now: Callable[[], StateT]
    restore: Callable[[StateT], None]
    inherit: Callable[[StateT], None]


class Checked(NamedTuple):
    """A feature's decision about a prompt that is not sent yet: a refusal, or blocks to attach."""

    reason: str = ""
    blocks: tuple[Text, ...] = ()


class Ended(NamedTuple):
    """How a turn ended.

    Attributes:
        words: The user's prompt.
        ending: How the turn ended.
        message: The message for the user.
    """

    words: str
    ending: Ending
    message: str


class SteeredSlot(Protocol):
    """The type of the slot ``Feature.steered``."""

    def __call__(self, words: str, *, numbered: bool) -> bool:
        """Receive the user's message; return True if the model must not get the message."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature(Generic[SessionT]):
    """One feature of a session.

    Each function runs on the event loop, and may be called again before an earlier call has ended,
    because tool calls run in parallel.

    Attributes:
        name: The feature's name in error messages, and the key of its state.
        tools: The tools for the model; they stay the same while the session is open.
        late_tools: Tools that come and go while the session is open, such as those of an external
            server. Returns the present tools in a stable order. The loop calls this often, so the
            function only reads memory. The loop decides how the model learns of a change.
        door: The object that user interfaces such as ``lsp`` and ``cli`` use; they find the object
            by its type.
        commands: Names of commands that the user may type after a ``/``, without the ``/``.
        labels: Returns displayed names of the blocks that the user's text attaches.
        answer_words: Returns the answer to a text that needs no model, or None for all other texts.
            The slot also gets each text that the user sends to the running turn, and the answer
            then comes at once. A ``UserError`` ends the turn that began with the text, and the text
            is not sent.
        refuse_words: Returns why the user's text may not be sent, or empty if it may be sent. The
            function does not access the disk.
        check_words: Returns whether the text may go to the model. Called before anything is queued.
        check_steering: Raises ``UserError`` if the user's messages to the running turn may not go
            to the model. The error ends the turn.
        begin: Looks for changes since the last turn, when a turn begins.
        prompt_blocks: Returns blocks that are sent with the user's text.
        remind: Returns blocks for the next request, or for a preview of the request.
        before_tool: Runs before the permission question; raises ``ToolError`` to stop the call.
        after_edit: Called when a tool call has changed files, before ``after_tool``.
        after_tool: Called when a tool call has ended, with the edits that the call reported.
        after_reply: Called when all calls of a reply have ended, with the outcomes by call id.
            Returns text to add to results, by call id.
        files_changed: Called when files may have changed: a call reported edits, or a command of a
            hook, a check or the background has ended. The slot is synchronous, because a turn may
            be cancelled at that moment.
        observe: Receives each event of a turn, after the client. The slot must not emit events.
        before_request: Called before each request to the model, also of a sub-agent.
        answered: Called when the model has answered a request and so knows the content of the
            request.
        on_stop: Called when the model wants to end the turn; True continues the turn.
        result: Replaces the result of a call of one of the feature's tools, given the conversation
            and the other results of the same reply. The slot is synchronous, so that two parallel
            calls see each other's results.
        tell: Writes changed state to the log and informs the client. Called after a call of one of
            the feature's tools, and when a turn begins.
        around: Returns an async context in which all rounds of a turn run.
        steered: Called when the user says something to the running turn. True if the feature
            handles the message, so that the model does not get it. ``numbered`` is explained in
            ``Session.steer``.
        ends_turn: Decides whether a turn ends after the present results, because the user is next.
            Returns an answer in case the model gives no answer, or None if the turn continues.
        end: Called when the rounds of a turn have ended; not after a cancellation or a fault.
        changed: Returns the files that a turn has changed. Before a command runs, the loop marks
            the state of these files.
        verified: Returns a sentence on whether the changes of a turn are verified, or empty if
            there are no changes.
        after_compaction: Called when the conversation has become shorter, with the tokens before
            and after.
        unpinned: Returns the kinds of pinned blocks that compaction may cut all the same.
        compacted: Called after a compaction, when the model may no longer see earlier content.
        state: Saves and restores the feature's state across a restart.
        for_child: Returns the feature for a sub-agent, with separate state, or None if sub-agents
            do not have the feature. If the slot is unset, sub-agents share the session's feature.
        close: Called when the session ends.
    """

    name: str
    tools: tuple[Tool[Any], ...] = ()
    late_tools: Callable[[], Sequence[Tool[Any]]] | None = None
    door: object = None
    commands: Callable[[], Collection[str]] | None = None
    labels: Callable[[str], tuple[str, ...]] | None = None
    answer_words: Callable[[str], Awaitable[str | None]] | None = None
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
    observe: Callable[[Moment[SessionT], Event], None] | None = None
    before_request: Callable[[Moment[SessionT], Request], None] | None = None
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
