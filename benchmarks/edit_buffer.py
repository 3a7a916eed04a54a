"""Measures the server's time for an edit of an open file of 50,000 lines or 10 MB.

    python benchmarks/edit_buffer.py [--json]

The server's parts run in this process: buffers, edits, and encoding of the request. The time
excludes the editor: it stops when the request is written, and continues at the ``didChange``.
``out`` is from the tool's call of ``write`` to the request on the wire; ``back`` is from the bytes
of the ``didChange`` to the new text; ``blocked`` is the longest time in which the event loop could
do nothing else. The floor is the unavoidable work: replace the line in the text, find its number,
encode the request, decode the ``didChange``.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

from report import show, spread

from indwell.lsp.editor.client import Client
from indwell.lsp.wire import sync
from indwell.lsp.wire.base_protocol import Response, encoded, opened
from indwell.lsp.wire.conversion import converted
from indwell.lsp.wire.language_server import Server
from indwell.lsp.workspace.documents import Documents
from indwell.lsp.workspace.editor_workspace import EditorWorkspace
from indwell.workspace.disk import DiskWorkspace

LINES = 50_000
EDITS = 200
LARGE_B = 10_000_000
LARGE_EDITS = 5

Row = Mapping[str, float]


class Editor:
    """An editor that receives requests as bytes, and at once sends the change and a confirmation.

    Args:
        server: The server that sends the requests.
        documents: The documents that receive the changes.
        uri: The URI of the only buffer.
    """

    def __init__(self, server: Server, documents: Documents, uri: str) -> None:
        self.version = 1
        self.out_at = self.back_s = 0.0
        self.pulse: Pulse | None = None
        self._server, self._documents, self._uri = server, documents, uri
        server.send = self._take

    def _take(self, body: bytes, *, droppable: bool = False) -> None:
        del droppable
        self.out_at = perf_counter()
        if self.pulse is not None:
            self.pulse.forgive(counted=True)
        asyncio.get_running_loop().call_soon(self._apply, body)

    def _apply(self, body: bytes) -> None:
        message = json.loads(body)
        (change,) = message["params"]["edit"]["documentChanges"]
        self.version += 1
        # The last edit comes first, which keeps the positions of earlier edits valid.
        changes = [{"range": one["range"], "text": one["newText"]} for one in change["edits"][::-1]]
        told = didchange(self._uri, self.version, changes)
        yes = {"jsonrpc": "2.0", "id": message["id"], "result": {"applied": True}}
        answer = json.dumps(yes).encode()
        if self.pulse is not None:
            self.pulse.forgive()  # the time up to here was the editor's
        started = perf_counter()
        params = decoded(told)
        identifier = params.text_document
        self._documents.change(identifier.uri, identifier.version, params.content_changes)
        document = self._documents.get(self._uri)
        assert document is not None
        assert document.text
        self.back_s = perf_counter() - started
        response = opened(answer)
        assert isinstance(response, Response)
        self._server.answered(response)


def didchange(uri: str, version: int, changes: list[dict[str, Any]]) -> bytes:
    identifier = {"uri": uri, "version": version}
    params = {"textDocument": identifier, "contentChanges": changes}
    return json.dumps({"jsonrpc": "2.0", "method": "didChange", "params": params}).encode()


def decoded(body: bytes) -> sync.DidChange:
    message = opened(body)
    params = converted(message.params, sync.DidChange)  # type: ignore[union-attr]
    assert isinstance(params, sync.DidChange)
    return params


class Pulse:
    """Measures the longest time for which the event loop did nothing else."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._is_on = True
        self._last = perf_counter()
        asyncio.get_running_loop().call_soon(self._beat)

    def _beat(self) -> None:
        now = perf_counter()
        self.longest_s = max(self.longest_s, now - self._last)
        self._last = now
        if self._is_on:
            asyncio.get_running_loop().call_later(0.0002, self._beat)

    def forgive(self, *, counted: bool = False) -> None:
        """Start a new measurement; count the time so far only if ``counted``."""
        now = perf_counter()
        if counted:
            self.longest_s = max(self.longest_s, now - self._last)
        self._last = now

    def stop(self) -> float:
        self._beat()
        self._is_on = False
        return self.longest_s


