"""The ledger on a disk: several processes, kills, damage, secrets, old logs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from indwell.review.hunk import Actor, Opaque
from indwell.review.ledger import ReviewLedger
from indwell.review.record_builder import LARGE, CommandChange
from indwell.review.verdicts import VerdictOutcome, rewind_files
from indwell.workspace.disk import DiskWorkspace
from support.platforms import posix_only

ACTOR = Actor("20261121-120000-000-abc", 1)
FILE = Path("/project/a.py")
BASE = "a\nb\nc\n"


async def edit(
    ledger: ReviewLedger, after: str, before: str | None = BASE, path: Path = FILE
) -> None:
    pending = await ledger.begin(ACTOR, "use", path, before, after)
    await ledger.finish(pending, after, accepted=False)


async def test_another_process_sees_the_same_changes_and_its_verdicts_are_read(
    tmp_path: Path,
) -> None:
    one = await ReviewLedger.open(tmp_path, [])
    two = await ReviewLedger.open(tmp_path, [])
    await edit(one, "a\nB\nc\nD\n")
    assert await two.refresh()
    assert two.hunks(FILE) == one.hunks(FILE)
    first, second = two.hunks(FILE)
    assert await two.accept([first.id]) == (first,)
    plan = two.rejection(FILE, [second.id])
    await two.rejected(plan, plan.text)
    one.sync(FILE, plan.text)
    assert await one.refresh()
    assert (one.hunks(FILE), one.text(FILE)) == ((), "a\nB\nc\n")
    assert [(v.accepted, v.rejected) for v in one.untold(ACTOR.session)] == [
        ((first,), ()),
        ((), (second,)),
    ]


async def test_a_verdict_is_reported_once_in_all_processes(tmp_path: Path) -> None:
    one = await ReviewLedger.open(tmp_path, [])
    await edit(one, "a\nB\nc\n")
    await one.accept([one.hunks(FILE)[0].id])
    (verdict,) = one.untold(ACTOR.session)
    assert one.untold("another") == ()
    await one.told(ACTOR.session, [verdict])
    assert one.untold(ACTOR.session) == ()
    await one.close()
    two = await ReviewLedger.open(tmp_path, [])
    assert two.untold(ACTOR.session) == ()


async def test_two_processes_that_write_at_once_have_the_same_ledger(tmp_path: Path) -> None:
    one = await ReviewLedger.open(tmp_path, [])
    two = await ReviewLedger.open(tmp_path, [])
    paths = [Path(f"/project/{n}.py") for n in range(8)]
    await asyncio.gather(
        *(edit(one if n % 2 else two, "X\n" + BASE, path=path) for n, path in enumerate(paths))
    )
    await one.refresh()
    await two.refresh()
    assert one.paths() == two.paths()
    assert [one.hunks(path) for path in paths] == [two.hunks(path) for path in paths]
    assert one.n_pending == 8


@posix_only("signals")
async def test_a_kill_during_a_recorded_edit_loses_no_change(tmp_path: Path) -> None:
    child = textwrap.dedent(f"""
        import asyncio, os, signal
        from pathlib import Path
        from indwell.review.hunk import Actor
        from indwell.review.ledger import ReviewLedger
        async def main():
            ledger = await ReviewLedger.open(Path({str(tmp_path)!r}), [])
            await ledger.begin(Actor("s", 1), "use", Path("/project/a.py"),
                {BASE!r}, "a\\nB\\nc\\n")
            os.kill(os.getpid(), signal.SIGKILL)
        asyncio.run(main())
    """)
    done = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", child], check=False)
    assert done.returncode == -signal.SIGKILL
    ledger = await ReviewLedger.open(tmp_path, [])
    assert [(one.old, one.new) for one in ledger.hunks(FILE)] == [(("b\n",), ("B\n",))]
    ledger.sync(FILE, BASE)
    assert ledger.hunks(FILE) == ()
    ledger.sync(FILE, "a\nB\nc\nmine\n")
    assert [one.new for one in ledger.hunks(FILE)] == [("B\n",)]


async def test_damaged_lines_are_skipped_and_reported(tmp_path: Path) -> None:
    ledger = await ReviewLedger.open(tmp_path, [])
    await edit(ledger, "a\nB\nc\n")
    hunks = ledger.hunks(FILE)
    log = tmp_path / "changes.jsonl"
    with log.open("ab") as file:
        file.write(b'{"type":"judged","id":\n\xff\xfe\n[1]\n{"type":"of another tool"}\n{"torn')
    again = await ReviewLedger.open(tmp_path, [])
    assert again.hunks(FILE) == hunks
    assert again.take_notices() == ("damaged, and so skipped: 4 lines of the review log",)
    assert again.take_notices() == ()
    await again.accept([hunks[0].id])
    assert (await ReviewLedger.open(tmp_path, [])).n_pending == 0


async def test_an_inconsistent_record_is_skipped_and_the_next_record_is_used(
    tmp_path: Path,
) -> None:
    ledger = await ReviewLedger.open(tmp_path, [])
    await edit(ledger, "a\nB\nc\n")
    log = tmp_path / "changes.jsonl"
    lines = [line for line in log.read_bytes().split(b"\n") if line]
    # Without the record of the beginning.
    log.write_bytes(b"\n".join([lines[0], *lines[2:]]) + b"\n")
    again = await ReviewLedger.open(tmp_path, [])
    assert again.n_pending == 0
    assert len(again.take_notices()) == 1
    await edit(again, "a\nB\nC\n", before="a\nB\nc\n")
    assert [one.old for one in again.hunks(FILE)] == [("c\n",)]


async def test_a_log_of_a_newer_version_is_not_changed(tmp_path: Path) -> None:
    log = tmp_path / "changes.jsonl"
    text = json.dumps({"type": "started", "id": "x", "at": "2030-01-01T00:00:00+00:00"})
    log.write_bytes((text[:-1] + ', "format": 9}\n{"type":"unheard of"}\n').encode())
    before = log.read_bytes()
    ledger = await ReviewLedger.open(tmp_path, [])
    await edit(ledger, "a\nB\nc\n")
    assert ledger.n_pending == 1
    assert log.read_bytes() == before
    assert any("newer Indwell" in one for one in ledger.take_notices())


async def test_a_secret_is_never_written_to_the_review_log(tmp_path: Path) -> None:
    def hide(text: str) -> str:
        return text.replace("sk-secret", "…")

    ledger = await ReviewLedger.open(tmp_path, [], hide=hide)
    await edit(ledger, "a\nB\nc\n")
    other = Path("/project/b.py")
    await edit(ledger, "key = 1\n", before="key = 'sk-secret'\n", path=other)
    ledger.sync(FILE, "a\nB\nc\nsk-secret\n")
    await ledger.accept([ledger.hunks(FILE)[0].id])
    await edit(ledger, "a\nB\nC\nsk-secret\n", before="a\nB\nc\nsk-secret\n")
    assert [one.old for one in ledger.hunks(FILE)] == [("c\n",)]
    assert [one.new for one in ledger.hunks(other)] == [("key = 1\n",)]
    written = b"".join(one.read_bytes() for one in tmp_path.rglob("*") if one.is_file())
    assert b"sk-secret" not in written


@posix_only("modes")
async def test_long_texts_are_in_files_that_only_the_user_may_read(tmp_path: Path) -> None:
    ledger = await ReviewLedger.open(tmp_path, [])
    long = "line\n" * 5_000
    await edit(ledger, long + "new\n", before=long)
    assert (tmp_path / "changes.jsonl").stat().st_size < 3_000
    modes = {one.stat().st_mode & 0o777 for one in tmp_path.rglob("*") if one.is_file()}
    assert modes == {0o600}
    again = await ReviewLedger.open(tmp_path, [])
    assert (again.base(FILE), again.hunks(FILE)) == (long, ledger.hunks(FILE))


async def test_a_review_log_is_cleared_when_no_session_needs_the_log(tmp_path: Path) -> None:
    folder = tmp_path / "_review"
    session = tmp_path / ACTOR.session
    session.mkdir()
    later = datetime.now(UTC) + timedelta(days=2)
    ledger = await ReviewLedger.open(folder, [])
    await edit(ledger, "line\n" * 2_000)
    for is_needed in (True, False):
        if not is_needed:
            await ledger.accept([ledger.hunks(FILE)[0].id])
        await ReviewLedger.open(folder, [], now=later)
        # Kept because of pending changes, and then because of a possible rewind.
        assert (folder / "changes.jsonl").exists()
    session.rmdir()
    await ReviewLedger.open(folder, [])
    assert (folder / "changes.jsonl").exists()  # too early to delete the log
    again = await ReviewLedger.open(folder, [], now=later)
    assert not (folder / "changes.jsonl").exists()
    assert (list(folder.glob("bases/*")), again.known()) == ([], ())
    await edit(again, "a\nB\nc\n")
    await ledger.refresh()
    ledger.sync(FILE, "a\nB\nc\n")
    assert ledger.hunks(FILE) == again.hunks(FILE)


async def test_an_unwritable_review_log_still_keeps_changes_in_memory(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_bytes(b"no folder")
    ledger = await ReviewLedger.open(folder, [])
    await edit(ledger, "a\nB\nc\n")
    assert ledger.n_pending == 1
    assert any("cannot be stored" in one for one in ledger.take_notices())


async def test_a_change_of_a_binary_or_too_large_file_is_one_opaque_hunk(tmp_path: Path) -> None:
    ledger = await ReviewLedger.open(tmp_path, [])
    big = "x" * LARGE + "\n"
    await edit(ledger, big + "y\n", before=big)
    many = Path("/project/many.py")
    old = "".join(f"{n}\nsame {n}\n" for n in range(11_000))
    await edit(ledger, old.replace("same", "Same"), before=old, path=many)
    binary = Path("/project/x.png")
    change = CommandChange(binary, None, None, Opaque("binary, 4 KB -> 5 KB", "d1", "d2"))
    await ledger.made_all(ACTOR, "use", [change], accepted=False)
    hunks = [one for path in ledger.paths() for one in ledger.hunks(path)]
    assert [one.kind for one in hunks] == ["opaque"] * 3
    assert ledger.rejection(FILE, [hunks[0].id]).hunks == ()
    plan = ledger.rejection(binary, [hunks[2].id])
    assert plan.opaque == Opaque("binary, 4 KB -> 5 KB", "d1", "d2")
    await ledger.rejected(plan, None)
    assert ledger.paths() == (FILE, many)
    await ledger.accept([one.id for one in hunks])
    assert ledger.n_pending == 0


async def test_listeners_are_called_for_each_change_and_at_the_end_of_a_write(
    tmp_path: Path,
) -> None:
    ledger = await ReviewLedger.open(tmp_path, [])
    heard: list[int] = []
    forget = ledger.on_change(lambda: heard.append(ledger.n_pending))
    pending = await ledger.begin(ACTOR, "use", FILE, BASE, "a\nB\nc\n")
    assert ledger.is_busy(FILE)
    assert not ledger.sync(FILE, "a\nB\nc\n")
    await ledger.finish(pending, "a\nB\nc\n", accepted=False)
    assert not ledger.is_busy(FILE)
    assert heard[-1] == 1
    forget()
    n_heard = len(heard)
    assert ledger.sync(FILE, BASE)
    assert (len(heard), ledger.n_pending) == (n_heard, 0)
    await ledger.close()


async def test_text_typed_while_the_agent_writes_is_recorded_after_the_write(
    tmp_path: Path,
) -> None:
    ledger = await ReviewLedger.open(tmp_path, [])
    pending = await ledger.begin(ACTOR, "use", FILE, BASE, "a\nB\nc\n")
    ledger.sync(FILE, "a\nB\nc\nmine\n")
    await ledger.finish(pending, "a\nB\nc\n", accepted=False)
    assert ledger.text(FILE) == "a\nB\nc\nmine\n"


async def test_a_rejection_that_the_editor_reported_first_is_still_a_verdict(
    tmp_path: Path,
) -> None:
    ledger = await ReviewLedger.open(tmp_path, [])
    await edit(ledger, "a\nB\nc\n")
    plan = ledger.rejection(FILE, [ledger.hunks(FILE)[0].id])
    ledger.sync(FILE, plan.text)
    await ledger.rejected(plan, plan.text)
    assert len(ledger.untold(ACTOR.session)) == 1
    ledger.sync(FILE, "a\nB\nc\n")
    assert ledger.n_pending == 0


async def test_files_outside_the_roots_are_not_shown(tmp_path: Path) -> None:
    ledger = await ReviewLedger.open(tmp_path, [Path("/project")])
    await edit(ledger, "a\n", path=Path("/elsewhere/a.py"))
    await edit(ledger, "a\n")
    assert ledger.known() == (FILE,)


OF_SYSTEMS = [r"C:\\project\\a.py", "/project/a.py"]  # JSON doubles the backslash
OTHER, OWN = reversed(OF_SYSTEMS) if sys.platform == "win32" else OF_SYSTEMS


async def test_changes_of_another_system_are_reported_and_never_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On this system the recorded path would mean a different file."""
    monkeypatch.chdir(tmp_path)
    ledger = await ReviewLedger.open(tmp_path / "state", [])
    await edit(ledger, "a\nB\nc\n", path=Path(json.loads(f'"{OWN}"')))
    log = tmp_path / "state" / "changes.jsonl"
    log.write_bytes(log.read_bytes().replace(OWN.encode(), OTHER.encode()))
    for roots in ([], [tmp_path]):
        foreign = await ReviewLedger.open(tmp_path / "state", roots)
        (said,) = foreign.take_notices()
        assert "changes of another system" in said
        assert "neither shown nor rejected here" in said
        assert (foreign.known(), foreign.n_pending) == ((), 0)
        assert foreign.late(ACTOR.session, 0) == ()
    workspace = DiskWorkspace([tmp_path])
    done = await rewind_files(foreign, workspace, ACTOR.session, 0)
    assert done == VerdictOutcome()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["state"]
    await edit(foreign, "x\n", path=tmp_path / "own.py")
    assert foreign.known() == (tmp_path / "own.py",)
    assert OTHER.encode() in log.read_bytes()


