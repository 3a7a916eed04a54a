"""Start a program that Landlock holds.

No code of ours may run between fork and exec in a program with threads, and a helper process would
cost ten times as much as the bounds themselves. But they hold for a thread and what it starts. So a
thread of its own enters them, starts the program, and ends.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from indwell.errors import ToolError
from indwell.files.handles import children
from indwell.sandbox.confinement import Confinement
from indwell.sandbox.environment import raw
from indwell.sandbox.filter_pipe import filter_of
from indwell.sandbox.landlock import enter
from indwell.sandbox.landlock_rules import Rule, rules_of


class Held:
    """A program that runs, with as much of asyncio's process as ``run_program`` uses."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.pid = process.pid
        self._process = process

    async def wait(self) -> int:
        """Wait for its end; its exit code, or minus the signal's number."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        descriptor = os.pidfd_open(self.pid)
        try:
            loop.add_reader(descriptor, ended.set)
            await ended.wait()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)
        return self._process.wait()


async def start_held(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: int,
    stdout: int,
    stderr: int,
    pass_fds: tuple[int, ...],
    confinement: Confinement,
    scratch: Path,
) -> Held:
    """Start a program in a session of its own, within ``confinement``.

    Args:
        argv: The program and its arguments.
        cwd: Where it runs.
        env: All of its environment; ``TMPDIR`` is set here.
        stdin: A descriptor for its input, or ``DEVNULL``.
        stdout: A descriptor for its output.
        stderr: One for its errors, which may be the same.
        pass_fds: Further descriptors, under the same numbers.
        confinement: Its bounds. Its hosts and sockets are not looked at: without namespaces any
            socket would lead out, so there are none.
        scratch: A folder for its temporary files, resolved.

    Raises:
        ToolError: The program or ``cwd`` cannot be used, or the kernel refuses to hold it.
    """

    def start() -> subprocess.Popen[bytes]:
        _enter(rules_of(confinement, str(scratch), children), filter_of(confinement, inet=False))
        return subprocess.Popen(  # noqa: S603 - it is judged, asked for and held
            [*map(raw, argv)],
            cwd=raw(str(cwd)),
            env={raw(name): raw(value) for name, value in {**env, "TMPDIR": str(scratch)}.items()},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=pass_fds,
            start_new_session=True,
        )

    # Never a thread of a pool that others use: the bounds would be theirs too.
    with ThreadPoolExecutor(1, "held") as alone:
        try:
            return Held(await asyncio.get_running_loop().run_in_executor(alone, start))
        except (OSError, ValueError) as error:  # ValueError: a NUL byte or a lone surrogate
            reason = error.strerror if isinstance(error, OSError) else error
            raise ToolError(
                f"{argv[0]!r} could not be started in {str(cwd)!r}: {reason}"
            ) from error


def _enter(rules: Sequence[Rule], filter_: bytes) -> None:
    try:
        enter(rules, filter_)
    except OSError as error:
        raise ToolError(
            f"the kernel refused to confine the command ({error.strerror}), so it was not run"
        ) from error
