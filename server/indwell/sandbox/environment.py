"""Selects the environment variables of child processes (S-H6), and removes secrets from its own.

A command of the same user may read ``/proc/PID/environ`` of the server. That file shows the memory
where the system put the variables at start. Deleting variables from ``os.environ`` does not change
that memory, so the memory is overwritten (SEC-02).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from indwell.own_path import DEFAULT_PATH, lies_in, own_path
from indwell.sandbox.leftovers import here as leftovers
from indwell.secrets import is_proxy, is_secret

OPEN_FILES = 4_096
_USUAL_FILES = 1_024
_OF_WINDOWS = (
    *("HOMEDRIVE", "HOMEPATH", "USERNAME", "PUBLIC", "ALLUSERSPROFILE", "OS"),
    *("PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)"),
    *("NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE"),
)
ALLOWED = frozenset(
    [
        *("HOME", "USER", "LOGNAME", "SHELL", "TZ", "TMPDIR"),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "UV_CACHE_DIR"),
        *("GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME"),
        *("NVM_DIR", "NVM_BIN", "VOLTA_HOME", "PNPM_HOME", "DOTNET_ROOT", "ANDROID_HOME"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
        *("SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR", "TEMP", "TMP"),
        *("USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES", "PROGRAMDATA"),
        *(_OF_WINDOWS if sys.platform == "win32" else ()),
    ]
)
"""Variables that toolchains need.

The list leaves out proxies, whose addresses may contain passwords, sockets
(SSH_AUTH_SOCK, DBUS_…), and what a shell or loader would run (BASH_ENV, LD_…).
"""
LOADER = ("LD_", "DYLD_", "GLIBC_", "GCONV_PATH", "LOCPATH", "NLSPATH", "MALLOC_")
"""Prefixes of variables that the loader and the C library obey before a program begins."""

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
    # Without this variable, Python writes the ANSI code page into a pipe, and the reader cannot
    # know the code page.
    **({"PYTHONIOENCODING": "utf-8"} if sys.platform == "win32" else {}),
}
"""Variables that are the same in every run and for every user.

No program waits for a person, a pager or an editor, and messages are English (PRC-04, PRC-14).
``CI`` is never set: with it, build tools treat warnings as errors and test runners write no
snapshots. By these variables, ``git status`` starts no program that a repository names, and git
ignores folders that only look like repositories (TRU-17).
"""
_OURS = str(Path(sys.executable).parent)  # Python packages install their programs into this folder.

if sys.platform == "win32":
    # ``Scripts`` is in an environment; in an installation, python.exe is one folder further up.
    _OURS += os.pathsep + str(Path(sys.executable).parent / "Scripts")
    # PATHEXT is unsuitable, because it also names scripts of other programs.
    _STARTABLE = (".com", ".exe", ".bat", ".cmd")

    def program_in(name: str, path: str) -> str | None:
        """Find a program by a bare name in the folders of ``path``, never in the current folder.

        ``shutil.which`` (Python 3.11) and Windows would look in the current folder first.
        """
        if not name or any(one in name for one in '\\/:*?"<>|'):
            return None
        given = os.environ.get("PATHEXT", "").lower().split(os.pathsep)
        endings = [one for one in given if one in _STARTABLE] or [*_STARTABLE]
        is_whole = name.lower().endswith(tuple(endings))
        for folder in path.split(os.pathsep):
            for ending in ("", *endings) if is_whole else endings:
                place = os.path.join(folder, name + ending)  # noqa: PTH118 - a text, for the system
                if Path(folder).is_absolute() and Path(place).is_file():
                    return place
        return None

else:
    import resource

    def program_in(name: str, path: str) -> str | None:
        """Find a program by its name in the folders of ``path``."""
        return shutil.which(name, path=path)


def clean_environment(
    source: Mapping[str, str], extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Build the environment of a child process from that of this process.

    Relative entries of PATH are dropped, because ``.`` would run programs of the workspace. On
    Windows, each name occurs once, in upper case, because Windows ignores case.

    Args:
        source: The environment of this process.
        extra: Variables of the caller, which take precedence.
    """
    source = _cased(source)
    kept = {name: value for name, value in source.items() if name.upper() in ALLOWED}
    folders = source.get("PATH", "").split(os.pathsep)
    absolute = os.pathsep.join(folder for folder in folders if Path(folder).is_absolute())
    kept["PATH"] = absolute or DEFAULT_PATH  # An empty PATH would mean the working directory.
    return {**kept, **FIXED, **_cased(extra or {})}


