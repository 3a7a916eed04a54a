"""Run shell text: bash, without anybody's start-up files, within limits (H48)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from indwell.errors import ToolError
from indwell.sandbox.confinement import Confinement
from indwell.sandbox.finished import Finished
from indwell.sandbox.limits import Limits, overrun, shell_prefix
from indwell.sandbox.pool import COMMANDS
from indwell.sandbox.program import DEFAULT_LIMIT_B, find_program, new_mark, run_program

SHELL = ("--norc", "--noprofile", "-c")  # never a login shell: 0.3 s against 1 ms


async def spawn(
    command: str,
    *,
    cwd: Path,
    timeout_s: float,
    limit_b: int = DEFAULT_LIMIT_B,
    on_chunk: Callable[[bytes], None] | None = None,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
    limits: Limits | None = None,
    confinement: Confinement | None = None,
) -> Finished:
    """Run shell text with bash; both output streams arrive as one, as on a terminal.

    Args:
        command: The text for ``bash -c``.
        cwd: Where it runs.
        timeout_s: Seconds until it is ended.
        limit_b: Bytes of output to keep, from both ends.
        on_chunk: Hears every byte of output as it arrives, on the event loop.
        env: Variables besides the allowed ones of our own environment.
        pass_fds: Descriptors that the shell may use, under the same numbers.
        limits: What it may take.
        confinement: What it may do; None is all that we may.

    Raises:
        ToolError: There is no bash, or ``cwd`` cannot be used.
        asyncio.CancelledError: Once everything it started has ended.
    """
    shell = find_program("bash")
    if shell is None:
        raise ToolError("bash was not found on PATH; install it, or work without commands")
    limits = limits or Limits()
    mark = new_mark()
    del confinement  # see sandbox.confined
    finished = await run_program(
        [str(shell), *SHELL, shell_prefix(limits, mark, cwd, timeout_s) + command],
        cwd=cwd,
        timeout_s=timeout_s,
        limit_b=limit_b,
        on_chunk=on_chunk,
        env=env,
        pass_fds=pass_fds,
        merge_errors=True,
        mark=mark,
        limits=limits,
        pool=COMMANDS,
    )
    if finished.timed_out or finished.overrun:
        return finished
    return msgspec.structs.replace(finished, overrun=overrun(finished.exit_code, limits, timeout_s))
