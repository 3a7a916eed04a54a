"""Tells the editor when a virtual document that it shows reads differently."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from pathlib import Path

from indwell.agent import events
from indwell.errors import UserError
from indwell.lsp.host import Host
from indwell.lsp.virtual.texts import ledger_of, text_of
from indwell.lsp.virtual.uris import Base, Diff, Virtual
from indwell.workspace.base import digest

MOST = 20  # documents that are followed: more windows nobody looks at
QUIET_S = 0.3  # after the last change; a turn changes many hunks in a row


class Refreshing:
    """Follows the documents that the editor asked for, until it was told of a change.

    An editor that still shows one asks again, and it is followed again.

    Args:
        host: Whose changes and turns are heard.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._followed: OrderedDict[str, tuple[Virtual, str]] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None
        self._hears_ledger = False
        host.turns.listeners.append(self._heard)
        host.documents.on_change(self._typed)

    async def follow(self, uri: str, document: Virtual, text: str) -> None:
        """The editor was given this text."""
        self._followed[uri] = (document, await asyncio.to_thread(digest, text))
        self._followed.move_to_end(uri)
        while len(self._followed) > MOST:
            self._followed.popitem(last=False)
        if isinstance(document, Base | Diff) and not self._hears_ledger:
            self._hears_ledger = True
            (await ledger_of(self._host)).on_change(self._soon)

    def _heard(self, event: events.Event) -> None:
        if isinstance(event, events.TurnFinished | events.TurnStarted | events.Compacted):
            self._soon()

    def _typed(self, _path: Path) -> None:
        if any(isinstance(one, Base | Diff) for one, _ in self._followed.values()):
            self._soon()

    def _soon(self) -> None:
        """Look when nothing has changed for a moment."""
        if self._timer is not None:
            self._timer.cancel()
        if self._followed and not self._host.is_stopped:
            self._timer = asyncio.get_running_loop().call_later(QUIET_S, self._begin)

    def _begin(self) -> None:
        self._timer = None
        if not self._host.is_stopped:
            self._host.chores.begin(self._look())

    async def _look(self) -> None:
        for uri, (document, known) in tuple(self._followed.items()):
            try:
                text = await text_of(self._host, document)
            except UserError:
                text = ""  # the editor asks again, and is told why
            if await asyncio.to_thread(digest, text) != known:
                self._followed.pop(uri, None)
                await self._host.client.refresh_text(uri)
