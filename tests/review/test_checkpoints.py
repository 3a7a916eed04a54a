"""Changes by a command in the workspace are recorded, and can be reverted byte for byte."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from indwell.files.watch.snapshot import Bodies, opened_folder, read_body
from indwell.review.checkpoints.coverage import Coverage
from indwell.review.checkpoints.folder_comparison import FINE_NS, FolderLook, Lookout
from indwell.review.copies import Copies
from indwell.review.hunk import Actor
from indwell.review.ledger import ReviewLedger
from indwell.review.verdicts import COPIES, Scope, reject, rewind_files
from indwell.workspace.base import Noted
from indwell.workspace.disk import DiskWorkspace
from support.ledgers import ledger_in
from support.listing_recorder import listed_folders
from support.platforms import posix_only


def read_in(look: FolderLook) -> list[str]:
    """Return the files that a scan has read."""
    return [f"{at}/{name}".lstrip("/") for at, one in look.kept.items() for name in one.digests]


ME = Actor("s1", 1)
LONG_S = 60.0  # seconds; enough to read all files on a slow machine
LATIN = "grün ist schön, natürlich auch für ältere Häuser\r\n".encode("latin-1")


def as_it_is(text: str) -> str:
    return text


class Room:
    """A folder with a ledger and recorded commands; ``told`` has the messages to the user."""

    def __init__(self, folder: Path, ledger: ReviewLedger, files: Mapping[str, bytes]) -> None:
        self.root = folder / "work"
        for name, data in files.items():
            self.put(name, data)
        self.workspace = DiskWorkspace([self.root], private=folder / "undo")
        self.ledger = ledger
        self.copies = folder / "ledger" / COPIES
        self.secret: list[str] = []
        self.told: list[str] = []
        self.coverage = self.covering()

    def covering(self, hide: Callable[[str], str] = as_it_is) -> Coverage:
        return Coverage(
            self.workspace,
            self.ledger,
            Copies(self.ledger.folder / COPIES),
            secret=lambda: tuple(self.secret),
            hide=hide,
        )

    def put(self, name: str, data: bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    @property
    def files(self) -> dict[str, bytes]:
        found = (one for one in self.root.rglob("*") if one.is_file())
        return {one.relative_to(self.root).as_posix(): one.read_bytes() for one in found}

    async def run(self, command: Callable[[], object], *, accepted: bool = False) -> None:
        """Run ``command`` as a command of the agent."""
        async with self.coverage.around(
            ME, "call", accepted=lambda: accepted, tell=self.told.append
        ):
            await asyncio.to_thread(command)

    def kinds(self) -> dict[str, list[str]]:
        return {
            path.relative_to(self.root).as_posix(): [one.kind for one in self.ledger.hunks(path)]
            for path in self.ledger.paths()
        }


async def room_in(folder: Path, **files: bytes) -> Room:
    folder = folder.resolve()
    (folder / "work").mkdir(exist_ok=True)
    ledger = await ledger_in(folder, folder / "work")
    return Room(folder, ledger, {name.replace("__", "."): data for name, data in files.items()})


@posix_only("modes")
async def test_changes_by_a_command_are_reviewed_and_reverted_byte_for_byte(tmp_path) -> None:
    room = await room_in(
        tmp_path,
        a__txt=b"\xef\xbb\xbfone\r\ntwo\rthree",
        gone__txt=LATIN,
        data__bin=b"\0\1\2",
        wide__txt="x = 1\r\n".encode("utf-16"),
        same__txt=b"same\n",
    )
    (room.root / "gone.txt").chmod(0o600)
    before = room.files

    def command() -> None:
        room.put("a.txt", b"\xef\xbb\xbfone\r\n2\rthree")
        (room.root / "gone.txt").unlink()
        room.put("data.bin", b"\0\1\2\3")
        # a different encoding, which reverting lines cannot restore
        room.put("wide.txt", b"x = 1\n")
        room.put("same.txt", b"same\n")
        room.put("new/made.txt", b"made\n")
        room.put("new/made.bin", b"\0")

    await room.run(command)
    assert room.kinds() == {
        "a.txt": ["change"],
        "data.bin": ["opaque"],
        "gone.txt": ["delete"],
        "new/made.bin": ["opaque"],
        "new/made.txt": ["create"],
        "wide.txt": ["opaque"],
    }
    done = await reject(room.ledger, room.workspace, Scope())
    assert (len(done.hunks), done.kept, done.failed) == (6, (), ())
    assert room.files == before
    assert (room.root / "gone.txt").stat().st_mode & 0o777 == 0o600
    assert room.ledger.n_pending == 0
    assert room.told == []
    assert all(one.stat().st_mode & 0o77 == 0 for one in room.copies.iterdir())


async def test_bytes_changed_by_others_after_a_command_are_not_reverted(tmp_path) -> None:
    room = await room_in(tmp_path, data__bin=b"\0\1", more__bin=b"\0\2")

    def command() -> None:
        room.put("data.bin", b"\0new")
        (room.root / "more.bin").unlink()

    await room.run(command)
    room.put("data.bin", b"\0the user's")
    room.put("more.bin", b"\0mine")
    done = await rewind_files(room.ledger, room.workspace, "s1", 0, force=True)
    assert {(hunk.path.name, why) for hunk, why in done.kept} == {
        ("data.bin", "it was changed since"),
        ("more.bin", "it was changed since"),
    }
    assert room.files == {"data.bin": b"\0the user's", "more.bin": b"\0mine"}


async def test_a_rewind_reverts_two_commands_on_one_file_to_the_first_state(tmp_path) -> None:
    room = await room_in(tmp_path, data__bin=b"\0first")
    await room.run(lambda: room.put("data.bin", b"\0second"))
    await room.run(lambda: room.put("data.bin", b"\0third"))
    done = await rewind_files(room.ledger, room.workspace, "s1", 0)
    assert (done.kept, done.failed) == ((), ())
    assert room.files == {"data.bin": b"\0first"}


async def test_checkpoints_cover_ignored_and_untracked_files_but_not_caches(tmp_path) -> None:
    room = await room_in(tmp_path, __gitignore=b"*.log\n", run__log=b"old\n")
    room.put(".git/HEAD", b"ref\n")
    room.put("node_modules/a.js", b"a\n")
    room.put("target/CACHEDIR.TAG", b"Signature: 8a477f597d28d172789f06886806bc55\n")
    room.put("target/out.txt", b"out\n")

    def command() -> None:
        room.put("run.log", b"new\n")
        room.put(".git/HEAD", b"other\n")
        room.put("node_modules/a.js", b"b\n")
        room.put("target/out.txt", b"out 2\n")
        room.put("src/__pycache__/x.pyc", b"\0")
        room.put("plain/CACHEDIR.TAG", b"x")

    await room.run(command)
    assert room.kinds() == {"run.log": ["change"]}


async def test_a_folder_that_becomes_a_cache_is_not_taken_for_removed(tmp_path) -> None:
    room = await room_in(tmp_path)
    room.put("src/a.py", b"a = 1\n")

    def command() -> None:
        room.put("src/CACHEDIR.TAG", b"x")
        room.put("src/a.py", b"a = 2\n")

    await room.run(command)
    assert room.kinds() == {"src/CACHEDIR.TAG": ["create"], "src/a.py": ["change"]}


async def test_the_bytes_of_secret_files_are_never_stored(tmp_path) -> None:
    room = await room_in(tmp_path, __env=b"KEY=hunter2\n", keys__bin=b"\0hunter2")
    room.secret = [str(room.root / ".env")]
    room.coverage = room.covering(lambda text: text.replace("hunter2", "[secret]"))

    def command() -> None:
        room.put(".env", b"KEY=hunter3\n")
        room.put("keys.bin", b"\0other")

    await room.run(command)
    assert room.kinds() == {}
    held = [one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()]
    assert [one for one in held if b"hunter2" in one] == []
    assert len(room.told) == 1
    assert "'keys.bin'" in room.told[0]


@posix_only("symlinks")
async def test_changes_that_cannot_be_recorded_are_reported_once(tmp_path) -> None:
    room = await room_in(tmp_path, a__txt=b"a\n")
    (room.root / "link").symlink_to("a.txt")

    def command() -> None:
        (room.root / "link").unlink()
        (room.root / "link").symlink_to("b.txt")
        (room.root / "other").unlink(missing_ok=True)
        (room.root / "other").symlink_to("a.txt")

    await room.run(command)
    await room.run(command)
    assert len(room.told) == 1
    assert "a command changed 'link', 'other'; no older text is kept" in room.told[0]


async def test_the_changes_of_a_command_that_changes_many_files_count_as_accepted(tmp_path) -> None:
    room = await room_in(tmp_path)

    def command() -> None:
        for number in range(60):
            room.put(f"out/{number}.txt", b"out\n")

    await room.run(command)
    assert room.kinds() == {}
    assert "a command changed 60 files: they count as accepted" in room.told[0]
    done = await rewind_files(room.ledger, room.workspace, "s1", 0)
    assert len(done.hunks) == 60
    assert room.files == {}


async def test_text_saved_or_typed_by_the_user_during_a_command_belongs_to_the_user(
    tmp_path,
) -> None:
    room = await room_in(tmp_path, saved__txt=b"a\n", typed__txt=b"b\n", shown__txt=b"c\n")
    paths = {name: room.root / f"{name}.txt" for name in ("saved", "typed", "shown")}

    class Seeing(DiskWorkspace):
        def noting(self) -> Callable[[], Noted]:
            return lambda: Noted(
                saved=frozenset({paths["saved"]}),
                changed=frozenset({paths["typed"]}),
                buffers={paths["typed"]: "b and mine\n", paths["shown"]: "c\n"},
            )

    room.workspace = Seeing([room.root])
    room.coverage = room.covering()

    def command() -> None:
        for path in paths.values():
            path.write_bytes(b"new\n")

    await room.run(command)
    for path, text in ((paths["saved"], "new\n"), (paths["typed"], "b and mine\n")):
        room.ledger.sync(path, text)
    assert room.kinds() == {}
    room.ledger.sync(paths["shown"], "new\n")  # the editor reloads the text that the command wrote
    assert room.kinds() == {"shown.txt": ["change"]}


async def test_text_that_an_editor_reloads_during_a_command_belongs_to_the_agent(tmp_path) -> None:
    room = await room_in(tmp_path, a__txt=b"a\nb\n")
    path = room.root / "a.txt"
    await room.run(lambda: room.put("a.txt", b"1\nb\n"), accepted=True)

    class Loading(DiskWorkspace):
        def noting(self) -> Callable[[], Noted]:
            return lambda: Noted(changed=frozenset({path}), buffers={path: "1\n2\n"})

    room.workspace = Loading([room.root])
    room.coverage = room.covering()
    async with room.coverage.around(ME, "call", accepted=lambda: False, tell=room.told.append):
        room.put("a.txt", b"1\n2\n")
        room.ledger.sync(path, "1\n2\n")  # the editor reports its new text
    assert [one.new for one in room.ledger.hunks(path)] == [("2\n",)]


async def test_a_revert_restores_an_open_file_that_a_command_removed(tmp_path) -> None:
    room = await room_in(tmp_path, a__txt=b"a\r\n")
    path = room.root / "a.txt"

    class Showing(DiskWorkspace):
        def noting(self) -> Callable[[], Noted]:
            return lambda: Noted(buffers={path: "a\r\n"})

    room.workspace = Showing([room.root])
    room.coverage = room.covering()
    await room.run(path.unlink)
    done = await rewind_files(room.ledger, room.workspace, "s1", 0)
    assert [one.kind for one in done.hunks] == ["delete"]
    assert room.files == {"a.txt": b"a\r\n"}


async def test_changes_of_a_stopped_command_are_recorded(tmp_path) -> None:
    room = await room_in(tmp_path, a__txt=b"a\n")
    begun = asyncio.Event()

    async def running() -> None:
        async with room.coverage.around(ME, "call", accepted=lambda: False, tell=room.told.append):
            room.put("a.txt", b"changed\n")
            begun.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(running())
    await begun.wait()
    task.cancel()
    started = time.monotonic()
    await asyncio.wait({task})
    assert task.cancelled()
    assert time.monotonic() - started < 60
    await room.coverage.settled()
    assert room.kinds() == {"a.txt": ["change"]}


async def test_changes_of_a_failed_command_are_recorded(tmp_path) -> None:
    room = await room_in(tmp_path, a__txt=b"a\n")

    def command() -> None:
        room.put("a.txt", b"changed\n")
        raise OSError("no such program")

    with pytest.raises(OSError, match="no such program"):
        await room.run(command)
    assert room.kinds() == {"a.txt": ["change"]}


def test_a_change_within_one_tick_of_the_clock_is_detected(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    lookout = Lookout(tmp_path, Bodies(), lambda: ())
    stood = path.stat()
    look = lookout.before()
    path.write_bytes(b"new")
    os.utime(path, ns=(stood.st_atime_ns, stood.st_mtime_ns))
    (change,) = lookout.after(look).changes
    assert (change.before, change.after) == (b"old", b"new")


def test_a_closed_store_keeps_no_bytes_and_no_file(tmp_path) -> None:
    bodies = Bodies()
    digest = bodies.put(b"text")
    assert digest is not None
    bodies.close()
    assert (bodies.get(digest), bodies.put(b"more"), bodies.size_b) == (None, None, 0)


def test_a_later_scan_reads_only_changed_files(tmp_path) -> None:
    for number in range(20):
        (tmp_path / f"{number}.txt").write_bytes(b"text %d" % number)
        os.utime(tmp_path / f"{number}.txt", (0, 0))
    bodies = Bodies()
    later = time.time_ns() + 10_000_000_000
    lookout = Lookout(tmp_path, bodies, lambda: (), clock_ns=lambda: later, ahead_s=LONG_S)
    assert lookout.before().waiting == ()
    held = bodies.size_b
    (tmp_path / "3.txt").write_bytes(b"another text")
    lookout.before()
    assert bodies.size_b == held + len(b"another text")


def test_a_scan_compares_only_files_in_changed_folders(tmp_path) -> None:
    """In a workspace with very many files, comparing all files would take too long."""
    for folder in "abc":
        (tmp_path / folder).mkdir()
        for number in range(20):
            (tmp_path / folder / f"{number}.txt").write_bytes(b"text %d" % number)
    (tmp_path / "b" / "link").symlink_to("0.txt")
    # Wine creates no links.
    n_links = len([one for one in (tmp_path / "b").iterdir() if one.is_symlink()])
    later = time.time_ns() + 10_000_000_000
    lookout = Lookout(tmp_path, Bodies(), lambda: (), clock_ns=lambda: later, ahead_s=LONG_S)
    first = lookout.before()
    assert (first.n_compared, len(read_in(first))) == (60 + n_links, 60)
    assert lookout.after(first).changes == ()
    again = lookout.before()
    assert (again.n_compared, len(read_in(again))) == (0, 60)
    (tmp_path / "a" / "3.txt").write_bytes(b"another text")
    (change,) = lookout.after(again).changes
    assert (change.at, change.before, change.after) == ("a/3.txt", b"text 3", b"another text")
    third = lookout.before()
    assert (third.n_compared, len(read_in(third))) == (0, 60)  # `after` has read the changed file
    (tmp_path / "a" / "4.txt").write_bytes(b"by the user")
    assert lookout.before().n_compared == 20


def test_a_recently_scanned_file_is_not_read_again_before_the_command(tmp_path) -> None:
    """If the disk's clock is fine enough, a second change would be visible."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    # True once in a million times, or on a disk with a coarse clock.
    while path.stat().st_ctime_ns % 1_000_000 == 0:
        path.write_bytes(b"old")
        if path.stat().st_mtime_ns % 1_000_000_000 == 0:
            pytest.skip("this disk counts time in seconds")
    now = path.stat().st_ctime_ns + FINE_NS
    look = Lookout(tmp_path, Bodies(), lambda: (), clock_ns=lambda: now, ahead_s=0).before()
    assert (read_in(look), look.waiting) == ([], ("a.txt",))


