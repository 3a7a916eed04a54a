"""Kills a process (SIGKILL) at random moments of edits, and checks the files on disk.

    python tests/faults/edit_kills.py 200 --seed 7

A child edits a file in a loop, and reports each written version. After the kill the file must
contain the last reported version or the next version, byte by byte. A file that is overwritten in
place may only be correct after Indwell's next read. After the next write into the folder, neither
the folder nor the private folder may have a temporary file. Cases: `safety.json` PER-13, FS-08.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from indwell.files.append_log import list_names
from indwell.files.contents.atomic import replace_with, write_atomic
from indwell.files.contents.reading import read_bytes
from indwell.files.system.copying import write_all

KINDS = ("rename", "in place", "stream", "create")
SIZE_B = 600_000  # bytes of a file, large enough for a kill in the middle of a write
PIECE_B = 8  # bytes of a version's number


def version(number: int) -> bytes:
    """Return a version's bytes: the number, repeated; the number determines the length."""
    return number.to_bytes(PIECE_B, "big") * (1 + (number * 7_919) % (SIZE_B // PIECE_B))


def edit(kind: str, root: Path, number: int) -> None:
    """Overwrite the previous version with version ``number``."""
    path, private = root / "file", private_of(root)
    match kind:
        case "create":
            name = f"file-{number}"
            write_atomic(root / name, version(number), [root], create=True, private=private)
        case "stream":
            unchanged = path.stat()
            data = version(number)
            half = len(data) // 2

            def write(descriptor: int) -> None:
                write_all(descriptor, data[:half])
                write_all(descriptor, data[half:])

            replace_with(path, [root], write, unchanged=unchanged, private=private)
        case _:
            before = version(number - 1)
            write_atomic(path, version(number), [root], expected=before, private=private)


def private_of(root: Path) -> Path:
    """Return the folder of the user's state."""
    return root.with_name(f"{root.name}-undo")


def child(kind: str, root: Path) -> None:
    """Edit until killed; print one line for each finished edit."""
    number = 0
    sys.stdout.write("0\n")
    sys.stdout.flush()
    while True:
        number += 1
        edit(kind, root, number)
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


def kill_once(kind: str, base: Path, after_s: float) -> str:
    """Kill one child ``after_s`` seconds after its first output; return the file's state.

    Raises:
        AssertionError: A version is lost or mixed, or a temporary file remains.
    """
    root = Path(tempfile.mkdtemp(dir=base))
    (root / "file").write_bytes(version(0))
    if kind == "in place":
        (root / "other name").hardlink_to(root / "file")
    command = [sys.executable, __file__, "--child", kind, "--folder", str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"0\n"
        time.sleep(after_s)  # the random moment; this is not a wait for an event
        running.kill()
        said = running.stdout.read().split(b"\n")[:-1]
    done = int(said[-1]) if said else 0
    at_once = _stands(kind, root, done)
    assert at_once != "mixed" or kind == "in place", (kind, root, done)
    litter = _litter(root)
    if kind == "in place":
        read_bytes(root / "file", [root], 2 * SIZE_B, private=private_of(root))
    write_atomic(root / "next", b"next", [root], private=private_of(root))
    after = _stands(kind, root, done)
    assert after in {"old", "new"}, (kind, root, done, after)
    assert at_once in {"mixed", after}, (kind, root, done, at_once, after)
    assert _litter(root) == [], (kind, root, _litter(root))
    if kind == "in place":
        assert (root / "other name").samefile(root / "file")
    # A kill while the user's key is made may leave a file with the key's 32 bytes.
    kept = [name for name in list_names(private_of(root)) if not name.startswith("key")]
    assert kept == [], (kind, root, kept)
    shutil.rmtree(root)
    shutil.rmtree(private_of(root))
    return f"{at_once}{', litter tidied' if litter else ''}"


def _stands(kind: str, root: Path, done: int) -> str:
    if kind == "create":
        names = {path.name for path in root.glob("file-*")}
        wanted = {f"file-{number}" for number in range(1, done + 1)}
        whole = all(
            (root / name).read_bytes() == version(int(name.partition("-")[2])) for name in names
        )
        if not whole or not wanted <= names or len(names - wanted) > 1:
            return "mixed"
        return "old" if names == wanted else "new"
    data = (root / "file").read_bytes()
    if data == version(done):
        return "old"
    return "new" if data == version(done + 1) else "mixed"


def _litter(root: Path) -> list[str]:
    return [name for name in list_names(root) if name.startswith(".")]


def run(base: Path, n_kills: int, seed: int) -> Counter[str]:
    """Run ``n_kills``, over all kinds of edit; return the outcomes."""
    dice = random.Random(seed)
    ends: Counter[str] = Counter()
    for number in range(n_kills):
        kind = KINDS[number % len(KINDS)]
        ends[f"{kind}: {kill_once(kind, base, dice.uniform(0, 0.06))}"] += 1
    return ends


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kills", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder")
    parser.add_argument("--child", choices=KINDS, help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.child:
        child(wanted.child, Path(wanted.folder))
        return 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=wanted.folder) as folder:
        ends = run(Path(os.path.realpath(folder)), wanted.kills, wanted.seed)
    for end, times in sorted(ends.items()):
        print(f"{times:5}  {end}")
    print(f"{sum(ends.values())} kills, none lost or mixed, {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
