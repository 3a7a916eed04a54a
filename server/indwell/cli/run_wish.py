"""What was asked for with ``indwell run``."""

from __future__ import annotations

from pathlib import Path

import msgspec

from indwell.cli.run_grammar import Format, Limits
from indwell.settings.model import Mode

NEWEST = "newest"  # no session can have this name: ids begin with a date


class Wish(msgspec.Struct, frozen=True):
    """What was asked for on the command line; ``place`` is ``PATH`` or ``PATH:L1-L2``.

    ``mode`` may be freer than the settings', and ``model`` another: the user's own command line
    says so. ``session`` is the id, or the beginning of it, of one to go on with; ``NEWEST`` the
    newest. Then there need not be ``words``. ``turn``: it goes on from the end of this one;
    ``files``: and they are taken back too.
    ``origin``: as ``session``, of one whose task a new session takes along.
    ``trust``: the folder is trusted, for this time. ``approves``: its plan is carried out.
    ``stdin``: prompts, or a text that the words are about, are read there.
    """

    words: str
    folder: Path
    place: str | None = None
    json: bool = False
    scripted: bool = False
    allow: bool = False
    mode: Mode | None = None
    model: str = ""
    session: str = ""
    turn: int | None = None
    files: bool = False
    origin: str = ""
    trust: bool = False
    approves: bool = False
    stdin: Format | None = None
    limits: Limits = Limits()
