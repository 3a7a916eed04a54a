"""A pytest plugin for ``scripts/test-windows``: what fails there for now; an end to what hangs."""

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
SOFT = 0.6  # a test that awaits is cancelled after this part of its time, and has a traceback
_timers: dict[str, threading.Timer] = {}


def pytest_collection_finish() -> None:
    """Import now what takes seconds under Wine, so that no test's time pays for it."""
    importlib.import_module("indwell.providers.client")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Expect the listed failures (a listed test that passes is a failure); bound what awaits."""
    known = dict(_known_failures())
    for item in items:
        name = item.nodeid.replace("\\", "/")
        reason = known.get(name) or known.get(name.partition("[")[0])
        if reason is not None:
            runs = not reason.startswith(("hangs", "sometimes"))
            item.add_marker(pytest.mark.xfail(reason=reason, run=runs, strict=True))
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            item.obj = _bounded(item.obj, SOFT * config.getoption("timeout"))


def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool:
    """End the process when a test takes too long: pytest-xdist reports that and goes on.

    ``os._exit``, which pytest-timeout calls, may wait for ever for a thread.
    """
    timer = threading.Timer(settings.timeout, _end, (item,))
    timer.daemon = True
    _timers[item.nodeid] = timer
    timer.start()
    return True


def pytest_timeout_cancel_timer(item: pytest.Item) -> bool:
    """The test has ended."""
    if timer := _timers.pop(item.nodeid, None):
        timer.cancel()
    return True


def _known_failures() -> Iterator[tuple[str, str]]:
    """Each listed test with its reason: ``tests/a/test_b.py::test_c  # reason``."""
    for line in FAILURES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, reason = line.rpartition("  # ")
            assert name, f"a reason is missing: {line}"
            yield name, reason


def _bounded(
    test: Callable[..., Coroutine[Any, Any, None]], seconds: float
) -> Callable[..., Coroutine[Any, Any, None]]:
    """The test, cancelled after so many seconds."""

    @functools.wraps(test)
    async def bounded(*arguments: Any, **named: Any) -> None:
        async with asyncio.timeout(seconds):
            await test(*arguments, **named)

    return bounded


def _end(item: pytest.Item) -> None:
    if (capture := item.config.pluginmanager.getplugin("capturemanager")) is not None:
        capture.suspend_global_capture()
    sys.stderr.write(f"\n{item.nodeid} hangs:\n")
    sys.stderr.flush()
    faulthandler.dump_traceback(sys.stderr)
    if sys.platform == "win32":
        ctypes.windll.kernel32.TerminateProcess(ctypes.c_void_p(-1), 1)
