"""Forks a process for each run of a batch, after one import of all modules (``batch.warm_start``).

The process reads nothing of a run: each fork reads its own arguments and variables. So a fork
differs from a new process only by the imported modules, and no run can reach another one.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import select
import signal
import socket
import sys

import msgspec

from indwell.batch.warm_start import NUMBER, ForkOrder
from indwell.cli import main
from indwell.prepared_types import prepared

_N_FILES = 5  # stdin, stdout, stderr, the order, and the pipe for the exit code
_ORDER, _STATUS = 3, 4
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4  # from linux/prctl.h
_MOST_ORDER_B = 64 << 20


def preload() -> None:
    """Import the modules that runs need, without starting a thread or a process."""
    from indwell.cli.run import command
    from indwell.policy.commands.dangerous import why_dangerous
    from indwell.policy.paths import matches_any
    from indwell.providers import client, facts, retry
    from indwell.settings.model import Settings
    from indwell.skills import plain_yaml

    del command, plain_yaml, retry  # Only the imports are needed.
    importlib.import_module("indwell.cli.commands")  # It imports this package itself.
    client.warm_up()
    facts.warm_up()
    matches_any("any.txt", Settings().deny)
    why_dangerous("rm any.txt")
    gc.collect()
    gc.freeze()


if sys.platform == "linux":

    def fork_runs(connection: socket.socket) -> list[int] | None:
        """Fork for each message until the other end closes.

        Returns:
            In a fork, the descriptors of its message; None in the forking process, at the end.
        """
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        running: dict[int, tuple[int, int]] = {}
        while True:
            for ready, _ in poll.poll():
                if ready in running:
                    pid, status = running.pop(ready)
                    poll.unregister(ready)
                    os.close(ready)
                    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                    _tell(status, code)
                    os.close(status)
                    continue
                word, files, _, _ = socket.recv_fds(connection, 1, _N_FILES)
                if not word:
                    return None
                pid = os.fork()
                if not pid:
                    for place, (_, status) in running.items():
                        os.close(place)
                        os.close(status)
                    connection.close()
                    return files
                for file in files[:_STATUS]:
                    os.close(file)
                _tell(files[_STATUS], pid)
                watching = os.pidfd_open(pid)
                running[watching] = pid, files[_STATUS]
                poll.register(watching, select.POLLIN)

    def run_order(files: list[int], forking: int) -> int:
        """Become the run of a message; process ``forking`` is the parent. Return the exit code."""
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != forking:
            return 1
        os.setsid()
        for number, file in enumerate(files[:_ORDER]):
            os.dup2(file, number)
        data = os.pread(files[_ORDER], _MOST_ORDER_B, 0)
        for file in files:
            os.close(file)
        order = msgspec.json.decode(data, type=prepared(ForkOrder))
        os.environ.clear()
        os.environ.update(order.env)
        os.chdir(order.cwd)
        sys.argv = ["indwell", *order.words]
        return main(order.words)

    def _tell(file: int, number: int) -> None:
        try:
            os.write(file, NUMBER.pack(number))
        except BrokenPipeError:
            return  # Nothing waits for the run any more.

    if __name__ == "__main__":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        preload()
        own = os.getpid()
        found = fork_runs(socket.socket(fileno=int(sys.argv[1])))
        sys.exit(0 if found is None else run_order(found, own))
