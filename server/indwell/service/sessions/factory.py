"""The interface that creates sessions, and the value of a session that a process has open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from indwell.agent.core.session import Resumed, Session
from indwell.policy.approvals import Approver
from indwell.review.ledger import ReviewLedger
from indwell.service.sessions.session_settings import SessionSettings
from indwell.service.sessions.worktrees.worktrees import WorkPlace
from indwell.settings.model import Settings
from indwell.workspace.base import Workspace


class SessionFactory(Protocol):
    """Creates sessions; the composition root implements it.

    ``settings`` returns the settings in force. Each method raises ``UserError`` with the reason if
    it fails.
    """

    async def begin(
        self,
        workspace: Workspace,
        approver: Approver,
        settings: Callable[[], Settings],
        review: ReviewLedger,
    ) -> Session:
        """Create a session; raises ``SettingsError`` if no model can be called."""
        ...

    async def resume(
        self,
        session: str,
        workspace: Workspace,
        approver: Approver,
        settings: Callable[[], Settings],
        review: ReviewLedger,
    ) -> Resumed:
        """Open a stored session; raises ``SessionError`` if another process has it open."""
        ...

    async def switch_model(self, session: Session, settings: Settings) -> None:
        """Use the model that ``settings`` name from the next turn of ``session`` on."""
        ...

    def warm_up(self, settings: Settings) -> None:
        """Prepare for a first prompt in the background, and return at once."""
        ...


class OpenSession(msgspec.Struct, eq=False):
    """A session that this process has open.

    Attributes:
        session: The session.
        place: Where the session works.
        settings: The settings in force for the session.
        model: The model that the session uses; see ``model_identity``.
    """

    session: Session
    place: WorkPlace
    settings: SessionSettings
    model: tuple[object, ...]
