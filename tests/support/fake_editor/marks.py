"""The server's marks in the fake editor: its diagnostics, and lenses to request again.

The newest diagnostics of a document stand in place of all before, as in every editor.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from lsprotocol import types


class Marks:
    """Diagnostics by document, and refreshes of lenses.

    Args:
        tell: Wakes waiting tests.

    Attributes:
        problems: The server's diagnostics by URI; a document without any is not in it.
        n_published: How often diagnostics came.
        n_refreshes: How often the lenses were to be asked for again.
    """

    def __init__(self, tell: Callable[[], Awaitable[None]]) -> None:
        self._tell = tell
        self.problems: dict[str, Sequence[types.Diagnostic]] = {}
        self.n_published = 0
        self.n_refreshes = 0

    def answers(self, *, refreshes: bool) -> Mapping[str, Callable[[Any], Awaitable[Any]]]:
        """What handles the server's messages.

        Args:
            refreshes: The editor knows how to ask for lenses again.
        """
        found: dict[str, Callable[[Any], Awaitable[Any]]] = {
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: self._on_diagnostics
        }
        if refreshes:
            found[types.WORKSPACE_CODE_LENS_REFRESH] = self._on_refresh
        return found

    async def _on_diagnostics(self, params: types.PublishDiagnosticsParams) -> None:
        self.n_published += 1
        if params.diagnostics:
            self.problems[params.uri] = params.diagnostics
        else:
            self.problems.pop(params.uri, None)
        await self._tell()

    async def _on_refresh(self, _params: None) -> None:
        self.n_refreshes += 1
        await self._tell()