async def edits(
    text: str, n_edits: int, edited: Callable[[str, Random], str]
) -> dict[str, list[float]]:
    """Return the milliseconds of each part of each edit."""
    taken: dict[str, list[float]] = {"out": [], "back": [], "both": [], "whole": [], "blocked": []}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "large.py"  # noqa: ASYNC240 - before anything is measured
        path.write_text(text)
        documents, server = Documents(), Server()
        editor = Editor(server, documents, path.as_uri())
        workspace = EditorWorkspace(
            documents, Client(server), DiskWorkspace([path.parent]), apply_timeout_s=10
        )
        documents.open(sync.OpenedDocument(path.as_uri(), "python", 1, text))
        random = Random(1)
        await first_edit(workspace, path)
        for _ in range(n_edits):
            base = await workspace.read(path)
            proposed = edited(base.text, random)
            pulse = editor.pulse = Pulse()
            started = perf_counter()
            change = await workspace.write(path, base, proposed, label="x")
            ended = perf_counter()
            blocked = pulse.stop()
            assert change.after == proposed
            out = editor.out_at - started
            parts = (out, editor.back_s, out + editor.back_s, ended - started, blocked)
            for name, seconds in zip(taken, parts, strict=True):
                taken[name].append(seconds * 1e3)
    return taken


async def first_edit(workspace: EditorWorkspace, path: Path) -> None:
    """Make one edit to create the converters, which a server creates early."""
    base = await workspace.read(path)
    await workspace.write(path, base, f"#\n{base.text}", label="x")


async def idle() -> list[float]:
    """Return the delays of an idle event loop on this machine."""
    late = []
    for _ in range(EDITS):
        pulse = Pulse()
        await asyncio.sleep(0.004)
        late.append(pulse.stop() * 1e3)
    return late


def one_line(text: str, random: Random) -> str:
    number = random.randrange(LINES)
    return text.replace(f"    value_{number} =", f"    value_{number} = 1 +", 1)


def everything(text: str, random: Random) -> str:
    return "".join(f"{random.random()} {number}\n" for number in range(len(text) // 25))


def floor(text: str) -> list[float]:
    random, taken, uri = Random(1), [], "file:///a/large.py"
    for version in range(2, EDITS + 2):
        number = random.randrange(LINES)
        old, new = f"    value_{number} =", f"    value_{number} = 1 +"
        started = perf_counter()
        start = text.find(old)
        text = text[:start] + new + text[start + len(old) :]
        line = text.count("\n", 0, start)
        place = {"line": line, "character": 0}
        range_ = {"start": place, "end": {"line": line, "character": len(old)}}
        edit = {"textDocument": {"uri": uri, "version": version}, "edits": [{"range": range_}]}
        encoded({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"documentChanges": [edit]}})
        taken.append(perf_counter() - started)
        body = didchange(uri, version, [{"range": range_, "text": new}])
        started = perf_counter()
        decoded(body)
        taken[-1] = (taken[-1] + perf_counter() - started) * 1e3
    return taken


def main() -> None:
    text = "".join(f"    value_{number} = compute({number})\n" for number in range(LINES))
    parts = asyncio.run(edits(text, EDITS, one_line))
    rows = {
        "floor": spread(floor(text)),
        "indwell, out and back": spread(parts["both"]),
        "  out": spread(parts["out"]),
        "  back": spread(parts["back"]),
        "write() until it returns": spread(parts["whole"]),
        "loop blocked": spread(parts["blocked"]),
        "  with nothing to do": spread(asyncio.run(idle())),
    }
    show(f"One line of {LINES:,}, milliseconds", rows, goal="≤ 2 ms out and back")
    large = "".join(f"{number} a line of some words\n" for number in range(LARGE_B // 30))
    parts = asyncio.run(edits(large, LARGE_EDITS, everything))
    show(
        f"All of {LARGE_B // 1_000_000} MB, milliseconds",
        {
            "out": spread(parts["out"]),
            "write() until it returns": spread(parts["whole"]),
            "loop blocked": spread(parts["blocked"]),
        },
    )


if __name__ == "__main__":
    main()
