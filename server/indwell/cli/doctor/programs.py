"""What the doctor looks at among programs: ripgrep, git, bash."""

from __future__ import annotations

import asyncio
from pathlib import Path

from indwell.cli.doctor.check import Finding, Findings
from indwell.errors import ToolError
from indwell.providers.connection import State
from indwell.sandbox import find_program, run_program

RUN_S = 5.0  # seconds until a program has told its version; a cold disk takes one


async def programs() -> Findings:
    """The programs that tools and commands need."""
    return tuple(
        await asyncio.gather(
            _program("rg", "fail", "install Indwell again; it brings ripgrep along"),
            _program("git", "warn", "install git; branches and ignore files are not seen without"),
            _program("bash", "fail", "install bash; commands cannot run without it"),
        )
    )


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
