"""Verdicts are carried out by edits of the current text, and a failure is reported."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from indwell.errors import EditRefused
from indwell.review.hunk import Actor
from indwell.review.ledger import ReviewLedger
from indwell.review.verdicts import (
    Scope,
    accept,
    planned_rewind,
    reject,
    rewind_files,
    take_back_verdict,
)
from indwell.workspace.base import AppliedChange, Snapshot
from indwell.workspace.disk import DiskWorkspace
from support.ledgers import change, ledger_in
from support.platforms import posix_only

BEFORE = "one\r\ntwo\r\nthree\r\nfour\r\nfive"
AFTER = "one\r\nTWO\r\nthree\r\nfour\r\nFIVE"


class Room:
    """A folder with a file in which the agent has made two separate changes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.root = self.folder / "work"
        self.root.mkdir()
        self.path = self.root / "a.txt"
        self.path.write_bytes(BEFORE.encode())
        self.path.chmod(0o640)
        self.private = self.folder / "undo"
        self.workspace = DiskWorkspace([self.root], private=self.private)
        self.ledger: ReviewLedger

    async def begin(self) -> Room:
        self.ledger = await ledger_in(self.folder, self.root)
        await self.edit(self.path, AFTER)
        return self

    async def edit(self, path: Path, text: str, actor: Actor | None = None) -> None:
        """Edit a file as the agent's tools do."""
        base = await self.workspace.read(path) if path.exists() else None
        await self.workspace.write(path, base, text, label="edit")
        before = None if base is None else base.text
        await change(self.ledger, path, before, text, actor or Actor("s1", 1))

    def reads(self) -> str:
        return self.path.read_bytes().decode()


@pytest.fixture
async def room(tmp_path: Path) -> Room:
    return await Room(tmp_path).begin()


@posix_only("modes")
@posix_only("modes")
async def test_a_rejection_reverts_the_edit_and_keeps_later_work_of_the_user(room: Room) -> None:
    room.path.write_bytes(room.reads().replace("three", "3\r\nmine").encode())
    first, second = room.ledger.hunks(room.path)
    seen: list[tuple[Path, int, int]] = []
    done = await reject(
        room.ledger, room.workspace, Scope(hunks=(first.id,)), on_file=lambda *one: seen.append(one)
    )
    assert (done.hunks, done.kept, done.failed, done.unknown) == ((first,), (), (), ())
    assert seen == [(room.path, 1, 1)]
    assert room.reads() == "one\r\ntwo\r\n3\r\nmine\r\nfour\r\nFIVE"
    assert room.path.stat().st_mode & 0o777 == 0o640
    assert [one.new for one in room.ledger.hunks(room.path)] == [second.new]


async def test_an_acceptance_leaves_the_file_unchanged_and_counts_once(room: Room) -> None:
    (first, second), stood = room.ledger.hunks(room.path), room.path.stat().st_ctime_ns
    done = await accept(room.ledger, room.workspace, Scope(path=room.path))
    assert done.hunks == (first, second)
    assert room.path.stat().st_ctime_ns == stood
    again = await reject(room.ledger, room.workspace, Scope(hunks=(first.id,)))
    assert (again.hunks, again.unknown) == ((), (first.id,))
    assert room.reads() == AFTER


async def test_lines_that_the_user_rewrote_are_rejected_only_by_force(room: Room) -> None:
    room.path.write_bytes(room.reads().replace("TWO", "Two!").encode())
    done = await reject(room.ledger, room.workspace, Scope())
    assert [hunk.new for hunk in done.hunks] == [("FIVE",)]
    assert [hunk.is_touched for hunk, _ in done.kept] == [True]
    assert room.reads() == "one\r\nTwo!\r\nthree\r\nfour\r\nfive"
    await reject(room.ledger, room.workspace, Scope(), force=True)
    assert room.reads() == BEFORE
    assert room.ledger.n_pending == 0


async def test_only_the_changes_of_the_named_turn_are_reverted(room: Room) -> None:
    await room.edit(room.path, AFTER.replace("one", "ONE"), Actor("s1", 2))
    done = await reject(room.ledger, room.workspace, Scope(session="s1", turn=1))
    assert len(done.hunks) == 2, done
    assert room.reads() == BEFORE.replace("one", "ONE")


@posix_only("modes")
@posix_only("modes")
async def test_rejecting_a_created_file_removes_it_and_keeps_a_copy(room: Room) -> None:
    path = room.root / "new" / "b.txt"
    await room.edit(path, "new\n")
    done = await reject(room.ledger, room.workspace, Scope(path=path))
    assert [one.kind for one in done.hunks] == ["create"]
    assert not path.exists()
    ((of, copy),) = done.copies
    assert (of, copy.read_bytes(), copy.stat().st_mode & 0o777) == (path, b"new\n", 0o600)


