"""Only files that no other user can have written are read."""

from __future__ import annotations

import os

import pytest

from indwell.errors import ToolError
from indwell.files.contents.reading import read_guarded
from support.platforms import posix_only

LIMIT_B = 100


@pytest.fixture
def kept(tmp_path):
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    path = folder / "answers"
    path.write_bytes(b"mine")
    path.chmod(0o600)
    return path


def test_a_file_that_only_the_user_may_write_is_read(kept) -> None:
    assert read_guarded(kept, LIMIT_B) == b"mine"


@posix_only("modes")
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_tru_07_a_file_that_others_may_write_is_not_read(kept, mode) -> None:
    kept.chmod(mode)
    with pytest.raises(ToolError, match="others may write"):
        read_guarded(kept, LIMIT_B)


@posix_only("modes")
def test_tru_07_a_file_in_a_folder_that_others_may_write_is_not_read(kept) -> None:
    kept.parent.chmod(0o777)
    with pytest.raises(ToolError, match="others may write"):
        read_guarded(kept, LIMIT_B)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
def test_tru_07_a_file_of_another_owner_is_not_read(kept) -> None:
    os.chown(kept, 65534, 65534)
    with pytest.raises(ToolError, match="belongs to somebody else"):
        read_guarded(kept, LIMIT_B)


@posix_only("symlinks")
def test_a_link_is_not_followed(kept) -> None:
    link = kept.with_name("link")
    link.symlink_to(kept)
    with pytest.raises(OSError, match="symbolic links"):
        read_guarded(link, LIMIT_B)


def test_a_huge_file_is_refused(kept) -> None:
    kept.write_bytes(b"x" * (LIMIT_B + 1))
    kept.chmod(0o600)
    with pytest.raises(ToolError, match="larger than"):
        read_guarded(kept, LIMIT_B)
