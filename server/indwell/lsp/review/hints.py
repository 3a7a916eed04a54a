"""Pending hunks as diagnostics of the least severity, so that "next problem" finds them.

Only what differs from what was published last goes out.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from indwell.lsp.ours import OURS, hint_words
from indwell.lsp.review.offers import Shown
from indwell.lsp.review.places import range_of
from indwell.lsp.review.words import described
from indwell.review.hunk import Hunk

CODE = "change"
MOST = 500  # of one file; nobody goes through more one by one, and each costs the loop 10 us
_HINT = 4  # DiagnosticSeverity


class Published(msgspec.Struct, frozen=True):
    """``textDocument/publishDiagnostics``: all of ours of one document."""

    uri: str
    diagnostics: list[dict[str, Any]]


def hint_of(hunk: Hunk, shown: Shown) -> dict[str, Any]:
    """The diagnostic of a hunk, as plain JSON."""
    range_ = range_of(hunk, shown.n_lines, shown.encoding)
    if range_["start"] == range_["end"]:  # some editors show nothing there, or the wrong place
        range_ = {**range_, "end": {**range_["end"], "character": 1}}
    return {
        "range": range_,
        "severity": _HINT,
        "code": CODE,
        "source": OURS,
        "message": hint_words(described(hunk, shown.session)),
    }


class Hints:
    """What the editor shows of ours, by file.

    Args:
        publish: Sends them.
    """

    def __init__(self, publish: Callable[[Published], None]) -> None:
        self._publish = publish
        self._shown: dict[Path, Published] = {}

    def show(self, path: Path, shown: Shown) -> None:
        """Let a file have exactly these hunks, the first of them if they are very many."""
        fresh = Published(shown.uri, [hint_of(hunk, shown) for hunk in shown.hunks[:MOST]])
        before = self._shown.get(path)
        if before is not None and before.uri != fresh.uri:
            self.clear(path)  # the editor calls the same file by another name now
            before = None
        if before == fresh or (before is None and not fresh.diagnostics):
            return
        if fresh.diagnostics:
            self._shown[path] = fresh
        else:
            del self._shown[path]
        self._publish(fresh)

    def clear(self, path: Path) -> None:
        """Take those of a file away."""
        before = self._shown.pop(path, None)
        if before is not None:
            self._publish(Published(before.uri, []))

    def clear_all(self) -> None:
        """Take all away."""
        for path in tuple(self._shown):
            self.clear(path)
