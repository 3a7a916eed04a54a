"""Runs ``indwell`` in a pseudo-terminal: types as a person does, and reads the screen."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from support.hatching import Begun, begin, can_hatch

TIMEOUT_S = 60.0
LOOK_S = 0.7  # The program drops keys for 0.6 s after it has drawn a question.
AGAIN_S = 4.0  # A program that was too busy to see the pause of the user has dropped the keys.
INTERRUPT = "\x03"  # The keyboard sends Ctrl-C as this character.


class Terminal:
    """A process with its own terminal.

    Args:
        arguments: Arguments of the command line.
        environment: Environment of the process.
        folder: Working directory of the process.
        kind: Kind of terminal; a dumb terminal shows no progress bars.
        columns: Width of a line in characters.
    """

    def __init__(
        self,
        *arguments: str,
        environment: Mapping[str, str],
        folder: Path,
        kind: str = "dumb",
        columns: int = 100,
    ) -> None:
        self.shown = ""
        self._seen = 0  # The characters of ``shown`` that ``until`` has already searched.
        self._master, self._slave = os.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self._process = self._begin(
            arguments, folder, {**environment, "TERM": kind, "COLUMNS": str(columns)}
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _it: BaseException | None,
        _at: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._slave)
        os.close(self._master)

    @property
    def echoes(self) -> bool:
        """Return whether the terminal shows what the user types."""
        return bool(termios.tcgetattr(self._slave)[3] & termios.ECHO)

    def until(self, words: str) -> str:
        """Return the output since the last call, up to the end of ``words``."""
        deadline = time.monotonic() + TIMEOUT_S
        while words not in self.shown[self._seen :]:
            if not self._read(deadline - time.monotonic()):
                raise AssertionError(f"{words!r} is not shown:\n{self.shown}")
        begin = self._seen
        self._seen = self.shown.index(words, begin) + len(words)
        return self.shown[begin : self._seen]

    def answer(self, prompt: str, typed: str) -> None:
        """Wait for a question, type an answer and Enter."""
        self.until(prompt)
        os.write(self._master, f"{typed}\n".encode())

    def interrupt(self, prompt: str, *, hidden: bool = False) -> None:
        """Wait for a question, and press Ctrl-C when the process reads the answer."""
        self.until(prompt)
        deadline = time.monotonic() + TIMEOUT_S
        while self.echoes == hidden and time.monotonic() < deadline:
            # The process turns echo off just before or after it writes the prompt.
            time.sleep(0.01)
        # Python misses a signal that arrives between its last check and the read.
        while not self._waits() and time.monotonic() < deadline:
            time.sleep(0.01)
        os.write(self._master, INTERRUPT.encode())

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        """Kill the process as the system does when memory is short."""
        self._process.kill()
        self._process.wait()

    def press(self, keys: str) -> None:
        """Type now, without waiting for the process."""
        os.write(self._master, keys.encode())

    def reply(self, keys: str, words: str) -> None:
        """Answer a question, and wait for words; keys that come too early are pressed again.

        The next ``until`` finds these words, too.
        """
        deadline = time.monotonic() + TIMEOUT_S
        begin = self._seen
        while words not in self.shown[begin:]:
            assert time.monotonic() < deadline, f"no answer is taken:\n{self.shown}"
            time.sleep(LOOK_S)  # the user reads the question
            self.press(keys)
            again = time.monotonic() + AGAIN_S
            while words not in self.shown[begin:] and (left := again - time.monotonic()) > 0:
                self._read(left)

    def ends(self) -> int:
        """Wait for the end and return the exit code; ``shown`` has the whole output."""
        deadline = time.monotonic() + TIMEOUT_S
        while self._process.poll() is None and time.monotonic() < deadline:
            self._read(0.05)
        while self._read(0.0):
            pass
        return self._process.wait(1)

    def _begin(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes] | Begun:
        if can_hatch(environment):
            return Begun(
                *begin(
                    arguments,
                    environment=environment,
                    folder=folder,
                    streams=(self._slave,) * 3,
                    terminal=True,
                )
            )
        return subprocess.Popen(
            [sys.executable, "-m", "indwell", *arguments],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            cwd=folder,
            env=environment,
            start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509 -- the only way to a controlling terminal
        )

    def _waits(self) -> bool:
        """Return whether the process sleeps as a terminal reader does; only Linux reports it."""
        stat = Path(f"/proc/{self._process.pid}/stat")
        return not stat.exists() or stat.read_text("utf-8").rpartition(")")[2].split()[0] != "R"

    def _read(self, timeout_s: float) -> bool:
        if not select.select([self._master], [], [], max(timeout_s, 0.0))[0]:
            return False
        with contextlib.suppress(OSError):
            self.shown += os.read(self._master, 4_096).decode(errors="replace")
            return True
        return False


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
