"""Hold a command still for a moment: stop all its processes, and let them go on (POSIX).

A command can make files faster than anybody can look at them. While those are looked at, it waits.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from indwell.sandbox.leftovers import ahead_of_others, descendants
from indwell.sandbox.orphans import IS_LINUX, Run
from indwell.sandbox.processes import processes

SEARCH_S = 0.2  # for what forks while it is searched for


class Pause:
    """Over one run, which begins later; all of it may be called in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._run: tuple[int, Run] | None = None
        self._wanted_by: set[str] = set()
        self._stopped: set[tuple[int, int]] = set()  # numbers, and when they began

    def begin(self, pid: int, run: Run) -> None:
        """The program was started; it stands still once somebody asks for that (again)."""
        with self._lock:
            self._run = (pid, run)

    def end(self) -> None:
        """The program has ended: its number may be given to another one."""
        with self._lock:
            self._run = None
            self._stopped.clear()

    def hold(self, who: str, *, is_still: bool) -> bool:
        """Stop it, or let it go on unless somebody else wants it to stand still; blocks.

        Returns:
            It is as ``who`` wants it; False if processes appear faster than they can be stopped.
        """
        if sys.platform == "win32":
            return not is_still
        with self._lock:
            if is_still:
                self._wanted_by.add(who)
                return self._stop()
            self._wanted_by.discard(who)
            if not self._wanted_by:
                self._go_on()
            return True

    def _stop(self) -> bool:
        """Stop all processes, until a look finds no other one."""
        if self._run is None:
            return True
        if not IS_LINUX:
            return _signalled_group(self._run[0], "SIGSTOP")
        pid, run = self._run
        until = time.monotonic() + SEARCH_S
        seen: set[tuple[int, int]] = set()
        with ahead_of_others():
            while True:
                young = tuple(one for one in processes(run.began) if not one.is_dead)
                own = descendants(pid, run, young) | {pid}
                now = {(one.pid, one.began) for one in young if one.pid in own}
                for number, _ in now:
                    _signal(number, "SIGSTOP")
                self._stopped |= now
                if now <= seen:  # so each has been stopped twice: nobody was left to wake it
                    return True
                seen |= now
                if time.monotonic() > until:
                    return False

    def _go_on(self) -> None:
        stopped, self._stopped = self._stopped, set()
        if self._run is None:
            return
        pid, run = self._run
        if not IS_LINUX:
            _signalled_group(pid, "SIGCONT")
            return
        for one in processes(run.began):
            if (one.pid, one.began) in stopped:
                _signal(one.pid, "SIGCONT")


def _signal(pid: int, name: str) -> None:
    try:
        os.kill(pid, getattr(signal, name))
    except (ProcessLookupError, PermissionError):  # it has ended, or is not ours
        return


def _signalled_group(pid: int, name: str) -> bool:
    try:
        os.killpg(pid, getattr(signal, name))
    except (ProcessLookupError, PermissionError):
        return False
    return True
