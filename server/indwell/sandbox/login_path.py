"""Finds the PATH of the login shell for a server that the desktop started with a short PATH.

A program that starts from the Dock, or from the menu of a Linux desktop, gets only the system's
folders, without Homebrew's and other installed tools. The server therefore asks the user's own
shell once, in a thread, for two seconds at most. The shell runs in the home folder, with the
variables of a command. The shell is not asked if the workspace contains the shell, the home folder
or one of the shell's files, because then the author of a repository, or a command, could decide
what runs. Folders of the workspace in the answer are left out. Without an answer, a few folders
that exist are added.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
import secrets
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence

from indwell.own_path import lies_in, own_path
from indwell.sandbox.environment import clean_environment
from indwell.sandbox.leftovers import here as leftovers

if sys.platform != "win32":
    import pwd

BOUND_S = 2.0
_MOST_B = 1 << 18  # A shell with more output, in bytes, counts as giving no answer.
_MOST_FOLDERS = 200
_SHELLS = frozenset({"ash", "bash", "dash", "fish", "ksh", "mksh", "sh", "zsh"})
"""Shells that accept ``-l -i -c``; other shells (csh, Nushell) are not asked."""
_FILES = (
    *(".profile", ".bash_profile", ".bash_login", ".bashrc"),
    *(".zshenv", ".zprofile", ".zshrc", ".zlogin"),
    *(".config/fish/config.fish", ".config/fish/conf.d"),
)
_SYSTEM = frozenset(
    f"{above}/{name}" for above in ("", "/usr", "/usr/local") for name in ("bin", "sbin", "games")
) | {"/snap/bin", ""}
_FALLBACK = {
    "darwin": ("/opt/homebrew/bin", "/opt/homebrew/sbin", "/usr/local/bin"),
    "linux": ("/usr/local/bin", "~/.local/bin", "/home/linuxbrew/.linuxbrew/bin"),
}
# By this variable, a user's start-up files can recognise the question, and skip slow parts.
_ASKING = "INDWELL_READS_PATH"

_log = logging.getLogger(__name__)


def is_short(environment: Mapping[str, str], platform: str) -> bool:
    """Return whether a desktop started this process with only the system's folders."""
    if platform == "win32" or environment.get("SHLVL", "0") != "0":  # A shell started this process.
        return False
    has_desktop = "DISPLAY" in environment or "WAYLAND_DISPLAY" in environment
    if platform != "darwin" and not has_desktop:
        return False
    return set(environment.get("PATH", "").split(":")) <= _SYSTEM


def folders_of(said: bytes, mark: str) -> tuple[str, ...]:
    """Return the folders between two markers in the shell's output, or empty if none is there.

    What the shell's start-up files print before and after the markers is ignored. Relative folders,
    and folders with control characters, are ignored, too.
    """
    wrapped = re.search(b"%b\n([^\n]*)\n%b" % (mark.encode(), mark.encode()), said)
    if wrapped is None:
        return ()
    entries = os.fsdecode(wrapped[1]).split(":")
    kept = dict.fromkeys(one for one in entries if one.startswith("/") and _is_plain(one))
    return tuple(kept)[:_MOST_FOLDERS]


def may_be_asked(shell: str, home: str, workspace: Sequence[str | os.PathLike[str]]) -> bool:
    """Return whether the shell and its start-up files belong to the user, not to the workspace."""
    if os.path.basename(shell) not in _SHELLS or not os.access(shell, os.X_OK):  # noqa: PTH119 -- text
        return False
    real = os.path.realpath(home)
    for folder in map(os.path.realpath, workspace):
        if os.path.commonpath([real, folder]) == folder:
            return False
    return not any(
        lies_in(one, workspace)
        for one in (shell, *(os.path.join(home, name) for name in _FILES))  # noqa: PTH118 -- text
    )


def ask(shell: str, home: str, bound_s: float = BOUND_S) -> tuple[str, ...]:
    """Return the folders of the login shell's PATH, or empty if there is no answer. Blocks.

    Args:
        shell: The user's shell.
        home: The folder in which the shell runs.
        bound_s: Seconds until the shell is killed, with all that it started.
    """
    mark = secrets.token_hex(16)
    words = f"command printf '%s\\n' {mark} \"$PATH\" {mark}"
    until = time.monotonic() + bound_s
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's own shell, our own words
            [shell, "-l", "-i", "-c", words],
            cwd=home,
            env=clean_environment(os.environ, {_ASKING: "1", "HOME": home, "SHELL": shell}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # An interactive shell would otherwise take the terminal.
        )
    except OSError as error:
        _log.info("the login shell did not start: %s", error)
        return ()
    leftovers.waited_for(process.pid)
    try:
        said = _until_marked(process, mark.encode(), until)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, until - time.monotonic()))
    finally:
        if process.poll() is None:
            leftovers.signal_group(process.pid, "SIGKILL")
        process.wait()
        leftovers.ended(process.pid)
    return folders_of(said, mark)


def look(workspace: Sequence[str | os.PathLike[str]]) -> None:
    """Start a thread that asks the shell, once, if PATH is short; return at once.

    ``own_path.settle`` waits for the thread.

    Args:
        workspace: The folders of the workspace.
    """
    if own_path.pending is None and is_short(os.environ, sys.platform):
        thread = threading.Thread(
            target=_lengthen, args=(workspace,), name="indwell-login-path", daemon=True
        )
        thread.start()
        own_path.pending = functools.partial(thread.join, BOUND_S + 1)


def _lengthen(workspace: Sequence[str | os.PathLike[str]]) -> None:
    shell, home = _user()
    asked = ask(shell, home) if may_be_asked(shell, home, workspace) else ()
    if asked:
        own_path.add(asked, first=True)
        _log.info("PATH was taken from the login shell: %d folders", len(asked))
        return
    fallback = [os.path.expanduser(one) for one in _FALLBACK.get(sys.platform, ())]  # noqa: PTH111 -- text
    own_path.add(filter(os.path.isdir, fallback), first=False)
    _log.info("the login shell did not report its PATH; usual folders are searched, too")


def _user() -> tuple[str, str]:
    """Return the user's login shell and home folder, or empty texts if they are unknown."""
    if sys.platform != "win32":
        with contextlib.suppress(KeyError):
            known = pwd.getpwuid(os.getuid())
            return known.pw_shell, os.environ.get("HOME") or known.pw_dir
    return "", ""


def _until_marked(process: subprocess.Popen[bytes], mark: bytes, until: float) -> bytes:
    """Read until the second marker; a program in the shell's files may keep the pipe open."""
    said = b""
    assert process.stdout is not None
    with process.stdout as pipe, selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while said.count(mark) < 2 and len(said) < _MOST_B:  # noqa: PLR2004 -- before and behind
            if not selector.select(max(0.0, until - time.monotonic())):
                break
            piece = os.read(pipe.fileno(), 1 << 16)
            if not piece:
                break
            said += piece
    return said


def _is_plain(text: str) -> bool:
    return all(char.isprintable() or "\udc80" <= char <= "\udcff" for char in text)
