from __future__ import annotations

from pathlib import Path

import pytest

from indwell.errors import ToolError
from indwell.files import modified_s, newest_first, read_own, write_private


def test_a_private_file_is_for_the_user_alone(tmp_path: Path) -> None:
    write_private(tmp_path / "a", b"text")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert read_own(tmp_path / "a", 10) == b"text"


def test_a_private_file_takes_nobody_elses_name(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "a").symlink_to("target")
    with pytest.raises(FileExistsError):
        write_private(tmp_path / "a", b"text")
    assert (tmp_path / "target").read_bytes() == b"old"


def test_our_own_files_are_bounded_too(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 11)
    with pytest.raises(ToolError, match="larger than the 10 bytes"):
        read_own(tmp_path / "a", 10)


def test_a_file_that_is_gone_is_the_oldest(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    assert modified_s(tmp_path / "gone") == 0
    assert newest_first([tmp_path / "gone", tmp_path / "a"]) == (tmp_path / "a", tmp_path / "gone")
