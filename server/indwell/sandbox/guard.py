"""A small helper process that ends our commands if we are killed.

It reads the marks of the programs that run from a pipe of which only we hold the other end. When
that closes, however we ended, it kills everything that carries one of them, and ends (PRC-03). A
death signal set on the program (``setpriv --pdeathsig``) would reach the program alone, and none
of its children. It costs 1 ms once, a megabyte, and one write as a program starts and ends.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable

from indwell.sandbox.environment import clean_environment
from indwell.sandbox.leftovers import ended, waited_for

# A line is all that runs, as `group:mark`; group 0 if it is not known yet. One that begins with a
# plus sign names a stand-in of `stubs`, to be removed if it still is one and nobody holds it.
_SCRIPT = r"""
trap '' HUP INT TERM
runs=
while IFS= read -r line; do
  case $line in
    +*) set -- "$@" "${line#+}" ;;
    *) runs=$line ;;
  esac
done
[ -n "$runs" ] && (
set --
for run in $runs; do
  [ "${run%%:*}" = 0 ] || kill -9 -- "-${run%%:*}"
  set -- "$@" -e "${run#*:}"
done
same=0
looks=0
found=
while [ "$same" -lt 5 ] && [ "$looks" -lt 500 ]; do
  looks=$((looks + 1))
  before=$found
  found=$(grep -lasF "$@" /proc/[0-9]*/limits /proc/[0-9]*/environ)
  for path in $found; do
    path=${path#/proc/}
    kill -9 "${path%%/*}"
  done
  # What has died but is not waited for still has its limits; it starts nothing any more. And one
  # look can miss what forks and ends all the time.
  if [ "$found" = "$before" ]; then same=$((same + 1)); else same=0; fi
done
)
for place do
  [ -k "$place" ] && [ ! -L "$place" ] && flock -n "$place" rmdir -- "$place"
done
"""
_MOST_LINE_B = 4_000  # that a pipe takes as one


class Guard:
    """Knows what runs, and starts the shell with the first of it; for POSIX systems."""

    def __init__(self) -> None:
        self._runs: dict[str, int] = {}
        self._stubs: set[str] = set()
        self._shell: subprocess.Popen[bytes] | None = None
        self._writing = -1

    def watch(self, mark: str, group: int = 0) -> None:
        """What carries ``mark``, or is in ``group``, is not to outlive us."""
        self._runs[mark] = group
        self._tell()

    def forget(self, mark: str) -> None:
        """It has ended."""
        if self._runs.pop(mark, None) is not None:
            self._tell()

    def clear(self, stub: str) -> None:
        """This stand-in is to be removed if we are killed before we can do so."""
        if stub in self._stubs or not stub.isprintable() or len(os.fsencode(stub)) > _MOST_LINE_B:
            return
        self._stubs.add(stub)
        if self._shell is not None:
            self._write(_stub_line(stub))

    def renew(self) -> None:
        """Start the shell again if somebody killed it while something runs."""
        if self._shell is not None and self._shell.poll() is not None:
            self._tell()

    def close(self) -> None:
        """Let the shell end, as it does without us; kills what it still watches."""
        shell, self._shell = self._shell, None
        if shell is not None:
            os.close(self._writing)
            with contextlib.suppress(subprocess.TimeoutExpired):
                shell.wait(timeout=1)
            ended(shell.pid)

    def _tell(self) -> None:
        if sys.platform == "win32":
            return
        if self._shell is None and self._runs:
            self._start()
        self._write(_line(self._runs.items()))

    def _write(self, line: bytes) -> None:
        if self._shell is None:
            return
        try:
            os.write(self._writing, line)
        except BlockingIOError:
            pass  # it is stopped; what it knows is older
        except BrokenPipeError:  # somebody killed it
            self.close()
            if self._runs:
                self._tell()

    def _start(self) -> None:
        """Start the shell; without one (no ``sh``, no memory) programs run unguarded."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        try:
            self._shell = subprocess.Popen(  # noqa: S603 - our own words
                ["/bin/sh", "-c", _SCRIPT],
                cwd="/",
                env=clean_environment({"PATH": os.defpath}),
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C at our terminal, and a kill of our group, spare it
            )
        except OSError:
            os.close(writing)
            return
        finally:
            os.close(reading)
        self._writing = writing
        for stub in self._stubs:
            self._write(_stub_line(stub))
        waited_for(self._shell.pid)
        atexit.register(self.close)


guard = Guard()
"""The one of this process, as marks and process groups are its own."""


def _stub_line(stub: str) -> bytes:
    return b"+" + os.fsencode(stub) + b"\n"


def _line(runs: Iterable[tuple[str, int]]) -> bytes:
    return " ".join(f"{group}:{mark}" for mark, group in runs).encode() + b"\n"
