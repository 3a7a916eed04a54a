"""Environment variables of child processes, by allow-list, and the search for programs (S-H6)."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from indwell.own_path import lies_in, own_path

ALLOWED = frozenset(
    [
        *("HOME", "USER", "LOGNAME", "SHELL", "TZ", "TMPDIR"),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "UV_CACHE_DIR"),
        *("GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME"),
        *("NVM_DIR", "NVM_BIN", "VOLTA_HOME", "PNPM_HOME", "DOTNET_ROOT", "ANDROID_HOME"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
        *("SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR", "TEMP", "TMP"),
        *("USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES", "PROGRAMDATA"),
    ]
)
"""Variables that toolchains need. Excluded are proxies, whose addresses hold passwords, sockets
(SSH_AUTH_SOCK, DBUS_…), and what a shell or loader would run (BASH_ENV, LD_…).
"""

FIXED: Mapping[str, str] = {
    "LANG": "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "COLUMNS": "120",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "safe.bareRepository",
    "GIT_CONFIG_VALUE_1": "explicit",
}
"""The same in every run and for every user: nothing waits for a person, a pager or an editor, and
messages are English (PRC-04, PRC-14). ``CI`` is never set: with it, build tools treat warnings as
errors and test runners write no snapshots. Git starts no program that a repository names for a mere
``git status``, and ignores folders that only look like repositories (TRU-17).
"""


def clean_environment(
    source: Mapping[str, str], extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Build the environment of a child from ours.

    Relative entries of PATH are dropped: ``.`` would run programs of the workspace.

    Args:
        source: Our own environment.
        extra: Variables of the caller, which take precedence.
    """
    kept = {name: value for name, value in source.items() if name.upper() in ALLOWED}
    folders = source.get("PATH", os.defpath).split(os.pathsep)
    absolute = os.pathsep.join(folder for folder in folders if Path(folder).is_absolute())
    kept["PATH"] = absolute or os.defpath  # an empty PATH would mean the working directory
    return {**kept, **FIXED, **(extra or {})}


def raw(text: str) -> Any:  # noqa: ANN401 -- str or bytes, as the system has it
    """Encode an argument, path or variable for a child: UTF-8 in any locale (SYS-06).

    Raises:
        UnicodeEncodeError: It contains half a surrogate pair.
    """
    return text if sys.platform == "win32" else text.encode("utf-8", "surrogateescape")


def find_program(name: str, never_in: Sequence[Path] = ()) -> Path | None:
    """Find a program beside our own Python (where packages install theirs), else on PATH.

    An activated environment of the project puts a workspace folder first on PATH. We must not start
    without a sandbox what a sandboxed command may have written there.

    Beside our own Python, a program in the workspace counts: whoever writes there controls the
    server anyway.

    Args:
        name: The program's name.
        never_in: Workspace folders whose programs are not used.
    """
    beside = shutil.which(name, path=str(Path(sys.executable).parent))
    return Path(beside) if beside else _on_path(name, never_in)


def commands_path() -> str:
    """Return PATH for the agent's commands: the original one, with the project's environment.

    This process and its own helpers use another PATH (``indwell.own_path``).
    """
    return clean_environment({"PATH": own_path.given})["PATH"]


def program_within(name: str, folders: Sequence[Path]) -> Path | None:
    """Find the file in ``folders`` that our shell would run by this bare name; None if none."""
    found = shutil.which(name, path=commands_path())
    return Path(found) if found and lies_in(found, folders) else None


def program_on_path(name: str) -> Path | None:
    """Find the file anywhere that our shell would run by this bare name; None if none."""
    found = shutil.which(name, path=commands_path())
    return Path(found) if found else None


def path_without(folders: Sequence[Path]) -> str:
    """Return the commands' PATH without entries in ``folders``, links resolved."""
    entries = commands_path().split(os.pathsep)
    kept = os.pathsep.join(one for one in entries if not lies_in(one, folders))
    return kept or os.defpath  # an empty PATH would mean the working directory


def own_installation(roots: Iterable[Path]) -> tuple[Path, ...]:
    """Return where our own Python is installed, if that is in the workspace.

    No sandboxed command may write there: its changes would run without a sandbox, at the latest at
    the next start.
    """
    prefix = Path(sys.prefix)
    return (prefix.resolve(),) if lies_in(prefix, tuple(roots)) else ()


def _on_path(name: str, never_in: Sequence[Path]) -> Path | None:
    for entry in clean_environment(os.environ)["PATH"].split(os.pathsep):
        found = shutil.which(name, path=entry) if entry else None
        if found and not lies_in(found, never_in):
            return Path(found)
    return None