def test_two_parallel_commands_each_have_their_own_snapshot(tmp_path) -> None:
    """Files read at the end of one command do not replace the snapshot of the other command."""
    (tmp_path / "a.txt").write_bytes(b"first")
    later = time.time_ns() + 10_000_000_000
    lookout = Lookout(tmp_path, Bodies(), lambda: (), clock_ns=lambda: later)
    one = lookout.before()
    other = lookout.before()
    (tmp_path / "a.txt").write_bytes(b"second")
    lookout.after(one)
    (change,) = lookout.after(other).changes
    assert (change.before, change.after) == (b"first", b"second")


async def test_files_scanned_ahead_are_covered_when_a_command_starts(tmp_path) -> None:
    room = await room_in(tmp_path, a__txt=b"a\n")
    before = room.files
    await room.coverage.look_ahead()
    room.put("b.txt", b"by the user\n")
    await room.run(lambda: room.put("a.txt", b"changed\n"))
    assert room.kinds() == {"a.txt": ["change"]}
    await rewind_files(room.ledger, room.workspace, "s1", 0)
    assert room.files == {**before, "b.txt": b"by the user\n"}


async def test_a_command_ends_the_scan_ahead_and_no_further_scan_starts(tmp_path) -> None:
    room = await room_in(tmp_path, a__txt=b"a\n")
    ahead = asyncio.ensure_future(room.coverage.look_ahead())
    await asyncio.sleep(0)
    await room.run(lambda: room.put("a.txt", b"changed\n"))
    await asyncio.wait_for(ahead, 60)
    assert room.kinds() == {"a.txt": ["change"]}
    with listed_folders() as listed:
        await room.coverage.look_ahead()
    assert listed == []


