"""Prompts that were never sent: kept while they wait, told by the next server, left as drafts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from indwell.errors import SessionError
from indwell.lsp.backend import Backend
from indwell.lsp.showing import Showing
from indwell.service.chores import Chores
from indwell.service.turns.keeping import Keeping

_log = logging.getLogger(__name__)


class Unsent:
    """The words of one workspace that no session's log has.

    Args:
        backend: Keeps them.
        showing: Tells of them.
        chores: Own the work.
        root: The first folder of the workspace; None if none is open.
    """

    def __init__(
        self,
        backend: Backend,
        showing: Showing,
        chores: Chores,
        root: Callable[[], Path | None],
    ) -> None:
        self._backend = backend
        self._showing = showing
        self._root = root
        self._keeping = Keeping(self._keep, chores)
        self.want = self._keeping.want

    async def tell(self, root: Path) -> None:
        """Say where those stand that earlier servers left, once."""
        for path in await self._backend.untold_drafts(root):
            self._showing.left_over(path)

    def stop(self) -> None:
        """What is kept stays until the same words are left as drafts."""
        self._keeping.stop()

    async def leave(self, unsent: tuple[str, ...]) -> None:
        """The server ends: keep the words as drafts, and nothing twice."""
        root = self._root()
        if unsent and root is not None:
            try:
                path = await self._backend.keep_drafts(root, unsent)
                self._showing.kept(len(unsent), path)
            except SessionError:
                _log.exception("unsent prompts are lost")
        await self._keeping.clear()

    async def _keep(self, unsent: Mapping[str, str]) -> None:
        root = self._root()
        if root is not None:
            await self._backend.keep_waiting(root, unsent)
