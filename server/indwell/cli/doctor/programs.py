"""What the doctor looks at among programs: ripgrep, git, bash."""

from __future__ import annotations

import asyncio
from pathlib import Path

from indwell.cli.doctor.check import Finding, Findings
from indwell.errors import ToolError
from indwell.providers.endpoint import State
from indwell.sandbox import find_program, run_program
from indwell.sandbox.finding import own_installation

RUN_S = 5.0  # seconds until a program has told its version; a cold disk takes one


async def programs(folder: Path) -> Findings:
    """The programs that tools and commands need; of those in ``folder`` none is run."""
    no_git = "install git; branches and ignore files are not seen without"
    return tuple(
        await asyncio.gather(
            _program("rg", folder, "fail", "install Indwell again; it brings ripgrep along"),
            _program("git", folder, "warn", no_git),
            _program("bash", folder, "fail", "install bash; commands cannot run without it"),
        )
    )


def installation(folder: Path) -> Findings:
    """Is Indwell itself installed where the agent works?"""
    found = own_installation([folder])
    if not found:
        return ()
    words = (
        f"Indwell itself is installed in {found[0]}, where the agent works: sandboxed commands may "
        "not write there, but what you allow without the sandbox could change Indwell"
    )
    return (Finding("own place", "warn", words, "install it outside of the folders you work in"),)


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


async def _program(name: str, folder: Path, without: State, mend: str) -> Finding:
    path = await asyncio.to_thread(find_program, name, (folder,))
    if path is None and (there := await asyncio.to_thread(find_program, name)):
        words = f"{there} lies in the folder that the agent works in, so it is not used"
        return Finding(name, without, words, mend)
    if path is None:
        return Finding(name, without, f"{name} is not on PATH", mend)
    version = await version_of(path)
    if version is None:
        return Finding(name, without, f"{path} does not run", mend)
    return Finding(name, "ok", f"{version}, {path}")
