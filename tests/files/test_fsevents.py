"""The watch's handling of macOS's notifications, through watchdog's own FSEvents handler.

Only the part of watchdog in C is replaced, which passes on the notifications of FSEvents.
"""

from __future__ import annotations

import importlib
import sys
import threading
import time
import types
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import watchdog.observers

from indwell.files.watch.file_watch import FolderWatch

PATIENCE_S = 60.0  # seconds; only a failing test waits so long
MUST_SCAN, ROOT, CREATED, REMOVED, META = 0x1, 0x20, 0x100, 0x200, 0x400  # FSEvents.h
RENAMED, MODIFIED, XATTR = 0x800, 0x1000, 0x8000
Notice = tuple[str, int, int]  # a name in the folder, the inode, the flags
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="FSEvents is a part of macOS")


class NativeEvent:
    """A notification in the form of the C part."""

    def __init__(self, path: str, inode: int, flags: int, number: int) -> None:
        self.path, self.inode, self.flags, self.event_id = path, inode, flags, number
        self.is_root_changed = bool(flags & ROOT)
        self.is_created, self.is_removed = bool(flags & CREATED), bool(flags & REMOVED)
        self.is_renamed, self.is_modified = bool(flags & RENAMED), bool(flags & MODIFIED)
        self.is_inode_meta_mod, self.is_xattr_mod = bool(flags & META), bool(flags & XATTR)
        self.is_owner_change = False
        self.is_directory = Path(path).is_dir()


class Stream:
    """A stream of notifications; ``open`` has the running streams."""

    opened: list[Stream]

    def __init__(self, paths: Sequence[str], latency: float) -> None:
        (self.path,) = paths
        assert latency > 0
        self._tell: Callable[..., None] | None = None
        self._over = threading.Event()

    def run(self, tell: Callable[..., None], started: Callable[[], None]) -> None:
        self._tell = tell
        self.opened.append(self)
        started()
        self._over.wait()

    def stop(self) -> None:
        self._over.set()

    def send(self, notices: Sequence[Notice]) -> None:
        """Send notifications as one batch, with the real path of the folder, as FSEvents does."""
        assert self._tell is not None
        paths = [str(Path(self.path).resolve() / name) for name, _, _ in notices]
        inodes, flags = [one for _, one, _ in notices], [one for _, _, one in notices]
        self._tell(paths, inodes, flags, list(range(len(notices))))


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> list[Stream]:
    native = types.ModuleType("_watchdog_fsevents")
    native.Stream = type("Stream", (Stream,), {"opened": []})
    native.NativeEvent = NativeEvent
    monkeypatch.setitem(sys.modules, "_watchdog_fsevents", native)
    monkeypatch.delitem(sys.modules, "watchdog.observers.fsevents", raising=False)
    fsevents = importlib.import_module("watchdog.observers.fsevents")
    monkeypatch.setattr(watchdog.observers, "Observer", fsevents.FSEventsObserver)
    return native.Stream.opened


class Desk:
    """A folder behind a link (like ``/tmp`` to ``/private/tmp``), and a watch of its files."""

    def __init__(self, folder: Path, streams: list[Stream]) -> None:
        (folder / "private" / "tmp").mkdir(parents=True)
        (folder / "tmp").symlink_to(folder / "private" / "tmp")
        self.folder = folder / "tmp"
        self.watch = FolderWatch(system="darwin")
        self._streams = streams

    def follow(self, *names: str) -> None:
        for name in names:
            (self.folder / name).write_text("1")
            self.watch.follow(self.folder / name)
        self.watch.settle()

    def told(self, *batches: Sequence[Notice]) -> set[str]:
        """Return the names that have changed after these batches and a batch for ``last.py``."""
        for batch in (*batches, [("last.py", 99, MODIFIED)]):
            self._streams[0].send(batch)
        found: set[str] = set()
        until = time.monotonic() + PATIENCE_S
        while "last.py" not in found:
            assert time.monotonic() < until, found
            found |= {str(path.relative_to(self.folder)) for path in self.watch.changed()}
        return found - {"last.py"}


