"""Checks whether an update has replaced Indwell's files on disk since this process started.

After an update, modules that a running server imports may be missing, or may not match the loaded
modules.
"""

from __future__ import annotations

import os

import indwell
from indwell.errors import bug_words

UPDATED = (
    "Indwell was updated while it was running; restart it: restart the editor's language server, "
    "or reload the window"
)


class Installation:
    """The state of one file of the package when the process began.

    Args:
        file: A file of the package that every kind of installation writes again.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._stamp = self._now()
        self._is_told = False

    def is_replaced(self) -> bool:
        """Return whether the file was replaced or is missing; takes a few microseconds."""
        return self._now() != self._stamp

    def news(self) -> str:
        """Return a notice about an update, only once; otherwise an empty text."""
        if self._is_told or not self.is_replaced():
            return ""
        self._is_told = True
        return UPDATED

    def fault_words(self, fault: BaseException) -> str:
        """Return the message for an unforeseen error that an update has probably caused."""
        return UPDATED if self.is_replaced() else bug_words(fault)

    def _now(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._file)  # noqa: PTH116 - no object for each request
        except OSError:
            return None
        return (found.st_ino, found.st_size, found.st_mtime_ns)


installation = Installation(indwell.__file__)
