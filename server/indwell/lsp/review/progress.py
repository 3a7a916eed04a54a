"""A verdict on many files as work-done progress, which the user can stop."""

from __future__ import annotations

from lsprotocol import types

from indwell.lsp.client import Client
from indwell.lsp.review.meant import Verb

MANY = 10  # files from which on progress is shown


class Progress:
    """How far one verdict has come.

    Args:
        client: Shows it.
        token: What the user stops it by.
        verb: What is done.
        n_files: To how many files.
    """

    def __init__(self, client: Client, token: str, verb: Verb, n_files: int) -> None:
        self._client = client
        self._token = token
        self._title = f"Indwell: {verb}"
        self._n_files = n_files
        self._n_done = 0
        self._is_shown = False
        self._has_ended = False

    async def announce(self) -> None:
        """Show it, if there is much to do and the editor takes it."""
        if self._n_files < MANY or not await self._client.create_progress(self._token):
            return
        if not self._has_ended:
            self._is_shown = True
            begin = types.WorkDoneProgressBegin(title=self._title, cancellable=True, percentage=0)
            self._client.progress(self._token, begin)

    def step(self, name: str) -> None:
        """The next file is dealt with."""
        self._n_done += 1
        if self._is_shown:
            share = 100 * (self._n_done - 1) // self._n_files
            report = types.WorkDoneProgressReport(
                message=f"{name} ({self._n_done} of {self._n_files} files)",
                cancellable=True,
                percentage=share,
            )
            self._client.progress(self._token, report)

    def end(self) -> None:
        """Take it away."""
        self._has_ended = True
        if self._is_shown:
            self._is_shown = False
            self._client.progress(self._token, types.WorkDoneProgressEnd())
