from __future__ import annotations

import importlib
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from watchdog.events import FileCreatedEvent

from indwell.files.watch.file_watch import BUSY_EVENTS, MOST_ENTRIES, MOST_FOLDERS, FolderWatch
from support.platforms import posix_only

if sys.platform != "win32":
    import resource

PATIENCE_S = 60.0  # seconds; only a failing test waits so long


@pytest.fixture
def watch() -> Iterator[FolderWatch]:
    watch = FolderWatch()
    yield watch
    watch.close()


@pytest.fixture
def with_no_descriptor() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Run a callback while no file can be opened, as at a user's inotify limit."""
    importlib.import_module("watchdog.observers")  # this import opens files itself
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    def done(something: Callable[[], None]) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        something()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    yield done
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def heard(watch: FolderWatch, wanted: Callable[[set[Path]], bool]) -> set[Path]:
    """Return the watch's reports up to the wanted report, which takes a moment."""
    until = time.monotonic() + PATIENCE_S
    found: set[Path] = set()
    while not wanted(found):
        assert time.monotonic() < until, f"only {found} was heard"
        found |= watch.changed()
    return found


def test_a_write_by_another_program_is_reported_once(watch: FolderWatch, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"1")
    watch.follow(path)
    watch.settle()
    path.write_bytes(b"2")
    assert heard(watch, bool) == {path}


@pytest.mark.parametrize("how", ["replace", "delete", "rename"])
def test_a_file_that_is_replaced_deleted_or_renamed_is_noticed(
    watch: FolderWatch, tmp_path: Path, how: str
) -> None:
    path, other = tmp_path / "a.py", tmp_path / "b.py"
    path.write_bytes(b"1")
    other.write_bytes(b"2")
    watch.follow(path)
    watch.settle()
    {
        "replace": lambda: other.replace(path),
        "delete": path.unlink,
        "rename": lambda: path.rename(tmp_path / "c.py"),
    }[how]()
    assert heard(watch, bool) == {path}


@posix_only("kernel")
def test_files_are_polled_if_the_system_grants_no_watch_at_all(
    watch: FolderWatch, tmp_path: Path, with_no_descriptor: Callable[[Callable[[], None]], None]
) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"1")

    def follow() -> None:
        watch.follow(path)
        watch.settle()

    with_no_descriptor(follow)
    assert watch.changed() == {path}  # the file may have changed before it was examined
    path.write_bytes(b"22")
    assert watch.changed() == {path}


@posix_only("kernel")
@pytest.mark.parametrize("change", ["written", "new", "gone"])
def test_a_folder_that_the_system_cannot_watch_is_polled_with_its_entries(
    watch: FolderWatch,
    tmp_path: Path,
    with_no_descriptor: Callable[[Callable[[], None]], None],
    change: str,
) -> None:
    (tmp_path / "a.md").write_bytes(b"1")

    def follow() -> None:
        watch.follow_all(tmp_path)
        watch.settle()

    with_no_descriptor(follow)
    watch.changed()
    watch.changed()
    assert watch.changed() == frozenset()
    {
        "written": lambda: (tmp_path / "a.md").write_bytes(b"22"),
        "new": lambda: (tmp_path / "b.md").write_bytes(b""),
        "gone": (tmp_path / "a.md").unlink,
    }[change]()
    assert watch.changed() == {tmp_path}


