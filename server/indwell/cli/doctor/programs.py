"""What the doctor looks at among programs: ripgrep, git, bash, and what a sandbox could use."""

from __future__ import annotations

import asyncio
from pathlib import Path

from indwell.cli.doctor.check import Finding, Findings
from indwell.errors import ToolError
from indwell.files import read_own
from indwell.providers.connection import State
from indwell.sandbox import find_program, run_program

RUN_S = 5.0  # seconds until a program has told its version; a cold disk takes one
_MODULES = Path("/sys/kernel/security/lsm")

UNBOXED = "commands run without a sandbox; each one is asked for"


async def programs() -> Findings:
    """The programs that tools and commands need."""
    return tuple(
        await asyncio.gather(
            _program("rg", "fail", "install Indwell again; it brings ripgrep along"),
            _program("git", "warn", "install git; branches and ignore files are not seen without"),
            _program("bash", "fail", "install bash; commands cannot run without it"),
        )
    )


async def sandbox() -> Findings:
    """What could box commands in; said as it is: nothing does yet."""
    able = []
    if await _bubblewrap_works():
        able.append("bubblewrap works")
    if await asyncio.to_thread(_has_landlock):
        able.append("the kernel has Landlock")
    could = f" (here {' and '.join(able)}, for a later version)" if able else ""
    return (Finding("sandbox", "warn", UNBOXED + could),)


async def version_of(program: Path) -> str | None:
    """The first line of ``program --version``; None if it does not run."""
    try:
        ended = await run_program(
            [str(program), "--version"], cwd=Path("/"), timeout_s=RUN_S, merge_errors=True
        )
    except ToolError:
        return None
    if ended.exit_code != 0 or ended.timed_out:
        return None
    return next(iter(ended.output.strip().splitlines()), "")[:100]


async def _program(name: str, without: State, mend: str) -> Finding:
    path = await asyncio.to_thread(find_program, name)
    if path is None:
        return Finding(name, without, f"{name} is not on PATH", mend)
    version = await version_of(path)
    if version is None:
        return Finding(name, without, f"{path} does not run", mend)
    return Finding(name, "ok", f"{version}, {path}")


async def _bubblewrap_works() -> bool:
    path = await asyncio.to_thread(find_program, "bwrap")
    if path is None:
        return False
    argv = [str(path), "--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", "true"]
    try:
        return (await run_program(argv, cwd=Path("/"), timeout_s=RUN_S)).exit_code == 0
    except ToolError:
        return False


def _has_landlock() -> bool:
    try:
        return b"landlock" in read_own(_MODULES, 4_096)
    except (OSError, ToolError):
        return False
