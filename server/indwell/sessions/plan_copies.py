"""Documents of its own for the plans of a fork: what is written in one changes no other session."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from indwell.context.plan import MOST_BYTES
from indwell.errors import ToolError
from indwell.files import read_bytes, write_private
from indwell.sessions.told import PlanSet

_NAME = "plan.md"  # behind a number


class PlanCopies:
    """Copies the documents that records name, each once. Blocks.

    Args:
        folder: Of the fork's long texts; it has none yet.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._copies: dict[str, str] = {}

    def of(self, record: PlanSet) -> PlanSet:
        """The record with the fork's own document; with none if the disk does not take it.

        The log has the text all the same, so a fork does not fail by this.
        """
        if not record.path:
            return record
        if record.path not in self._copies:
            self._copies[record.path] = self._copied(record)
        return msgspec.structs.replace(record, path=self._copies[record.path])

    def _copied(self, record: PlanSet) -> str:
        path = Path(record.path)
        data = f"{record.text}\n".encode("utf-8", "replace")
        with suppress(ToolError, OSError):  # gone, or no plan any more: as it is known
            data = read_bytes(path, [path.parent], MOST_BYTES)
        copy = self._folder / f"{len(self._copies) + 1:04d}-{_NAME}"
        try:
            return str(write_private(copy, data))
        except OSError:
            return ""
