"""Calls the slots of a session's features in order, and mutes a feature that fails.

A fault in a feature does not end the turn: the fault is logged, the user reads one notice, and the
feature is muted. Four slots can refuse: ``refuse_words``, ``check_words``, ``check_steering`` and
``before_tool``. A fault in one of these four counts as a refusal. These slots are called for muted
features, too.
"""

from __future__ import annotations

import logging
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from functools import partial
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, ParamSpec, TypeVar

from indwell.agent.core.events import EditApplied, Event, Listener, Notice
from indwell.agent.core.feature import Checked, Ended, Feature, Moment, Reminder, SessionT
from indwell.agent.core.prompt import Prompt
from indwell.errors import IndwellError, ToolError, UserError, is_no_room
from indwell.messages import Message, Request, Source, Text, ToolResult, ToolUse
from indwell.sessions.records import Record
from indwell.tools.base import Call, Outcome, Tool

P = ParamSpec("P")
R = TypeVar("R")
DoorT = TypeVar("DoorT")
_log = logging.getLogger(__name__)


class Features(Generic[SessionT]):
    """The features of one session.

    Slots are called in the order of the features. ``remind``, ``after_edit``, ``after_tool``,
    ``on_stop``, ``end`` and ``close`` run backward: the first feature at a turn's beginning is the
    last feature at the turn's end.

    Attributes:
        muted: Names of features that failed; only the slots that can refuse are called for these
            features.
    """

    def __init__(self, features: Iterable[Feature[SessionT]] = ()) -> None:
        self.muted: set[str] = set()
        self._features = tuple(features)
        self._untold: list[str] = []
        # The feature of each tool, by the tool's name; deferred tools are added when they appear.
        self._owners = {tool.spec.name: one.name for one in self._features for tool in one.tools}

    def __iter__(self) -> Iterator[Feature[SessionT]]:
        return iter(self._features)

    @property
    def _heard(self) -> tuple[Feature[SessionT], ...]:
        return tuple(one for one in self._features if one.name not in self.muted)

    def _each(
        self,
        slot: Callable[[Feature[SessionT]], Callable[P, R] | None],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> dict[str, R]:
        """Call one slot of each feature; return the results by the feature's name."""
        found: dict[str, R] = {}
        for one in self._heard:
            if (call := slot(one)) is not None:
                with self._muting(one):
                    found[one.name] = call(*args, **kwargs)
        return found

    async def _await_each(
        self,
        features: Iterable[Feature[SessionT]],
        slot: Callable[[Feature[SessionT]], Callable[P, Awaitable[R]] | None],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> list[R]:
        """Await one slot of each feature in ``features``, in order."""
        found: list[R] = []
        for one in features:
            if (call := slot(one)) is not None:
                with self._muting(one):
                    found.append(await call(*args, **kwargs))
        return found

    @contextmanager
    def _muting(self, one: Feature[SessionT]) -> Iterator[None]:
        """Mute the feature if a fault of the feature raises an error in this context.

        Expected errors propagate, and so do errors of the machine or the installation, because the
        turn reports these errors itself.
        """
        try:
            yield
        except Exception as fault:
            if _travels(fault):
                raise
            self._mute(one, fault)

    def _mute(self, one: Feature[SessionT], fault: Exception) -> None:
        _log.error("the feature %r failed and is muted", one.name, exc_info=fault)
        if one.name in self.muted:
            return
        self.muted.add(one.name)
        self._untold.append(
            f"The feature {one.name!r} of Indwell failed ({type(fault).__name__}) and is off for "
            "the rest of this session. A new session tries it again. The log has more; please "
            "report it"
        )

    def _tell_faults(self, moment: Moment[SessionT]) -> None:
        while self._untold:
            moment.emit(Notice(moment.turn, "error", self._untold.pop(0)))

    def door(self, kind: type[DoorT]) -> DoorT:
        """Return the object that a feature offers to user interfaces, found by its type.

        Raises:
            LookupError: No feature of the session offers such an object.
        """
        if (found := self.find(kind)) is None:
            raise LookupError(f"this session has no {kind.__name__}")
        return found

    def find(self, kind: type[DoorT]) -> DoorT | None:
        """Return the object that a feature offers to user interfaces, or None if there is none."""
        doors = (one.door for one in self._features)
        return next((door for door in doors if isinstance(door, kind)), None)

    @property
    def tools(self) -> tuple[Tool[Any], ...]:
        """The tools of all features."""
        return tuple(tool for one in self._features for tool in one.tools)

    @property
    def late_tools(self) -> Callable[[], tuple[Tool[Any], ...]]:
        """Return a function for the present deferred tools; muted features have none."""
        has_any = any(one.late_tools is not None for one in self._features)
        return self._late_now if has_any else tuple

    def _late_now(self) -> tuple[Tool[Any], ...]:
        late = self._each(lambda one: one.late_tools)
        for feature, tools in late.items():
            for tool in tools:
                self._owners.setdefault(tool.spec.name, feature)
        return _joined(late)

    @property
    def commands(self) -> tuple[str, ...]:
        """Return the names of the features' commands, which the user types after a ``/``."""
        return _joined(self._each(lambda one: one.commands))

    def labels(self, words: str) -> tuple[str, ...]:
        """Return the displayed names of the blocks that the user's text attaches."""
        return _joined(self._each(lambda one: one.labels, words))

    def refuse_words(self, words: str) -> str:
        """Return the first feature's reason to refuse the user's text, or an empty text."""
        for one in self._features:
            if one.refuse_words is not None:
                try:
                    reason = one.refuse_words(words)
                except Exception as fault:  # noqa: BLE001 - raised again if it is no fault of it
                    reason = _refusal(one, fault, "the words are not sent")
                if reason:
                    return reason
        return ""

    async def answer_words(self, words: str) -> str | None:
        """Return the answer of the first feature that answers the text itself, or None."""
        answers = await self._await_each(self._heard, lambda one: one.answer_words, words)
        return next((one for one in answers if one is not None), None)

    async def begin(self, moment: Moment[SessionT]) -> None:
        """Ask each feature to look for changes since the last turn."""
        await self._await_each(self._heard, lambda one: one.begin, moment)
        self._tell_faults(moment)

    async def prompt_blocks(self, moment: Moment[SessionT], prompt: Prompt) -> tuple[Text, ...]:
        """Return the blocks that are sent with the user's text.

        Raises:
            UserError: The text names something that cannot be attached.
        """
        blocks = await self._await_each(self._heard, lambda one: one.prompt_blocks, moment, prompt)
        return tuple(chain.from_iterable(blocks))

    async def reminders(self, moment: Moment[SessionT]) -> Sequence[Reminder]:
        """Return the blocks of each feature for the next request."""
        return await self._await_each(reversed(self._heard), lambda one: one.remind, moment)

    def result(
        self,
        tool: str,
        outcome: Outcome,
        messages: Sequence[Message],
        results: Collection[ToolResult],
    ) -> Outcome:
        """Return the result of a tool call, which the tool's feature may replace."""
        for one in self._owner(tool):
            if one.result is not None:
                with self._muting(one):
                    outcome = one.result(outcome, messages, results)
        return outcome

    async def tell(self, moment: Moment[SessionT], tool: str = "") -> None:
        """Let the tool's feature, or each feature if there is no tool, report its changes."""
        tellers = self._owner(tool) if tool else self._heard
        await self._await_each(tellers, lambda one: one.tell, moment)
        self._tell_faults(moment)

    def _owner(self, tool: str) -> tuple[Feature[SessionT], ...]:
        """Return the feature that has this tool, as a tuple; empty if no feature has the tool."""
        owner = self._owners.get(tool)
        return tuple(one for one in self._heard if one.name == owner)

    @asynccontextmanager
    async def around(self, moment: Moment[SessionT]) -> AsyncIterator[None]:
        """Keep the contexts of all features open while the rounds of a turn run."""
        async with AsyncExitStack() as contexts:
            for one in self._heard:
                if one.around is not None:
                    with self._muting(one):
                        context = one.around(moment)
                        await context.__aenter__()
                        contexts.push_async_exit(partial(self._leave, one, context))
            yield

    async def _leave(
        self,
        one: Feature[SessionT],
        context: AbstractAsyncContextManager[None],
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        """Close a feature's context after the rounds; an error in the feature only mutes it."""
        try:
            return await context.__aexit__(kind, error, trace)
        except Exception as fault:
            if fault is error or _travels(fault):
                raise
            self._mute(one, fault)
            return None  # The error that ended the rounds is raised again.

    def steered(self, words: str, *, numbered: bool) -> bool:
        """Offer a message to each feature; return True if a feature handles the message."""
        return any(self._each(lambda one: one.steered, words, numbered=numbered).values())

    def ends_turn(self, turn: int) -> str | None:
        """Return the answer of a turn that a feature ends now, or None if the turn continues."""
        answers = self._each(lambda one: one.ends_turn, turn).values()
        return next((one for one in answers if one is not None), None)

    async def check_words(self, moment: Moment[SessionT], prompt: Prompt) -> Checked:
        """Ask each feature whether the text may go to the model; the first refusal decides."""
        blocks: list[Text] = []
        for one in self._features:
            if one.check_words is not None:
                try:
                    checked = await one.check_words(moment, prompt)
                except Exception as fault:  # noqa: BLE001 - raised again if it is no fault of it
                    checked = Checked(_refusal(one, fault, "the words are not sent"))
                if checked.reason:
                    return checked
                blocks += checked.blocks
        return Checked(blocks=tuple(blocks))

    async def check_steering(self, moment: Moment[SessionT]) -> None:
        """Ask each feature whether the user's messages to the running turn may go to the model.

        Raises:
            UserError: A feature refuses the messages, which ends the turn.
        """
        for one in self._features:
            if one.check_steering is not None:
                try:
                    await one.check_steering(moment)
                except Exception as fault:
                    raise UserError(_refusal(one, fault, "the words are not sent")) from fault

    async def before_tool(self, moment: Moment[SessionT], use: ToolUse, call: Call) -> None:
        """Ask each feature whether a tool call may run.

        Raises:
            ToolError: A feature stops the call; the model gets the reason.
        """
        for one in self._features:
            if one.before_tool is not None:
                try:
                    await one.before_tool(moment, use, call)
                except Exception as fault:
                    raise ToolError(_refusal(one, fault, "the call does not run")) from fault

    async def after_tool(
        self,
        moment: Moment[SessionT],
        use: ToolUse,
        call: Call,
        outcome: Outcome,
        applied: Sequence[EditApplied],
    ) -> None:
        """Notify each feature that a tool call has ended."""
        backward = tuple(reversed(self._heard))
        if outcome.changes:
            await self._await_each(backward, lambda one: one.after_edit, moment, outcome.changes)
        await self._await_each(
            backward, lambda one: one.after_tool, moment, use, call, outcome, applied
        )

    async def after_reply(
        self, moment: Moment[SessionT], uses: Sequence[ToolUse], outcomes: Mapping[str, Outcome]
    ) -> Mapping[str, str]:
        """Notify each feature that a reply's calls have ended; return text to add, by call id."""
        words: dict[str, str] = {}
        for more in await self._await_each(
            self._heard, lambda one: one.after_reply, moment, uses, outcomes
        ):
            for call_id, text in more.items():
                words[call_id] = "\n".join(filter(None, (words.get(call_id), text)))
        return words

    def files_changed(self, moment: Moment[SessionT]) -> None:
        """Notify each feature that a tool call or another command may have changed files."""
        self._each(lambda one: one.files_changed, moment)

    def observed(self, moment: Moment[SessionT]) -> Listener:
        """Return a listener that gives events to ``moment.emit``, and then to each feature."""
        if not any(one.observe is not None for one in self._features):
            return moment.emit

        def hear(event: Event) -> None:
            moment.emit(event)
            self._each(lambda one: one.observe, moment, event)

        return hear

    def before_request(self, moment: Moment[SessionT], request: Request) -> None:
        """Notify each feature that a request is about to be sent to the model."""
        self._each(lambda one: one.before_request, moment, request)

    async def answered(self, moment: Moment[SessionT]) -> None:
        """Notify each feature that the model has answered a request."""
        await self._await_each(self._heard, lambda one: one.answered, moment)

    def changed(self, turn: int) -> frozenset[Path]:
        """Return the files that a turn has changed, as far as features know."""
        return frozenset(_joined(self._each(lambda one: one.changed, turn)))

    def verified(self, turn: int) -> str:
        """Return the first feature's sentence on whether a turn's changes are verified."""
        return next(filter(None, self._each(lambda one: one.verified, turn).values()), "")

    async def on_stop(self, moment: Moment[SessionT]) -> bool:
        """Return whether a feature continues a turn that the model wants to end."""
        goes_on = False
        for one in reversed(self._heard):
            if one.on_stop is not None and not goes_on:
                with self._muting(one):
                    goes_on = await one.on_stop(moment)
        return goes_on

    async def end(self, moment: Moment[SessionT], how: Ended) -> None:
        """Notify each feature that the rounds of a turn have ended."""
        await self._await_each(reversed(self._heard), lambda one: one.end, moment, how)
        self._tell_faults(moment)

    async def after_compaction(self, moment: Moment[SessionT], before: int, after: int) -> None:
        """Notify each feature that the conversation was shortened, with the old and new tokens."""
        await self._await_each(self._heard, lambda one: one.after_compaction, moment, before, after)

    @property
    def unpinned(self) -> frozenset[Source]:
        """Return the kinds of pinned blocks that compaction is still allowed to cut."""
        return frozenset(_joined(self._each(lambda one: one.unpinned)))

    def compacted(self) -> None:
        """Notify each feature that the conversation was compacted."""
        self._each(lambda one: one.compacted)

    def read(self, branch: Sequence[Record], records: Sequence[Record]) -> Mapping[str, Any]:
        """Return the state of each feature that a log describes, by the feature's name. Pure."""
        return self._each(lambda one: one.state.read if one.state else None, branch, records)

    def now(self) -> Mapping[str, Any]:
        """Return the present state of each feature, by the feature's name."""
        return self._each(lambda one: one.state.now if one.state else None)

    def restore(self, states: Mapping[str, Any]) -> None:
        """Continue with the state that ``read`` found in the session's log."""
        for one in self._heard:
            if one.state is not None and one.name in states:
                with self._muting(one):
                    one.state.restore(states[one.name])

    def inherit(self, states: Mapping[str, Any]) -> None:
        """Copy the state of another session whose task this session continues."""
        for one in self._heard:
            if one.state is not None and one.name in states:
                with self._muting(one):
                    one.state.inherit(states[one.name])

    def for_child(self) -> Features[SessionT]:
        """Return the features that a sub-agent of this session has.

        Raises:
            ToolError: A feature failed. Without the feature, the sub-agent might lack a
                restriction.
        """
        made: list[Feature[SessionT]] = []
        for one in self._features:
            try:
                own = one if one.for_child is None else one.for_child()
            except Exception as fault:
                raise ToolError(_refusal(one, fault, "the sub-agent does not start")) from fault
            if own is not None:
                made.append(own)
        return Features(made)

    async def close(self) -> None:
        """Close each feature, even if another feature fails to close."""
        async with AsyncExitStack() as closing:  # the features are closed in reverse order
            for one in self._features:
                closing.push_async_callback(self._await_each, (one,), lambda one: one.close)


def _joined(found: Mapping[str, Iterable[R]]) -> tuple[R, ...]:
    return tuple(chain.from_iterable(found.values()))


def _travels(fault: Exception) -> bool:
    """Return whether the error is expected, or caused by the machine or the installation."""
    return isinstance(fault, IndwellError | ImportError) or is_no_room(fault)


def _refusal(one: Feature[Any], fault: Exception, what: str) -> str:
    """Return the refusal for a failed slot; raise an error that no feature has caused."""
    if _travels(fault):
        raise fault
    _log.error("the feature %r failed, so %s", one.name, what, exc_info=fault)
    return (
        f"{what}, because the feature {one.name!r} of Indwell failed in its check "
        f"({type(fault).__name__}); the log has more, and a new session tries again"
    )
