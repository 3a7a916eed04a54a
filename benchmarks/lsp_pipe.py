"""A blocking LSP client over pipes, thin enough to measure the server only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

HERE = Path(__file__).resolve().parent
SERVERS: Mapping[str, Sequence[str]] = {
    "indwell": (sys.executable, "-m", "indwell", "serve", "--stdio", "--scripted"),
    "bare pygls": (sys.executable, str(HERE / "bare_server.py")),
    "raw asyncio loop": (sys.executable, str(HERE / "raw_loop.py")),
}
NOWHERE = {
    "textDocument": {"uri": "untitled:nothing"},
    "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
    "context": {"diagnostics": []},
}
"""Params of a ``textDocument/codeAction`` that any server answers at once with nothing."""


class Pipe:
    """A server process with blocking calls to the server."""

    def __init__(self, process: subprocess.Popen[bytes], workspace: Path) -> None:
        assert process.stdin
        assert process.stdout
        self.process = process
        self.workspace = workspace
        self.notifications: list[tuple[float, dict[str, Any]]] = []
        self._in, self._out = process.stdin, process.stdout
        self._n_requests = 0

    def send(self, message: Mapping[str, Any]) -> None:
        """Write a message."""
        self._in.write(frame({"jsonrpc": "2.0", **message}))
        self._in.flush()

    def notify(self, method: str, params: Any) -> None:
        """Write a notification."""
        self.send({"method": method, "params": params})

    def ask(self, method: str, params: Any = None) -> int:
        """Write a request; return its id."""
        self._n_requests += 1
        self.send({"id": self._n_requests, "method": method, "params": params})
        return self._n_requests

    def read(self) -> dict[str, Any]:
        """Read one message."""
        length = 0
        while line := self._out.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise EOFError("the server has closed its end")
        message: dict[str, Any] = json.loads(self._out.read(length))
        return message

    def wait(self, id_: int) -> Any:
        """Read until the answer to a request; keep earlier messages with their times."""
        while True:
            message = self.read()
            if message.get("id") == id_ and "method" not in message:
                return message.get("result")
            self.notifications.append((perf_counter(), message))
            if "id" in message:  # a request of the server gets true or null as an answer
                answer = {"answer": "once"} if message["method"] == "indwell/permission" else None
                self.send({"id": message["id"], "result": answer})

    def request(self, method: str, params: Any = None) -> Any:
        """Send a request, and wait for the answer."""
        return self.wait(self.ask(method, params))

    def initialize(self) -> None:
        """Send ``initialize`` and ``initialized``."""
        self.request("initialize", hello(self.workspace))
        self.notify("initialized", {})

    def rss_b(self) -> int:
        """Return the memory of the process in bytes (Linux)."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024


@contextmanager
def serving(command: Sequence[str], **variables: str) -> Iterator[Pipe]:
    """Run a server in separate empty folders until the block ends."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workspace = folder / "work"
        workspace.mkdir()
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": name,
            "XDG_CONFIG_HOME": name,
            "INDWELL_STATE": str(folder / "state"),
            "INDWELL_TRUSTED": str(workspace),
            **variables,
        }
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                cwd=workspace,
            )
        try:
            yield Pipe(process, workspace)
        finally:
            process.kill()
            process.communicate()


def hello(workspace: Path) -> dict[str, Any]:
    """Return params of ``initialize``, with the relevant capabilities of an editor."""
    uri = workspace.as_uri()
    return {
        "processId": os.getpid(),
        "rootUri": uri,
        "workspaceFolders": [{"uri": uri, "name": "work"}],
        "capabilities": {"experimental": {"indwell": {"events": True, "permission": True}}},
    }


def frame(message: object) -> bytes:
    """Return a message with its header."""
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def opened(uri: str, text: str) -> dict[str, Any]:
    """Return params of ``textDocument/didOpen``."""
    return {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}}


def typed(uri: str, version: int, line: int, text: str = "x") -> dict[str, Any]:
    """Return params of ``textDocument/didChange`` that insert ``text`` at the start of a line."""
    place = {"line": line, "character": 0}
    return {
        "textDocument": {"uri": uri, "version": version},
        "contentChanges": [{"range": {"start": place, "end": place}, "text": text}],
    }
