from __future__ import annotations

from indwell.review.hunk import Actor
from indwell.review.store import pending_sessions
from support.ledgers import change, ledger_in


async def test_sessions_with_pending_changes_are_found_without_a_ledger(
    tmp_path,
) -> None:
    ledger = await ledger_in(tmp_path, tmp_path)
    for name in ("s1", "s2"):
        path = tmp_path / f"{name}.txt"
        path.write_bytes(b"new\n")
        await change(ledger, path, "old\n", "new\n", Actor(name, 1))
    assert pending_sessions(tmp_path / "ledger") == {"s1", "s2"}
    await ledger.accept([one.id for one in ledger.hunks(tmp_path / "s1.txt")])
    assert pending_sessions(tmp_path / "ledger") == {"s2"}
    assert pending_sessions(tmp_path / "nothing") == frozenset()


async def test_a_damaged_ledger_cannot_name_the_sessions_with_pending_changes(tmp_path) -> None:
    ledger = await ledger_in(tmp_path, tmp_path)
    path = tmp_path / "a.txt"
    path.write_bytes(b"new\n")
    await change(ledger, path, "old\n", "new\n")
    with (tmp_path / "ledger" / "changes.jsonl").open("ab") as log:
        log.write(b"\x00 no record\n")
    assert pending_sessions(tmp_path / "ledger") is None
