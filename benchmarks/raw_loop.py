"""Runs an asyncio loop that answers each request with nothing: the floor for Python servers."""

from __future__ import annotations

import asyncio
import json
import os
import sys


class Loop(asyncio.Protocol):
    def __init__(self) -> None:
        self.buffer = bytearray()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            stop = end + 4 + int(self.buffer[:end].split(b":")[1])
            if len(self.buffer) < stop:
                return
            message = json.loads(self.buffer[end + 4 : stop])
            del self.buffer[:stop]
            if "id" in message:
                result = {"capabilities": {}} if message["method"] == "initialize" else []
                answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
                body = json.dumps(answer).encode()
                os.write(1, b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


async def main() -> None:
    await asyncio.get_running_loop().connect_read_pipe(Loop, sys.stdin)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
