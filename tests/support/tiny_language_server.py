"""Runs a tiny language server, whose answers to `hover` are its command-line arguments.

The argument `crash` ends the server at a hover, `silent` makes it answer nothing, and `garbage`
makes it send bytes that are not a message.
"""

from __future__ import annotations

import json
import os
import sys


def read() -> dict[str, object] | None:
    length = 0
    while (line := sys.stdin.buffer.readline().strip()) or not length:
        if not line:
            return None
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    return json.loads(sys.stdin.buffer.read(length))


def write(message: dict[str, object]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def hover(what: list[str], number: object, text: str) -> None:
    if "crash" in what:
        sys.stderr.write("out of ideas\n")
        sys.stderr.flush()
        sys.exit(3)
    if "garbage" in what:
        sys.stdout.buffer.write(b"x" * 10_000)
        sys.stdout.buffer.flush()
    elif "silent" not in what:
        words = f"process {os.getpid()}: {len(text)} characters; {' '.join(what)}"
        write({"id": number, "result": {"contents": {"kind": "plaintext", "value": words}}})


def main() -> None:
    what = sys.argv[1:]
    texts: dict[str, str] = {}
    while (message := read()) is not None:
        method, number = message.get("method"), message.get("id")
        params = message.get("params") or {}
        assert isinstance(params, dict)
        if method == "textDocument/didOpen":
            texts[params["textDocument"]["uri"]] = params["textDocument"]["text"]
        elif method == "textDocument/didChange":
            texts[params["textDocument"]["uri"]] = params["contentChanges"][0]["text"]
        elif method == "initialize":
            write({"id": number, "result": {"capabilities": {"hoverProvider": True}}})
        elif method == "textDocument/hover":
            hover(what, number, texts[params["textDocument"]["uri"]])
        elif method == "exit":
            return
        elif number is not None and method is not None:
            write({"id": number, "result": None})


if __name__ == "__main__":
    main()
