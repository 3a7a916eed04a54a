"""The watch needs no mount: it also moves away files that a weaker sandbox cannot block."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from pathlib import Path

import pytest

from indwell.bounds.guarded_scan import FolderGuard
from indwell.files.quarantine import Quarantine
from indwell.settings.credentials import SECRETS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

SOON_S = 30.0


def hold(who: str, *, is_still: bool) -> bool:
    return bool(who) or is_still


@pytest.mark.parametrize("name", ["AGENTS.md", "src/.idea/workspace.xml", "src/new/.mcp.json"])
def test_a_protected_name_is_moved_away_at_once_and_reported(tmp_path: Path, name: str) -> None:
    root = tmp_path / "workspace"
    (root / "src").mkdir(parents=True)
    told: list[str] = []
    is_told = threading.Event()

    def hear(notes: tuple[str, ...]) -> None:
        told.extend(notes)
        is_told.set()

    guarded = FolderGuard(root, SECRETS, quarantine=Quarantine(tmp_path / "state", (root,))).look()
    with guarded.watched(hear, hold):
        with contextlib.suppress(FileNotFoundError):  # the folder may be moved away first
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()
        assert is_told.wait(SOON_S)
    assert any(part in told[0] for part in name.split("/")[-2:])
    assert not (root / name).exists()


def test_a_command_that_cannot_be_paused_while_the_watch_is_behind_is_stopped(
    tmp_path: Path,
) -> None:
    told: list[str] = []
    is_hearing, is_told = threading.Event(), threading.Event()
    held: list[bool] = []

    def hear(notes: tuple[str, ...]) -> None:
        told.extend(notes)
        if not is_hearing.is_set():
            is_hearing.set()
            time.sleep(0.7)  # the watch is late by this time
        elif "faster than they could be checked" in told[-1]:
            is_told.set()

    def hold_nothing(who: str, *, is_still: bool) -> bool:
        assert who == str(tmp_path / "workspace")
        held.append(is_still)
        return False

    root = tmp_path / "workspace"
    root.mkdir()
    guarded = FolderGuard(root, SECRETS, quarantine=Quarantine(tmp_path / "state", (root,))).look()
    with guarded.watched(hear, hold_nothing):
        (root / "AGENTS.md").touch()
        assert is_hearing.wait(SOON_S)
        (root / "plain").touch()
        assert is_told.wait(SOON_S)
    assert held[0]


def test_a_command_that_makes_more_folders_than_can_be_watched_is_stopped(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    quarantine = Quarantine(tmp_path / "state", (root,))
    told: list[str] = []
    is_told = threading.Event()

    def hear(notes: tuple[str, ...]) -> None:
        told.extend(notes)
        is_told.set()

    guarded = FolderGuard(root, SECRETS, most_watched=20, quarantine=quarantine).look()
    with guarded.watched(hear, hold):
        for number in range(30):
            (root / f"d{number}").mkdir()
        assert is_told.wait(SOON_S)
    assert "more folders than can be watched" in told[0]
