"""Names that appear are heard of, wherever their folder came from; where not, all is looked at."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from indwell.files.new_names import NewNames

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

SOON_S = 30.0


class Ear:
    """What was heard, and a wait for it."""

    def __init__(self, until: Callable[[set[str]], bool]) -> None:
        self.heard: set[str] = set()
        self._until = until
        self._is_enough = threading.Event()

    def hear(self, paths: frozenset[str]) -> bool:
        self.heard |= paths
        if self._until(self.heard):
            self._is_enough.set()
        return False

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
    with names.heard_by(ear.hear):
        yield ear


def test_it_is_heard_in_folders_that_are_made_and_renamed_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    with listening(tmp_path, lambda heard: "b/c/d/evil" in heard, "old") as ear:
        (tmp_path / "old" / "c").mkdir()
        (tmp_path / "old").rename(tmp_path / "b")
        (tmp_path / "b" / "c" / "d").mkdir()
        (tmp_path / "b" / "c" / "d" / "evil").touch()
        ear.wait()


def test_what_is_moved_in_with_its_folder_is_heard(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    root.mkdir()
    (other / "x" / "y").mkdir(parents=True)
    (other / "x" / "y" / "evil").touch()
    with listening(root, lambda heard: "in/x/y/evil" in heard) as ear:
        other.rename(root / "in")
        ear.wait()


def test_what_was_there_before_and_what_nobody_asks_for_is_not_heard(tmp_path: Path) -> None:
    (tmp_path / "evil").touch()
    (tmp_path / "shut").mkdir()
    with listening(tmp_path, lambda heard: "last.evil" in heard) as ear:
        (tmp_path / "plain").touch()
        (tmp_path / "shut" / "in").mkdir()
        (tmp_path / "last.evil").touch()
        assert ear.wait() == {"last.evil"}


def test_without_room_for_more_watches_everything_is_looked_at_again_and_again(
    tmp_path: Path,
) -> None:
    for number in range(5):
        (tmp_path / f"d{number}").mkdir()
    names = NewNames(str(tmp_path), lambda _path: False, lambda _path: True, most=3)
    names.follow(["", *(f"d{number}" for number in range(5))])
    assert "more than 3 folders" in names.blind
    n_heard = 0
    enough = threading.Event()

    def hear(paths: frozenset[str]) -> bool:
        nonlocal n_heard
        n_heard += "" in paths
        if n_heard > 1:
            enough.set()
        return False

    with names.heard_by(hear):
        assert enough.wait(SOON_S)


def test_a_flood_of_notices_that_the_kernel_drops_makes_us_look_at_everything(
    tmp_path: Path,
) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    go_on = threading.Event()
    names = NewNames(str(tmp_path), lambda path: path.endswith("evil"), lambda _path: True)
    names.follow([""])
    heard: set[str] = set()
    is_whole = threading.Event()

    def hear(paths: frozenset[str]) -> bool:
        heard.update(paths)
        if "" in paths:
            is_whole.set()
        go_on.wait(SOON_S)
        return False

    with names.heard_by(hear):
        (tmp_path / "first.evil").touch()  # keeps the thread busy
        for number in range(most // 2 + 100):
            (tmp_path / f"{number}").touch()
            (tmp_path / f"{number}").rename(tmp_path / "x")
        go_on.set()
        assert is_whole.wait(SOON_S)


def test_a_listener_that_wants_to_look_again_is_called_again(tmp_path: Path) -> None:
    names = NewNames(str(tmp_path), lambda path: path.endswith("evil"), lambda _path: True)
    names.follow([""])
    calls: list[frozenset[str]] = []
    enough = threading.Event()

    def hear(paths: frozenset[str]) -> bool:
        calls.append(paths)
        if len(calls) > 1:
            enough.set()
        return len(calls) < 2

    with names.heard_by(hear):
        (tmp_path / "evil").touch()
        assert enough.wait(SOON_S)
    assert calls == [frozenset({"evil"}), frozenset({""})]
