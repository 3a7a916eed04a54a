"""Defines the interfaces and values of a session, which ``wiring.compose`` assembles.

The default values do nothing.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from indwell import edges
from indwell.agent.core.budget import Budgets, Ledger, MemoryLedger
from indwell.agent.core.session_features import Features
from indwell.bounds.git.entries import GitEntries
from indwell.bounds.rules import ReadableFolders, Rules
from indwell.context.compaction.presets import DEFAULT, Preset
from indwell.context.compaction.step import TokenRates
from indwell.messages import Usage
from indwell.policy.approvals import Approver
from indwell.prompt.reminders import Surroundings
from indwell.providers.base import Provider
from indwell.review.checkpoints.coverage import Coverage
from indwell.review.ledger import ReviewLedger
from indwell.sessions.records import Record
from indwell.tools.base import ToolTable
from indwell.workspace.base import Workspace


class Log(Protocol):
    """Stores records: ``append`` queues a record, ``commit`` writes the queue to disk."""

    def append(self, record: Record) -> None:
        """Queue a record, in order."""
        ...

    async def commit(self) -> None:
        """Write all queued records to disk.

        Raises:
            SessionError: The records cannot be written and stay queued.
            RecordsLost: The disk failed for good.
        """
        ...

    def commit_soon(self) -> None:
        """Start to write all queued records to disk, and return at once."""
        ...

    async def close(self) -> None:
        """Write queued records and close the file, even if writing fails.

        Raises:
            SessionError: The records cannot be written and are lost.
        """
        ...


class OtherModel(NamedTuple):
    """A model that is ready for calls; callers do not close its connections.

    Attributes:
        provider: The model.
        name: The endpoint's name for the model.
        window: The limit of input and output tokens for one call.
        max_output: The number of tokens reserved for the reply; summaries have a separate limit.
        cost: Returns the cost of a usage in US dollars, or None if the price is unknown.
        rates: The model's prices, or the usual ratios between prices.
        pictures: Whether the model accepts pictures.
    """

    provider: Provider
    name: str
    window: int
    max_output: int
    cost: Callable[[Usage], float | None]
    rates: TokenRates = TokenRates()
    pictures: bool = False


class FellBack(NamedTuple):
    """Whether another model continues the turn, and a sentence for the user, which may be empty."""

    is_used: bool = False
    words: str = ""


async def has_no_fallback(_session: Any, _why: str) -> FellBack:  # noqa: ANN401 - a Session
    """Offer no other model to continue a turn."""
    return FellBack()


def stands_in_for_none() -> None:
    """Do nothing, because no other model replaces the session's own model."""


def no_other_model(name: str) -> None:
    """Return None, so that the session's own model does all work."""
    del name


async def holds_nothing() -> None:
    """Do nothing, because the provider has no connections to close."""


class SecretHider(Protocol):
    """Removes secrets from texts."""

    def hide(self, text: str) -> str:
        """Return the text without secrets; the same object if the text has no secret."""
        ...

    def also_hide(self, key: str) -> None:
        """From now on, also remove this key of an endpoint from texts."""
        ...


class NoSecrets:
    """Implements ``SecretHider`` for sessions whose tools cannot read secrets."""

    def hide(self, text: str) -> str:
        """Return the text unchanged."""
        return text

    def also_hide(self, key: str) -> None:
        """Ignore the key."""
        del key


class Spill(Protocol):
    """Writes long texts to files in the session's folder."""

    async def keep(self, name: str, text: str) -> Path:
        """Write a text to a file and return the path; ``name`` describes the text for people."""
        ...

    async def keep_as(self, name: str, text: str) -> Path:
        """Write a text to a file of exactly this name; return after the file is on disk."""
        ...


