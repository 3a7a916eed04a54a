"""Loads all modules of indwell once, and forks a process for each server or command.

    python nest.py FD

Each message on the socket FD, ``{"arguments", "environment", "folder", "terminal"}``, starts one
process. The message carries four file descriptors: stdin, stdout, stderr, and one for the report.
The report is a line with the process id, and at the end the status from ``os.waitpid``. When the
socket closes, the nest waits 60 s for its processes, kills the rest, and exits with 1 if it killed
any.

Loading takes 0.5 to 1.2 s of a processor, which hundreds of tests would repeat. Other tests start a
real process, and so cover the start of ``indwell``.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import termios
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

END_S = 60.0  # The limit is the same, in seconds, as in tests/conftest.py.
KILLED = 1
CALLED = (  # Most servers call these methods, whose types come from lsprotocol.
    "workspace/applyEdit",
    "window/showMessage",
    "window/logMessage",
    "window/showMessageRequest",
    "workspace/configuration",
    "client/registerCapability",
    "window/showDocument",
    "textDocument/publishDiagnostics",
    "window/workDoneProgress/create",
    "$/progress",
)
PATTERN_METHODS = ("finditer", "findall", "fullmatch", "match", "search", "split", "sub")


class Nest:
    """Waits for messages and for ended processes; ``serve`` returns in each child."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._reports: dict[int, int] = {}
        self._ended, self._wake = os.pipe()

    def serve(self) -> None:
        """Fork a process for each message; return only in the children."""
        os.set_blocking(self._wake, False)
        os.set_blocking(self._ended, False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        while True:
            ready, _, _ = select.select([self._control, self._ended], [], [])
            if self._ended in ready:
                self._tell_ends()
            if self._control in ready:
                message, fds, _, _ = socket.recv_fds(self._control, 1 << 20, 4)
                if not message:
                    self._leave()
                if self._begin(json.loads(message), fds):
                    return

    def _begin(self, wanted: dict[str, object], fds: list[int]) -> bool:
        """Fork the process; return True in the child."""
        pid = os.fork()
        if pid:
            for fd in fds[:3]:
                os.close(fd)
            self._reports[pid] = fds[3]
            os.write(fds[3], b"%d\n" % pid)
            return False
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for at, fd in enumerate(fds[:3]):
            os.dup2(fd, at)
        for fd in (*fds, *self._reports.values(), self._ended, self._wake):
            os.close(fd)
        self._control.close()
        _become(**wanted)  # type: ignore[arg-type] # JSON
        return True

    def _tell_ends(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._ended, 1 << 10):
                pass
        with suppress(ChildProcessError):
            while (gone := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                report = self._reports.pop(gone[0])
                with suppress(BrokenPipeError):
                    os.write(report, b"%d\n" % gone[1])
                os.close(report)

    def _leave(self) -> None:
        until = time.monotonic() + END_S
        while self._reports and time.monotonic() < until:
            select.select([self._ended], [], [], 0.1)
            self._tell_ends()
        for pid in self._reports:
            os.kill(pid, signal.SIGKILL)
        sys.exit(KILLED if self._reports else 0)


def _become(
    arguments: list[str], environment: dict[str, str], folder: str, *, terminal: bool
) -> None:
    """Make this process equal to ``python -m indwell`` in a folder, or at a terminal."""
    if terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    main = find_spec("indwell.__main__")
    assert main is not None
    assert main.origin is not None
    sys.argv = [main.origin, *arguments]
    sys.path[0] = folder
    sys.path[1:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))


def load() -> None:
    """Import all of ``indwell``, and prepare it as ``wiring.preload`` does.

    Each server detects the machine's abilities (its sandbox) itself.
    """
    import indwell  # noqa: PLC0415 - heavy, and this module is read elsewhere too

    for module in pkgutil.walk_packages(indwell.__path__, "indwell."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in ("watchdog.observers", "rapidfuzz.distance", "_strptime"):
        importlib.import_module(name)  # A turn imports these modules at their first use.
    from indwell.policy.commands.dangerous import why_dangerous  # noqa: PLC0415
    from indwell.policy.commands.judge import judge  # noqa: PLC0415
    from indwell.policy.commands.path_rules import Situation  # noqa: PLC0415
    from indwell.policy.paths import matches_any  # noqa: PLC0415
    from indwell.providers import client, facts  # noqa: PLC0415
    from indwell.providers.http.http_client import certificates  # noqa: PLC0415
    from indwell.settings.model import Settings  # noqa: PLC0415
    from indwell.tools.commands.bash import Shell  # noqa: PLC0415
    from indwell.wiring.features import standard_tools  # noqa: PLC0415

    standard_tools(Shell(Path.cwd(), timeout_s=1.0))
    matches_any("any.txt", Settings().deny)
    why_dangerous("rm any.txt")
    judge("ls any.txt", Situation())
    client.warm_up()
    facts.warm_up()
    # Loading certificates early saves 20 ms in each server that calls a model.
    certificates()
    _compile_patterns()
    _load_protocol()
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a fork copies one thread alone"
    gc.freeze()


def _compile_patterns() -> None:
    """Compile 30 patterns that a turn compiles at their first use; this saves 8 ms of each turn."""
    from indwell.lazy_pattern import lazy_pattern  # noqa: PLC0415 - as above

    modules = [module for name, module in sys.modules.items() if name.startswith("indwell.")]
    for value in (value for module in modules for value in vars(module).values()):
        if isinstance(value, lazy_pattern):  # type: ignore[arg-type] # a class, in truth
            for method in PATTERN_METHODS:
                getattr(value, method)


def _load_protocol() -> None:
    """Import lsprotocol and create its converters.

    Without ``nest.py``, this work took a third of the processor time of all tests.
    """
    from lsprotocol import types  # noqa: PLC0415 - as above

    from indwell.lsp.messages import methods as protocol  # noqa: PLC0415
    from indwell.lsp.wire.conversion import as_json, strict_converter  # noqa: PLC0415

    converter = strict_converter()
    as_json(types.Position(0, 0))
    of_protocol = (type_ for name in CALLED for type_ in types.METHOD_TO_TYPES[name][:3] if type_)
    ours = (type_ for one in protocol.METHODS.values() for type_ in (one.params, one.result))
    wanted = (*of_protocol, *ours, *protocol.COMMANDS.values(), types.ExecuteCommandParams)
    # The loop runs twice, because cattrs drops all hooks at a new kind of mapping.
    for type_ in 2 * wanted:
        if isinstance(type_, type):
            converter.get_structure_hook(type_)
            converter.get_unstructure_hook(type_)


def _leave_at_once(main: Callable[[], int]) -> None:
    """Exit like the interpreter, but free no module, which takes a fifth of a server's time.

    An exception of ``main`` other than an exit with a number ends the process as usual.
    """
    try:
        code = main()
    except SystemExit as leaving:  # The module argparse raises SystemExit.
        if not isinstance(leaving.code, int):
            raise
        code = leaving.code
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    # The folder of this file is unsuitable, because it contains a module `requests`.
    sys.path[0] = str(Path.cwd())
    given = socket.socket(fileno=int(sys.argv[1]))
    load()
    given.send(b"ready")
    Nest(given).serve()
    from indwell.cli import main

    _leave_at_once(main)
