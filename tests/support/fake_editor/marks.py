"""Records the server's diagnostics, and its requests to refresh code lenses.

New diagnostics of a document replace its earlier diagnostics, as in every editor.
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
        problems: The server's diagnostics by URI; a document without diagnostics is missing.
        n_published: The number of times that the server published diagnostics.
        n_refreshes: The number of times that the server asked to refresh the lenses.
    """

    def __init__(self, tell: Callable[[], Awaitable[None]]) -> None:
        self._tell = tell
        self.problems: dict[str, Sequence[types.Diagnostic]] = {}
        self.n_published = 0
        self.n_refreshes = 0

    def answers(self, *, refreshes: bool) -> Mapping[str, Callable[[Any], Awaitable[Any]]]:
        """Return the handlers of the server's messages.

        Args:
            refreshes: The editor supports refreshing lenses.
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
