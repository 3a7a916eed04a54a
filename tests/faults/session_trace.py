"""Reads a child's changes of files and its reports from strace, in one order of time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CALLS = "openat,mkdir,write,pwrite64,fdatasync,fsync,rename,renameat,unlink,unlinkat,rmdir,close"
_LINE = re.compile(rb"^(?P<call>\w+)\((?P<arguments>.*)\) += (?P<result>-?\d+)")
_TEXT = re.compile(rb'"((?:\\x[0-9a-f]{2})*)"')


@dataclass(frozen=True)
class Op:
    """One operation: ``kind`` is say, make, folder, write, flush, rename or remove."""

    kind: str
    path: str = ""
    data: bytes = b""
    to: str = ""


def recorded(program: Path, folder: Path) -> list[Op]:
    """Do the work in a child under strace, and return its operations."""
    trace = folder / "trace"
    options = ["-f", "-y", "-xx", "-s", "1000000", "-e", f"trace={CALLS}", "-o", str(trace)]
    subprocess.run(
        ["strace", *options, sys.executable, str(program), "--work", str(folder / "work")],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return list(_ops(trace.read_bytes(), str(folder / "work")))


def _ops(trace: bytes, folder: str) -> Iterator[Op]:  # noqa: C901 -- one table of calls
    for line in _whole(trace):
        match = _LINE.match(line)
        if match is None or int(match["result"]) < 0:
            continue
        call, arguments = match["call"].decode(), match["arguments"]
        # With -xx, strace writes every string as hex, also the path of a descriptor.
        names = [_plain(one) for one in _TEXT.findall(arguments)]
        opened = re.match(rb"^(?:AT_FDCWD|\d+)<([^>]*)>", arguments)
        place = _plain(opened[1]).decode() if opened else ""
        if call == "write" and arguments.startswith(b"1<") and names:
            yield Op("say", data=names[0])
        elif call in {"write", "pwrite64"} and place.startswith(folder):
            yield Op("write", place, names[0][: int(match["result"])])
        elif call in {"fdatasync", "fsync"} and place.startswith(folder):
            yield Op("flush", place)
        elif names:
            paths = [os.path.join(place, name.decode()) for name in names]  # noqa: PTH118 -- as the system does
            if not paths[0].startswith(folder):
                continue
            if call == "openat" and b"O_CREAT" in arguments:
                yield Op("make", paths[0])
            elif call == "mkdir":
                yield Op("folder", paths[0])
            elif call.startswith("rename"):
                yield Op("rename", paths[0], to=paths[-1])
            elif call.startswith(("unlink", "rmdir")):
                yield Op("remove", paths[0])


def _whole(trace: bytes) -> Iterator[bytes]:
    """Yield lines of the trace; join lines that another thread's call has split."""
    begun: dict[bytes, bytes] = {}
    for line in trace.split(b"\n"):
        pid, _, rest = line.partition(b" ")
        rest = rest.lstrip()
        if rest.endswith(b"<unfinished ...>"):
            begun[pid] = rest.removesuffix(b"<unfinished ...>").rstrip()
        elif rest.startswith(b"<..."):
            yield begun.pop(pid, b"") + rest.partition(b"resumed>")[2]
        else:
            yield rest


def _plain(text: bytes) -> bytes:
    return bytes.fromhex(text.decode().replace("\\x", "")) if text.startswith(b"\\x") else text
