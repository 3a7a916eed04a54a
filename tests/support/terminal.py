"""``indwell`` as a process of its own, without a terminal, in folders made for one test."""

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
    """How a process ended and what it wrote."""

    code: int
    stdout: str
    stderr: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """One JSON object a line."""
        return [json.loads(line) for line in self.stdout.splitlines()]


async def indwell(
    *arguments: str, environment: Mapping[str, str], folder: Path, stdin: bytes | None = None
) -> Ended:
    """Run it to its end; it has no terminal to ask at."""
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
