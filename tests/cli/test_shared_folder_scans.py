"""All scans of a whole workspace share the lists of its folders."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from indwell.bounds.guarded_scan import FolderGuard
from indwell.bounds.secrets import SecretPlaces
from indwell.files.quarantine import Quarantine
from indwell.files.watch.installed_repositories import FRESH_NS
from indwell.settings.credentials import SECRETS
from indwell.workspace.git.repository import nested
from support.listing_recorder import listed_folders
from support.platforms import posix_only


def tree(folder: Path) -> Path:
    work = folder.resolve() / "work"
    for name in ("a/b/c", "a/d", "e"):
        (work / name).mkdir(parents=True)
        (work / name / "one.py").touch()
    (work / "a" / "b" / "credentials.json").touch()
    while time.time_ns() - work.stat().st_ctime_ns < FRESH_NS:  # recent lists are not kept
        time.sleep(FRESH_NS / 1e9)
    return work


def paths(found: Iterable[str]) -> set[Path]:
    return set(map(Path, found))


@posix_only("listings")
def test_all_scans_together_list_each_folder_once(tmp_path: Path) -> None:
    """In a workspace of 200,000 files, each further list takes a third of a second."""
    work = tree(tmp_path)
    guard = FolderGuard(work, SECRETS, quarantine=Quarantine(tmp_path / "state", (work,)))
    places = SecretPlaces([work], lambda: SECRETS)
    with listed_folders() as listed:
        nested(work)
        guarded = guard.look()
        secret = places.look()
    assert paths(secret) == paths(guarded.hidden) == {work / "a/b/credentials.json"}
    here = Counter(one for one in map(Path, listed) if one.is_relative_to(work))
    assert here == {work / at: 1 for at in ("", "a", "a/b", "a/b/c", "a/d", "e")}


def test_a_shared_listing_is_renewed_when_its_folder_changes(tmp_path: Path) -> None:
    work = tree(tmp_path)
    guard = FolderGuard(work, SECRETS, quarantine=Quarantine(tmp_path / "state", (work,)))
    places = SecretPlaces([work], lambda: SECRETS)
    assert paths(places.look()) == paths(guard.look().hidden)
    (work / "e" / ".env").touch()
    expected = {work / "a/b/credentials.json", work / "e/.env"}
    assert paths(guard.look().hidden) == paths(places.look()) == expected
    (work / "e" / ".env").unlink()
    expected = {work / "a/b/credentials.json"}
    assert paths(places.look()) == paths(guard.look().hidden) == expected
