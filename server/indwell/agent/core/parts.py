"""What a session works with: interfaces and values, put together in ``cli``.

A default is inert: it holds nothing, asks nobody and finds nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from indwell.agent.core.budget import Budgets
from indwell.agent.core.compact_tool import CompactionWish
from indwell.agent.core.ledger import Ledger, MemoryLedger
from indwell.agent.core.log import Log
from indwell.agent.core.other_models import OtherModel, SmallModel, no_other_model
from indwell.agent.core.session_features import Features
from indwell.agent.git.entries import GitEntries
from indwell.context.compaction.presets import DEFAULT, Preset
from indwell.context.compaction.step import TokenRates
from indwell.messages import Usage
from indwell.policy.approvals import Approver
from indwell.policy.call_facts import Policy
from indwell.policy.widening import Widening
from indwell.prompt.environment import Surroundings
from indwell.providers.base import Provider
from indwell.review.checkpoints.coverage import Coverage
from indwell.review.ledger import ReviewLedger
from indwell.sandbox.confinement import Confinement
from indwell.settings.model import Mode
from indwell.tools.base import Registry
from indwell.workspace.base import Workspace


async def holds_nothing() -> None:
    """A provider that has nothing to let go of."""


def lies_in_no_home(_path: Path) -> bool:
    """No home folder is opened as the workspace."""
    return False


def hides_nothing(_key: str) -> None:
    """There is nothing that could hide it."""


def shown_as_it_is(text: str) -> str:
    """Hides nothing: for tools that can come by no secret."""
    return text


def unconfined(widening: Widening) -> None:
    """No bounds: for tools that start nothing."""
    del widening


def in_review() -> Mode:
    """The mode of whoever says none."""
    return "review"


@dataclass(frozen=True, slots=True)
class Parts:
    """What a session works with; put together in ``cli``.

    Attributes:
        provider: The model.
        tools: The table of tools.
        workspace: The user's files.
        approver: Who is asked for permissions.
        policy: Mode and rules of this moment.
        mode: The mode alone, to be told.
        other_model: Another model of the same endpoint, by its name; None if there is none.
        grant: Remember a rule: for this session, or for always.
        log: The session's log.
        spill: Keep a text in the session's folder; gives its path.
        keep_as: Keep one there under this very name, on disk when it returns.
        read_roots: Folders besides the workspace that tools may read; first the session's own.
        hidden: Is this path, as displayed, kept from the model by a deny rule?
        surroundings: Facts of this moment for the reminder.
        cost: US dollars of a usage, None if the price is unknown.
        now: The time, for the log.
        monotonic: Seconds of a clock that never goes back, for durations.
        round_limit: Model calls that one turn may take.
        budgets: Money and tokens that may be spent.
        ledger: What was spent today, by all sessions.
        hang_up: Let go of what the provider holds, at the session's end.
        preset: How the conversation is kept inside the window.
        rates: Prices of the model, or their usual ratios.
        small: A cheaper model for summaries, if there is one.
        summary_timeout_s: Seconds that a summary may take.
        wish: Compaction that somebody asked for.
        features: What the session can do beyond files and commands.
        confine: The bounds of a command that may do this much more; None is none.
        hide: A text without the secrets in it; the same object if there are none.
        also_hide: From now on ``hide`` knows this key of an endpoint, too.
        is_private: Does this path lie in the home folder, which is the workspace, where programs
            keep keys and tokens?
        secret_files: Names in the workspace that lead to secret files, absolute; blocks.
        repositories: Folders with settings of git that nobody was asked about, absolute; blocks.
        review: The ledger of the agent's changes in this workspace; None where none is kept.
        coverage: Brings what commands change into it.
        git: Protected files that commands bring into git; None where nobody looks.
    """

    provider: Provider
    tools: Registry
    workspace: Workspace
    approver: Approver
    policy: Callable[[], Policy]
    grant: Callable[[str, bool], Awaitable[None]]
    log: Log
    spill: Callable[[str, str], Awaitable[Path]]
    keep_as: Callable[[str, str], Awaitable[Path]]
    read_roots: tuple[Path, ...]
    hidden: Callable[[str], bool]
    surroundings: Callable[[], Awaitable[Surroundings]]
    cost: Callable[[Usage], float | None]
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    round_limit: int = 100
    budgets: Budgets = Budgets()  # noqa: RUF009 - a frozen value, safe to share
    ledger: Ledger = field(default_factory=MemoryLedger)
    hang_up: Callable[[], Awaitable[None]] = holds_nothing
    preset: Preset = DEFAULT
    rates: TokenRates = TokenRates()  # noqa: RUF009 - a frozen value, safe to share
    small: SmallModel | None = None
    summary_timeout_s: float = 60.0
    wish: CompactionWish = field(default_factory=CompactionWish)
    features: Features[Any] = field(default_factory=Features)
    confine: Callable[[Widening], Confinement | None] = unconfined
    hide: Callable[[str], str] = shown_as_it_is
    also_hide: Callable[[str], None] = hides_nothing
    secret_files: Callable[[], tuple[str, ...]] = tuple
    repositories: Callable[[], tuple[str, ...]] = tuple
    review: ReviewLedger | None = None
    coverage: Coverage | None = None
    git: GitEntries | None = None
    mode: Callable[[], Mode] = in_review
    other_model: Callable[[str], OtherModel | None] = no_other_model
    is_private: Callable[[Path], bool] = lies_in_no_home

    @property
    def all_read_roots(self) -> tuple[Path, ...]:
        """``read_roots``, and the folders that features make readable."""
        return (*self.read_roots, *self.features.readable)
