"""Tests Ctrl-C, Ctrl-Break and a closed console; the tests raise them, as Wine has no console."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator

import pytest

from indwell.cli import Terminated
from indwell.cli.terminal.interruptible_work import wait_for
from indwell.lsp.wire.editor_process import watch_signals

NUMBERS = (signal.SIGINT, signal.SIGBREAK, signal.SIGTERM)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Restore the signal handlers of the test's process."""
    before = [(number, signal.getsignal(number)) for number in NUMBERS]
    yield
    for number, handler in before:
        signal.signal(number, handler)


@pytest.mark.parametrize("number", NUMBERS)
async def test_the_server_ends_in_order(number) -> None:
    told: asyncio.Future[tuple[str, int]] = asyncio.get_running_loop().create_future()
    watch_signals(lambda reason, code: told.set_result((reason, code)))
    signal.raise_signal(number)
    assert await told == (f"ended by {number.name}", 128 + number)


@pytest.mark.parametrize(
    ("number", "stop"), [(signal.SIGBREAK, Terminated), (signal.SIGINT, KeyboardInterrupt)]
)
def test_a_command_of_the_terminal_is_stopped_in_order(number, stop) -> None:
    steps: list[str] = []

    async def work() -> None:
        try:
            signal.raise_signal(number)
            await asyncio.Event().wait()
        finally:
            steps.append("cleaned up")

    before = signal.getsignal(signal.SIGBREAK)
    with pytest.raises(stop):
        wait_for(work())
    assert steps == ["cleaned up"]
    assert signal.getsignal(signal.SIGBREAK) is before
