"""Puts the service together for a front door: which sessions, which models, which files."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from indwell.agent.core.session import Session
from indwell.agent.restore.resume import Resumed
from indwell.context.memory import Scope
from indwell.policy.approvals import Approver
from indwell.review.ledger import ReviewLedger
from indwell.service.folder_trust import FolderTrust
from indwell.service.front_door import FrontDoor
from indwell.service.service import Service
from indwell.service.stored_keys import hold_keys
from indwell.settings.keys import VARIABLE
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder, undo_folder
from indwell.skills.catalogue import Ranked
from indwell.wiring.companion import memory_pages
from indwell.wiring.model import Model
from indwell.wiring.warm import WarmModels
from indwell.workspace.base import Workspace
from indwell.workspace.disk import DiskWorkspace

_log = logging.getLogger(__name__)


class ModelMaker(Protocol):
    """Makes the models of sessions."""

    async def get(self, settings: Settings) -> Model:
        """The model that ``settings`` name, for one session.

        Raises:
            UserError: It cannot be used; says what to do.
        """
        ...

    def begin(self, settings: Settings) -> None:
        """Get ready for a prompt that may come. Returns at once."""
        ...


class Composition:
    """What one process is composed of; implements ``SessionFactory``.

    Args:
        environment: The process's variables.
        scripted: Use the scripted model, whatever the settings say.
        pace_s: Seconds between two pieces of the scripted model's text.
        models: Makes models; by default ahead of their use, as a server does.
        is_trust_given: The user's command line trusts every folder, as long as this process runs.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        scripted: bool = False,
        pace_s: float = 0.0,
        models: ModelMaker | None = None,
        is_trust_given: bool = False,
    ) -> None:
        if problem := hold_keys(environment):
            _log.warning("%s", problem)
        self.environment = {name: environment[name] for name in environment if name != VARIABLE}
        self._scripted = scripted
        self._models = models or WarmModels(pace_s=pace_s)
        self._trust = FolderTrust(self.environment, is_given=is_trust_given)

    def service(self, door: FrontDoor, *, is_resident: bool = True) -> Service:
        """The service for one front door; see ``Service`` for ``is_resident``."""
        return Service(
            door,
            self,
            self._trust,
            self.environment,
            scripted=self._scripted,
            is_resident=is_resident,
        )

    def disk(self, roots: Sequence[Path]) -> DiskWorkspace:
        """The files of these folders; of the working directory if there are none."""
        return DiskWorkspace(roots or (Path.cwd(),), private=undo_folder(self.environment))

    async def begin(
        self,
        workspace: Workspace,
        approver: Approver,
        settings: Callable[[], Settings],
        review: ReviewLedger,
    ) -> Session:
        """Begin a session; see ``compose.open_session``."""
        from indwell.wiring.compose import open_session

        model = await self._models.get(settings())
        return await open_session(
            workspace,
            approver,
            settings,
            model,
            environment=self.environment,
            trust=self._trust,
            review=review,
        )

    async def resume(
        self,
        session: str,
        workspace: Workspace,
        approver: Approver,
        settings: Callable[[], Settings],
        review: ReviewLedger,
    ) -> Resumed:
        """Go on with a session; see ``resume.resume_session``."""
        from indwell.wiring.resume import resume_session

        model = await self._models.get(settings())
        return await resume_session(
            session,
            workspace,
            approver,
            settings,
            model,
            environment=self.environment,
            trust=self._trust,
            review=review,
        )

    async def switch_model(self, session: Session, settings: Settings) -> None:
        """Let the next turn ask another model; see ``conversation.with_model``."""
        from indwell.wiring.conversation import with_model

        with_model(session, await self._models.get(settings))

    def warm_up(self, settings: Settings) -> None:
        """Get the model ready: there is a sign that a prompt may come."""
        self._models.begin(settings)

    async def skills(self, roots: Sequence[Path], settings: Settings) -> Ranked:
        """The skills that count in a workspace now; see ``wiring.project.skills.skills_here``."""
        from indwell.wiring.project.skills import skills_here

        found = await asyncio.to_thread(skills_here, roots, settings, self._trust, self.environment)
        return found.ranked

    async def memory_page(self, root: Path, scope: Scope) -> Path:
        """The file with the facts of a workspace, or of the user; it is made if it is not there.

        Raises:
            UserError: It cannot be.
        """
        pages = memory_pages(self.environment, root)
        return await asyncio.to_thread(pages.page, scope)

    def shown_folder(self) -> Path:
        """Where read-only files stand for editors that ask for no texts; it need not exist.

        Raises:
            UserError: There is no state folder.
        """
        return state_folder(self.environment) / "shown"