def test_files_not_read_before_a_command_are_read_while_it_runs(tmp_path) -> None:
    """No command waits for the first scan of a large folder, and its changes are still recorded."""
    for number in range(20):
        (tmp_path / f"{number}.txt").write_bytes(b"old")
    later = time.time_ns() + 10_000_000_000
    lookout = Lookout(tmp_path, Bodies(), lambda: (), clock_ns=lambda: later, ahead_s=0)
    look = lookout.before()
    assert len(look.waiting) == 20
    (tmp_path / "1.txt").write_bytes(b"new")  # before the file was read
    lookout.read_on(look)
    (tmp_path / "2.txt").write_bytes(b"new")
    seen = lookout.after(look)
    assert [(one.at, one.before, one.after) for one in seen.changes] == [("2.txt", b"old", b"new")]
    assert seen.lost == ("1.txt",)
    assert lookout.before().waiting == ("1.txt",)


def test_reading_files_during_a_command_ends_with_the_command(tmp_path) -> None:
    (tmp_path / "a.txt").write_bytes(b"old")
    later = time.time_ns() + 10_000_000_000
    lookout = Lookout(tmp_path, Bodies(), lambda: (), clock_ns=lambda: later, ahead_s=0)
    look = lookout.before()
    look.stopped.set()
    lookout.read_on(look)
    assert (read_in(look), look.waiting) == ([], ("a.txt",))