def in_upper_case(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with names in upper case; the last of several spellings is used."""
    return {name.upper(): value for name, value in variables.items()}


if sys.platform == "win32":
    _cased = in_upper_case
else:
    _cased = dict[str, str]


def raw(text: str) -> Any:  # noqa: ANN401 -- str or bytes, as the system has it
    """Encode an argument, path or variable for a child: UTF-8 in any locale (SYS-06).

    Raises:
        UnicodeEncodeError: The text contains half a surrogate pair.
    """
    return text if sys.platform == "win32" else text.encode("utf-8", "surrogateescape")


def find_program(name: str, never_in: Sequence[Path] = ()) -> Path | None:
    """Find a program beside Indwell's Python, where packages install programs, or on PATH.

    An activated environment of the project puts a workspace folder first on PATH. A sandboxed
    command may have written a program there, which must not run without a sandbox.

    A program beside Indwell's Python is used even in the workspace, because anyone who can write
    there controls the server anyway.

    Args:
        name: The program's name.
        never_in: Workspace folders whose programs are not used.
    """
    beside = program_in(name, _OURS)
    return Path(beside) if beside else _on_path(name, never_in)


def commands_path() -> str:
    """Return PATH for the agent's commands: the original value, with the project's environment.

    This process uses another PATH for itself and for sub-agents (``indwell.own_path``).
    """
    return clean_environment({"PATH": own_path.given})["PATH"]


def program_within(name: str, folders: Sequence[Path]) -> Path | None:
    """Find the file in ``folders`` that the shell would run by this bare name, or return None."""
    found = program_in(name, commands_path())
    return Path(found) if found and lies_in(found, folders) else None


def program_on_path(name: str) -> Path | None:
    """Find the file, in any folder, that the shell would run by this bare name, or return None."""
    found = program_in(name, commands_path())
    return Path(found) if found else None


def path_without(folders: Sequence[Path]) -> str:
    """Return the commands' PATH without entries in ``folders``, with links resolved."""
    entries = commands_path().split(os.pathsep)
    kept = os.pathsep.join(one for one in entries if not lies_in(one, folders))
    return kept or DEFAULT_PATH  # An empty PATH would mean the working directory.


def own_installation(roots: Iterable[Path]) -> tuple[Path, ...]:
    """Return the folder of Indwell's Python, if the folder is in the workspace.

    No sandboxed command may write there, because the changes would run without a sandbox at the
    next start.
    """
    prefix = Path(sys.prefix)
    return (prefix.resolve(),) if lies_in(prefix, tuple(roots)) else ()


def _on_path(name: str, never_in: Sequence[Path]) -> Path | None:
    own_path.settle()
    for entry in clean_environment(os.environ)["PATH"].split(os.pathsep):
        found = program_in(name, entry) if entry else None
        if found and not lies_in(found, never_in):
            return Path(found)
    return None


def keep_private() -> None:
    """Disable core dumps, and access to this process's memory by the user's programs.

    Root can read the memory anyway. If the system refuses the request, nothing changes.
    """
    if sys.platform != "win32":
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    leftovers.prepare()


def allow_open_files() -> None:
    """Allow ``OPEN_FILES`` files at once if fewer than Linux's usual 1,024 are allowed.

    macOS allows a desktop program 256 files, and each watched folder, socket and command needs
    some. The hard limit, which only root may raise, is unchanged. If the system refuses the
    request, nothing changes.
    """
    if sys.platform != "win32":
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < min(_USUAL_FILES, most):
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def take_out(is_secret: Callable[[str], bool], is_needed: Callable[[str], bool]) -> dict[str, str]:
    """Remove variables from this process's environment, and overwrite their memory.

    Args:
        is_secret: Returns whether to remove the variable of this name.
        is_needed: Returns whether libraries need the variable, which is then overwritten but not
            removed.

    Returns:
        The removed variables with their values.
    """
    taken = {name: value for name, value in os.environ.items() if is_secret(name)}
    rest = ((name, value) for name, value in os.environ.items() if name not in taken)
    kept = {name: value for name, value in rest if is_needed(name)}
    for name in (*taken, *kept):
        places = _places(name)
        del os.environ[name]
        for address, n_bytes in places:
            ctypes.memset(address, 0, n_bytes)
    os.environ.update(kept)
    return taken


if sys.platform == "win32":

    def _places(name: str) -> list[tuple[int, int]]:
        """Find nothing, because other programs of this user can always read the memory."""
        del name
        return []

else:

    def _places(name: str) -> list[tuple[int, int]]:
        """Find a variable's value in memory: addresses, with lengths in bytes."""
        library = ctypes.CDLL(None)
        if sys.platform == "darwin":
            library._NSGetEnviron.restype = ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))  # noqa: SLF001 -- its name
            entries = library._NSGetEnviron().contents  # noqa: SLF001 -- its name
        else:
            entries = ctypes.POINTER(ctypes.c_void_p).in_dll(library, "environ")
        beginning = os.fsencode(name) + b"="
        places, at = [], 0
        while entries and (address := entries[at]):
            entry = ctypes.string_at(address)
            if entry.startswith(beginning):
                n_name = len(beginning)
                places.append((address + n_name, len(entry) - n_name))
            at += 1
        return places


def own_environment() -> Mapping[str, str]:
    """Return all variables, for the settings, and remove those with secrets from ``os.environ``.

    Child processes get only a few of the other variables (``sandbox.environment``). The HTTP client
    still finds the addresses of proxies; child processes do not.
    """
    keep_private()
    allow_open_files()
    taken = take_out(is_secret, is_proxy)
    return {**os.environ, **taken}
