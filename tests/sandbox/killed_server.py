"""A process that runs a command in the sandbox and is then killed: ``killed_server.py TEXT``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "server"))

from indwell.sandbox import spawn


async def main(command: str) -> None:
    def hear(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    await spawn(command, cwd=Path("/"), timeout_s=60, on_chunk=hear)


asyncio.run(main(sys.argv[1]))
