"""Makes each system call of an edit fail in turn, by strace.

    python tests/faults/edit_faults.py --cycles 20

A traced child makes edits of all kinds, and every n-th call of one kind fails. The numbers n are
prime, and therefore each call fails at some time. Every edit must succeed, or raise one ToolError
and leave the old bytes and no temporary file. Cases: `safety.json` FS-18, PER-13.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from indwell.errors import ToolError
from indwell.files.append_log import list_names
from indwell.files.contents.atomic import replace_with, write_atomic
from indwell.files.contents.reading import read_bytes
from indwell.files.system.copying import write_all

# error, and the number n if every n-th call fails
ERRORS = {"ENOSPC": 7, "EIO": 11, "EDQUOT": 5, "EINTR": 3}
CALLS = (
    "write", "copy_file_range", "fallocate", "ftruncate", "fsync", "lseek", "linkat", "renameat",
    "unlinkat", "unlink", "link", "rename", "fchmod", "fsetxattr", "flock", "mkdirat", "openat2",
    "openat", "getdents64", "read", "newfstatat",
)  # fmt: skip
FAILED = 3  # the child found a lost, mixed or remaining file

MODE = 0o754  # no umask gives a new file this mode
OLD = b"old and rather longer " * 400
NEW = b"new " * 700


class Bad(Exception):
    """An edit ended in a forbidden way."""


@functools.cache
def strace() -> str | None:
    """Return the path of strace, if strace is installed and may trace."""
    program = shutil.which("strace")
    if program is None:
        return None
    tried = subprocess.run([program, "-o", os.devnull, "true"], capture_output=True, check=False)
    return program if tried.returncode == 0 else None


def run(base: Path, call: str, error: str, cycles: int, every: int = 0) -> Counter[str]:
    """Inject ``error`` into every n-th ``call``, or as ``ERRORS`` says; count how edits ended.

    Raises:
        AssertionError: An edit ended in a forbidden way, or the tracer failed.
    """
    root = Path(tempfile.mkdtemp(dir=base))
    first = _made_while_starting(root, call) + 2
    fault = f"inject={call}:error={error}:when={first}+{every or ERRORS[error]}"
    done = _traced(root, cycles, "-o", os.devnull, "-e", f"trace={call}", "-e", fault)
    assert done.returncode == 0, (call, error, done.returncode, done.stdout, done.stderr)
    shutil.rmtree(root)
    shutil.rmtree(root.with_name(f"{root.name}-undo"))
    return Counter(json.loads(done.stdout))


def _made_while_starting(root: Path, call: str) -> int:
    """Return how often Python makes a call before the first edit, since imports must not fail."""
    log = root / "calls"
    done = _traced(root, 0, "-o", str(log), "-e", f"trace={call}")
    assert done.returncode == 0, (call, done.stdout, done.stderr)
    n_calls = log.read_text().count(f"{call}(")
    log.unlink()
    return n_calls


def _traced(root: Path, cycles: int, *options: str) -> subprocess.CompletedProcess[str]:
    program = strace()
    assert program is not None
    command = [program, "-f", "--seccomp-bpf", "-qq", *options, sys.executable, __file__]
    command += ["--child", str(root), "--cycles", str(cycles)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


class Bench:
    """One workspace, in which each cycle makes one edit of each kind."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.private = root.with_name(f"{root.name}-undo")
        self.ends: Counter[str] = Counter()
        self.round = 0

    def cycle(self) -> None:
        """Make one edit of each kind, on separate files."""
        self.round += 1
        folder = self.root / str(self.round)
        _until_done(folder.mkdir)
        for kind in ("rename", "in place", "stream", "create", "parents"):
            path = folder / kind.replace(" ", "-") / "file"
            _until_done(path.parent.mkdir)
            if kind not in {"create", "parents"}:
                _until_done(lambda path=path: path.write_bytes(OLD))
                _until_done(lambda path=path: path.chmod(MODE))
            if kind == "in place":
                _until_done(lambda path=path: (path.parent / "other").hardlink_to(path))
            if kind == "parents":
                path = path.parent / "a" / "b" / "file"
            self._edit(kind, path)

    def _edit(self, kind: str, path: Path) -> None:
        before = None if kind in {"create", "parents"} else OLD
        try:
            self._try(kind, path)
            ended = "done"
        except ToolError:
            ended = "refused"
        stands = _bytes(path)
        if stands != (NEW if ended == "done" else before):
            raise Bad(f"{kind} was {ended}, and the file holds {(stands or b'nothing')[:40]!r}")
        if before is not None and (mode := _until_done(path.stat).st_mode & 0o7777) != MODE:
            raise Bad(f"{kind} was {ended}, and the file has the mode {mode:o}")
        litter = _litter(path)
        if litter:  # if removing the name failed, the next write into the folder removes it
            next_one = path.parent / "next"
            _until_done(lambda: write_atomic(next_one, b"", [self.root], private=self.private))
            ended += ", tidied later"
        if _litter(path):
            raise Bad(f"{kind} was {ended}, and left {_litter(path)}")
        if self._undo_files():  # if removing a file failed, the next read removes it
            ended += ", tidied later"
            for _ in range(3):  # a read can fail too; then the next read removes the file
                if self._undo_files():
                    _until_done(lambda: self._read(path))
        if self._undo_files():
            raise Bad(f"{kind} was {ended}, and left {self._undo_files()}")
        self.ends[f"{kind}: {ended}"] += 1

    def _read(self, path: Path) -> bytes:
        return read_bytes(path, [self.root], len(OLD) + len(NEW), private=self.private)

    def _undo_files(self) -> list[str]:
        names: tuple[str, ...] = _until_done(lambda: list_names(self.private))
        return [name for name in names if name.endswith((".undo", ".old"))]

    def _try(self, kind: str, path: Path) -> None:
        roots, private = [self.root], self.private
        match kind:
            case "stream":
                unchanged = _until_done(path.stat)
                write = functools.partial(write_all, data=NEW)
                replace_with(path, roots, write, unchanged=unchanged, private=private)
            case "create":
                write_atomic(path, NEW, roots, create=True, private=private)
            case "parents":
                write_atomic(path, NEW, roots, create=True, parents=True, private=private)
            case _:
                write_atomic(path, NEW, roots, expected=OLD, private=private)


