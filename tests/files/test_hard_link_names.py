"""Other names of a file (hard links) are searched in given folders, without following links."""

from __future__ import annotations

import os
from pathlib import Path

from indwell.files.listing import names_of_file


def test_hard_links_of_a_file_are_searched_only_in_the_given_folders(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    file = tmp_path / "a" / "x"
    file.write_bytes(b"x")
    (tmp_path / "a" / "other").write_bytes(b"x")
    twins = [tmp_path / "a" / "y", tmp_path / "b" / "x"]
    for twin in (*twins, tmp_path / "c" / "x"):
        os.link(file, twin)
    (tmp_path / "b" / "link").symlink_to(file)
    folders = [tmp_path / "a", tmp_path / "b", tmp_path / "missing"]
    assert sorted(names_of_file(file, folders)) == twins
    assert names_of_file(tmp_path / "gone", folders) == ()
    assert names_of_file(tmp_path / "a" / "other", folders) == ()