async def test_a_created_file_with_a_line_by_the_user_is_not_removed(room: Room) -> None:
    path = room.root / "b.txt"
    await room.edit(path, "new\n")
    path.write_bytes(b"new\nmine\n")
    await reject(room.ledger, room.workspace, Scope(path=path), force=True)
    assert path.read_bytes() == b"mine\n"


class Moving(DiskWorkspace):
    """A workspace in which the user types right before each of the first writes."""

    n_left = 0

    async def write(
        self, path: Path, base: Snapshot | None, text: str, *, label: str
    ) -> AppliedChange:
        if self.n_left:
            self.n_left -= 1
            path.write_bytes(path.read_bytes() + b"\r\nmine")
        return await super().write(path, base, text, label=label)


async def test_the_rejection_of_a_changing_file_is_planned_again_three_times(room: Room) -> None:
    workspace = Moving([room.root], private=room.private)
    workspace.n_left = 2
    done = await reject(room.ledger, workspace, Scope())
    assert (len(done.hunks), done.failed) == (2, ())
    assert room.reads() == BEFORE + "\r\nmine" * 2
    await room.edit(room.path, room.reads().replace("two", "2"))
    workspace.n_left = 3
    done = await reject(room.ledger, workspace, Scope())
    assert done.failed == ((room.path, "'a.txt' keeps changing; try again"),)
    assert room.ledger.n_pending == 1


class Refusing(DiskWorkspace):
    """A workspace in which one file refuses edits."""

    refused = Path()

    async def write(
        self, path: Path, base: Snapshot | None, text: str, *, label: str
    ) -> AppliedChange:
        if path == self.refused:
            raise EditRefused("the editor said no; read_file it again")
        return await super().write(path, base, text, label=label)


async def test_a_file_that_cannot_be_rejected_is_reported_and_all_other_files_are_rejected(
    room: Room,
) -> None:
    other = room.root / "b.txt"
    other.write_bytes(b"b\n")
    await room.edit(other, "B\n")
    workspace = Refusing([room.root], private=room.private)
    workspace.refused = room.path
    done = await reject(room.ledger, workspace, Scope())
    assert done.failed == ((room.path, "the editor said no"),)
    assert other.read_bytes() == b"b\n"
    assert room.ledger.paths() == (room.path,)


async def test_a_verdict_waits_for_a_running_write_of_the_agent(room: Room) -> None:
    pending = await room.ledger.begin(Actor("s1", 2), "call", room.path, AFTER, AFTER + "!")
    rejecting = asyncio.ensure_future(reject(room.ledger, room.workspace, Scope()))
    await asyncio.sleep(0)
    room.path.write_bytes(AFTER.encode() + b"!")
    await room.ledger.finish(pending, AFTER + "!", accepted=False)
    done = await rejecting
    assert done.failed == ()
    assert room.reads() == BEFORE


async def test_two_parallel_rejects_revert_each_hunk_once(room: Room) -> None:
    first, second = await asyncio.gather(
        *(reject(room.ledger, room.workspace, Scope()) for _ in range(2))
    )
    assert len(first.hunks) + len(second.hunks) == 2
    assert room.reads() == BEFORE


async def test_after_a_stop_between_two_files_the_ledger_has_the_true_state(room: Room) -> None:
    other = room.root / "b.txt"
    other.write_bytes(b"b\n")
    await room.edit(other, "B\n")

    def stop(_path: Path, number: int, _total: int) -> None:
        if number == 2:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await reject(room.ledger, room.workspace, Scope(), on_file=stop)
    assert (room.reads(), other.read_bytes()) == (BEFORE, b"B\n")
    assert room.ledger.paths() == (other,)
    anew = await ledger_in(room.folder, room.root)
    for path in anew.known():
        anew.sync(path, path.read_bytes().decode())
    assert anew.paths() == (other,)


async def test_a_rewind_also_reverts_accepted_changes_but_not_other_sessions(room: Room) -> None:
    await accept(room.ledger, room.workspace, Scope())
    await room.edit(room.path, AFTER.replace("one", "ONE"), Actor("s1", 2))
    await room.edit(room.path, room.reads().replace("four", "4"), Actor("other", 1))
    (plan,) = await planned_rewind(room.ledger, room.workspace, "s1", 1)
    assert plan.path == room.path
    done = await rewind_files(room.ledger, room.workspace, "s1", 1)
    assert room.reads() == AFTER.replace("four", "4")
    assert [copy.read_bytes().decode() for _, copy in done.copies] == [
        AFTER.replace("one", "ONE").replace("four", "4")
    ]
    done = await rewind_files(room.ledger, room.workspace, "s1", 0)
    assert room.reads() == BEFORE.replace("four", "4")
    assert (await rewind_files(room.ledger, room.workspace, "s1", 0)).hunks == ()
    assert await planned_rewind(room.ledger, room.workspace, "s1", 0) == ()


