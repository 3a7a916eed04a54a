"""The seam between the loop of a turn and its features: the slots that a feature may fill.

The loop knows no feature by name. It calls the slots below at fixed moments, and a slot that is
unset is never called. A feature keeps its state to itself; what of it belongs to the session goes
into the log as records and comes back through ``DurableState``.
"""

from __future__ import annotations

from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from indwell.agent.core.events import EditApplied, Listener
from indwell.agent.core.prompt import Prompt
from indwell.messages import Message, Source, Text, ToolResult, ToolUse
from indwell.sessions.records import Ending, Record
from indwell.tools.base import Call, Outcome, Tool

SessionT = TypeVar("SessionT")  # Session holds its features, so this module cannot name it
StateT = TypeVar("StateT")
DoorT = TypeVar("DoorT")


@dataclass(frozen=True, slots=True)
class Moment(Generic[SessionT]):
    """Where a session stands when a feature is called.

    Attributes:
        session: Whose feature it is.
        turn: The number of the running turn, or of the last one.
        emit: Takes the events of the turn.
    """

    session: SessionT
    turn: int
    emit: Listener


def _nothing() -> None:
    """Nobody has to hear that a reminder was queued."""


class Reminder(NamedTuple):
    """Blocks for the end of the next request, and what to do once they are queued there.

    A preview of the request asks for the same blocks and never calls ``told``, so looking at what
    the model will read changes nothing.
    """

    blocks: tuple[Text, ...]
    told: Callable[[], None] = _nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class DurableState(Generic[StateT]):
    """How the state of a feature survives a restart and goes along to a new session.

    Attributes:
        read: The state that a log describes: from the records the conversation goes on from, and
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
    """What a feature says of a prompt before it is sent: why not, or what goes along with it."""

    reason: str = ""
    blocks: tuple[Text, ...] = ()


class Ended(NamedTuple):
    """How a turn ended.

    Attributes:
        words: The user's words that it began with.
        ending: How.
        message: What the user reads of it.
    """

    words: str
    ending: Ending
    message: str


class SteeredSlot(Protocol):
    """See ``Feature.steered``."""

    def __call__(self, words: str, *, numbered: bool) -> bool:
        """Hear the words; True if they go no further."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature(Generic[SessionT]):
    """One feature of a session.

    Each function runs on the event loop, and may be called again before an earlier call has ended,
    because tool calls run in parallel.

    Attributes:
        name: For messages about a fault in the feature, and the key of its state.
        tools: What the model can call, for as long as the session is open.
        door: What front doors use of the feature; they find it by its type.
        commands: Words that the user may put behind a ``/``, without the ``/``.
        labels: What goes with the user's words because of a name in them, for people.
        readable: Folders outside the workspace that the agent may read.
        refuse_words: Why the user's words are not sent; empty if they may be. No disk is touched.
        check_words: May the words go to the model? Asked before anything is queued.
        check_steering: May what the user said to the running turn go to the model? Raises
            ``UserError`` if not, which ends the turn.
        begin: A turn begins: look at what may have changed since the last one.
        prompt_blocks: What goes with the user's words.
        remind: What the next request should say, in requests and in previews of them.
        before_tool: Before permission is asked for; raises ``ToolError`` to stop the call.
        after_tool: A call that ran has ended; with the edits that were told of it.
        after_reply: All calls of a reply have ended, with their outcomes by the ids of the calls;
            gives words to add to results, by id.
        on_stop: The model is content; True to let the turn go on.
        result: Replace the result of a tool call, given the conversation and the other results of
            the same reply. Synchronous, so that two parallel calls see each other's results.
        tell: Write changed state to the log and tell the client; after each tool call and when a
            turn begins.
        around: An async context in which all rounds of a turn run.
        steered: The user says something to the running turn; True if the feature takes the words,
            so that they do not go to the model. ``numbered`` as in ``Session.steer``.
        ends_turn: The user is next, so the turn with this number ends after these results: its
            answer, if the model gave none. None: it goes on.
        end: The rounds of a turn have ended, unless they were cancelled or failed by a fault.
        changed: Files that the turn with this number has changed. A command that runs on them
            keeps marks of how they were.
        verified: How the changes of the turn with this number stand, in words for its end; empty
            if there are none.
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
    door: object = None
    commands: Callable[[], Collection[str]] | None = None
    labels: Callable[[str], tuple[str, ...]] | None = None
    readable: Callable[[], tuple[Path, ...]] | None = None
    refuse_words: Callable[[str], str] | None = None
    check_words: Callable[[Moment[SessionT], Prompt], Awaitable[Checked]] | None = None
    check_steering: Callable[[Moment[SessionT]], Awaitable[None]] | None = None
    begin: Callable[[Moment[SessionT]], Awaitable[None]] | None = None
    before_tool: Callable[[Moment[SessionT], ToolUse, Call], Awaitable[None]] | None = None
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


class Features(Generic[SessionT]):
    """The features of one session.

    Slots are called in the order of the features. ``remind``, ``after_tool``, ``on_stop``, ``end``
    and ``close`` run backward: what a turn begins with first, it ends with last.
    """

    def __init__(self, features: Iterable[Feature[SessionT]] = ()) -> None:
        self._features = tuple(features)

    def door(self, kind: type[DoorT]) -> DoorT:
        """What front doors use of a feature.

        Raises:
            LookupError: The session has no such feature.
        """
        if (found := self.find(kind)) is None:
            raise LookupError(f"this session has no {kind.__name__}")
        return found

    def find(self, kind: type[DoorT]) -> DoorT | None:
        """The same; None if the session has no such feature."""
        doors = (one.door for one in self._features)
        return next((door for door in doors if isinstance(door, kind)), None)

    @property
    def tools(self) -> tuple[Tool[Any], ...]:
        """The tools of all features."""
        return tuple(tool for one in self._features for tool in one.tools)

    @property
    def commands(self) -> tuple[str, ...]:
        """Words that the user may put behind a ``/``."""
        return tuple(name for one in self._features if one.commands for name in one.commands())

    @property
    def readable(self) -> tuple[Path, ...]:
        """Folders outside the workspace that the agent may read."""
        return tuple(path for one in self._features if one.readable for path in one.readable())

    def labels(self, words: str) -> tuple[str, ...]:
        """What goes with the user's words because of names in them, for people."""
        return tuple(label for one in self._features if one.labels for label in one.labels(words))

    def refuse_words(self, words: str) -> str:
        """Why the user's words are not sent, by the first feature that refuses; else empty."""
        refused = (one.refuse_words(words) for one in self._features if one.refuse_words)
        return next(filter(None, refused), "")

    async def begin(self, moment: Moment[SessionT]) -> None:
        """Let each feature look at what may have changed since the last turn."""
        for one in self._features:
            if one.begin is not None:
                await one.begin(moment)

    async def prompt_blocks(self, moment: Moment[SessionT], prompt: Prompt) -> tuple[Text, ...]:
        """What goes with the user's words.

        Raises:
            UserError: Something that the words name cannot go along.
        """
        blocks: list[Text] = []
        for one in self._features:
            if one.prompt_blocks is not None:
                blocks += await one.prompt_blocks(moment, prompt)
        return tuple(blocks)

    async def reminders(self, moment: Moment[SessionT]) -> tuple[Reminder, ...]:
        """What each feature has to say with the next request."""
        reversed_ = reversed(self._features)
        return tuple([await one.remind(moment) for one in reversed_ if one.remind is not None])

    def result(
        self, outcome: Outcome, messages: Sequence[Message], results: Collection[ToolResult]
    ) -> Outcome:
        """The result of a tool call as the model gets it."""
        for one in self._features:
            if one.result is not None:
                outcome = one.result(outcome, messages, results)
        return outcome

    async def tell(self, moment: Moment[SessionT]) -> None:
        """Let each feature write down and tell what has changed in it."""
        for one in self._features:
            if one.tell is not None:
                await one.tell(moment)

    @asynccontextmanager
    async def around(self, moment: Moment[SessionT]) -> AsyncIterator[None]:
        """All rounds of a turn run in here."""
        async with AsyncExitStack() as contexts:
            for one in self._features:
                if one.around is not None:
                    await contexts.enter_async_context(one.around(moment))
            yield

    def steered(self, words: str, *, numbered: bool) -> bool:
        """Offer the user's words for the running turn to each feature; True if one takes them."""
        is_taken = False
        for one in self._features:  # all of them hear the words
            if one.steered is not None:
                is_taken |= one.steered(words, numbered=numbered)
        return is_taken

    def ends_turn(self, turn: int) -> str | None:
        """The answer of a turn that a feature ends here; None if the turn goes on."""
        answers = [one.ends_turn(turn) for one in self._features if one.ends_turn is not None]
        return next((one for one in answers if one is not None), None)

    async def check_words(self, moment: Moment[SessionT], prompt: Prompt) -> Checked:
        """May the words go to the model? The first feature that refuses decides."""
        blocks: list[Text] = []
        for one in self._features:
            if one.check_words is not None:
                checked = await one.check_words(moment, prompt)
                if checked.reason:
                    return checked
                blocks += checked.blocks
        return Checked(blocks=tuple(blocks))

    async def check_steering(self, moment: Moment[SessionT]) -> None:
        """Return if what the user said to the running turn may go to the model.

        Raises:
            UserError: It may not, which ends the turn.
        """
        for one in self._features:
            if one.check_steering is not None:
                await one.check_steering(moment)

    async def before_tool(self, moment: Moment[SessionT], use: ToolUse, call: Call) -> None:
        """Return if no feature stops the call.

        Raises:
            ToolError: One does; the model reads why.
        """
        for one in self._features:
            if one.before_tool is not None:
                await one.before_tool(moment, use, call)

    async def after_tool(
        self,
        moment: Moment[SessionT],
        use: ToolUse,
        call: Call,
        outcome: Outcome,
        applied: Sequence[EditApplied],
    ) -> None:
        """A call that ran has ended."""
        for one in reversed(self._features):
            if one.after_tool is not None:
                await one.after_tool(moment, use, call, outcome, applied)

    async def after_reply(
        self, moment: Moment[SessionT], uses: Sequence[ToolUse], outcomes: Mapping[str, Outcome]
    ) -> Mapping[str, str]:
        """All calls of a reply have ended; gives words to add to results, by ids of calls."""
        words: dict[str, str] = {}
        for one in self._features:
            if one.after_reply is not None:
                for call_id, more in (await one.after_reply(moment, uses, outcomes)).items():
                    words[call_id] = "\n".join(filter(None, (words.get(call_id), more)))
        return words

    def changed(self, turn: int) -> frozenset[Path]:
        """Files that a turn has changed, as far as features keep count of them."""
        return frozenset(
            path for one in self._features if one.changed for path in one.changed(turn)
        )

    def verified(self, turn: int) -> str:
        """How the changes of a turn stand, by the first feature that says it."""
        said = (one.verified(turn) for one in self._features if one.verified is not None)
        return next(filter(None, said), "")

    async def on_stop(self, moment: Moment[SessionT]) -> bool:
        """The model is content; does a feature let the turn go on? The first one decides."""
        for one in reversed(self._features):
            if one.on_stop is not None and await one.on_stop(moment):
                return True
        return False

    async def end(self, moment: Moment[SessionT], how: Ended) -> None:
        """The rounds of a turn have ended."""
        for one in reversed(self._features):
            if one.end is not None:
                await one.end(moment, how)

    async def after_compaction(self, moment: Moment[SessionT], before: int, after: int) -> None:
        """The conversation is shorter; ``before`` and ``after`` are its tokens."""
        for one in self._features:
            if one.after_compaction is not None:
                await one.after_compaction(moment, before, after)

    @property
    def unpinned(self) -> frozenset[Source]:
        """Kinds of blocks that compaction may cut, though they are pinned."""
        return frozenset(kind for one in self._features if one.unpinned for kind in one.unpinned())

    def compacted(self) -> None:
        """Tell each feature that the conversation was compacted."""
        for one in self._features:
            if one.compacted is not None:
                one.compacted()

    def read(self, branch: Sequence[Record], records: Sequence[Record]) -> Mapping[str, Any]:
        """The state of each feature as a log describes it, by the feature's name. Pure."""
        return {
            one.name: one.state.read(branch, records)
            for one in self._features
            if one.state is not None
        }

    def now(self) -> Mapping[str, Any]:
        """The state of each feature as it is, by the feature's name."""
        return {one.name: one.state.now() for one in self._features if one.state is not None}

    def restore(self, states: Mapping[str, Any]) -> None:
        """Continue with what ``read`` found in the session's own log."""
        for one in self._features:
            if one.state is not None and one.name in states:
                one.state.restore(states[one.name])

    def inherit(self, states: Mapping[str, Any]) -> None:
        """Take over the state of another session, whose task this session continues."""
        for one in self._features:
            if one.state is not None and one.name in states:
                one.state.inherit(states[one.name])

    def for_child(self) -> Features[SessionT]:
        """The features that a sub-agent of this session has."""
        made = (one if one.for_child is None else one.for_child() for one in self._features)
        return Features(one for one in made if one is not None)

    async def close(self) -> None:
        """The session ends; each feature is closed, whatever happens to another one."""
        async with AsyncExitStack() as closing:  # the last first
            for one in self._features:
                if one.close is not None:
                    closing.push_async_callback(one.close)
