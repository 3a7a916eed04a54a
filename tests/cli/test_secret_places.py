"""Names that lead to secret files, although the names do not show that."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from indwell.bounds.secrets import FRESH_S, SecretPlaces
from indwell.settings.credentials import SECRETS
from support.platforms import posix_only


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def make(folder: Path) -> Path:
    work = folder / "work"
    (work / "config").mkdir(parents=True)
    (work / ".env").write_bytes(b"KEY=1\n")
    (work / "config" / "credentials.json").write_bytes(b"{}")
    (work / "a.py").write_bytes(b"")
    (folder / "outside").mkdir()
    return work.resolve()


def names(work: Path) -> set[str]:
    return {os.path.relpath(one, work) for one in SecretPlaces([work], lambda: SECRETS).look()}


@posix_only("symlinks")
def test_fs_05_links_and_other_names_of_secret_files_are_found(tmp_path: Path) -> None:
    work = make(tmp_path)
    (work / "alias.txt").symlink_to(".env")
    (work / "settings").symlink_to("config")
    (work / "up").symlink_to("..")
    (work / "same.py").symlink_to("a.py")
    (work / "loop").symlink_to("loop")
    os.link(work / ".env", work / "hard.txt")
    os.link(work / "a.py", work / "b.py")
    assert names(work) == {
        ".env",
        "config/credentials.json",
        "alias.txt",
        "settings",
        "up",
        "hard.txt",
    }


def test_a_hard_link_to_a_secret_file_is_known_while_the_link_exists(tmp_path: Path) -> None:
    work, clock = make(tmp_path), Clock()
    places = SecretPlaces([work], lambda: SECRETS, clock)
    os.link(work / ".env", work / "hard.txt")
    os.link(work / "a.py", work / "b.py")
    assert places.is_other_name(work / "hard.txt")
    assert not places.is_other_name(work / "b.py")
    assert not places.is_other_name(work / "none")
    (work / ".env").unlink()
    os.link(work / "hard.txt", work / "hard2.txt")
    clock.now += 2 * FRESH_S
    assert not places.is_other_name(work / "hard.txt")


def test_a_later_secret_file_is_found_by_the_next_scan(tmp_path: Path) -> None:
    work = make(tmp_path)
    places = SecretPlaces([work], lambda: SECRETS)
    before = set(places.look())
    (work / "id_rsa").write_bytes(b"x")
    assert set(places.look()) - before == {(work / "id_rsa").as_posix()}
    assert SecretPlaces([tmp_path / "nowhere"], lambda: SECRETS).look() == ()


@posix_only("symlinks")
def test_a_folder_and_a_link_that_keep_swapping_do_not_stop_a_scan(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    (root / ".env").write_bytes(b"x")
    (root / "folder").mkdir()
    (root / "link").symlink_to("folder")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (root / "link").rename(root / "third")
            (root / "folder").rename(root / "link")
            (root / "third").rename(root / "folder")

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(300):
            found = SecretPlaces((root,), lambda: SECRETS).look()
            assert f"{root}/.env" in found
    finally:
        stop.set()
        swapping.join()
