"""A session: the one mutable thing. It holds the conversation and appends to its log.

One turn at a time; a turn either appends its records or leaves the session as it was.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec

from indwell.agent.aftermath import Aftermath
from indwell.agent.budget import Budgets
from indwell.agent.growth import added_messages
from indwell.agent.ledger import Ledger, MemoryLedger
from indwell.agent.words import MOST_WAITING, MOST_WAITING_CHARACTERS, is_blank, taken_words
from indwell.context.conversation import Conversation
from indwell.context.ide import OpenedFile, Problem, Selection
from indwell.context.tally import Tally
from indwell.errors import UserError
from indwell.messages import Message, Usage
from indwell.policy.approvals import Approver
from indwell.policy.decide import Policy
from indwell.prompt.environment import Surroundings
from indwell.providers.base import Provider
from indwell.sessions.records import Record, Repaired, Said, Steered
from indwell.tools.base import Registry
from indwell.tools.seen import Seen
from indwell.workspace.base import Workspace


class Log(Protocol):
    """Where records go: queued at once, on disk when ``commit`` returns."""

    def append(self, record: Record) -> None:
        """Queue a record, in order."""
        ...

    async def commit(self) -> None:
        """Make everything queued durable.

        Raises:
            SessionError: The disk does not take it; the queue is kept.
        """
        ...

    def commit_soon(self) -> None:
        """Let everything queued become durable without waiting for it."""
        ...

    async def close(self) -> None:
        """Write what is queued and let go of the file."""
        ...


class Prompt(msgspec.Struct, frozen=True):
    """What the user asks for, with what the editor showed at that moment.

    Attributes:
        words: The user's own, or those of a code action.
        title: A few words for progress and lists.
        selection: What is marked, if anything that should be sent.
        opened: The file the user looks at, if it should be sent.
        problems: Diagnostics that the words are about and no selection carries.
    """

    words: str
    title: str = ""
    selection: Selection | None = None
    opened: OpenedFile | None = None
    problems: tuple[Problem, ...] = ()


async def holds_nothing() -> None:
    """A provider that has nothing to let go of."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a session works with; put together in ``cli``.

    Attributes:
        provider: The model.
        tools: The table of tools.
        workspace: The user's files.
        approver: Who is asked for permissions.
        policy: Mode and rules of this moment.
        grant: Remember a rule: for this session, or for always.
        log: The session's log.
        spill: Keep a text in the session's folder; gives its path.
        read_roots: Folders besides the workspace that tools may read.
        hidden: Is this path, as displayed, kept from the model by a deny rule?
        surroundings: Facts of this moment for the reminder.
        instructions: AGENTS.md of a trusted workspace, else nothing.
        cost: US dollars of a usage, None if the price is unknown.
        now: The time, for the log.
        monotonic: Seconds of a clock that never goes back, for durations.
        round_limit: Model calls that one turn may take.
        budgets: Money and tokens that may be spent.
        ledger: What was spent today, by all sessions.
        hang_up: Let go of what the provider holds, at the session's end.
    """

    provider: Provider
    tools: Registry
    workspace: Workspace
    approver: Approver
    policy: Callable[[], Policy]
    grant: Callable[[str, bool], Awaitable[None]]
    log: Log
    spill: Callable[[str, str], Awaitable[Path]]
    read_roots: tuple[Path, ...]
    hidden: Callable[[str], bool]
    surroundings: Callable[[], Awaitable[Surroundings]]
    instructions: Callable[[], Awaitable[str]]
    cost: Callable[[Usage], float | None]
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    round_limit: int = 100
    budgets: Budgets = Budgets()  # noqa: RUF009 - a frozen value, safe to share
    ledger: Ledger = field(default_factory=MemoryLedger)
    hang_up: Callable[[], Awaitable[None]] = holds_nothing


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
        last_usage: Tokens of the last model call.
        steering: What the user said since the last model call, in order.
        turn_runs: Is a turn under way, so that it can be steered?
        notice: Something to say with the first turn, such as an assumed window.
        aftermath: What became of the files that the model knows.
    """

    id: str
    parts: Parts
    conversation: Conversation
    turns: int = 0
    seen: Seen = field(default_factory=Seen)
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    last_usage: Usage = field(default_factory=Usage)
    steering: tuple[str, ...] = ()
    turn_runs: bool = False
    notice: str = ""
    aftermath: Aftermath = field(default_factory=Aftermath)

    def steer(self, words: str) -> None:
        """Let the running turn hear ``words`` at its next model call; on the event loop.

        They are the user's own words. If the turn would end before, it goes on with them; if it
        fails or is stopped, they come back in its draft.

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
        self.parts.log.append(Steered(self.turns, words, self.timestamp()))
        self.steering = (*self.steering, words)

    def advance(self, conversation: Conversation) -> None:
        """Take the next value of the conversation, and log what it has more than the last."""
        at = self.timestamp()
        for message in added_messages(self.conversation.messages, conversation.messages):
            self.parts.log.append(Said(message=message, at=at))
        self.conversation = conversation

    def mend(self, messages: tuple[Message, ...], notes: tuple[str, ...]) -> None:
        """Go on with repaired messages; the log, which only grows, says what was mended (H24)."""
        for note in notes:
            self.parts.log.append(Repaired(what=note, at=self.timestamp()))
        self.conversation = msgspec.structs.replace(
            self.conversation, messages=messages, tally=Tally()
        )

    def timestamp(self) -> str:
        """The time for a record, ISO 8601 in UTC, to the millisecond."""
        return self.parts.now().isoformat(timespec="milliseconds")

    async def close(self) -> None:
        """Write what is queued and let go of log, ledger and provider."""
        try:
            await self.parts.ledger.close()
            await self.parts.log.close()
        finally:
            await self.parts.hang_up()
