"""Opens the review ledger of a workspace once per process, and reports changes to sessions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from indwell.agent.core.events import Event
from indwell.agent.core.feature import Moment
from indwell.agent.core.session import Session
from indwell.errors import UserError
from indwell.review.ledger import ReviewLedger
from indwell.secrets import Secrecy
from indwell.service.user_settings import read_settings
from indwell.sessions.storage.store import review_folder
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder
from indwell.workspace.base import Workspace

_log = logging.getLogger(__name__)


async def open_ledger(
    environment: Mapping[str, str],
    roots: Sequence[Path],
    settings: Callable[[], Settings] | None = None,
) -> ReviewLedger:
    """Open the ledger of a workspace; texts with secrets are never written to disk.

    Args:
        environment: Variables of the process.
        roots: The workspace's folders, resolved.
        settings: The settings in force; by default the user's own.

    Raises:
        SettingsError: The state folder is missing, or the user's own settings cannot be read.
    """
    if settings is None:
        loaded = await asyncio.to_thread(read_settings, environment)
        settings = lambda: loaded.settings  # noqa: E731 - as short as it can be said
    folder = review_folder(state_folder(environment), roots[0])
    hide = Secrecy(settings, (), environment).hide
    return await ReviewLedger.open(folder, roots, hide=hide)


class WorkspaceLedger:
    """The ledger of the open workspace, opened in the background.

    Args:
        environment: Variables of the process.
        settings: The settings in force.
        workspace: The open workspace.
        changed: Called each time the ledger changes.
        warn: Shows sentences to the user.

    Attributes:
        ledger: The ledger, or None until it is open.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        settings: Callable[[], Settings],
        workspace: Callable[[], Workspace],
        changed: Callable[[], None],
        warn: Callable[[tuple[str, ...]], None],
    ) -> None:
        self.ledger: ReviewLedger | None = None
        self._environment = environment
        self._settings = settings
        self._workspace = workspace
        self._changed = changed
        self._warn = warn
        self._opening: asyncio.Task[ReviewLedger] | None = None

    async def ready(self) -> ReviewLedger:
        """Return the ledger as soon as it is open.

        Cancelling one caller does not affect other callers.

        Raises:
            UserError: The ledger cannot be stored in any folder; the next call tries again.
        """
        task = self._opening
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            opening = open_ledger(self._environment, self._workspace().roots, self._settings)
            task = self._opening = asyncio.ensure_future(opening)
        ledger = await asyncio.shield(task)
        if self.ledger is None:
            self.ledger = ledger
            ledger.on_change(self._changed)
            self._warn(ledger.take_notices())
        return ledger

    async def open(self) -> None:
        """Open the ledger in the background; a later call raises any error."""
        try:
            await self.ready()
        except UserError as error:
            _log.warning("the review ledger could not be opened: %s", error)

    async def close(self) -> None:
        """Wait for pending writes, at the end of the server."""
        if self.ledger is not None:
            await self.ledger.close()


def tell_sessions(sessions: Iterable[Session], tell: Callable[[Session, Event], None]) -> None:
    """Notify the features of sessions about changed files or verdicts.

    Args:
    sessions: All open sessions.

    tell: Sends an event of a session.
    """
    for session in sessions:
        moment = Moment(session, session.turns, partial(tell, session))
        session.parts.features.files_changed(moment)
