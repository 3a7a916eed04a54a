"""New names are reported, however their folder was created; without notifications, scans do it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from indwell.files.watch.new_names import BEHIND_S, Listener, NewNames

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

SOON_S = 30.0


class Ear:
    """The received notifications, and a method that waits for them."""

    def __init__(self, until: Callable[[set[str]], bool]) -> None:
        self.heard: set[str] = set()
        self._until = until
        self._is_enough = threading.Event()

    def hear(self, paths: frozenset[str]) -> None:
        self.heard |= paths
        if self._until(self.heard):
            self._is_enough.set()

    def wait(self) -> set[str]:
        assert self._is_enough.wait(SOON_S), self.heard
        return self.heard


@contextmanager
def listening(
    root: Path, until: Callable[[set[str]], bool], *folders: str, most: int = 100
) -> Iterator[Ear]:
    names = NewNames(
        str(root),
        lambda path: path.endswith("evil"),
        lambda path: not path.startswith("shut/"),
        most=most,
    )
    names.follow(["", *folders])
    ear = Ear(until)
    with names.heard_by(Listener(ear.hear, lambda: False)):
        yield ear


def test_a_new_name_is_noticed_in_folders_created_or_renamed_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    with listening(tmp_path, lambda heard: "b/c/d/evil" in heard, "old") as ear:
        (tmp_path / "old" / "c").mkdir()
        (tmp_path / "old").rename(tmp_path / "b")
        (tmp_path / "b" / "c" / "d").mkdir()
        (tmp_path / "b" / "c" / "d" / "evil").touch()
        ear.wait()


def test_a_file_that_moves_in_with_its_folder_is_noticed(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    root.mkdir()
    (other / "x" / "y").mkdir(parents=True)
    (other / "x" / "y" / "evil").touch()
    with listening(root, lambda heard: "in/x/y/evil" in heard) as ear:
        other.rename(root / "in")
        ear.wait()


def test_earlier_files_and_unwanted_names_are_not_reported(tmp_path: Path) -> None:
    (tmp_path / "evil").touch()
    (tmp_path / "shut").mkdir()
    with listening(tmp_path, lambda heard: "last.evil" in heard) as ear:
        (tmp_path / "plain").touch()
        (tmp_path / "shut" / "in").mkdir()
        (tmp_path / "last.evil").touch()
        assert ear.wait() == {"last.evil"}


def test_without_free_watches_every_folder_is_polled(
    tmp_path: Path,
) -> None:
    for number in range(5):
        (tmp_path / f"d{number}").mkdir()
    names = NewNames(str(tmp_path), lambda _path: False, lambda _path: True, most=3)
    names.follow(["", *(f"d{number}" for number in range(5))])
    assert "more than 3 folders" in names.blind
    looks: list[str] = []
    enough = threading.Event()

    def look() -> bool:
        looks.append("")
        if len(looks) > 1:
            enough.set()
        return False

    with names.heard_by(Listener(lambda _paths: None, look)):
        assert enough.wait(SOON_S)


def test_dropped_kernel_notifications_cause_a_full_scan(
    tmp_path: Path,
) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text(encoding="utf-8"))
    go_on, is_over = threading.Event(), threading.Event()
    names = NewNames(str(tmp_path), lambda path: path.endswith("evil"), lambda _path: True)
    names.follow([""])
    heard: set[str] = set()
    behind: list[float] = []

    def hear(paths: frozenset[str]) -> None:
        heard.update(paths)
        go_on.wait(SOON_S)

    def tell(seconds: float) -> None:
        behind.append(seconds)
        if not seconds:
            is_over.set()

    with names.heard_by(Listener(hear, lambda: False, tell)):
        (tmp_path / "first.evil").touch()  # keeps the thread busy
        while not heard:
            time.sleep(0.001)
        for number in range(most // 2 + 100):
            (tmp_path / f"{number}").touch()
            (tmp_path / f"{number}").rename(tmp_path / "x")
        (tmp_path / "lost.evil").touch()
        go_on.set()
        assert is_over.wait(SOON_S)
    assert behind[0] > 0, "whoever makes so many has to stand still"
    assert "lost.evil" in heard


def test_the_listener_is_warned_if_new_names_appear_faster_than_checked(
    tmp_path: Path,
) -> None:
    def is_wanted(path: str) -> bool:
        time.sleep(BEHIND_S / 5)
        return path.endswith("evil")

    names = NewNames(str(tmp_path), is_wanted, lambda _path: True)
    names.follow([""])
    behind: list[float] = []
    is_over = threading.Event()

    def tell(seconds: float) -> None:
        behind.append(seconds)
        if not seconds:
            is_over.set()

    with names.heard_by(Listener(lambda _paths: None, lambda: False, tell)):
        for number in range(30):
            (tmp_path / f"{number}").touch()
        assert is_over.wait(SOON_S)
    assert behind[0] > BEHIND_S
    assert behind.count(0) == 1


def test_a_listener_that_asks_for_another_scan_is_called_again(tmp_path: Path) -> None:
    names = NewNames(str(tmp_path), lambda path: path.endswith("evil"), lambda _path: True)
    names.follow([""])
    calls: list[str] = []
    enough = threading.Event()

    def look() -> bool:
        calls.append("look")
        if len(calls) > 2:
            enough.set()
        return len(calls) < 3

    with names.heard_by(Listener(calls.extend, look)):
        (tmp_path / "evil").touch()
        assert enough.wait(SOON_S)
    assert calls == ["evil", "look", "look"]


def watches_of(folder: Path) -> int:
    """Return the number of inotify instances of this process that watch ``folder``.

    Other tests leave instances that the garbage collector may close at any moment. Only
    ``/proc/self/fdinfo`` names the inode that an instance watches (proc(5), in hexadecimal).
    """
    wanted = f"ino:{folder.stat().st_ino:x} "
    found = 0
    for descriptor in list(Path("/proc/self/fdinfo").iterdir()):
        with suppress(FileNotFoundError):  # the descriptor was closed in the meantime
            lines = descriptor.read_text(encoding="utf-8").splitlines()
            found += any(line.startswith("inotify ") and wanted in line for line in lines)
    return found


def test_a_closed_watch_holds_no_kernel_resources(tmp_path: Path) -> None:
    names = NewNames(str(tmp_path), lambda _path: True, lambda _path: True)
    names.follow([""])
    assert watches_of(tmp_path) == 1
    with names.heard_by(Listener(lambda _hits: None, lambda: False)):
        names.close()
        assert watches_of(tmp_path) == 1, "somebody listens"
    names.close()
    names.close()
    assert watches_of(tmp_path) == 0
    names.follow([""])
    assert watches_of(tmp_path) == 0
    assert names.blind
