"""A descriptor from which bubblewrap reads the filter of system calls."""

from __future__ import annotations

import contextlib
import os
import platform
import stat
from collections.abc import Iterator
from pathlib import Path

from indwell.sandbox.confinement import Confinement
from indwell.sandbox.seccomp import filter_program


@contextlib.contextmanager
def filter_pipe(bounds: Confinement) -> Iterator[int]:
    """The filter of these bounds, to be read once; it fits a pipe whole (2 kB)."""
    reading, writing = os.pipe()
    try:
        with os.fdopen(writing, "wb") as end:
            end.write(filter_of(bounds))
        yield reading
    finally:
        os.close(reading)


def filter_of(bounds: Confinement, *, inet: bool = True) -> bytes:
    """The filter of these bounds.

    Where a folder of the workspace gives its files its group, commands may do the same.
    """
    return filter_program(
        platform.machine(),
        unix_sockets=bounds.unix_sockets and inet,
        inet=inet,
        setgid=any(map(_gives_group, bounds.writable)),
    )


def _gives_group(folder: str) -> bool:
    try:
        return bool(Path(folder).stat().st_mode & stat.S_ISGID)
    except OSError:
        return False
