"""Reads, lists and writes while another process exchanges a folder and a link to outside.

    python tests/faults/path_race.py 1000000

Each try uses a name that leads into the workspace at one moment and out of it at the next. The try
may return the file inside or refuse. Reading or writing a file outside is a leak. The usual method
(realpath, compare, open by name) runs first in the same race and must leak; otherwise the race
proves nothing. Cases: `safety.json` FS-04.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from indwell.errors import ToolError
from indwell.files.beneath import locate, walk_below
from indwell.files.contents.atomic import write_atomic
from indwell.files.contents.reading import opened_beneath, read_bytes
from indwell.files.listing import list_folder

LIMIT_B = 1_000
EXCHANGE = 2  # linux/fs.h: RENAME_EXCHANGE
LOOK_EVERY = 500  # tries between two checks of the files outside
OUTSIDE = {"secret": b"secret", "only-outside": b"secret"}

Try = Callable[[Path], str]


def read(root: Path) -> str:
    return _told(read_bytes(root / "sub" / "secret", [root], LIMIT_B))


def read_file(root: Path) -> str:
    return _told(read_bytes(root / "file", [root], LIMIT_B))


def read_open(root: Path) -> str:
    with opened_beneath(root / "sub" / "secret", [root]) as opened:
        return _told(os.pread(opened.descriptor, LIMIT_B, 0))


def read_walking(root: Path) -> str:
    place = locate(root / "sub" / "secret", [root])
    folder = os.open(place.root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        file = walk_below(folder, place.parts, os.O_RDONLY)
    except OSError as error:
        raise ToolError("a link that changed") from error
    finally:
        os.close(folder)
    with os.fdopen(file, "rb") as opened:
        return _told(opened.read())


def listing(root: Path) -> str:
    names = {entry.name for entry in list_folder(root / "sub", [root])}
    return "LEAK" if "only-outside" in names else "inside"


def write(root: Path) -> str:
    write_atomic(root / "sub" / "secret", b"decoy", [root])
    return "inside"


def write_file(root: Path) -> str:
    write_atomic(root / "file", b"decoy", [root])
    return "inside"


def make(root: Path) -> str:
    write_atomic(root / "sub" / "new" / "file", b"decoy", [root], parents=True)
    return "inside"


def naive(root: Path) -> str:
    path = root / "sub" / "secret"
    try:
        if not Path(os.path.realpath(path)).is_relative_to(root):
            raise ToolError("outside")
        return _told(path.read_bytes())
    except OSError as error:  # the name changed between two system calls of realpath
        raise ToolError("gone") from error


SHARES: dict[Try, int] = {
    read: 30, read_file: 15, read_open: 10, read_walking: 15, listing: 10,
    write: 10, write_file: 5, make: 5,
}  # fmt: skip
"""Per cent of the tries."""


def _told(data: bytes) -> str:
    return "LEAK" if data == b"secret" else "inside"


@contextmanager
def racing(base: Path) -> Iterator[Path]:
    """Yield a workspace in ``base`` whose names another process exchanges."""
    root, outside = base / "w", base / "outside"
    (root / "sub").mkdir(parents=True)
    outside.mkdir()
    for name, data in OUTSIDE.items():
        (outside / name).write_bytes(data)
    (root / "sub" / "secret").write_bytes(b"decoy")
    (root / "file").write_bytes(b"decoy")
    (root / "evil").symlink_to(outside)
    (root / "evil-file").symlink_to(outside / "secret")
    flipper = subprocess.Popen(
        [sys.executable, __file__, "--flip", str(root)], stdout=subprocess.PIPE
    )
    assert flipper.stdout is not None
    try:
        assert flipper.stdout.readline() == b"flipping\n"
        yield root
    finally:
        flipper.kill()
        flipper.wait()
        flipper.stdout.close()


def tries(one: Try, root: Path, n_tries: int) -> Counter[str]:
    """Return the outcomes of ``n_tries``; a file written outside also counts as a leak."""
    ends: Counter[str] = Counter()
    for number in range(1, n_tries + 1):
        try:
            ends[one(root)] += 1
        except ToolError as error:
            # Opening the file found these links; the earlier check had found none.
            caught = "link that changed" in str(error) or "symbolic link" in str(error)
            ends["caught" if caught else "refused"] += 1
        if number % LOOK_EVERY == 0 or number == n_tries:
            ends["LEAK"] += _changed_outside(root.parent / "outside")
    return ends


def _changed_outside(outside: Path) -> int:
    stands = {path.name: path.read_bytes() for path in outside.iterdir() if path.is_file()}
    folders = [path.name for path in outside.iterdir() if path.is_dir()]
    return int(stands != OUTSIDE) + len(folders)


def run(base: Path, n_tries: int, *, patience_s: float = 60) -> dict[str, Counter[str]]:
    """Make tries of all kinds, with equal numbers of each kind.

    On a busy machine the other process may pause during one kind of try. All kinds therefore repeat
    until each has read inside and one was refused, or the time is over.
    """
    until = time.monotonic() + patience_s
    ends: dict[str, Counter[str]] = {one.__name__: Counter() for one in SHARES}
    with racing(base) as root:
        while True:
            for one, share in SHARES.items():
                ends[one.__name__] += tries(one, root, max(1, n_tries * share // 100))
            if _has_met_both_states(ends) or time.monotonic() > until:
                return ends


def _has_met_both_states(ends: dict[str, Counter[str]]) -> bool:
    caught = sum(ended["caught"] for ended in ends.values())
    return caught > 0 and all(ended["inside"] for ended in ends.values())


def leak_naively(base: Path, *, patience_s: float) -> Counter[str]:
    """Use the leaking method until a leak occurs, or the time is over."""
    until = time.monotonic() + patience_s
    ends: Counter[str] = Counter()
    with racing(base) as root:
        while not ends["LEAK"] and time.monotonic() < until:
            ends += tries(naive, root, 500)
    return ends


def flip(root: Path) -> None:
    """Exchange the folder and the link, and the file and its link, until the parent ends."""
    pairs = [(root / "sub", root / "evil"), (root / "file", root / "evil-file")]
    exchange = _exchange()
    parent = os.getppid()
    sys.stdout.write("flipping\n")
    sys.stdout.flush()
    while os.getppid() == parent:
        for _ in range(21):  # an odd number, which makes each pause meet the other state
            for one, other in pairs:
                exchange(os.fsencode(one), os.fsencode(other))
        _lay_again(root / "evil-file", root.parent / "outside" / "secret", root / "file")


def _lay_again(link: Path, target: Path, file: Path) -> None:
    """Make the link again after a write that has replaced the link."""
    if link.is_symlink() == file.is_symlink():
        file.unlink(missing_ok=True)
        file.write_bytes(b"decoy")
        link.unlink(missing_ok=True)
        link.symlink_to(target)


def _exchange() -> Callable[[bytes, bytes], object]:
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is not None:
        return lambda one, other: rename(-100, one, -100, other, EXCHANGE)

    def three_renames(one: bytes, other: bytes) -> None:
        kept = Path(os.fsdecode(one) + ".kept")
        Path(os.fsdecode(one)).rename(kept)
        Path(os.fsdecode(other)).rename(os.fsdecode(one))
        kept.rename(os.fsdecode(other))

    return three_renames


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tries", type=int, nargs="?", default=20_000)
    parser.add_argument("--folder", help="where the race runs; a disk in memory is faster")
    parser.add_argument("--flip", type=Path, help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.flip:
        flip(wanted.flip)
        return 0
    with tempfile.TemporaryDirectory(dir=wanted.folder) as folder:
        base = Path(os.path.realpath(folder))
        with racing(base / "naive") as root:
            ends = tries(naive, root, min(wanted.tries, 100_000))
        print(f"{'realpath, then open':21} {dict(ends)}", flush=True)
        is_hot = bool(ends["LEAK"])
        began = time.monotonic()
        all_ends = run(base / "ours", wanted.tries)
        for name, ended in all_ends.items():
            print(f"{name:21} {dict(ended)}")
        seconds = time.monotonic() - began
    n_tries = sum(sum(ends.values()) for ends in all_ends.values())
    leaks = sum(ends["LEAK"] for ends in all_ends.values())
    print(f"{n_tries:,} tries, {leaks} leaks, {seconds:.0f} s, {n_tries / seconds:,.0f} a second")
    return 0 if is_hot and not leaks else 1


if __name__ == "__main__":
    sys.exit(main())
