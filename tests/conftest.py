"""Records which module opens files, starts processes and connects while tests run."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import sysconfig
import threading
import time
from collections.abc import Generator
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, settings

from support.hatching import close_nests
from support.strays import strays

collect_ignore_glob = ["stored/[0-9]*"]  # files that a release wrote, such as a project's tests

PACKAGE = str(Path(__file__).resolve().parents[1] / "server" / "indwell") + os.sep
STDLIB = sysconfig.get_paths()["stdlib"] + os.sep
LIBRARIES = sysconfig.get_paths()["purelib"] + os.sep
DOORS = {
    "open": ("files/", "sandbox/"),
    "subprocess.Popen": ("sandbox/",),
    "socket.connect": ("providers/client.py", "sandbox/proxy/"),
}
EXCUSED = {
    ("open", "cli/demo/command.py"): "empties the temporary folder that it made",
    ("open", "batch/warm_start.py"): "opens the null device for a process of Indwell",
    ("subprocess.Popen", "batch/warm_start.py"): "starts a process of Indwell that forks runs",
    ("socket.connect", "batch/on_ray.py"): "asks whether the address of a cluster answers",
}
# file name that `ast.parse` gives a text; Python opens it after a syntax error
UNNAMED = "<unknown>"
WATCH_STARTS = "indwell-watch"  # name of the thread in which a FolderWatch starts
END_S = 60.0  # seconds for processes to end; a server takes 2 s (safety.md, section 6)
# a shell makes background processes ignore Ctrl-C
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # programs that the tests start must receive Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
IS_CI = os.environ.get("CI") == "true"
# By default hypothesis fails an example that takes over 0.2 s; a busy machine may need longer.
# CI tries more examples than a person waits for; a failure prints what repeats it.
settings.register_profile(
    "shared",
    deadline=None,
    max_examples=int(os.environ.get("TEST_EXAMPLES") or (100 if IS_CI else 40)),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("shared")
_violations: set[tuple[str, str, str]] = set()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exclude the collected tests and their modules from garbage collection.

    Each worker keeps ten thousand tests until the end of the run.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _caller(frame: FrameType | None) -> str | None:
    """Return Indwell's module that made the call, skipping frames of the standard library only."""
    while frame is not None:
        file = frame.f_code.co_filename
        if "importlib" in file or file.endswith("linecache.py"):
            # any module may import modules or log a traceback, and both open source files
            return None
        if frame.f_code.co_name == "socketpair":
            return None  # Windows has no socketpair; the event loop connects to itself
        if file.startswith(PACKAGE):
            return file[len(PACKAGE) :].replace(os.sep, "/")
        if not file.startswith(STDLIB) or file.startswith(LIBRARIES):
            return None
        frame = frame.f_back
    return None


def _listen(event: str, arguments: tuple[object, ...]) -> None:
    doors = DOORS.get(event)
    # A logged traceback parses source lines, which may be incomplete statements.
    if doors is None or (event == "open" and arguments[0] == UNNAMED):
        return
    caller = _caller(sys._getframe(1))
    if caller is not None and not caller.startswith(doors) and (event, caller) not in EXCUSED:
        _violations.add((event, caller, str(arguments[0])))


sys.addaudithook(_listen)


@pytest.fixture(scope="session", autouse=True)
def one_door() -> object:
    """Fail the run if a module without permission opened a file, started a process or connected."""
    yield
    assert sorted(_violations) == []


@pytest.fixture(autouse=True)
def own_lookup_is_put_back() -> object:
    """The command line removes the workspace from PATH and ``sys.path`` of its own process."""
    path, modules = os.environ.get("PATH"), list(sys.path)
    yield
    sys.path[:] = modules
    if path is not None:
        os.environ["PATH"] = path


@pytest.fixture(autouse=True)
def no_folder_is_watched_on() -> object:
    """Ends the watches that a test began in this process: the system grants a user 128 of them.

    A workspace of an agent lives as long as its process, so most tests close none.
    """
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        if thread.name == WATCH_STARTS:
            thread.join()
    api = sys.modules.get("watchdog.observers.api")
    for thread in set(threading.enumerate()) - before if api else ():
        if isinstance(thread, api.BaseObserver):
            thread.stop()


class _Faults(logging.Handler):
    """Collects the log of failed features of the agent."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record.getMessage())


_faults = _Faults()
logging.getLogger("indwell.agent.core.session_features").addHandler(_faults)


@pytest.fixture(autouse=True)
def no_feature_fails() -> object:
    """Fail a test in which a feature failed, although users only get a notice."""
    _faults.found.clear()
    yield
    assert _faults.found == []


@pytest.fixture(scope="session", autouse=True)
def no_process_is_left(tmp_path_factory: pytest.TempPathFactory) -> object:
    """Fail the run if a server, or a process that it started, outlived its test."""
    yield
    assert set(close_nests()) <= {0}
    if sys.platform == "linux":
        until = time.monotonic() + END_S
        while (left := strays(tmp_path_factory.getbasetemp())) and time.monotonic() < until:
            time.sleep(0.05)  # the last test's server may still be ending
        assert left == {}