@posix_only("names")
async def test_files_with_undecodable_names_are_tracked(tmp_path: Path) -> None:
    path = Path(os.fsdecode(b"/project/\xff.py"))
    ledger = await ReviewLedger.open(tmp_path, [])
    await edit(ledger, "a\udc80\n", path=path)
    again = await ReviewLedger.open(tmp_path, [])
    assert again.hunks(path) == ledger.hunks(path)
    assert len(again.hunks(path)) == 1


async def test_a_verdict_waits_for_the_agents_write_of_the_same_file(tmp_path: Path) -> None:
    ledger = await ReviewLedger.open(tmp_path, [])
    await edit(ledger, "a\nB\nc\n")
    (hunk,) = ledger.hunks(FILE)
    pending = await ledger.begin(ACTOR, "use", FILE, "a\nB\nc\n", "a\nB\nc\nD\n")
    accepting = asyncio.ensure_future(ledger.accept([hunk.id]))
    await asyncio.sleep(0)
    await ledger.finish(pending, "a\nB\nc\nD\n", accepted=False)
    assert await accepting == (hunk,)
    assert [one.new for one in ledger.hunks(FILE)] == [("D\n",)]


async def test_a_write_that_begins_after_a_rejection_was_planned_is_not_rejected(
    tmp_path: Path,
) -> None:
    ledger = await ReviewLedger.open(tmp_path, [])
    await edit(ledger, "a\nB\nc\n")
    plan = ledger.rejection(FILE, [ledger.hunks(FILE)[0].id])
    pending = await ledger.begin(ACTOR, "use", FILE, BASE, BASE + "D\n")
    await ledger.rejected(plan, plan.text)
    await ledger.finish(pending, BASE + "D\n", accepted=False)
    assert [(one.old, one.new) for one in ledger.hunks(FILE)] == [((), ("D\n",))]
