"""Pending changes of files and folders that the user renames move, too."""

from __future__ import annotations

from pathlib import Path

from indwell.review.ledger import ReviewLedger
from support.ledgers import change, ledger_in

BEFORE, AFTER = "one\ntwo\n", "one\nnew\n"
OLD, NEW = Path("/project/old/a.py"), Path("/project/new/a.py")


def _shown(ledger, path: Path) -> list[tuple[Path, str]]:
    return [(one.path, "".join(one.new)) for one in ledger.hunks(path)]


async def test_a_moved_file_keeps_its_pending_changes_in_all_processes_and_after_a_restart(
    tmp_path,
) -> None:
    mine, theirs = await ledger_in(tmp_path), await ledger_in(tmp_path)
    await change(mine, OLD, BEFORE, AFTER)
    await theirs.refresh()
    heard: list[int] = []
    mine.on_change(lambda: heard.append(mine.n_pending))
    mine.sync(OLD, None)  # the editor first closes the old file
    assert not mine.hunks(OLD)
    await mine.moved(OLD, NEW)
    await theirs.moved(OLD, NEW)  # the other editor has also reported the move
    again = await ledger_in(tmp_path)
    for one in (mine, theirs, again):
        assert one.paths() == (NEW,)
        assert _shown(one, NEW) == [(NEW, "new\n")]
        assert one.base(NEW) == BEFORE
        assert one.take_notices() == ()
    assert heard[-1] == 1

    # The other process uses the new path, and records the verdict there.
    mine.sync(NEW, f"mine\n{AFTER}")
    (hunk,) = mine.hunks(NEW)
    plan = mine.rejection(NEW, [hunk.id])
    assert plan.text == f"mine\n{BEFORE}"
    await mine.rejected(plan, plan.text)
    await theirs.refresh()
    assert mine.n_pending == theirs.n_pending == 0
    for one in (mine, theirs, again):
        await one.close()


async def test_a_moved_folder_moves_only_the_changes_of_its_own_files(tmp_path) -> None:
    ledger = await ledger_in(tmp_path)
    near = Path("/project/older/a.py")
    for path in (OLD, near, OLD.with_name("b.py")):
        await change(ledger, path, BEFORE, AFTER)
    await ledger.moved(OLD.parent, NEW.parent)
    assert set(ledger.paths()) == {NEW, near, NEW.with_name("b.py")}
    await ledger.moved(NEW.parent, OLD.parent)  # the user undoes the move
    assert set(ledger.paths()) == {OLD, near, OLD.with_name("b.py")}
    await ledger.moved(Path("/project/nothing"), NEW)
    assert ledger.n_pending == 3
    await ledger.close()


async def test_a_moved_file_with_a_secret_stays_out_of_the_log(tmp_path) -> None:
    def hide(text: str) -> str:
        return text.replace("s3cret", "")

    ledger = await ReviewLedger.open(tmp_path / "ledger", (), hide=hide)
    await change(ledger, OLD, BEFORE, "s3cret\n")
    await ledger.moved(OLD, NEW)
    assert ledger.paths() == (NEW,)
    await change(ledger, NEW, "s3cret\n", "s3cret\nmore\n")
    assert ledger.take_notices() == ()
    log = tmp_path / "ledger" / "changes.jsonl"
    assert not log.exists() or b"s3cret" not in log.read_bytes()
    await ledger.close()
