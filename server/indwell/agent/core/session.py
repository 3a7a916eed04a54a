"""A session holds a conversation and its state, and appends each change to its log.

A session runs one turn at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from typing import NamedTuple, TypeVar

import msgspec

from indwell.agent.core.events import Listener
from indwell.agent.core.feature import Moment
from indwell.agent.core.prompt import (
    MOST_WAITING,
    MOST_WAITING_CHARACTERS,
    Prompt,
    is_blank,
    taken_words,
)
from indwell.agent.core.session_parts import Parts
from indwell.context.compaction.digesting.transcript_index import TranscriptIndex
from indwell.context.compaction.ladder import Restraint
from indwell.context.compaction.step import CompactionStep, NothingPays
from indwell.context.conversation import Conversation, Tally, prompt_tokens
from indwell.context.history import spliced
from indwell.context.request.cache_health import Health, after_compaction
from indwell.context.tokens import Calibration
from indwell.errors import UserError
from indwell.messages import Block, Message, Text, ToolSpec, Usage
from indwell.prepared_types import prepared
from indwell.sessions.conversation_restore import rewritten
from indwell.sessions.records import (
    CompactionRecord,
    FeatureState,
    MessageRecord,
    Prefixed,
    Record,
    SteeringRecord,
    Titled,
    prefixed,
    repairs,
)
from indwell.tools.known_texts import KnownTexts
from indwell.workspace.base import AppliedChange

# The limit of characters searched for secrets on the event loop, which takes half a millisecond.
HIDDEN_AT_ONCE = 10_000


class TurnState(msgspec.Struct):
    """The state of a running turn.

    Attributes:
        number: The turn's number in its session, from 1.
        words: The text for the model: the user's text, or a note that names the file with too long
            text.
        draft: The user's text until the model has received it, then empty.
        steered: The steering messages in the current request, as typed.
        said: All steering messages of the turn so far, as typed.
        steered_sent: The messages of ``steered`` as the model reads them.
        n_told: The number of steering messages that were reported as delivered, because a request
            may be sent again.
        gathered: Context from the editor, the project and hooks. The context joins the conversation
            when every feature has allowed the prompt.
        along: The user's attachments; dropped with the prompt if no model receives it.
        prompt: The prompt that began the turn, or None for a sub-agent.
        streamed: Pieces of text of the current reply.
        thought: Pieces of the reasoning of the current reply.
        spent: US dollars of the calls whose price was known, for the budgets.
        n_agents: Number of sub-agents started.
        agents: Number of sub-agents started, by name; used to number sub-agents of the same name.
        held: Tokens and US dollars reserved for calls under way, including sub-agents' calls.
        shown_format: Whether the model was just shown the right format of a tool call.
    """

    number: int
    words: str
    draft: str
    rounds: int = 0
    usage: Usage = msgspec.field(default_factory=Usage)
    cost: float | None = 0.0
    spent: float = 0.0
    n_agents: int = 0
    agents: dict[str, int] = msgspec.field(default_factory=dict)
    answer: str = ""
    steered: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    steered_sent: tuple[str, ...] = ()
    n_told: int = 0
    gathered: tuple[Text, ...] = ()
    along: tuple[Block, ...] = ()
    prompt: Prompt | None = None
    streamed: list[str] = msgspec.field(default_factory=list)
    thought: list[str] = msgspec.field(default_factory=list)
    held: list[tuple[int, float]] = msgspec.field(default_factory=list)
    changes: list[AppliedChange] = msgspec.field(default_factory=list)
    shown_format: bool = False


class Helping(msgspec.Struct, frozen=True):
    """The turn that started a sub-agent; its budgets and its user apply to the sub-agent.

    Attributes:
        session: The session of the turn.
        turn: The state of the turn.
        emit: Receives the sub-agent's events.
        name: The sub-agent's name, for people.
        call: The id of the tool call that started the sub-agent.
    """

    session: Session
    turn: TurnState
    emit: Listener
    name: str
    call: str = ""


class Spending(msgspec.Struct):
    """The model calls of a session: their usage, and the end of the last call.

    Attributes:
        usage: The tokens of all turns.
        cost: The cost of all turns in US dollars, or None if a price was unknown.
        spent: The cost of the calls with a known price in US dollars, for the budgets.
        last_usage: The tokens of the last model call.
        requests: Number of model calls recorded.
        answered_at: The time of the model's last reply, or None before the first reply.
    """

    usage: Usage = msgspec.field(default_factory=Usage)
    cost: float | None = 0.0
    spent: float = 0.0
    last_usage: Usage = msgspec.field(default_factory=Usage)
    requests: int = 0
    answered_at: datetime | None = None


class Shortening(msgspec.Struct):
    """The state of compaction between two requests.

    Attributes:
        restraint: The layers that recently saved too few tokens.
        refusal: The last compaction step that was skipped because it would save too few tokens.
        index: The index of the transcript; only one thread at a time uses the index.
        told_overhead: Whether the user was told that system prompt, tools and pinned text are too
            large.
        told_unkept: Whether the user was told that cut texts cannot be written to disk.
    """

    restraint: Restraint = Restraint()
    refusal: NothingPays | None = None
    index: TranscriptIndex = msgspec.field(default_factory=TranscriptIndex)
    told_overhead: bool = False
    told_unkept: bool = False


class Titles(msgspec.Struct):
    """The title of a session.

    Attributes:
        given: The title that the user gave, or empty if there is no title.
        own: The beginning of the first prompt, or empty before the first prompt.
    """

    given: str = ""
    own: str = ""


class Endings(msgspec.Struct):
    """Facts about the end of a session's last turn that the turn's last event lacks.

    Attributes:
        is_outgrown: Whether the turn ended because no request can hold the conversation.
        is_interrupted: Whether Indwell ended during the turn, so that the turn can be continued.
        is_ending: Whether Indwell is ending, so that a cancelled turn counts as interrupted.
    """

    is_outgrown: bool = False
    is_interrupted: bool = False
    is_ending: bool = False


class AskedUser(msgspec.Struct):
    """The questions to the user in a session, and the answers.

    Attributes:
        lock: Held while the user is asked, so that only one question is open at a time. Sub-agents
            share the lock.
        refused: The number of consecutive questions in this turn that were not answered with yes.
        shown_secrets: Values from secret files that the user let the model see.
    """

    lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    refused: int = 0
    shown_secrets: set[str] = msgspec.field(default_factory=set)


class Session(msgspec.Struct):
    """One conversation with its state; only ``turn.run_turn`` changes it.

    Attributes:
        id: The name of the session's log.
        parts: The interfaces and values that the session uses.
        conversation: The value that the next turn starts from.
        turns: Number of turns begun.
        seen: The texts of files that the model has read.
        spending: The usage of the session's model calls.
        steering: Messages the user sent to the running turn since the last model call, in order.
        turn_runs: Whether a turn is running, so that the user can steer.
        notice: A message that the user gets with the first turn, such as that the window is
            assumed.
        shortening: The state of compaction between two requests.
        endings: Facts about how the last turn ended.
        asked: The questions to the user, and the answers.
        health: Statistics of the prompt cache, model calls and compactions.
        is_editing: Whether an edit is under way; changes that await review are reported after the
            edit.
        titles: The session's title, for lists of sessions.
        under_way: The running turn, or the last turn if no turn is running.
        helping: The turn that started the sub-agent of this session, or None for a user's session.
        writers: The models that write tool calls as text, if the user was told so.
    """

    id: str
    parts: Parts
    conversation: Conversation
    turns: int = 0
    seen: KnownTexts = msgspec.field(default_factory=KnownTexts)
    spending: Spending = msgspec.field(default_factory=Spending)
    steering: tuple[str, ...] = ()
    turn_runs: bool = False
    notice: str = ""
    shortening: Shortening = msgspec.field(default_factory=Shortening)
    endings: Endings = msgspec.field(default_factory=Endings)
    asked: AskedUser = msgspec.field(default_factory=AskedUser)
    health: Health = Health()
    is_editing: bool = False
    titles: Titles = msgspec.field(default_factory=Titles)
    under_way: TurnState | None = None
    helping: Helping | None = None
    writers: set[str] = msgspec.field(default_factory=set)

    async def hidden(self, text: str) -> str:
        """Return the text with secrets removed; the same object if the text has no secret."""
        hide = self.parts.secrets.hide
        is_short = len(text) <= HIDDEN_AT_ONCE
        return hide(text) if is_short else await asyncio.to_thread(hide, text)

    def steer(self, words: str, *, numbered: bool = False) -> bool:
        """Send a message of the user to the running turn, with the next model call.

        A turn that would end continues with the message. A turn that fails or is stopped returns
        the message in its draft. Call this method on the event loop.

        Args:
            words: The user's message.
            numbered: Whether the user saw numbers before the options of a question.

        Returns:
            Whether the message chose an option of a question, so that the model does not get it.

        Raises:
            UserError: No turn is running, the message is empty, or too many messages are waiting.
        """
        if not self.turn_runs:
            raise UserError("no turn is running; send the text as a prompt")
        if is_blank(words):
            raise UserError("the message is empty; write what should change")
        words = taken_words(words)
        n_characters = sum(map(len, self.steering)) + len(words)
        if len(self.steering) >= MOST_WAITING or n_characters > MOST_WAITING_CHARACTERS:
            raise UserError(
                f"too many messages ({len(self.steering)}) already wait for the next model call; "
                f"wait until it has begun, or stop the turn"
            )
        is_choice = self.parts.features.steered(words, numbered=numbered)
        if not is_choice:
            self.parts.log.append(SteeringRecord(self.turns, words, self.timestamp()))
            self.steering = (*self.steering, words)
        return is_choice

    def advance(self, conversation: Conversation) -> None:
        """Replace the conversation with ``conversation``, and log the added messages."""
        at = self.timestamp()
        for message in added_messages(self.conversation.messages, conversation.messages):
            self.parts.log.append(MessageRecord(message=message, at=at))
        self.conversation = conversation

    def repair(self, messages: tuple[Message, ...], notes: tuple[str, ...]) -> None:
        """Continue with repaired messages, and log the repairs."""
        now = self.conversation
        splices = rewritten(now.messages, messages)
        for record in repairs(notes, splices, len(now.messages), at=self.timestamp()):
            self.parts.log.append(record)
        _, history = spliced(now.messages, now.history, splices)
        self.conversation = msgspec.structs.replace(
            now, messages=messages, history=history, tally=Tally()
        )

    def compact(self, step: CompactionStep, shorter: Conversation) -> None:
        """Continue with the conversation after ``step``; the log keeps the replaced messages.

        The texts that the step cuts are already on disk.
        """
        before = self.conversation
        record = CompactionRecord(
            turn=self.turns,
            layer=step.layer,
            splices=step.splices,
            before=prompt_tokens(before),
            after=prompt_tokens(shorter),
            spills=tuple(one.name for one in step.spills),
            at=self.timestamp(),
            live=len(before.messages),
            note=step.note,
        )
        self.parts.log.append(record)
        self.health = after_compaction(
            self.health, self.turns, step.layer, record.before, record.after
        )
        self.conversation = shorter
        self.parts.features.compacted()

    def retool(self, specs: tuple[ToolSpec, ...]) -> None:
        """Send these tools from the next request on, and log the tools for a resumed session."""
        self.conversation = msgspec.structs.replace(self.conversation, tools=specs)
        self.parts.log.append(self.prefix)

    @property
    def prefix(self) -> Prefixed:
        """Return the record of every request's beginning: the system prompt and the tools."""
        now = self.conversation
        return prefixed(tuple(block.text for block in now.system), now.tools, self.timestamp())

    def remember(
        self, health: Health, calibration: Calibration, answered_at: datetime | None
    ) -> None:
        """Restore facts about the endpoint that ``restore.recalled`` has read from the log."""
        self.health, self.spending.answered_at = health, answered_at
        self.conversation = msgspec.structs.replace(self.conversation, calibration=calibration)

    @property
    def title(self) -> str:
        """The title for lists of sessions."""
        return self.titles.given or self.titles.own

    def retitle(self, title: str) -> None:
        """Set the title; an empty title restores the session's own title."""
        self.parts.log.append(Titled(title, self.timestamp()))
        self.titles.given = title

    def timestamp(self) -> str:
        """Return the current time for a record: ISO 8601, UTC, with milliseconds."""
        return self.parts.clock.now().isoformat(timespec="milliseconds")

    async def close(self) -> None:
        """Write queued records, and close features, coverage, review, ledger, log and provider.

        Each part is closed even if another part fails to close.

        Raises:
            SessionError: The disk did not take the queued records.
        """
        parts = self.parts
        async with AsyncExitStack() as closing:  # the parts are closed in reverse order
            closing.push_async_callback(parts.model.hang_up)
            closing.push_async_callback(parts.log.close)
            closing.push_async_callback(parts.limits.ledger.close)
            if parts.changes.ledger is not None:
                closing.push_async_callback(parts.changes.ledger.close)
            if parts.changes.coverage is not None:
                closing.push_async_callback(parts.changes.coverage.close)
            closing.push_async_callback(parts.features.close)


