"""Gives git objects other content under their own names, as a hostile command could."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import zlib
from pathlib import Path

EVIL = b"evil\n"
LOADED = ".github/old.yml"


def forge(work: Path, way: str) -> None:
    """Forge the committed ``LOADED`` of a repository in one of ``WAYS``."""
    WAYS[way](work)


def _git(work: Path, *words: str, data: bytes = b"") -> str:
    command = ["git", "-C", str(work), *words]
    return subprocess.run(command, check=True, input=data, capture_output=True).stdout.decode()


def _name(work: Path) -> str:
    return _git(work, "rev-parse", f"HEAD:{LOADED}").strip()


def _object(work: Path, name: str) -> Path:
    return work / ".git" / "objects" / name[:2] / name[2:]


def _write(path: Path, data: bytes) -> None:
    if path.exists():
        path.chmod(0o644)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


def _loose(work: Path) -> None:
    _write(_object(work, _name(work)), zlib.compress(b"blob %d\0" % len(EVIL) + EVIL))


def _renamed(work: Path) -> None:
    """Replace the folder of objects by a folder that was created without git."""
    name = _name(work)
    real, made = _object(work, name).parent, work / "made"
    made.mkdir()
    for one in real.iterdir():
        (made / one.name).write_bytes(one.read_bytes())
    (made / name[2:]).write_bytes(zlib.compress(b"blob %d\0" % len(EVIL) + EVIL))
    real.rename(work / "away")
    made.rename(real)


def _pack(work: Path) -> None:
    """Write a pack of one object, whose index gives the object another object's name."""
    old = bytes.fromhex(_name(work))
    evil = _git(work, "hash-object", "-w", "--stdin", data=EVIL).strip()
    folder = work / ".git" / "objects" / "pack"
    pack = _git(work, "pack-objects", f"{folder}/pack", data=f"{evil}\n".encode()).strip()
    index = folder / f"pack-{pack}.idx"
    data = bytearray(index.read_bytes())
    data[8 : 8 + 1024] = b"".join(struct.pack(">I", at >= old[0]) for at in range(256))
    data[1032:1052] = old
    data[-20:] = hashlib.sha1(bytes(data[:-20]), usedforsecurity=False).digest()
    _write(index, bytes(data))
    _object(work, old.hex()).unlink()


def _chunks(data: bytearray, start: int, number: int) -> dict[bytes, int]:
    rows = (data[at : at + 12] for at in range(start, start + 12 * number, 12))
    return {bytes(row[:4]): struct.unpack(">Q", row[4:])[0] for row in rows}


def _resealed(data: bytearray) -> bytes:
    data[-20:] = hashlib.sha1(bytes(data[:-20]), usedforsecurity=False).digest()
    return bytes(data)


def _packs_index(work: Path) -> None:
    """Change the index of all packs so that one name leads to another object's content."""
    old = _name(work)
    evil = _git(work, "hash-object", "-w", "--stdin", data=EVIL).strip()
    folder = work / ".git" / "objects" / "pack"
    _git(work, "pack-objects", f"{folder}/pack", data=f"{old}\n{evil}\n".encode())
    _git(work, "multi-pack-index", "write")
    index = folder / "multi-pack-index"
    data = bytearray(index.read_bytes())
    at = _chunks(data, 12, data[6])
    names = [data[n : n + 20].hex() for n in range(at[b"OIDL"], at[b"OIDL"] + 40, 20)]
    one, two = (at[b"OOFF"] + 8 * names.index(name) for name in (old, evil))
    data[one : one + 8], data[two : two + 8] = data[two : two + 8], data[one : one + 8]
    _write(index, _resealed(data))
    _object(work, old).unlink()


def _graph(work: Path) -> None:
    """Change the commit-graph file so that the newest commit has another tree."""
    evil = _git(work, "hash-object", "-w", "--stdin", data=EVIL).strip()
    inner = _git(work, "mktree", data=f"100644 blob {evil}\told.yml\n".encode()).strip()
    tree = _git(work, "mktree", data=f"040000 tree {inner}\t.github\n".encode()).strip()
    _git(work, "commit-graph", "write", "--reachable")
    graph = work / ".git" / "objects" / "info" / "commit-graph"
    data = bytearray(graph.read_bytes())
    at = _chunks(data, 8, data[6])
    head = bytes.fromhex(_git(work, "rev-parse", "HEAD").strip())
    row = (data.index(head, at[b"OIDL"]) - at[b"OIDL"]) // 20
    place = at[b"CDAT"] + 36 * row
    data[place : place + 20] = bytes.fromhex(tree)
    _write(graph, _resealed(data))


def _other_store(work: Path) -> None:
    name = _name(work)
    (work / "store").mkdir()
    _write(work / "store" / name[:2] / name[2:], zlib.compress(b"blob 5\0" + EVIL))
    (work / ".git" / "objects" / "info" / "alternates").write_bytes(b"../../store\n")
    _object(work, name).unlink()


def _grafts(work: Path) -> None:
    (work / ".git" / "info" / "grafts").write_bytes(_git(work, "rev-parse", "HEAD").encode())


def _shallow(work: Path) -> None:
    (work / ".git" / "shallow").write_bytes(_git(work, "rev-parse", "HEAD").encode())


WAYS = {
    "a loose object": _loose,
    "a folder of objects": _renamed,
    "a pack": _pack,
    "an index of packs": _packs_index,
    "a graph of commits": _graph,
    "another store": _other_store,
    "grafts": _grafts,
    "a shallow history": _shallow,
}
CHECKED_OUT = frozenset(WAYS) - {"a graph of commits", "grafts", "a shallow history"}
"""The ways by which a checkout of the same commit writes ``EVIL``."""


def hostile_repository(folder: Path, ran: Path) -> None:
    """Make a repository whose configuration makes ``git status`` create the file ``ran``."""
    folder.mkdir(parents=True)
    _git(folder, "init", "-q")
    (folder / "a.txt").write_text("one\n")
    _git(folder, "add", "a.txt")
    who = ("-c", "user.name=A", "-c", "user.email=a@localhost")
    _git(folder, *who, "commit", "-q", "-m", "x")
    _git(folder, "config", "filter.x.clean", f"sh -c 'touch {ran}; cat'")
    (folder / ".gitattributes").write_text("* filter=x\n")
    (folder / "a.txt").write_text("two\n")  # Git runs the filter for a file of the same size.
    os.utime(folder / "a.txt", (1, 1))
