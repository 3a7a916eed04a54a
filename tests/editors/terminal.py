"""Runs a program in a terminal: the test sends keys as a user does, and reads the screen."""

from __future__ import annotations

import os
import pty
import re
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ
from types import TracebackType
from typing import Self

PATIENCE_S = 40.0
# Emacs opens /dev/tty, and needs this terminal as its controlling terminal
_OWNING_THE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)
_CONTROL = re.compile(r"\x1b(?:\[[0-9;?>$]*[ -/]*[@-~]|[()][A-B0]|[=>78M])")


class Terminal:
    """A process in a terminal with 40 lines of 160 columns; the process ends with the block."""

    def __init__(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        self._screen, terminal = pty.openpty()
        ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
        self._shown = bytearray()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _OWNING_THE_TERMINAL, *argv],
            cwd=cwd,
            env={**env, "TERM": "xterm"},
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
        )
        os.close(terminal)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(PATIENCE_S)
        os.close(self._screen)

    @property
    def shown(self) -> str:
        """Return everything written to the screen, without cursor movements."""
        return _CONTROL.sub("", self._shown.decode(errors="replace"))

    def press(self, keys: str) -> None:
        """Press keys without pauses."""
        os.write(self._screen, keys.encode())

    def type(self, text: str, pause_s: Callable[[], float]) -> None:
        """Type a text as a person does, with a pause after each key."""
        for key in text:
            self.press(key)
            time.sleep(pause_s())

    def wait_for(self, what: str, holds: Callable[[], bool]) -> None:
        """Return as soon as a condition is true."""
        until = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < until, f"waited in vain for {what}: {self.shown[-3_000:]}"
            time.sleep(0.02)

    def _read(self) -> None:
        with suppress(OSError):  # the terminal is closed
            while part := os.read(self._screen, 65_536):
                self._shown += part
