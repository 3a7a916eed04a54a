"""Creates the service for a client (editor or terminal), with sessions, models and files."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from indwell.agent.core.session import Resumed, Session
from indwell.bounds.folder_trust import FolderTrust
from indwell.context.memory import Scope
from indwell.policy.approvals import Approver
from indwell.review.ledger import ReviewLedger
from indwell.service.demo_project import PACE_S
from indwell.service.endpoint.editor_models import NO_EDITOR, EditorModels
from indwell.service.front_door import FrontDoor
from indwell.service.service import Service
from indwell.service.stored_keys import hold_keys
from indwell.settings.keys import VARIABLE
from indwell.settings.model import Settings
from indwell.settings.paths import server_log, state_folder, undo_folder
from indwell.skills.skill import Ranked
from indwell.wiring.memory_and_questions import memory_pages
from indwell.wiring.model import Model
from indwell.wiring.preload import WarmModels
from indwell.workspace.base import Workspace
from indwell.workspace.disk import DiskWorkspace

if TYPE_CHECKING:
    from indwell.wiring.commit_message import CommitMessage

_log = logging.getLogger(__name__)


class ModelMaker(Protocol):
    """Creates the models of sessions."""

    async def get(self, settings: Settings, editor: EditorModels) -> Model:
        """Create the model that ``settings`` name, for one session.

        ``editor`` has the client's own models.

        Raises:
            UserError: The model cannot be used; the message says what to do.
        """
        ...

    def begin(self, settings: Settings) -> None:
        """Prepare for a first prompt in the background, and return at once."""
        ...


class Composition:
    """Chooses the concrete parts of one process; implements ``SessionFactory``.

    Args:
        environment: The process's variables.
        scripted: Whether to use the scripted model in place of the user's model.
        pace_s: Seconds between two parts of the scripted model's text.
        models: Creates models; by default in advance, as a server does.
        is_trust_given: Whether the command line trusts every folder for this process.
        editor_asks_trust: Whether the command line says that the editor asks its user about trust,
            and that no workspace setting reaches the user's answer.
        in_worktrees: Whether each new session works in a worktree.

    Attributes:
        editor_asks_trust: The argument of the same name.
        editor_models: The client's own models; there are none until ``service`` is called.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        scripted: bool = False,
        pace_s: float = 0.0,
        models: ModelMaker | None = None,
        is_trust_given: bool = False,
        editor_asks_trust: bool = False,
        in_worktrees: bool = False,
    ) -> None:
        if problem := hold_keys(environment):
            _log.warning("%s", problem)
        self.environment = {name: environment[name] for name in environment if name != VARIABLE}
        self._scripted = scripted
        self._models = models or WarmModels(pace_s=pace_s)
        self._trust = FolderTrust(self.environment, is_given=is_trust_given)
        self.editor_asks_trust = editor_asks_trust
        self._in_worktrees = in_worktrees
        self.editor_models = NO_EDITOR

    def service(self, door: FrontDoor, *, is_resident: bool = True) -> Service:
        """Create the service for a client; see ``Service`` for ``is_resident``."""
        self.editor_models = EditorModels(lambda: door.models)
        service = Service(
            door,
            self,
            self._trust,
            self.environment,
            editor_models=self.editor_models,
            scripted=self._scripted,
            is_resident=is_resident,
        )
        service.worktrees.is_for_every_session = self._in_worktrees
        return service

    def play_demo(self) -> None:
        """Write the scripted texts at a pace that a person can follow."""
        self._models = WarmModels(pace_s=PACE_S)

    def disk(self, roots: Sequence[Path]) -> DiskWorkspace:
        """Create a workspace of these folders on disk; by default of the working directory."""
        return DiskWorkspace(roots or (Path.cwd(),), private=undo_folder(self.environment))

    async def begin(
        self,
        workspace: Workspace,
        approver: Approver,
        settings: Callable[[], Settings],
        review: ReviewLedger,
    ) -> Session:
        """Create a session; see ``compose.open_session``."""
        from indwell.wiring.compose import open_session

        model = await self._models.get(settings(), self.editor_models)
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
        """Open a stored session; see ``resume.resume_session``."""
        from indwell.wiring.resume import resume_session

        model = await self._models.get(settings(), self.editor_models)
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
        """Use another model from the next turn on; see ``conversation.with_model``."""
        from indwell.wiring.conversation import with_model

        with_model(session, await self._models.get(settings, self.editor_models))

    def warm_up(self, settings: Settings) -> None:
        """Prepare the model in the background."""
        self._models.begin(settings)

    async def skills(self, roots: Sequence[Path], settings: Settings) -> Ranked:
        """Return the current skills of a workspace; see ``wiring.project_files.skills_here``."""
        from indwell.wiring.project_files import skills_here

        found = await asyncio.to_thread(skills_here, roots, settings, self._trust, self.environment)
        return found.ranked

    async def commit_message(
        self, workspace: Workspace, settings: Settings, folder: Path | None = None
    ) -> CommitMessage:
        """Write a message for git's changes; see ``wiring.commit_message``.

        Raises:
            UserError: There is nothing to commit, or the model sent no message.
        """
        from indwell.wiring.commit_message import write_commit_message

        model = await self._models.get(settings, self.editor_models)
        return await write_commit_message(
            workspace,
            settings,
            model,
            trust=self._trust,
            environment=self.environment,
            folder=folder,
        )

    async def memory_page(self, root: Path, scope: Scope) -> Path:
        """Return the path of a memory page, of a workspace or the user, created if missing.

        Raises:
        UserError: The page cannot be created.
        """
        pages = memory_pages(self.environment, root)
        return await asyncio.to_thread(pages.page, scope)

    def shown_folder(self) -> Path:
        """Return the folder of read-only files for editors without virtual documents.

        The folder may not exist yet.

        Raises:
        UserError: The state folder is missing.
        """
        return state_folder(self.environment) / "shown"

    def server_log(self) -> Path:
        """Return the path of the log with the server's last warnings, which may be missing.

        Raises:
            UserError: The state folder is missing.
        """
        return server_log(self.environment)
