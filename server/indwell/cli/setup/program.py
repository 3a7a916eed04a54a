"""Which command an editor has to start: plain, if a desktop editor finds it, else its path."""

from __future__ import annotations

import shutil
import sys
import sysconfig
import unicodedata
from pathlib import Path

from indwell.cli.setup.configuration import PLAIN
from indwell.errors import UserError
from indwell.workspace.paths import visible

DESKTOP_PATH = {
    "darwin": "/usr/bin:/bin:/usr/sbin:/sbin",  # launchd's
    "win32": None,  # programs of the desktop see the user's own PATH
}
_ODD = frozenset({"Cc", "Cs", "Zl", "Zp"})  # controls, halves of characters, line separators
_LINUX = "/usr/local/bin:/usr/bin:/bin"  # of a session manager without the user's shell


def command() -> tuple[str, ...]:
    """The words that start this very Indwell.

    Raises:
        UserError: No configuration of an editor could hold them.
    """
    own = _own()
    if own is None:
        return checked((sys.executable, "-m", *PLAIN))
    found = shutil.which(PLAIN[0], path=DESKTOP_PATH.get(sys.platform, _LINUX))
    is_found = found is not None and Path(found).resolve() == own.resolve()
    return PLAIN if is_found else checked((str(own), *PLAIN[1:]))


def checked(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words, if each stands on one line and is text.

    Raises:
        UserError: One does not.
    """
    for word in words:
        if any(unicodedata.category(char) in _ODD for char in word):
            raise UserError(
                f"Indwell is installed at {visible(word)}, and a path with a line break or another "
                "control character cannot stand in an editor's configuration; install it elsewhere."
            )
    return words


def _own() -> Path | None:
    """The script that was installed with this Python; None if there is none."""
    found = shutil.which(PLAIN[0], path=sysconfig.get_path("scripts"))
    return Path(found) if found is not None else None
