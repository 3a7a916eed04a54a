from __future__ import annotations

import os

from indwell.files.listing import RACY_NS, state_of


def test_the_state_of_a_file_changes_only_with_the_file(tmp_path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    first = state_of(path)
    assert first is not None
    assert state_of(path).seen == first.seen
    path.write_bytes(b"three")
    assert state_of(path).seen != first.seen


def test_another_file_of_the_same_name_size_and_time_looks_different(tmp_path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"one")
    other.write_bytes(b"two")
    for one in (path, other):
        os.utime(one, (1, 1))
    before = state_of(path)
    other.replace(path)
    assert state_of(path).seen != before.seen


def test_a_file_that_was_changed_a_moment_ago_is_not_certain(tmp_path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    assert not state_of(path).is_certain
    changed = path.stat().st_ctime_ns
    assert state_of(path, clock=lambda: changed + RACY_NS - 1).is_certain is False
    assert state_of(path, clock=lambda: changed + RACY_NS).is_certain


def test_an_unreadable_file_has_no_state(tmp_path) -> None:
    assert state_of(tmp_path / "gone") is None
    assert state_of(tmp_path / ("x" * 300)) is None
