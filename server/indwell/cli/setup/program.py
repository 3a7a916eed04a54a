"""The command that an editor starts: by name if a desktop editor finds it, else by path."""

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
    "win32": None,  # desktop programs see the user's own PATH
}
_ODD = frozenset({"Cc", "Cs", "Zl", "Zp"})  # control characters, surrogates, line separators
_LINUX = "/usr/local/bin:/usr/bin:/bin"  # of a session manager without the user's shell


def command() -> tuple[str, ...]:
    """The command line that starts this installation of Indwell.

    Raises:
        UserError: No editor configuration can hold it.
    """
    own = _own()
    if own is None:
        return checked((sys.executable, "-m", *PLAIN))
    found = shutil.which(PLAIN[0], path=DESKTOP_PATH.get(sys.platform, _LINUX))
    is_found = found is not None and Path(found).resolve() == own.resolve()
    return PLAIN if is_found else checked((str(own), *PLAIN[1:]))


def checked(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words, if each is printable text on one line.

    Raises:
        UserError: A word is not.
    """
    for word in words:
        if any(unicodedata.category(char) in _ODD for char in word):
            raise UserError(
                f"Indwell is installed at {visible(word)}. An editor's configuration cannot hold "
                f"a path with a line break or control character. Install Indwell elsewhere."
            )
    return words


def _own() -> Path | None:
    """The script of this Python environment; None without one."""
    found = shutil.which(PLAIN[0], path=sysconfig.get_path("scripts"))
    return Path(found) if found is not None else None
