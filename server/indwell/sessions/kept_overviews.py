"""The overview of a session, kept in a small file beside its log: a list need not read long logs.

It counts only for the very log it was made of: same file, size and times, and the same Indwell. A
missing, damaged or outdated one is made again. Everything here blocks.
"""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from indwell import __version__
from indwell.errors import ToolError
from indwell.files.pieces import pieces_of
from indwell.files.private import read_own, replace_own
from indwell.files.states import state_of
from indwell.sessions.overview import Overview, scanned

NAME = "overview.json"
MADE_BY = f"{__version__}.1"  # count on when the same log gives another overview
_MOST_B = 1 << 20
_logger = logging.getLogger(__name__)


class _Kept(msgspec.Struct, frozen=True):
    """What is in the file.

    Attributes:
        made_by: Which Indwell made it.
        log: Times, size and number of the log when it was read.
        overview: What was found in it.
    """

    made_by: str
    log: tuple[int, int, int, int]
    overview: Overview


def overview_of(session: str, log: Path) -> Overview:
    """The overview of the session with this log; the log is only read if it changed.

    Raises:
        OSError: There is no log, or it cannot be read.
    """
    before = state_of(log)
    kept = _read(log.with_name(NAME))
    if kept is not None and before is not None and kept.log == before.seen:
        return kept.overview
    seen = scanned(session, pieces_of(log))
    if before is not None and state_of(log) == before:  # nobody wrote to it meanwhile
        _keep(log.with_name(NAME), _Kept(MADE_BY, before.seen, seen))
    return seen


def _read(path: Path) -> _Kept | None:
    try:
        kept = msgspec.json.decode(read_own(path, _MOST_B), type=_Kept)
    except (OSError, ToolError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return kept if kept.made_by == MADE_BY else None


def _keep(path: Path, kept: _Kept) -> None:
    try:
        replace_own(path, msgspec.json.encode(kept))
    except (OSError, UnicodeEncodeError) as error:  # the log is read again the next time
        _logger.info("the overview of a session cannot be kept: %s", error)
