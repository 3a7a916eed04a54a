"""A session: the one mutable thing. It holds the conversation and appends to its log.

One turn at a time; a turn either appends its records or leaves the session as it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from indwell.agent.core.aftermath import Aftermath
from indwell.agent.core.events import Listener
from indwell.agent.core.parts import Parts
from indwell.agent.core.prompt import MOST_WAITING, MOST_WAITING_CHARACTERS, is_blank, taken_words
from indwell.agent.core.turn_state import TurnState
from indwell.context.compaction.ladder import Restraint
from indwell.context.compaction.prospect import NothingPays
from indwell.context.compaction.step import CompactionStep
from indwell.context.conversation import Conversation, prompt_tokens
from indwell.context.history import spliced
from indwell.context.request.cache_health import Health, after_compaction
from indwell.context.tally import Tally
from indwell.context.tokens import Calibration
from indwell.errors import UserError
from indwell.messages import Message, Usage
from indwell.review.hunk import Verdict
from indwell.sessions.rebuilding import rewritten
from indwell.sessions.records import CompactionRecord, MessageRecord, SteeringRecord, repairs
from indwell.sessions.told import Titled
from indwell.tools.seen import KnownTexts


@dataclass(frozen=True, slots=True)
class Helping:
    """The turn that a sub-agent works for: it pays, and its user is asked.

    Attributes:
        session: Whose turn it is.
        turn: What that has gathered so far.
        emit: Hears what the sub-agent does.
        name: Of the sub-agent, for people.
    """

    session: Session
    turn: TurnState
    emit: Listener
    name: str


@dataclass(slots=True)
class Session:
    """A conversation that lives; only ``turn.run_turn`` changes it.

    Attributes:
        id: Name of its log.
        parts: What it works with.
        conversation: The value that the next turn starts from.
        turns: Turns begun so far.
        seen: Which texts the model has read.
        usage: Tokens of all turns.
        cost: US dollars of all turns; None if a price was unknown.
        spent: US dollars of the calls whose price was known: what budgets count.
        last_usage: Tokens of the last model call.
        requests: Model calls written down so far.
        steering: What the user said since the last model call, in order.
        turn_runs: Is a turn under way, so that it can be steered?
        notice: Something to say with the first turn, such as an assumed window.
        aftermath: What became of the files that the model knows.
        restraint: Which layers of compaction have gained too little of late.
        refusal: What the ladder found not to pay, the last time it was asked.
        told_overhead: Was it said that system, tools and pinned words take too much?
        told_unkept: Was it said that the disk does not take what would be cut?
        answered_at: When the model answered last; None if it has not.
        is_outgrown: Did the last turn end because the conversation fits no request any more?
        is_interrupted: Did Indwell end while the last turn ran? Then it can be continued.
        is_ending: Indwell ends now, so a turn that is cancelled is interrupted, not stopped.
        shown_secrets: Values of secret files that the user let the model see.
        refused: Questions in a row, in this turn, that got no yes.
        health: How the prompt cache does, and what calls and compactions came to.
        verdicts: What the next request says of the agent's changes; not answered yet.
        told_hunks: What was told last of the changes that wait: how many, and in which files.
        is_editing: An edit is being made and not told of yet; what waits is told after it.
        given_title: The user's for it; empty if it was given none.
        own_title: The beginning of the first words; empty before those.
        under_way: The turn that runs, or the last one.
        asking: Held while a question stands; one of this session and its sub-agents at a time.
        helping: What it works for if it is a sub-agent's.
    """

    id: str
    parts: Parts
    conversation: Conversation
    turns: int = 0
    seen: KnownTexts = field(default_factory=KnownTexts)
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    spent: float = 0.0
    last_usage: Usage = field(default_factory=Usage)
    requests: int = 0
    steering: tuple[str, ...] = ()
    turn_runs: bool = False
    notice: str = ""
    shown_secrets: set[str] = field(default_factory=set)
    refused: int = 0
    aftermath: Aftermath = field(default_factory=Aftermath)
    restraint: Restraint = Restraint()  # noqa: RUF009 - a frozen value, safe to share
    refusal: NothingPays | None = None
    told_overhead: bool = False
    told_unkept: bool = False
    answered_at: datetime | None = None
    is_outgrown: bool = False
    is_interrupted: bool = False
    is_ending: bool = False
    health: Health = Health()  # noqa: RUF009 - a frozen value, safe to share
    verdicts: tuple[Verdict, ...] = ()
    told_hunks: tuple[int, tuple[str, ...]] = (0, ())
    is_editing: bool = False
    given_title: str = ""
    own_title: str = ""
    under_way: TurnState | None = None
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    helping: Helping | None = None

    def steer(self, words: str, *, numbered: bool = False) -> bool:
        """Let the running turn hear ``words`` at its next model call; on the event loop.

        They are the user's own words. If the turn would end before, it goes on with them; if it
        fails or is stopped, they come back in its draft. ``numbered``: where they were typed, a
        question's options have numbers; gives whether they chose one, and so are no words.

        Raises:
            UserError: No turn is running, there are no words, or too many wait already.
        """
        if not self.turn_runs:
            raise UserError("no turn is running; send the words as a prompt")
        if is_blank(words):
            raise UserError("there are no words to steer with; write what should change")
        words = taken_words(words)
        n_characters = sum(map(len, self.steering)) + len(words)
        if len(self.steering) >= MOST_WAITING or n_characters > MOST_WAITING_CHARACTERS:
            raise UserError(
                f"too much waits for the next model call already ({len(self.steering)} messages); "
                "wait until it has begun, or stop the turn"
            )
        is_choice = self.parts.features.steered(words, numbered=numbered)
        if not is_choice:
            self.parts.log.append(SteeringRecord(self.turns, words, self.timestamp()))
            self.steering = (*self.steering, words)
        return is_choice

    def advance(self, conversation: Conversation) -> None:
        """Take the next value of the conversation, and log what it has more than the last."""
        at = self.timestamp()
        for message in added_messages(self.conversation.messages, conversation.messages):
            self.parts.log.append(MessageRecord(message=message, at=at))
        self.conversation = conversation

    def mend(self, messages: tuple[Message, ...], notes: tuple[str, ...]) -> None:
        """Go on with repaired messages; the log, which only grows, says what was mended (H24)."""
        now = self.conversation
        splices = rewritten(now.messages, messages)
        for record in repairs(notes, splices, len(now.messages), at=self.timestamp()):
            self.parts.log.append(record)
        _, history = spliced(now.messages, now.history, splices)
        self.conversation = msgspec.structs.replace(
            now, messages=messages, history=history, tally=Tally()
        )

    def compact(self, step: CompactionStep, shorter: Conversation) -> None:
        """Go on with what ``step`` made of the conversation; the log keeps what it replaced.

        Its spills are on disk already.
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

    def remember(
        self, health: Health, calibration: Calibration, answered_at: datetime | None
    ) -> None:
        """Know of the endpoint what an earlier process knew (``recalled``)."""
        self.health, self.answered_at = health, answered_at
        self.conversation = msgspec.structs.replace(self.conversation, calibration=calibration)

    @property
    def title(self) -> str:
        """What a list calls it."""
        return self.given_title or self.own_title

    def retitle(self, title: str) -> None:
        """Give it a title; with an empty one it has its own again."""
        self.parts.log.append(Titled(title, self.timestamp()))
        self.given_title = title

    def timestamp(self) -> str:
        """The time for a record, ISO 8601 in UTC, to the millisecond."""
        return self.parts.now().isoformat(timespec="milliseconds")

    async def close(self) -> None:
        """Write what is queued and let go of log, ledger and provider: of each in any case.

        Raises:
            SessionError: The disk did not take what was queued.
        """
        parts = self.parts
        async with AsyncExitStack() as closing:  # the last first
            closing.push_async_callback(parts.hang_up)
            closing.push_async_callback(parts.log.close)
            closing.push_async_callback(parts.ledger.close)
            if parts.review is not None:
                closing.push_async_callback(parts.review.close)
            if parts.coverage is not None:
                closing.push_async_callback(parts.coverage.close)
            closing.push_async_callback(parts.features.close)


def added_messages(before: Sequence[Message], after: Sequence[Message]) -> tuple[Message, ...]:
    """The blocks that ``after`` has behind ``before``, so that ``records.fold`` gives ``after``.

    The last message may have grown; what stands before it is frozen once it was sent.
    """
    if not before:
        return tuple(after)
    index = len(before) - 1
    grown = after[index]
    assert grown.blocks[: len(before[index].blocks)] == before[index].blocks
    rest = grown.blocks[len(before[index].blocks) :]
    head = (Message(grown.role, rest, grown.turn),) if rest else ()
    return head + tuple(after[index + 1 :])
