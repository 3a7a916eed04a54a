"""Makes each system call of the session store fail with every kind of error (PER-04).

A child creates a session, commits records one by one, and commits the rest when the disk has room
again. ``strace`` makes the n-th call of a kind fail, once or always from then on, like a full disk.
After any failure, all acknowledged records must exist, the error must be a plain sentence, and
earlier files must be undamaged. The store must work again afterwards, except after a failed flush
(PER-05).

    PYTHONPATH=server:tests python tests/faults/session_faults.py
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from indwell.errors import SessionError
from indwell.sessions.ids import new_id
from indwell.sessions.records import TurnStartRecord
from indwell.sessions.storage.store import SessionStore

FAULTS = {
    "write": ("ENOSPC", "EIO", "EDQUOT", "EINTR"),
    "fdatasync": ("EIO", "ENOSPC", "EDQUOT"),
    "fsync": ("EIO", "ENOSPC"),
    "openat": ("ENOSPC", "EACCES", "EROFS", "EMFILE"),
    "mkdir": ("ENOSPC", "EDQUOT", "EROFS"),
    "flock": ("ENOLCK", "EOPNOTSUPP"),
}
HARMLESS = {"EINTR", "ENOLCK", "EOPNOTSUPP"}
"""A call that was interrupted is made again; a file system without locks has hoped-for writers."""

N_RECORDS = 3
MOST_CALLS = 40
NOW = datetime(2026, 11, 21, 3, 40, tzinfo=UTC)
DRAWN = b"\x01" * 6
SESSION = new_id(NOW, DRAWN)


async def work(folder: Path) -> None:
    """Commit records; print the number of safe records, and each error."""
    store = SessionStore(folder / "state", folder)
    n_safe, said = 0, []
    try:
        _, log = store.create(model="m", now=NOW, random_bytes=DRAWN)
    except SessionError as error:
        said.append(str(error))
    else:
        for number in range(N_RECORDS + 1):
            if number < N_RECORDS:
                log.append(TurnStartRecord(turn=number, words="ä" * 100, at="t"))
            try:
                await log.commit()
                n_safe = min(number + 1, N_RECORDS)
            except SessionError as error:
                said.append(str(error))
    print(json.dumps([n_safe, said]))


def fails(folder: Path, call: str, error: str, at: int, *, lasts: bool) -> bool:
    """Run a child whose ``at``-th call of a kind fails; return False if it made fewer calls.

    Checks the remaining files.

    Args:
        folder: An empty folder.
        call: The system call.
        error: The name of the error.
        at: The number of the call, from 1.
        lasts: All later calls fail as well.

    Raises:
        AssertionError: A record was lost or damaged, or an error not reported.
    """
    store = SessionStore(folder / "state", folder)
    spill = store.spill(SESSION)
    log = spill.parent / "log.jsonl"
    paths = [spill, log, *log.parents[:4]]
    watched = [word for path in paths for word in ("-P", str(path))]
    when = f"{at}+" if lasts else f"{at}"
    inject = ["-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={when}"]
    child = subprocess.run(
        [
            *("strace", "-f", *watched, *inject, "-o", str(folder / "trace")),
            *(sys.executable, __file__, "--work", str(folder)),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    where = f"{call} {when} fails with {error}"
    assert child.returncode == 0, f"{where}: {child.stderr}"
    if "INJECTED" not in (folder / "trace").read_text():
        return False
    n_safe, said = json.loads(child.stdout)
    _check(store, log, n_safe, where)
    assert all("Traceback" not in one and ";" in one for one in said), f"{where}: {said}"
    if error in HARMLESS:
        assert (n_safe, said) == (N_RECORDS, []), f"{where}: {said}"
    # after a failed flush the data may be lost: the store never acknowledges it
    elif call == "fdatasync":
        assert n_safe == at - 1, f"{where}: {n_safe} were acknowledged after it"
        assert all(one.startswith("the disk failed while") for one in said), said
    else:  # the first failed write is not reported, since the commit tries again
        assert said or (n_safe == N_RECORDS and not lasts), f"{where}: nothing was said"
    return True


def _check(store: SessionStore, log: Path, n_safe: int, where: str) -> None:
    """Check the state for the next process, which can create or resume a session."""
    if log.exists():
        found = [
            one.turn for one in store.open(SESSION).records if isinstance(one, TurnStartRecord)
        ]
        assert found[:n_safe] == list(range(n_safe)), f"{where}: {n_safe} safe, found {found}"
        _, again = store.resume(SESSION, now=NOW)
    else:
        assert n_safe == 0, where
        _, again = store.create(model="m", now=NOW)
    again.append(TurnStartRecord(turn=99, words="room again", at="t"))
    asyncio.run(again.close())


def every_fault(calls: dict[str, tuple[str, ...]], *, most: int = MOST_CALLS) -> Counter[str]:
    """Make each call fail in a separate child; return the number of failures of each kind."""
    counted: Counter[str] = Counter()
    for call, errors in calls.items():
        for error in errors:
            for at in range(1, most + 1):
                n_failed = sum(
                    _in_a_folder(call, error, at, lasts=lasts)
                    for lasts in (False, True)
                    if not (lasts and error == "EINTR")  # Python would repeat the call for ever
                )
                if not n_failed:
                    break
                counted[call] += n_failed
    return counted


def _in_a_folder(call: str, error: str, at: int, *, lasts: bool) -> bool:
    with tempfile.TemporaryDirectory() as place:
        return fails(Path(place).resolve(), call, error, at, lasts=lasts)


def main() -> None:
    """Do the child's work, or run all faults."""
    if sys.argv[1:2] == ["--work"]:
        asyncio.run(work(Path(sys.argv[2])))
        return
    counted = every_fault(FAULTS)
    assert set(counted) == set(FAULTS), f"some calls were never made to fail: {counted}"
    print(f"{counted.total()} calls failed ({dict(counted)}): said, and nothing was lost")


if __name__ == "__main__":
    main()