async def test_an_interrupted_rewind_is_finished_by_the_next_rewind(room: Room) -> None:
    paths = [room.path]
    for name in ("b.txt", "c.txt"):
        paths.append(room.root / name)
        paths[-1].write_bytes(b"old\n")
        await room.edit(paths[-1], "new\n")

    def die(_path: Path, number: int, _total: int) -> None:
        if number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await rewind_files(room.ledger, room.workspace, "s1", 0, on_file=die)
    anew = await ledger_in(room.folder, room.root)  # a new process starts after a kill
    plans = await planned_rewind(anew, room.workspace, "s1", 0)
    assert [one.path for one in plans] == paths[1:]
    await rewind_files(anew, room.workspace, "s1", 0)
    assert room.reads() == BEFORE
    assert [path.read_bytes() for path in paths[1:]] == [b"old\n"] * 2


async def test_a_kill_between_a_rejection_and_its_record_is_harmless(room: Room) -> None:
    # The file was reverted, but the process was killed before recording this.
    room.path.write_bytes(BEFORE.encode())
    anew = await ledger_in(room.folder, room.root)
    assert await planned_rewind(anew, room.workspace, "s1", 0) == ()
    done = await reject(anew, room.workspace, Scope())
    assert (done.hunks, done.kept, done.failed) == ((), (), ())
    assert room.reads() == BEFORE


async def undo(room: Room, path: Path | None = None) -> tuple[int, tuple[str, ...]]:
    """Take back the newest verdict on a file; return what is pending again, and the refusals."""
    path = path or room.path
    done = await take_back_verdict(
        room.ledger, room.workspace, path, room.ledger.last_verdict(path)
    )
    return len(done.hunks), tuple(why for _, why in done.failed)


async def test_an_undone_acceptance_leaves_the_text_and_makes_the_same_changes_pending(
    room: Room,
) -> None:
    shown = room.ledger.hunks(room.path)
    await accept(room.ledger, room.workspace, Scope(hunks=(shown[0].id,)))
    await accept(room.ledger, room.workspace, Scope())
    assert room.ledger.n_pending == 0
    assert await undo(room) == (1, ())
    assert await undo(room) == (1, ())
    assert room.ledger.hunks(room.path) == shown
    assert room.reads() == AFTER
    assert room.ledger.untold("s1") == ()  # no verdict is reported to the agent
    assert (await undo(room))[0] == 0


async def test_an_undone_rejection_brings_the_lines_back_around_later_lines_of_the_user(
    room: Room,
) -> None:
    first, second = room.ledger.hunks(room.path)
    await reject(room.ledger, room.workspace, Scope(hunks=(second.id,)))
    room.path.write_bytes(room.reads().replace("three", "3\r\nmine").encode())
    assert await undo(room) == (1, ())
    assert room.reads() == AFTER.replace("three", "3\r\nmine")
    assert [one.id for one in room.ledger.hunks(room.path)] == [first.id, second.id]
    await reject(room.ledger, room.workspace, Scope())
    assert room.reads() == BEFORE.replace("three", "3\r\nmine")


async def test_an_undone_verdict_is_pending_again_in_another_process(room: Room) -> None:
    shown = room.ledger.hunks(room.path)
    other = await ledger_in(room.folder, room.root)
    await reject(room.ledger, room.workspace, Scope(hunks=(shown[1].id,)))
    await undo(room)
    await other.refresh()
    other.sync(room.path, room.reads())
    assert other.hunks(room.path) == shown
    assert other.take_notices() == ()


async def test_a_verdict_is_not_undone_over_lines_of_the_user_or_the_agent(room: Room) -> None:
    first, _ = room.ledger.hunks(room.path)
    await reject(room.ledger, room.workspace, Scope(hunks=(first.id,)))
    room.path.write_bytes(room.reads().replace("two", "mine").encode())
    assert await undo(room) == (0, ("you have changed the same lines since",))
    assert "mine" in room.reads()
    verdict = room.ledger.last_verdict(room.path)
    await room.edit(room.path, room.reads().replace("four", "4"), Actor("s1", 2))
    done = await take_back_verdict(room.ledger, room.workspace, room.path, verdict)
    assert [why for _, why in done.failed] == ["its changes were edited or judged again since"]


async def test_an_undone_rejection_of_a_new_file_brings_it_back(room: Room) -> None:
    path = room.root / "b.txt"
    await room.edit(path, "new\n")
    await reject(room.ledger, room.workspace, Scope(path=path))
    assert not path.exists()
    assert await undo(room, path) == (1, ())
    assert path.read_bytes() == b"new\n"
    assert [one.kind for one in room.ledger.hunks(path)] == ["create"]


async def test_an_undone_rejection_of_a_removal_removes_the_file_again(room: Room) -> None:
    await accept(room.ledger, room.workspace, Scope())
    room.path.unlink()
    await room.ledger.made(Actor("s1", 2), "call", room.path, AFTER, None, accepted=False)
    await reject(room.ledger, room.workspace, Scope())
    assert room.reads() == AFTER
    assert await undo(room) == (1, ())
    assert not room.path.exists()
    assert [one.kind for one in room.ledger.hunks(room.path)] == ["delete"]
