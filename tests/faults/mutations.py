"""Makes mutations of messages: bytes, headers, JSON; a seed makes each run repeatable."""

from __future__ import annotations

import copy
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, 10**30, 1.5, -0.0, 1e308, "", "a", "\0",
    "\ud800", "\u2028", "🐍", "x" * 1000, [], {}, [[]], {"": {}}, "2.0", "file:///", "untitled:a",
)  # fmt: skip
ODD_LENGTHS = (
    b"", b"-1", b"+1", b"abc", b"1e3", b"0x10", b"99999999999", b"9" * 400, b"1 2", b"\xb2", b"00",
)  # fmt: skip
BASIC: tuple[dict[str, Any], ...] = (
    {"jsonrpc": "2.0", "id": 1, "method": "textDocument/codeAction", "params": {
        "textDocument": {"uri": "untitled:a"},
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 1}},
        "context": {"diagnostics": []}}},
    {"jsonrpc": "2.0", "id": 2, "method": "workspace/executeCommand", "params": {
        "command": "indwell.cancel", "arguments": []}},
    {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {
        "uri": "untitled:a", "languageId": "python", "version": 1, "text": "a\nb\n"}}},
    {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
        "textDocument": {"uri": "untitled:a", "version": 2},
        "contentChanges": [{"text": "x", "range": {
            "start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 1}}}]}},
    {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}},
    {"jsonrpc": "2.0", "id": 3, "result": None},
)  # fmt: skip


def seeds() -> list[Any]:
    """Return a few built-in messages, and the sample messages of the shared data.

    ``INDWELL_SHARED`` names the folder with the data; without the variable there are only the
    built-in messages.
    """
    shared = os.environ.get("INDWELL_SHARED")
    folder = Path(shared) if shared else Path(__file__).resolve().parents[3] / "shared"
    file = folder / "data" / "cases" / "lsp_messages_sample.jsonl.gz"
    if not file.exists():
        return list(BASIC)
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [*BASIC, *(json.loads(line)["message"] for line in lines)]


def drawn(samples: list[Any], random: Random) -> Any:
    """Return one of the samples, most often of a kind that the server handles."""
    return random.choice(BASIC) if random.random() < 0.4 else random.choice(samples)


def mutated(message: Any, random: Random) -> Any:
    """Return a message with one to three faults in its JSON."""
    value = copy.deepcopy(message)
    for _ in range(random.randint(1, 3)):
        value = random.choice(_CHANGES)(value, random)
    return value


def body_of(value: Any, random: Random) -> bytes:
    """Return the value's JSON, sometimes with bytes changed, deleted or doubled."""
    body = json.dumps(value, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
    return damaged(body, random) if random.random() < 0.2 else body


def damaged(data: bytes, random: Random) -> bytes:
    """Return bytes with one fault."""
    at = random.randrange(len(data) + 1)
    match random.randrange(5):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + random.randbytes(random.randint(1, 4)) + data[at:]
        case 2:
            return data[:at] + data[at + random.randint(1, 8) :]
        case 3:
            return data[:at] + data[at : at + 20] + data[at:]
        case _:
            return data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]


def framed_oddly(body: bytes, random: Random) -> bytes:
    """Return a frame, usually readable and sometimes not."""
    length = b"%d" % len(body)
    odd = random.random()
    if odd < 0.02:
        length = random.choice(ODD_LENGTHS)
    elif odd < 0.04:
        length = b"%d" % max(0, len(body) + random.randint(-3, 3))
    end = b"\n" if random.random() < 0.1 else b"\r\n"
    name = random.choice((b"Content-Length", b"content-length", b"CONTENT-LENGTH"))
    lines = [name + b":" + b" " * random.randint(0, 3) + length]
    if random.random() < 0.2:
        lines.insert(random.randint(0, 1), b"Content-Type: application/vscode-jsonrpc")
    frame = b"".join(line + end for line in lines) + end + body
    return damaged(frame, random) if random.random() < 0.02 else frame


def _field(value: Any, random: Random) -> tuple[Any, Any] | None:
    """Return a random container inside ``value``, and one of its keys."""
    while isinstance(value, dict | list) and value:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = random.choice(keys)
        if key == "jsonrpc" and random.random() < 0.9:
            # the server checks the rest of a message only if this key is valid
            key = random.choice(keys)
        if not isinstance(value[key], dict | list) or not value[key] or random.random() < 0.3:
            return value, key
        value = value[key]
    return None


def _replace(value: Any, random: Random) -> Any:
    found = _field(value, random)
    if found is not None:
        found[0][found[1]] = copy.deepcopy(random.choice(ODD_VALUES))
    return value


def _remove(value: Any, random: Random) -> Any:
    found = _field(value, random)
    if found is not None:
        del found[0][found[1]]
    return value


def _add(value: Any, random: Random) -> Any:
    if isinstance(value, dict):
        name = random.choice(("id", "jsonrpc", "method", "params", "result", "error", "x"))
        value[name] = copy.deepcopy(random.choice(ODD_VALUES))
    return value


def _nest(value: Any, random: Random) -> Any:
    found = _field(value, random)
    if found is not None:
        deep: Any = found[0][found[1]]
        for _ in range(random.choice((1, 10, 100))):
            deep = [deep] if random.random() < 0.5 else {"a": deep}
        found[0][found[1]] = deep
    return value


def _wrap(value: Any, random: Random) -> Any:
    return random.choice(([value], [value, value], {"a": value}, value))


_CHANGES: tuple[Callable[[Any, Random], Any], ...] = (
    _replace,
    _replace,
    _remove,
    _add,
    _nest,
    _wrap,
)
