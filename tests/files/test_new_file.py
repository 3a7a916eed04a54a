"""A file that is being made, without a name and with one: the same is promised of both."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from indwell.files.append_log import list_names
from indwell.files.copying import write_all
from indwell.files.new_file import Fresh


@pytest.fixture(params=[True, False], ids=["in an open folder", "by its whole path"])
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fresh]:
    folder = os.open(tmp_path, os.O_RDONLY) if request.param else None
    made = Fresh(folder, "file" if request.param else str(tmp_path / "file"), 0o644)
    write_all(made.descriptor, b"new")
    yield made
    made.discard()
    if folder is not None:
        os.close(folder)


def named(fresh: Fresh, tmp_path: Path) -> str:
    return "file" if fresh._folder is not None else str(tmp_path / "file")


def test_a_new_file_replaces_a_file(fresh: Fresh, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    fresh.take(named(fresh, tmp_path))
    fresh.discard()
    assert (list_names(tmp_path), (tmp_path / "file").read_bytes()) == (("file",), b"new")


def test_a_new_file_takes_only_a_free_name(fresh: Fresh, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        fresh.create(named(fresh, tmp_path))
    (tmp_path / "file").unlink()
    fresh.create(named(fresh, tmp_path))
    assert (list_names(tmp_path), (tmp_path / "file").read_bytes()) == (("file",), b"new")


def test_discarded_it_leaves_nothing(fresh: Fresh, tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="directory"):  # it has a name of ours by then
        fresh.take(named(fresh, tmp_path))
    assert len(list_names(tmp_path)) == 2
    fresh.discard()
    fresh.discard()
    assert list_names(tmp_path) == ("file",)
