"""Starts a small helper process that ends all commands if Indwell is killed.

The helper reads the marks of running programs (see ``leftovers``) from a pipe whose other end only
Indwell has. When that end closes, however Indwell died, the helper kills every process with one of
the marks, and exits (PRC-03). A death signal on the program (``setpriv --pdeathsig``) would not
reach the program's children. The helper costs 1 ms once, a megabyte, and one write whenever a
program starts or ends.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable

from indwell.sandbox.environment import clean_environment
from indwell.sandbox.leftovers import here as leftovers

# Each line lists all running programs as `group:mark`; group 0 is not known yet. A line that begins
# with a plus sign names a stub folder, which is removed if it is unlocked.
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
_END_S = 5.0  # On a busy machine, the shell needs seconds to search /proc and kill.
_MOST_LINE_B = 4_000  # A write of at most 4,000 bytes to a pipe is atomic.


class Guard:
    """Reports running programs to the helper shell; starts the shell when needed. POSIX only."""

    def __init__(self) -> None:
        self._runs: dict[str, int] = {}
        self._stubs: set[str] = set()
        self._shell: subprocess.Popen[bytes] | None = None
        self._writing = -1

    def watch(self, mark: str, group: int = 0) -> None:
        """Kill the processes with ``mark`` or in ``group`` if Indwell dies."""
        self._runs[mark] = group
        self._tell()

    def forget(self, mark: str) -> None:
        """Stop guarding a run that has ended."""
        if self._runs.pop(mark, None) is not None:
            self._tell()

    def clear(self, stub: str) -> None:
        """Let the helper remove this stub folder if Indwell is killed."""
        if stub in self._stubs or not stub.isprintable() or len(os.fsencode(stub)) > _MOST_LINE_B:
            return
        self._stubs.add(stub)
        if self._shell is not None:
            self._write(_stub_line(stub))

    def renew(self) -> None:
        """Restart the shell if it was killed while a program runs."""
        if self._shell is not None and self._shell.poll() is not None:
            self._tell()

    def close(self) -> None:
        """End the helper shell and all programs that it still guards, as if Indwell had died."""
        shell, self._shell = self._shell, None
        if shell is not None:
            os.close(self._writing)
            with contextlib.suppress(subprocess.TimeoutExpired):
                shell.wait(timeout=_END_S)
            leftovers.ended(shell.pid)

    def _tell(self) -> None:
        # Windows uses jobs instead.
        if self._shell is None and self._runs and sys.platform != "win32":
            self._start()
        self._write(_line(self._runs.items()))

    def _write(self, line: bytes) -> None:
        if self._shell is None:
            return
        try:
            os.write(self._writing, line)
        except BlockingIOError:
            pass  # The pipe is full because the shell is stopped; the shell keeps older data.
        except BrokenPipeError:  # The shell was killed.
            self.close()
            if self._runs:
                self._tell()

    def _start(self) -> None:
        """Start the helper shell; if that is impossible, programs run unguarded."""
        reading, writing = os.pipe()
        if sys.platform != "win32":
            os.set_blocking(writing, False)
        try:
            self._shell = subprocess.Popen(  # noqa: S603 - our own words
                ["/bin/sh", "-c", _SCRIPT],
                cwd="/",
                env=clean_environment({"PATH": os.defpath}),
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Ctrl-C at the terminal, or a kill of Indwell's group, must not reach the shell.
                start_new_session=True,
            )
        except OSError:
            os.close(writing)
            return
        finally:
            os.close(reading)
        self._writing = writing
        for stub in self._stubs:
            self._write(_stub_line(stub))
        leftovers.waited_for(self._shell.pid)
        atexit.register(self.close)


guard = Guard()
"""The only guard of this process, because marks and process groups belong to the process."""


def _stub_line(stub: str) -> bytes:
    return b"+" + os.fsencode(stub) + b"\n"


def _line(runs: Iterable[tuple[str, int]]) -> bytes:
    return " ".join(f"{group}:{mark}" for mark, group in runs).encode() + b"\n"
