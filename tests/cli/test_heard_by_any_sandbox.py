"""The watch needs no mount: what a weaker sandbox cannot hold is moved away while it runs, too."""

from __future__ import annotations

import contextlib
import sys
import threading
from pathlib import Path

import pytest

from indwell.cli.guarding import Guard
from indwell.settings.model import SECRETS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

SOON_S = 30.0


@pytest.mark.parametrize("name", ["AGENTS.md", "src/.idea/workspace.xml", "src/new/.mcp.json"])
def test_a_protected_name_is_moved_away_at_once_and_told(tmp_path: Path, name: str) -> None:
    root = tmp_path / "workspace"
    (root / "src").mkdir(parents=True)
    told: list[str] = []
    is_told = threading.Event()

    def hear(notes: tuple[str, ...]) -> None:
        told.extend(notes)
        is_told.set()

    guarded = Guard(root, SECRETS).look()
    with guarded.watched(hear):
        with contextlib.suppress(FileNotFoundError):  # its folder may be moved away before
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()
        assert is_told.wait(SOON_S)
    assert any(part in told[0] for part in name.split("/")[-2:])
    assert not (root / name).exists()
