"""An editor on Windows that starts the server and uses only its stdin and stdout."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from indwell.cli.demo.client import edited
from indwell.service.demo_project import Project, make_project

PATIENCE_S = 90.0  # seconds; only a failing test waits so long
Message = dict[str, Any]


class StdioEditor:
    """One editor with one open file of a made-up project.

    Args:
        folder: An empty folder for the project and the server's files.
        process_id: The process id of the editor in ``initialize``.
        words: The server's arguments.
    """

    def __init__(self, folder: Path, *, process_id: int | None, seed: int = 1) -> None:
        self.project: Project = make_project(seed)
        self.root = folder / "project"
        for name, text in self.project.files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_bytes(text.encode())
        self.text = self.project.files[self.project.path]
        self.uri = (self.root / self.project.path).as_uri()
        self.events: list[Message] = []
        self.stray = b""  # the server wrote this outside of messages
        self._process_id = process_id
        self._version = 1
        self._number = 0
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "indwell", "serve", "--stdio", "--scripted"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment(folder), "INDWELL_TRUSTED": str(self.root)},
        )
        threading.Thread(target=self._read, daemon=True).start()
        self.log: list[str] = []
        threading.Thread(target=self._read_log, daemon=True).start()

    def initialize(self) -> Message:
        folder = {"uri": self.root.as_uri(), "name": "project"}
        answer = self.request(
            "initialize",
            processId=self._process_id,
            rootUri=folder["uri"],
            workspaceFolders=[folder],
            capabilities={
                "general": {"positionEncodings": ["utf-32"]},
                "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
                "experimental": {"indwell": {"events": True, "permission": True}},
            },
        )
        self.notify("initialized")
        item = {"uri": self.uri, "languageId": "python", "version": 1, "text": self.text}
        self.notify("textDocument/didOpen", textDocument=item)
        return answer

    def fix_this(self) -> None:
        """Choose "Fix this" on the faulty function, and wait for the turn's end."""
        range_ = {
            "start": {"line": self.project.first_line - 1, "character": 0},
            "end": {"line": self.project.last_line, "character": 0},
        }
        document = {"uri": self.uri}
        context = {"diagnostics": [], "triggerKind": 1}
        actions = self.request(
            "textDocument/codeAction", textDocument=document, range=range_, context=context
        )["result"]
        command = next(one["command"] for one in actions if one["title"] == "Fix this")
        self.request(
            "workspace/executeCommand", command=command["command"], arguments=command["arguments"]
        )
        self.until(lambda: any(one["type"] == "turnFinished" for one in self.events))

    def leave(self) -> int:
        """Shut the server down in order; return its exit code."""
        assert self.request("shutdown")["result"] is None
        self.notify("exit")
        return self.process.wait(PATIENCE_S)

    def request(self, method: str, **params: object) -> Message:
        self._number += 1
        number = self._number
        found: list[Message] = []
        self._send({"id": number, "method": method, "params": params})
        self.until(lambda: bool(found), lambda one: one.get("id") == number and found.append(one))
        return found[0]

    def notify(self, method: str, **params: object) -> None:
        self._send({"method": method, "params": params})

    def until(
        self, is_done: Callable[[], bool], hear: Callable[[Message], object] = lambda _one: None
    ) -> None:
        """Answer the server's requests until the condition is true."""
        while not is_done():
            message = self._messages.get(timeout=PATIENCE_S)
            assert message is not None, ("the server has ended", self.stray, self.log)
            if "method" not in message:
                hear(message)
            elif "id" in message:
                self._send({"id": message["id"], "result": self._answer(message)})
            elif message["method"] == "indwell/event":
                self.events.append(message["params"]["event"])

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def _answer(self, message: Message) -> object:
        match message["method"]:
            case "indwell/permission":
                return {"answer": "once"}
            case "workspace/applyEdit":
                for change in message["params"]["edit"]["documentChanges"]:
                    assert change["textDocument"] == {"uri": self.uri, "version": self._version}
                    self.text = edited(self.text, change["edits"])
                self._version += 1
                (self.root / self.project.path).write_bytes(self.text.encode())
                document = {"uri": self.uri, "version": self._version}
                self.notify(
                    "textDocument/didChange",
                    textDocument=document,
                    contentChanges=[{"text": self.text}],
                )
                self.notify("textDocument/didSave", textDocument={"uri": self.uri})
                return {"applied": True}
        return None

    def _send(self, message: Mapping[str, object]) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        stream = self.process.stdout
        while line := stream.readline():
            if not line.startswith(b"Content-Length: "):
                self.stray += line
                continue
            self.stray += stream.readline().removeprefix(b"\r\n")
            self._messages.put(json.loads(stream.read(int(line.split()[1]))))
        self._messages.put(None)

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line.decode("utf-8", "replace"))


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a separate user, with a Python on PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {
        "INDWELL_STATE": str(folder / "state"),
        # platformdirs reads this variable
        "WIN_PD_OVERRIDE_LOCAL_APPDATA": str(folder / "settings"),
        "PATH": path,
    }