def _bytes(path: Path) -> bytes | None:
    try:
        stands: bytes = _until_done(path.read_bytes)
    except FileNotFoundError:
        return None
    return stands


def _litter(path: Path) -> list[str]:
    try:
        names = _until_done(lambda: list(list_names(path.parent)))
    except FileNotFoundError:
        return []
    return [name for name in names if name.startswith(".indwell")]


def _until_done(work: Callable[[], Any]) -> Any:
    """Repeat work until it succeeds, because strace also makes the bench's own calls fail."""
    for _ in range(5):
        try:
            return work()
        except FileExistsError:
            return None  # the previous try created the file before it failed
        except FileNotFoundError:
            raise
        except (OSError, ToolError) as error:
            problem = error
    raise Bad(f"the bench itself cannot work: {problem}")


def child(root: Path, cycles: int) -> int:
    bench = Bench(root)
    try:
        for _ in range(cycles):
            bench.cycle()
    except Bad as bad:
        sys.stderr.write(str(bad))
        return FAILED
    told = json.dumps(bench.ends).encode()
    _until_done(lambda: os.write(sys.stdout.fileno(), told))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cycles", type=int, default=20, help="edits of each kind and fault")
    parser.add_argument("--folder")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.child:
        return child(wanted.child, wanted.cycles)
    began = time.monotonic()
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=wanted.folder) as folder:
        for call in CALLS:
            for error in ERRORS:
                ends = run(Path(os.path.realpath(folder)), call, error, wanted.cycles)
                total += ends
                refused = sum(n for end, n in ends.items() if "refused" in end)
                print(f"{call:16} {error:7} {sum(ends.values()):5} edits, {refused:4} refused")
    for end, times in sorted(total.items()):
        print(f"{times:6}  {end}")
    print(f"{sum(total.values())} edits, none lost or mixed, {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
