"""A pytest plugin for ``scripts/test-windows``: expects the known failures, ends slow tests."""

from __future__ import annotations

import asyncio
import ctypes
import faulthandler
import functools
import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
FAILURES = TESTS / "windows_failures.txt"
SOFT = 0.6  # After this fraction of the time limit, an async test is cancelled, with a traceback.
_timers: dict[str, threading.Timer] = {}


def pytest_collection_finish() -> None:
    """Import modules that take seconds under Wine, so that no test's time includes the import."""
    importlib.import_module("indwell.providers.client")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Expect the listed failures (a listed test that passes is a failure); bound what awaits."""
    known = {name: reason for _, name, reason in known_failures()}
    if not any("::" in one for one in config.args):
        names = {item.nodeid.replace("\\", "/") for item in items}
        items += [Vanished.of(items[0].session, *one) for one in _vanished(names)]
    for item in items:
        name = item.nodeid.replace("\\", "/")
        reason = known.get(name) or known.get(name.partition("[")[0])
        if reason is not None:
            runs = not reason.startswith(("hangs", "sometimes"))
            item.add_marker(pytest.mark.xfail(reason=reason, run=runs, strict=True))
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            item.obj = _bounded(item.obj, SOFT * config.getoption("timeout"))


def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool:
    """End the process when a test takes too long; pytest-xdist reports that and continues.

    ``os._exit``, which pytest-timeout calls, may wait forever for a thread.
    """
    timer = threading.Timer(settings.timeout, _end, (item,))
    timer.daemon = True
    _timers[item.nodeid] = timer
    timer.start()
    return True


def pytest_timeout_cancel_timer(item: pytest.Item) -> bool:
    """Do nothing; the timer ends with the process."""
    if timer := _timers.pop(item.nodeid, None):
        timer.cancel()
    return True


def known_failures() -> Iterator[tuple[int, str, str]]:
    """Yield the line number, test and reason of each listed failure."""
    for number, line in enumerate(FAILURES.read_text(encoding="utf-8").splitlines(), 1):
        if line and not line.startswith("#"):
            name, _, reason = line.rpartition("  # ")
            assert name, f"a reason is missing: {line}"
            yield number, name, reason


class Vanished(pytest.Item):
    """A listed failure whose test does not exist; it fails until the line is removed."""

    @classmethod
    def of(cls, session: pytest.Session, number: int, test: str) -> Vanished:
        """Make the item from a line of the list, and the test that the line names."""
        line = f"line {number}"
        one: Vanished = cls.from_parent(session, name=line, nodeid=f"tests/{FAILURES.name}::{line}")
        one.test = test
        return one

    def runtest(self) -> None:
        """Do nothing, because ``setup`` has failed."""

    def setup(self) -> None:
        """Fail the test."""
        pytest.fail(f"there is no test {self.test}; take the line out", pytrace=False)


def _vanished(names: set[str]) -> Iterator[tuple[int, str]]:
    """Yield the line number and name of each listed test that no collected file contains."""
    files = {name.partition("::")[0] for name in names}
    names = names | {name.partition("[")[0] for name in names}
    for number, name, _ in known_failures():
        if name not in names and name.partition("::")[0] in files:
            yield number, name


def _bounded(
    test: Callable[..., Coroutine[Any, Any, None]], seconds: float
) -> Callable[..., Coroutine[Any, Any, None]]:
    """Return the test with a time limit in seconds."""

    @functools.wraps(test)
    async def bounded(*arguments: Any, **named: Any) -> None:
        showing = asyncio.get_running_loop().call_later(seconds, _show_tasks)
        try:
            async with asyncio.timeout(seconds + 0.1):  # after the tasks were shown
                await test(*arguments, **named)
        finally:
            showing.cancel()

    return bounded


def _show_tasks() -> None:
    """Print where each task and each thread waits, because a cancellation hides that."""
    said = []
    for task in asyncio.all_tasks():
        said.append(f"{task.get_name()} awaits:")
        waits: Any = task.get_coro()
        while (frame := getattr(waits, "cr_frame", None)) is not None:
            said.append(f"  {frame.f_code.co_filename}:{frame.f_lineno}")
            waits = waits.cr_await
        said.append(f"  {waits}")
    sys.stderr.write("\n".join([*said, ""]))
    sys.stderr.flush()
    faulthandler.dump_traceback(sys.__stderr__)


def _end(item: pytest.Item) -> None:
    if (capture := item.config.pluginmanager.getplugin("capturemanager")) is not None:
        capture.suspend_global_capture()
    sys.stderr.write(f"\n{item.nodeid} hangs:\n")
    sys.stderr.flush()
    faulthandler.dump_traceback(sys.stderr)
    if sys.platform == "win32":
        ctypes.windll.kernel32.TerminateProcess(ctypes.c_void_p(-1), 1)
