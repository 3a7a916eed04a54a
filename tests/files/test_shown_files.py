"""Files that an editor shows are read-only and complete, and only the newest are kept."""

from __future__ import annotations

import os
import stat

import pytest

from indwell.files.private import write_shown
from support.platforms import posix_only


@posix_only("modes")
def test_a_shown_file_is_read_only_in_a_private_folder(tmp_path) -> None:
    path = write_shown(tmp_path / "state" / "shown" / "a.md", b"one\r\n", n_kept=3)
    assert path.read_bytes() == b"one\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_shown_file_is_replaced_and_only_the_newest_stay(tmp_path) -> None:
    folder = tmp_path / "shown"
    for number in range(6):
        write_shown(folder / f"{number}.md", b"x", n_kept=3)
        os.utime(folder / f"{number}.md", (number, number))
    write_shown(folder / "4.md", b"again", n_kept=3)
    assert {one.name for one in folder.iterdir()} == {"3.md", "4.md", "5.md"}
    assert (folder / "4.md").read_bytes() == b"again"


def test_a_failed_write_of_a_shown_document_leaves_no_file(tmp_path) -> None:
    folder = tmp_path / "shown"
    (folder / "a.md").mkdir(parents=True)
    with pytest.raises(OSError, match="a.md"):
        write_shown(folder / "a.md", b"x", n_kept=3)
    assert [one.name for one in folder.iterdir()] == ["a.md"]
