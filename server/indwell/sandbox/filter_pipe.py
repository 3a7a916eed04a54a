"""A descriptor from which bubblewrap reads the filter of system calls."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Iterator

from indwell.sandbox.confinement import Confinement
from indwell.sandbox.seccomp import filter_program


@contextlib.contextmanager
def filter_pipe(bounds: Confinement) -> Iterator[int]:
    """The filter of these bounds, to be read once; it fits a pipe whole (2 kB)."""
    reading, writing = os.pipe()
    try:
        with os.fdopen(writing, "wb") as end:
            end.write(filter_program(platform.machine(), unix_sockets=bounds.unix_sockets))
        yield reading
    finally:
        os.close(reading)
