"""The review ledger of a workspace: one in each process, in the state folder by the sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from indwell.errors import ToolError
from indwell.files import exists
from indwell.review.ledger import ReviewLedger
from indwell.service.secrets import Secrecy
from indwell.service.user_settings import read_settings
from indwell.sessions.storage.store import review_folder
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder
from indwell.workspace.base import Workspace


async def open_ledger(
    environment: Mapping[str, str],
    roots: Sequence[Path],
    settings: Callable[[], Settings] | None = None,
) -> ReviewLedger:
    """Open the ledger of a workspace; texts that hold secrets are kept off the disk.

    Args:
        environment: Variables of the process.
        roots: The workspace's folders, resolved.
        settings: Those in force; the user's own if left out.

    Raises:
        SettingsError: There is no state folder, or the user's own settings cannot be read.
    """
    if settings is None:
        loaded = await asyncio.to_thread(read_settings, environment)
        settings = lambda: loaded.settings  # noqa: E731 - as short as it can be said
    folder = review_folder(state_folder(environment), roots[0])
    hide = Secrecy(settings, None, environment).hide
    return await ReviewLedger.open(folder, roots, hide=hide)


async def opened_for(
    workspace: Workspace, environment: Mapping[str, str], settings: Callable[[], Settings]
) -> ReviewLedger:
    """As ``open_ledger``, and what is pending is what still stands in the files.

    Raises:
        SettingsError: As there.
    """
    ledger = await open_ledger(environment, workspace.roots, settings)
    for path in ledger.paths():
        try:
            await ledger.synced(path, (await workspace.read(path)).text)
        except ToolError:
            if not await asyncio.to_thread(exists, path):
                ledger.sync(path, None)
    return ledger


class Ledgers:
    """The ledgers of one process, each opened when somebody first wants it.

    Args:
        environment: Variables of the process.
        settings: Those in force.
    """

    def __init__(self, environment: Mapping[str, str], settings: Callable[[], Settings]) -> None:
        self._environment = environment
        self._settings = settings
        self._opening: dict[Path, asyncio.Task[ReviewLedger]] = {}

    async def of(self, roots: Sequence[Path]) -> ReviewLedger:
        """The ledger of a workspace; who is stopped while it opens stops nobody else.

        Raises:
            SettingsError: There is no state folder; it is tried anew the next time.
        """
        task = self._opening.get(roots[0])
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            opening = open_ledger(self._environment, roots, self._settings)
            task = self._opening[roots[0]] = asyncio.ensure_future(opening)
        return await asyncio.shield(task)