def test_a_file_that_changed_a_moment_ago_is_read_before_the_command(tmp_path) -> None:
    """Without the read, a second change within one tick of the clock would not be visible."""
    (tmp_path / "a.txt").write_bytes(b"old")
    just_now = (tmp_path / "a.txt").stat().st_ctime_ns + 1
    look = Lookout(tmp_path, Bodies(), lambda: (), clock_ns=lambda: just_now, ahead_s=0).before()
    assert (read_in(look), look.waiting) == (["a.txt"], ())


def test_a_too_large_file_is_not_stored_but_reported(tmp_path) -> None:
    (tmp_path / "large.txt").write_bytes(b"x" * 100)
    (tmp_path / "small.txt").write_bytes(b"x")
    lookout = Lookout(tmp_path, Bodies(), lambda: (), most_file_b=10)
    look = lookout.before()
    (tmp_path / "large.txt").write_bytes(b"y" * 100)
    (tmp_path / "small.txt").write_bytes(b"y")
    seen = lookout.after(look)
    assert [one.at for one in seen.changes] == ["small.txt"]
    assert seen.lost == ("large.txt",)


def test_above_the_file_limit_no_file_counts_as_new_or_removed(tmp_path) -> None:
    for folder in "abc":
        (tmp_path / folder).mkdir()
        for number in range(5):
            (tmp_path / folder / f"{number}.txt").write_bytes(b"x")
    later = time.time_ns() + 10_000_000_000
    lookout = Lookout(tmp_path, Bodies(), lambda: (), most_files=6, clock_ns=lambda: later)
    look = lookout.before()
    seen = lookout.after(look)
    assert (seen.changes, seen.lost, seen.is_whole) == ((), (), False)


