"""What the composition root gives to the protocol layer: settings, workspace, sessions, models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from indwell.agent.core.session import Session
from indwell.agent.restore.resume import HeldWith, Resumed
from indwell.context.memory import Scope
from indwell.lsp.editor.client import Client
from indwell.lsp.editor.first_run import FirstRunBackend
from indwell.lsp.workspace.documents import Documents
from indwell.policy.approvals import Approver
from indwell.policy.trust import TrustStanding
from indwell.providers.endpoint import LoginOutcome
from indwell.providers.models import OfferedModel
from indwell.review.ledger import ReviewLedger
from indwell.service.secrets import SecretFiles
from indwell.sessions.branches import Fork, Rewind
from indwell.sessions.log_lines import LogReading
from indwell.sessions.overview import Overview
from indwell.settings.model import Settings
from indwell.skills.catalogue import Ranked
from indwell.workspace.base import Workspace


class Configured(msgspec.Struct, frozen=True):
    """Settings, what was ignored in them, and why they cannot be used if they cannot."""

    settings: Settings
    notices: tuple[str, ...] = ()
    problem: str = ""


class Backend(FirstRunBackend, SecretFiles, Protocol):
    """Makes settings, workspace, sessions and models."""

    def configure(self, options: Mapping[str, Any], roots: tuple[Path, ...]) -> Configured:
        """Read the settings; never raises for what is wrong in them."""
        ...

    def workspace(
        self, roots: tuple[Path, ...], documents: Documents, client: Client, settings: Settings
    ) -> Workspace:
        """The user's files through the editor."""
        ...

    async def review(self, roots: Sequence[Path]) -> ReviewLedger:
        """The ledger of the agent's changes in a workspace: the same one each time.

        Raises:
            UserError: There is no state folder.
        """
        ...

    def approver(self, client: Client, settings: Settings, whose: Callable[[], str]) -> Approver:
        """Who asks the user."""
        ...

    async def open_session(
        self, workspace: Workspace, approver: Approver, settings: Callable[[], Settings]
    ) -> Session:
        """Begin a session; ``settings`` gives those in force at the moment.

        Raises:
            SettingsError: There is no usable model.
            UserError: There is no place for the log.
        """
        ...

    async def skills(self, roots: Sequence[Path], settings: Settings) -> Ranked:
        """The skills that count in a workspace now."""
        ...

    def hold_back(self) -> None:
        """Trust no folder from now on; the editor says that it is in restricted mode."""
        ...

    async def standings(self, roots: tuple[Path, ...]) -> tuple[TrustStanding, ...]:
        """How the folders stand now, by what the user has said of them and what they hold."""
        ...

    async def shown(self, standing: TrustStanding) -> TrustStanding:
        """``standing`` with the instructions of the folders in it, which are asked about too."""
        ...

    async def trust(self, standing: TrustStanding, *, trusted: bool, keep: bool) -> None:
        """The user's answer about a folder, for exactly what ``standing`` showed.

        Raises:
            UserError: It cannot be kept, and holds as long as this process runs.
        """
        ...

    async def check_session(self, root: Path, session: str) -> None:
        """Return if there is such a session.

        Raises:
            SessionError: There is none; names the closest.
        """
        ...

    async def take_task(self, root: Path, session: Session, origin: str) -> str:
        """Give a new session the task of another one; gives the words that had no answer there.

        Raises:
            SessionError: There is no such session, or it cannot be read.
        """
        ...

    async def held_with(self, root: Path, session: str) -> HeldWith:
        """The model of a session, and whether it can still be asked.

        Raises:
            SessionError: There is no such session, or it cannot be read.
        """
        ...

    async def resume_session(
        self,
        session: str,
        workspace: Workspace,
        approver: Approver,
        settings: Callable[[], Settings],
    ) -> Resumed:
        """Go on with a session, with the model that ``settings`` name.

        Raises:
            SettingsError: There is no usable model.
            SessionError: There is no such session, it is open elsewhere, or it cannot be written.
        """
        ...

    async def fork_session(self, root: Path, session: str, turn: int | None) -> Fork:
        """Make a new session of another one as it was at the end of a turn.

        Raises:
            SessionError: There is no such session or turn, or nothing can be written.
        """
        ...

    async def rewind_session(self, root: Path, session: str, turn: int) -> Rewind:
        """Let the conversation of a session go on from the end of a turn.

        Raises:
            SessionError: There is no such session or turn, it is open, or it cannot be written.
        """
        ...

    async def switch_model(self, session: Session, settings: Settings) -> None:
        """Let the next turn of ``session`` ask the model that ``settings`` name.

        Raises:
            SettingsError: That model cannot be used.
        """
        ...

    def warm_up(self, settings: Settings) -> None:
        """Get ready for a prompt: the user looks as if one were to come. Returns at once."""
        ...

    async def models(self) -> tuple[OfferedModel, ...]:
        """What the endpoint offers.

        Raises:
            UserError: It cannot be asked.
        """
        ...

    def choose_model(self, settings: Settings, name: str) -> Settings:
        """``settings`` with another model.

        Raises:
            UserError: The user's settings do not allow it.
        """
        ...

    async def login(
        self,
        provider: str,
        key: str | None,
        base_url: str | None,
        model: str | None,
        *,
        by_client: bool = False,
    ) -> LoginOutcome:
        """Keep a key for an endpoint; of several models one is to be named.

        ``by_client``: the key is held in memory only, for the client keeps it.

        Raises:
            UserError: There is no place for keys, or the provider is not known.
        """
        ...

    async def seems_lacking(self) -> str:
        """Why no model can be called, as far as can be said without opening a keyring."""
        ...

    async def pictures(self, settings: Settings) -> bool | None:
        """Does the model that ``settings`` name take pictures? None: nobody knows."""
        ...

    async def rename_session(self, root: Path, session: str, title: str) -> None:
        """Give a session that nobody has open a title.

        Raises:
            SessionError: There is no such session, it is open, or it cannot be written.
        """
        ...

    async def delete_session(self, root: Path, session: str) -> None:
        """Delete a session that nobody has open.

        Raises:
            SessionError: There is no such session, it is open, or the system refuses.
        """
        ...

    async def sessions(
        self, root: Path, *, limit: int, before: str | None, query: str = ""
    ) -> tuple[tuple[Overview, ...], bool]:
        """Sessions of a workspace, newest first, and whether there are older ones.

        With ``query`` only those that have it in their title or in the user's words.

        Raises:
            SessionError: They cannot be listed.
        """
        ...

    async def session(self, root: Path, session: str) -> LogReading:
        """All that a session's log says.

        Raises:
            SessionError: There is no such session, or it cannot be read.
        """
        ...

    async def keep_drafts(self, root: Path, drafts: Sequence[str]) -> Path:
        """Keep words that were never sent; gives where they stand.

        Raises:
            SessionError: The state folder cannot be written.
        """
        ...

    async def keep_waiting(self, root: Path, unsent: Mapping[str, str]) -> None:
        """Keep the words that wait for their turn, by the id of their prompt; no others.

        Raises:
            SessionError: The state folder cannot be written.
        """
        ...

    async def keep_task(self, root: Path, origin: str) -> None:
        """Keep whose task the next new session takes along; empty: none.

        Raises:
            SessionError: The state folder cannot be written.
        """
        ...

    async def left_task(self, root: Path) -> str:
        """The session whose task one of a server that is gone was to take along; else empty.

        From here on it is kept for this process.
        """
        ...

    async def untold_drafts(self, root: Path) -> tuple[Path, ...]:
        """Drafts kept by an earlier process that the user was not told of; each is given once."""
        ...

    def shown_folder(self) -> Path:
        """Where read-only files stand for editors that ask for no texts; it need not exist.

        Raises:
            UserError: There is no state folder.
        """
        ...

    async def memory_page(self, root: Path, scope: Scope) -> Path:
        """The file with the facts of a workspace, or of the user; it is made if it is not there.

        Raises:
            UserError: It cannot be.
        """
        ...

    def monotonic(self) -> float:
        """Seconds of a clock that never goes back."""
        ...