@posix_only("kernel")
def test_very_many_entries_are_all_checked_in_turns(
    watch: FolderWatch, tmp_path: Path, with_no_descriptor: Callable[[Callable[[], None]], None]
) -> None:
    folders = [tmp_path / str(number) for number in range(5)]
    for folder in folders:
        folder.mkdir()
        for number in range(MOST_ENTRIES // 2):
            (folder / str(number)).touch()

    def follow() -> None:
        for folder in folders:
            watch.follow_all(folder)
        watch.settle()

    with_no_descriptor(follow)
    for _ in folders:
        watch.changed()
    for folder in folders:
        (folder / "0").write_bytes(b"1")
    found = [watch.changed() for _ in range(3)]
    assert [len(one) for one in found] == [2, 2, 1]
    assert frozenset().union(*found) == set(folders)


@pytest.mark.parametrize("what", ["folder", "parent"])
@pytest.mark.parametrize("how", ["moved", "deleted"])
def test_a_folder_that_was_replaced_is_still_watched(
    watch: FolderWatch, tmp_path: Path, what: str, how: str
) -> None:
    folder = tmp_path / "parent" / "folder"
    gone = folder if what == "folder" else folder.parent
    path = folder / "a.md"
    folder.mkdir(parents=True)
    path.write_bytes(b"1")
    watch.follow(path)
    watch.follow_all(folder)
    watch.settle()
    watch.changed()
    if how == "moved":
        gone.rename(tmp_path / "old")
    else:
        shutil.rmtree(gone)
    folder.mkdir(parents=True)
    assert heard(watch, lambda found: found == {path, folder})
    watch.changed()
    path.write_bytes(b"2")
    assert heard(watch, lambda found: found == {path, folder})


def test_reading_a_watched_file_is_not_a_change(watch: FolderWatch, tmp_path: Path) -> None:
    folder, end = tmp_path / "one", tmp_path / "two"
    for at in (folder, end):
        at.mkdir()
        (at / "a.md").write_bytes(b"1")
        watch.follow_all(at)
    watch.follow(folder / "a.md")
    watch.settle()
    watch.changed()  # reports the whole folder, if the system grants no watch
    (folder / "a.md").read_text(encoding="utf-8")
    sorted(folder.iterdir())
    time.sleep(0.2)  # no condition can show that a notification does not come
    (end / "a.md").write_bytes(b"2")
    assert heard(watch, bool) == {end}


def test_a_file_watch_ignores_other_files_and_subfolders(
    watch: FolderWatch, tmp_path: Path
) -> None:
    path = tmp_path / "a.py"
    below = tmp_path / "deep" / "a.py"
    below.parent.mkdir()
    for one in (path, below):
        one.write_bytes(b"1")
    watch.follow(path)
    watch.settle()
    (tmp_path / "b.py").write_bytes(b"2")
    below.write_bytes(b"2")
    path.write_bytes(b"2")  # this change comes last, after all other notifications
    assert heard(watch, lambda found: path in found) == {path}


def test_a_watched_file_is_reported_when_it_is_created(watch: FolderWatch, tmp_path: Path) -> None:
    path = tmp_path / "later.py"
    watch.follow(path)
    watch.settle()
    path.write_bytes(b"1")
    assert heard(watch, bool) == {path}


def test_sys_05_files_are_polled_if_the_system_grants_no_watch(
    watch: FolderWatch, tmp_path: Path
) -> None:
    path = tmp_path / "gone" / "a.py"  # a missing folder cannot be watched
    watch.follow(path)
    watch.settle()
    watch.changed()
    path.parent.mkdir()
    path.write_bytes(b"1")
    assert watch.changed() == {path}
    assert watch.changed() == frozenset()


def test_sys_05_above_the_limit_of_watched_folders_files_are_polled_instead(
    watch: FolderWatch, tmp_path: Path
) -> None:
    paths = [tmp_path / f"{number}" / "a.py" for number in range(MOST_FOLDERS + 1)]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes(b"1")
        watch.follow(path)
    watch.changed()
    paths[-1].write_bytes(b"22")
    assert heard(watch, lambda found: paths[-1] in found) == {paths[-1]}


def test_sys_05_a_folder_with_a_storm_of_events_is_no_longer_watched(
    watch: FolderWatch, tmp_path: Path
) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"1")
    watch.follow(path)
    watch.settle()
    for number in range(BUSY_EVENTS + 1):
        watch.heard(FileCreatedEvent(str(tmp_path / f"{number}.tmp")))
    assert watch.changed() == {path}  # an event may have been missed, so the file must be checked
    assert watch.changed() == frozenset()
    path.write_bytes(b"22")
    assert watch.changed() == {path}


def test_a_closed_watch_reports_no_changes(tmp_path: Path) -> None:
    watch = FolderWatch()
    path = tmp_path / "a.py"
    watch.close()
    watch.follow(path)
    path.write_bytes(b"1")
    assert watch.changed() == frozenset()
    watch.close()


def test_files_are_polled_if_no_thread_can_start(tmp_path: Path) -> None:
    def begin(_work: Callable[[], None]) -> threading.Thread:
        raise RuntimeError("can't start new thread")

    path = tmp_path / "app.py"
    path.write_bytes(b"one\n")
    watch = FolderWatch(begin)
    watch.follow(path)
    watch.changed()
    assert watch.changed() == frozenset()
    path.write_bytes(b"another\n")
    assert watch.changed() == {path}
    watch.close()