@pytest.fixture
def desk(tmp_path: Path, streams: list[Stream]) -> Iterator[Desk]:
    desk = Desk(tmp_path, streams)
    yield desk
    desk.watch.close()


@pytest.mark.parametrize(
    "batches",
    [
        pytest.param([[("a.py", 5, MODIFIED)]], id="a write"),
        pytest.param([[("a.py", 5, CREATED | MODIFIED | META)]], id="coalesced with its creation"),
        pytest.param([[("a.py", 5, CREATED | MODIFIED | REMOVED)]], id="created and removed"),
        pytest.param([[("a.py", 5, REMOVED)], [("a.py", 6, CREATED)]], id="removed, then created"),
        pytest.param([[("a.tmp", 6, CREATED | RENAMED), ("a.py", 6, RENAMED)]], id="replaced"),
        pytest.param([[("a.tmp", 6, RENAMED)], [("a.py", 6, RENAMED)]], id="replaced, told late"),
        pytest.param([[("a.py", 5, RENAMED), ("b.py", 5, RENAMED)]], id="renamed"),
        pytest.param([[("a.py", 5, RENAMED)]], id="moved out of the folder"),
        pytest.param([[("a.py", 5, RENAMED), ("A.py", 5, RENAMED)]], id="another case"),
        pytest.param([[("A.py", 5, MODIFIED)]], id="a write by the other case"),
    ],
)
def test_each_way_to_change_a_file_is_reported(desk: Desk, batches: list[list[Notice]]) -> None:
    desk.follow("a.py", "last.py")
    assert desk.told(*batches) == {"a.py"}


@pytest.mark.parametrize(
    "notice",
    [
        pytest.param(("other.py", 5, MODIFIED), id="another file"),
        pytest.param(("sub/a.py", 5, MODIFIED), id="the same name in a folder below"),
        pytest.param(("a.py", 5, XATTR), id="an attribute, such as quarantine"),
    ],
)
def test_an_event_about_other_files_is_not_reported(desk: Desk, notice: Notice) -> None:
    desk.follow("a.py", "last.py")
    assert desk.told([notice]) == set()


def test_a_file_name_in_another_unicode_form_counts_as_the_watched_file(desk: Desk) -> None:
    name = unicodedata.normalize("NFC", "é.py")
    desk.follow(name, "last.py")
    assert desk.told([(unicodedata.normalize("NFD", name), 5, MODIFIED)]) == {name}


def test_a_change_without_notification_is_found_on_request(desk: Desk) -> None:
    desk.follow("a.py", "last.py")
    (desk.folder / "a.py").write_text("22")
    assert desk.told([("", 1, MUST_SCAN)]) == {"a.py"}


def test_a_folder_that_was_moved_away_is_checked_on_request(
    desk: Desk, streams: list[Stream]
) -> None:
    desk.follow("a.py")
    desk.watch.changed()
    real = desk.folder.resolve()
    real.rename(real.with_name("old"))
    real.mkdir()
    # For a folder behind a link, watchdog drops this notification and stops listening.
    streams[0].send([("", 1, ROOT)])
    assert desk.watch.changed() == {desk.folder / "a.py"}
    (desk.folder / "a.py").write_text("22")
    assert desk.watch.changed() == {desk.folder / "a.py"}


def test_an_entry_of_a_whole_folder_is_reported_by_its_folder(
    desk: Desk, streams: list[Stream]
) -> None:
    desk.watch.follow_all(desk.folder)
    desk.watch.settle()
    streams[0].send([("new", 5, CREATED)])
    until = time.monotonic() + PATIENCE_S
    while not (changed := desk.watch.changed()):
        assert time.monotonic() < until
    assert changed == {desk.folder}
