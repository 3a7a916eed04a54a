"""Which command an editor has to start: plain, if a desktop editor finds it, else its path."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path

from indwell.cli.setup.configuration import PLAIN

DESKTOP_PATH = {
    "darwin": "/usr/bin:/bin:/usr/sbin:/sbin",  # launchd's
    "win32": None,  # programs of the desktop see the user's own PATH
}
_LINUX = "/usr/local/bin:/usr/bin:/bin"  # of a session manager without the user's shell


def command() -> tuple[str, ...]:
    """The words that start this very Indwell."""
    own = _own()
    if own is None:
        return (sys.executable, "-m", *PLAIN)
    found = shutil.which(PLAIN[0], path=DESKTOP_PATH.get(sys.platform, _LINUX))
    is_found = found is not None and Path(found).resolve() == own.resolve()
    return PLAIN if is_found else (str(own), *PLAIN[1:])


def _own() -> Path | None:
    """The script that was installed with this Python; None if there is none."""
    found = shutil.which(PLAIN[0], path=sysconfig.get_path("scripts"))
    return Path(found) if found is not None else None