@dataclass(frozen=True, slots=True)
class SessionModel:
    """The model of a session, the cost of its calls, and other models.

    Attributes:
        provider: Calls the model.
        cost: Returns the cost of a usage in US dollars, or None if the price is unknown.
        rates: The model's prices, or the usual ratios between prices.
        small: A cheaper model for summaries; None to use the main model.
        other: Finds another model of the endpoint by name, or None if the endpoint has no such
            model.
        hang_up: Closes the provider's connections at the session's end.
        fall_back: Lets another model continue a turn when this model cannot be reached. Returns a
            sentence for the user.
        step_back: Returns from the other model to the session's own model at the end of the turn.
    """

    provider: Provider
    cost: Callable[[Usage], float | None]
    rates: TokenRates = TokenRates()  # noqa: RUF009 - a frozen value, safe to share
    small: OtherModel | None = None
    other: Callable[[str], OtherModel | None] = no_other_model
    hang_up: Callable[[], Awaitable[None]] = holds_nothing
    # The type Any is a Session, which this module cannot import without a cycle.
    fall_back: Callable[[Any, str], Awaitable[FellBack]] = has_no_fallback
    step_back: Callable[[], None] = stands_in_for_none

    @property
    def is_stand_in(self) -> bool:
        """Return whether another model currently replaces the session's own model."""
        return self.step_back is not stands_in_for_none


@dataclass(frozen=True, slots=True)
class SessionClock:
    """The clocks of a session.

    Attributes:
        now: Returns the time of day, for records.
        monotonic: Returns the seconds of a monotonic clock, for durations.
    """

    now: Callable[[], datetime] = edges.now
    monotonic: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """The limits of turns.

    Attributes:
        rounds: The limit of model calls in one turn.
        budgets: The limits of money and tokens.
        ledger: The spending of all sessions today.
    """

    rounds: int = 100
    budgets: Budgets = Budgets()  # noqa: RUF009 - a frozen value, safe to share
    ledger: Ledger = field(default_factory=MemoryLedger)


class CompactionWish:
    """A request to compact the conversation before the next model call; ``fit`` carries it out."""

    def __init__(self) -> None:
        self._is_open = False

    def want(self) -> None:
        """Request a compaction."""
        self._is_open = True

    def take(self) -> bool:
        """Return whether a compaction was requested, and reset the request."""
        was_open, self._is_open = self._is_open, False
        return was_open


@dataclass(frozen=True, slots=True)
class CompactionChoice:
    """The settings and requests for compaction.

    Attributes:
        preset: The layers of compaction, with the sizes at which they are used.
        summary_timeout_s: The time limit for a summary, in seconds.
        wish: A compaction that the user or the model asked for.
    """

    preset: Preset = DEFAULT
    summary_timeout_s: float = 60.0
    wish: CompactionWish = field(default_factory=CompactionWish)


@dataclass(frozen=True, slots=True)
class ChangeTracking:
    """Records and watches the changes that the agent makes to files.

    Attributes:
        ledger: The ledger of the agent's changes in this workspace, or None if no ledger is kept.
        coverage: Records the changes that commands make in the ledger.
        git: Notices protected files that commands add to git, or None if nothing watches git.
        is_apart: Whether the session works in a worktree, whose changes await review only after the
            user has brought them into the folder.
    """

    ledger: ReviewLedger | None = None
    coverage: Coverage | None = None
    git: GitEntries | None = None
    is_apart: bool = False


@dataclass(frozen=True, slots=True)
class Parts:
    """The interfaces and values of a session; ``wiring.compose`` assembles them.

    Attributes:
        model: The session's model, and the other models that the session may use.
        tools: The table of tools.
        workspace: The user's files.
        approver: Asks the user for permissions.
        rules: Takes a snapshot of the current mode, rules, hidden paths and sandbox.
        grant: Stores a permission rule, for this session or permanently.
        log: The session's log.
        spill: Writes long texts to files in the session's folder.
        readable: Folders outside the workspace that tools may read.
        surroundings: Returns the current facts for the environment reminder.
        clock: The time of day and of durations.
        limits: The limits of turns.
        compaction: The settings and requests for compaction.
        features: The session's features.
        secrets: Removes secrets from texts.
        changes: Records and watches the changes that the agent makes to files.
    """

    model: SessionModel
    tools: ToolTable
    workspace: Workspace
    approver: Approver
    rules: Callable[[], Rules]
    grant: Callable[[str, bool], Awaitable[None]]
    log: Log
    spill: Spill
    readable: ReadableFolders
    surroundings: Callable[[], Awaitable[Surroundings]]
    clock: SessionClock = SessionClock()
    limits: TurnLimits = field(default_factory=TurnLimits)
    compaction: CompactionChoice = field(default_factory=CompactionChoice)
    features: Features[Any] = field(default_factory=Features)
    secrets: SecretHider = field(default_factory=NoSecrets)
    changes: ChangeTracking = ChangeTracking()
