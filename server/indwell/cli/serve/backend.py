"""What the language server is given: settings, workspace, sessions, from the composition root."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from indwell.agent.core.session import Session
from indwell.agent.restore.resume import HeldWith, Resumed
from indwell.context.memory import Scope
from indwell.errors import SettingsError, UserError
from indwell.lsp.backend import Configured
from indwell.lsp.editor.client import Client
from indwell.lsp.editor.person import EditorPerson
from indwell.lsp.workspace.documents import Documents
from indwell.lsp.workspace.editor_workspace import EditorWorkspace
from indwell.policy.approvals import Approver
from indwell.policy.trust import TrustStanding
from indwell.providers.models import OfferedModel
from indwell.review.ledger import ReviewLedger
from indwell.service.endpoint.connecting import Connecting
from indwell.service.folder_trust import FolderTrust
from indwell.service.review_ledgers import Ledgers
from indwell.service.stored_keys import hold_keys
from indwell.service.stored_sessions import StoredSessions, Sweeper
from indwell.service.user_settings import read_settings
from indwell.sessions.branches import Fork, Rewind
from indwell.settings.keys import VARIABLE
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder, undo_folder, user_file
from indwell.skills.catalogue import Ranked
from indwell.wiring.companion import memory_pages
from indwell.wiring.warm import WarmModels
from indwell.workspace.base import Workspace
from indwell.workspace.disk import DiskWorkspace

_log = logging.getLogger(__name__)


class EditorBackend(StoredSessions, Connecting):
    """Gives the protocol layer its parts; implements ``lsp.backend.Backend``.

    Args:
        environment: The process's variables.
        scripted: Use the scripted model, whatever the settings say.
        pace_s: Seconds between two pieces of the scripted model's text.
    """

    def __init__(
        self, environment: Mapping[str, str], *, scripted: bool = False, pace_s: float = 0.0
    ) -> None:
        if problem := hold_keys(environment):
            _log.warning("%s", problem)
        environment = {name: environment[name] for name in environment if name != VARIABLE}
        StoredSessions.__init__(self, environment)
        Connecting.__init__(self, environment, scripted=scripted)
        self._models = WarmModels(pace_s=pace_s)
        self._sweeper = Sweeper(environment)
        self._ledgers = Ledgers(environment, lambda: self._settings)
        self._told: set[str] = set()
        self._trust = FolderTrust(environment)

    def configure(self, options: Mapping[str, Any], roots: tuple[Path, ...]) -> Configured:
        """Read the settings; a file that cannot be used makes every prompt say so."""
        try:
            loaded = read_settings(
                self._environment, roots=roots, options=options, trust=self._trust
            )
        except SettingsError as error:
            return Configured(settings=Settings(), problem=str(error))
        settings = loaded.settings
        if self._scripted:
            settings = msgspec.structs.replace(settings, provider="scripted")
        self._settings = settings
        return Configured(settings=settings, notices=loaded.notices)

    def workspace(
        self, roots: tuple[Path, ...], documents: Documents, client: Client, settings: Settings
    ) -> Workspace:
        """Buffers over the disk."""
        disk = DiskWorkspace(roots or (Path.cwd(),), private=undo_folder(self._environment))
        return EditorWorkspace(
            documents, client, disk, apply_timeout_s=settings.apply_edit_timeout_s
        )

    def secret_files(self, roots: Sequence[Path], settings: Settings) -> tuple[str, ...]:
        """Those of the workspace as it is now, under all of their names there; blocks."""
        from indwell.service.secrets import SecretPlaces

        return SecretPlaces(roots, lambda: settings.deny).look()

    async def review(self, roots: Sequence[Path]) -> ReviewLedger:
        """The one ledger of this process; see ``review_ledger``."""
        return await self._ledgers.of(roots)

    def approver(self, client: Client, settings: Settings, whose: Callable[[], str]) -> Approver:
        """The user, through the editor; who answers the model's questions, too."""
        return EditorPerson(client, timeout_s=settings.answer_timeout_s, whose=whose)

    async def open_session(
        self, workspace: Workspace, approver: Approver, settings: Callable[[], Settings]
    ) -> Session:
        """Begin a session; see ``compose.open_session``. Old ones are swept away meanwhile."""
        from indwell.wiring.compose import open_session

        model = await self._models.get(settings())
        session = await open_session(
            workspace,
            approver,
            settings,
            model,
            environment=self._environment,
            trust=self._trust,
            review=await self.review(workspace.roots),
        )
        if session.notice in self._told:
            session.notice = ""  # said with an earlier session of this process
        self._told.add(session.notice)
        try:
            gone = await self._sweeper.sweep(settings(), session.id)
        except BaseException:  # such as a stop while it waits for the sweep before
            await session.close()
            raise
        session.notice = "; ".join(filter(None, (session.notice, gone)))
        return session

    async def skills(self, roots: Sequence[Path], settings: Settings) -> Ranked:
        """The skills that count in a workspace now; see ``wiring.project.skills.skills_here``."""
        from indwell.wiring.project.skills import skills_here

        found = await asyncio.to_thread(
            skills_here, roots, settings, self._trust, self._environment
        )
        return found.ranked

    def hold_back(self) -> None:
        """Trust no folder; the editor is in restricted mode."""
        self._trust.hold_back("the editor is in restricted mode")

    async def standings(self, roots: tuple[Path, ...]) -> tuple[TrustStanding, ...]:
        """How the folders stand now; see ``FolderTrust.look``."""
        return await asyncio.to_thread(self._trust.look, roots, self._settings)

    async def shown(self, standing: TrustStanding) -> TrustStanding:
        """See ``FolderTrust.shown``."""
        return await asyncio.to_thread(self._trust.shown, standing)

    async def trust(self, standing: TrustStanding, *, trusted: bool, keep: bool) -> None:
        """The user's answer about a folder; see ``FolderTrust.answer``.

        Raises:
            UserError: It cannot be kept, and holds as long as this process runs.
        """
        await asyncio.to_thread(lambda: self._trust.answer(standing, trusted=trusted, keep=keep))

    async def take_task(self, root: Path, session: Session, origin: str) -> str:
        """See ``new_from.take_task``."""
        from indwell.service.inherited_task import take_task

        return await take_task(session, self._store(root), origin)

    async def held_with(self, root: Path, session: str) -> HeldWith:
        """The model of a session, and whether it can still be asked."""
        from indwell.wiring.resume import held_with

        seen = await asyncio.to_thread(self._store(root).overview, session)
        return await held_with(self._settings, seen.model)

    async def resume_session(
        self,
        session: str,
        workspace: Workspace,
        approver: Approver,
        settings: Callable[[], Settings],
    ) -> Resumed:
        """Go on with a session; see ``resuming.resume_session``."""
        from indwell.wiring.resume import resume_session

        model = await self._models.get(settings())
        return await resume_session(
            session,
            workspace,
            approver,
            settings,
            model,
            environment=self._environment,
            trust=self._trust,
            review=await self.review(workspace.roots),
        )

    async def fork_session(self, root: Path, session: str, turn: int | None) -> Fork:
        """See ``forking.fork_session``."""
        from indwell.sessions.forking import fork_session
        from indwell.wiring.resume import uncollected

        with uncollected():
            return await fork_session(self._store(root), session, turn, now=datetime.now(UTC))

    async def rewind_session(self, root: Path, session: str, turn: int) -> Rewind:
        """See ``forking.rewind_session``."""
        from indwell.sessions.forking import rewind_session
        from indwell.wiring.resume import uncollected

        with uncollected():
            return await rewind_session(self._store(root), session, turn, now=datetime.now(UTC))

    async def switch_model(self, session: Session, settings: Settings) -> None:
        """Let the next turn ask another model; see ``changed_model.with_model``."""
        from indwell.wiring.conversation import with_model

        with_model(session, await self._models.get(settings))

    def warm_up(self, settings: Settings) -> None:
        """Get the model ready: the user looks as if a prompt were to come."""
        self._models.begin(settings)

    async def models(self) -> tuple[OfferedModel, ...]:
        """What the endpoint offers; see ``offered.offered_models``."""
        from indwell.service.endpoint.offered import offered_models

        return await offered_models(self._settings)

    def choose_model(self, settings: Settings, name: str) -> Settings:
        """Another model of those that the user's own settings name (editor §2).

        Raises:
            UserError: They do not name it.
        """
        own = (self._settings.model, *self._settings.models)
        if name not in own:
            allowed = ", ".join(repr(one) for one in dict.fromkeys(own) if one) or "none"
            raise UserError(
                f"{name!r} is not among the models of your settings ({allowed}); add it to "
                f"`models` in {user_file()}, or run `indwell login --model {name}`"
            )
        return msgspec.structs.replace(settings, model=name)

    def shown_folder(self) -> Path:
        """In the state folder."""
        return state_folder(self._environment) / "shown"

    async def memory_page(self, root: Path, scope: Scope) -> Path:
        """See ``MemoryPages.page``."""
        pages = memory_pages(self._environment, root)
        return await asyncio.to_thread(pages.page, scope)

    def monotonic(self) -> float:
        """Seconds of the system's monotonic clock."""
        return time.monotonic()