class Resumed(NamedTuple):
    """A resumed session.

    Attributes:
        session: The session.
        draft: The user's text that never reached the model.
        notices: Messages for the user, one sentence each.
    """

    session: Session
    draft: str
    notices: tuple[str, ...]


def added_messages(before: Sequence[Message], after: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages that ``after`` adds, in the form that ``rebuilding.fold`` reads.

    Only the last message of ``before`` may have grown, because earlier messages never change.
    """
    if not before:
        return tuple(after)
    index = len(before) - 1
    grown = after[index]
    assert grown.blocks[: len(before[index].blocks)] == before[index].blocks
    rest = grown.blocks[len(before[index].blocks) :]
    head = (Message(grown.role, rest, grown.turn),) if rest else ()
    return head + tuple(after[index + 1 :])


T = TypeVar("T")


def save_state(moment: Moment[Session], feature: str, state: object) -> None:
    """Write the whole state of a feature to the session's log."""
    session = moment.session
    data = msgspec.Raw(msgspec.json.encode(state))
    session.parts.log.append(FeatureState(moment.turn, feature, data, session.timestamp()))


def saved_state(branch: Sequence[Record], feature: str, empty: T) -> T:
    """Return the state that ``save_state`` wrote last, with the type of ``empty``. Pure.

    The result is ``empty`` if nothing was saved, or if an older version of the feature saved a
    state of another shape.
    """
    for record in reversed(branch):
        if isinstance(record, FeatureState) and record.feature == feature:
            try:
                return msgspec.json.decode(record.state, type=prepared(type(empty)))
            except msgspec.DecodeError:
                return empty
    return empty
