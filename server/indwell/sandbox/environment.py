"""Which environment variables a child gets: an allow-list, so that no key or token reaches it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
"""Names that toolchains need to be found. Proxies are left out: their addresses hold passwords.
So are sockets (SSH_AUTH_SOCK, DBUS_…) and what a shell or loader would run (BASH_ENV, LD_…)."""

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
messages are English (PRC-04, PRC-14). ``CI`` is never set: with it build tools take warnings for
errors, and test runners write no snapshots. Git starts no program that a repository names for a
mere ``git status``, and takes no folder for a repository that only looks like one (TRU-17)."""


def clean_environment(
    source: Mapping[str, str], extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment of a child, from ours.

    Relative entries of PATH are left out: ``.`` would run programs of the workspace.

    Args:
        source: Our own environment.
        extra: Variables that the caller adds; they win.
    """
    kept = {name: value for name, value in source.items() if name.upper() in ALLOWED}
    folders = source.get("PATH", os.defpath).split(os.pathsep)
    absolute = os.pathsep.join(folder for folder in folders if Path(folder).is_absolute())
    kept["PATH"] = absolute or os.defpath  # an empty one means the working directory
    return {**kept, **FIXED, **(extra or {})}


def raw(text: str) -> Any:  # noqa: ANN401 -- str or bytes, as the system has it
    """An argument, path or variable as a child gets it: UTF-8, whatever our own locale (SYS-06).

    Raises:
        UnicodeEncodeError: It holds half a character.
    """
    return text if sys.platform == "win32" else text.encode("utf-8", "surrogateescape")