async def test_the_removal_of_the_whole_folder_by_a_command_is_reverted(tmp_path) -> None:
    room = await room_in(tmp_path, a__txt=b"a\n")
    room.put("b/c.bin", b"\0c")
    before = room.files
    await room.run(lambda: shutil.rmtree(room.root))
    assert room.files == {}
    room.root.mkdir()
    done = await rewind_files(room.ledger, room.workspace, "s1", 0)
    assert (done.kept, done.failed) == ((), ())
    assert room.files == before


def test_a_scan_does_not_follow_links_to_find_a_file(tmp_path) -> None:
    root = tmp_path.resolve()
    (root / "sub").mkdir()
    (root / "sub" / "a.txt").write_bytes(b"a")
    lookout = Lookout(root, Bodies(), lambda: ())
    look = lookout.before()
    (root / "sub").rename(root / "moved")
    (root / "sub").symlink_to(root / "moved")
    seen = lookout.after(look)
    assert {one.at: (one.before, one.after) for one in seen.changes} == {
        "sub/a.txt": (b"a", None),
        "moved/a.txt": (None, b"a"),
    }


def test_a_link_is_never_followed_when_reading(tmp_path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(b"hunter2")
    root = tmp_path / "work"
    (root / "in").mkdir(parents=True)
    (root / "in" / "secret").write_bytes(b"x")
    with opened_folder(root) as folder:
        shutil.rmtree(root / "in")
        (root / "in").symlink_to(tmp_path / "outside")
        assert read_body(folder, "in/secret", 100) is None
