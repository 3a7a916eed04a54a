"""A new file gets its final name only after all its bytes are written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from indwell.files.append_log import list_names
from indwell.files.contents.new_file import Fresh
from indwell.files.system import calls
from indwell.files.system.copying import write_all


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Fresh]:
    folder = calls.open_file(tmp_path, os.O_RDONLY | calls.DIRECTORY)
    made = Fresh(folder, 0o644)
    write_all(made.descriptor, b"new")
    yield made
    made.discard()
    os.close(folder)


def test_a_new_file_replaces_a_file(fresh: Fresh, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    fresh.take("file")
    fresh.discard()
    assert (list_names(tmp_path), (tmp_path / "file").read_bytes()) == (("file",), b"new")


def test_a_new_file_is_created_only_under_a_free_name(fresh: Fresh, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        fresh.create("file")
    (tmp_path / "file").unlink()
    fresh.create("file")
    assert (list_names(tmp_path), (tmp_path / "file").read_bytes()) == (("file",), b"new")


def test_a_discarded_new_file_leaves_no_file_behind(fresh: Fresh, tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="directory|denied"):  # the file has a temporary name by then
        fresh.take("file")
    assert len(list_names(tmp_path)) == 2
    fresh.discard()
    fresh.discard()
    assert list_names(tmp_path) == ("file",)
