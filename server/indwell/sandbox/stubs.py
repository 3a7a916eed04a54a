"""Empty folders that stand in for missing ones while commands run, so that nobody makes those.

A mount needs a place on the disk. Each stub is made before the first command that needs it, and
goes with the last one, of whatever process of ours: the kernel takes a mount away, in every
sandbox, when its place is removed.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from indwell.files.stub_folders import hold_stub, make_stub, remove_stub
from indwell.sandbox.guard import guard

_in_use: Counter[str] = Counter()  # of this process; only its event loop touches it
_MOST_TRIES = 5
_holds: dict[str, int] = {}


@contextlib.contextmanager
def stubs_for(paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Let each of these folders be there, also for other commands; gives those that are stubs."""
    taken = tuple(path for path in paths if _in_use[path] or _made(path))
    _in_use.update(taken)
    try:
        yield taken
    finally:
        _in_use.subtract(taken)
        for path in taken:
            if not _in_use[path]:
                remove_stub(Path(path), _holds.pop(path, None))


def _made(path: str) -> bool:
    for _ in range(_MOST_TRIES):
        if not make_stub(Path(path)):
            return False
        guard.clear(path)
        if (held := hold_stub(Path(path))) is not None:
            _holds[path] = held
            return True
    return True  # others remove it each time; then it is mounted if it happens to be there
