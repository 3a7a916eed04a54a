"""Runs ``indwell`` as a process without a terminal, in folders of one test."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.hatching import Hatched, can_hatch, hatch

TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Ended:
    """The exit code and the output of an ended process."""

    code: int
    stdout: str
    stderr: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """Parse the output: each line is one JSON object."""
        return [json.loads(line) for line in self.stdout.splitlines()]


async def indwell(
    *arguments: str, environment: Mapping[str, str], folder: Path, stdin: bytes | None = None
) -> Ended:
    """Run ``indwell`` without a terminal until the process ends."""
    process: asyncio.subprocess.Process | Hatched
    if can_hatch(environment):
        process = await hatch(arguments, environment=environment, folder=folder)
    else:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "indwell", *arguments),
            env=dict(environment),
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    async with asyncio.timeout(TIMEOUT_S):
        stdout, stderr = await process.communicate(stdin)
    assert process.returncode is not None
    return Ended(process.returncode, stdout.decode(), stderr.decode())
