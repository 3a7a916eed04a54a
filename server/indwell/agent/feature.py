"""The seam between the loop of a turn and its features: the slots that a feature may fill.

The loop knows no feature by name. It calls the slots below at fixed moments, and a slot that is
unset is never called. A feature keeps its state to itself; what of it belongs to the session goes
into the log as records and comes back through ``State``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from indwell.agent.events import Listener
from indwell.messages import Text
from indwell.sessions.records import Record
from indwell.tools.base import Tool

SessionT = TypeVar("SessionT")  # Session holds its features, so this module cannot name it
StateT = TypeVar("StateT")


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


class Reminder(NamedTuple):
    """Blocks for the end of the next request, and what to do once they are queued there.

    A preview of the request asks for the same blocks and never calls ``told``, so looking at what
    the model will read changes nothing.
    """

    blocks: tuple[Text, ...]
    told: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class State(Generic[StateT]):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature(Generic[SessionT]):
    """One feature of a session.

    Each function runs on the event loop, and may be called again before an earlier call has ended,
    because tool calls run in parallel.

    Attributes:
        name: For messages about a fault in the feature, and the key of its state.
        tools: What the model can call, for as long as the session is open.
        tell: Write changed state to the log and tell the client; after each tool call and when a
            turn begins.
        remind: What the next request should say, in requests and in previews of them.
        compacted: The conversation was compacted, so the model may no longer see what it saw.
        state: How the state survives a restart.
        for_child: The feature as a sub-agent has it, with a state of its own; None as a result
            means that sub-agents do not have it. Unset, they share the session's.
    """

    name: str
    tools: tuple[Tool[Any], ...] = ()
    tell: Callable[[Moment[SessionT]], None] | None = None
    remind: Callable[[Moment[SessionT]], Awaitable[Reminder]] | None = None
    compacted: Callable[[], None] | None = None
    state: State[Any] | None = None
    for_child: Callable[[], Feature[SessionT] | None] | None = None


class Features(Generic[SessionT]):
    """The features of one session, in the order in which the loop calls them."""

    def __init__(self, features: Iterable[Feature[SessionT]] = ()) -> None:
        self._features = tuple(features)

    @property
    def tools(self) -> tuple[Tool[Any], ...]:
        """The tools of all features."""
        return tuple(tool for one in self._features for tool in one.tools)

    def tell(self, moment: Moment[SessionT]) -> None:
        """Let each feature write down and tell what has changed in it."""
        for one in self._features:
            if one.tell is not None:
                one.tell(moment)

    async def reminders(self, moment: Moment[SessionT]) -> tuple[Reminder, ...]:
        """What each feature has to say with the next request."""
        return tuple([await one.remind(moment) for one in self._features if one.remind is not None])

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
