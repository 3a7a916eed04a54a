"""A system that has no more files, processes or threads for us: said as such, not as a bug."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from indwell.errors import ToolError

_WHAT = {
    errno.EMFILE: "Indwell has as many files open as the system lets it (ulimit -n)",
    errno.ENFILE: "the system has as many files open as it can",
    errno.EAGAIN: "the system starts no more processes for this user (ulimit -u, or a pids limit)",
    errno.ENOMEM: "the system has no memory left for it",
}


def is_shortage(error: OSError) -> bool:
    """Is it about something of which there is no more just now?"""
    return error.errno in _WHAT


@asynccontextmanager
async def shortages() -> AsyncIterator[None]:
    """Tell of a shortage as a tool does.

    Raises:
        ToolError: Instead of the error of the system.
    """
    try:
        yield
    except OSError as error:
        if not is_shortage(error):
            raise
        raise ToolError(_words(_WHAT[error.errno or 0])) from error
    except RuntimeError as error:  # of `threading`, which has no kind of its own for it
        if "start new thread" not in str(error):
            raise
        raise ToolError(_words("the system starts no more threads for this user")) from error


def _words(what: str) -> str:
    return (
        f"the command could not be run to its end: {what}. End other programs, or background "
        "commands, and try again"
    )
