from __future__ import annotations

import os
from pathlib import Path

import pytest

from indwell.errors import SettingsError
from indwell.settings.paths import (
    MOST_B,
    read_user_file,
    state_folder,
    trusted_folders,
    user_file,
)
from support.platforms import posix_only


def test_the_users_settings_file_has_a_fixed_path_and_may_be_missing(tmp_path: Path) -> None:
    assert user_file().is_absolute()
    assert user_file().parts[-2:] == ("indwell", "config.toml")
    assert read_user_file(tmp_path / "config.toml") is None


def test_the_state_folder_is_named_for_indwell(tmp_path: Path) -> None:
    assert state_folder({}).is_absolute()
    assert "indwell" in state_folder({}).parts
    assert state_folder({"INDWELL_STATE": str(tmp_path)}) == tmp_path


@posix_only("symlinks")
def test_a_linked_settings_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_bytes('model = "ü"'.encode())
    (tmp_path / "config.toml").symlink_to(tmp_path / "dotfiles.toml")
    assert read_user_file(tmp_path / "config.toml") == 'model = "ü"'


def test_a_settings_file_that_is_not_utf8_is_reported_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes('model = "ü"'.encode("latin-1"))
    with pytest.raises(SettingsError) as caught:
        read_user_file(path)
    assert str(caught.value) == (
        "config.toml is not UTF-8 text (byte 10); save it as UTF-8 and try again"
    )


@pytest.mark.parametrize(
    "make",
    [Path.mkdir, pytest.param(getattr(os, "mkfifo", None), marks=posix_only("mkfifo"))],
)
def test_a_settings_path_that_is_not_a_file_is_reported_in_one_sentence(
    tmp_path: Path, make
) -> None:
    path = tmp_path / "config.toml"
    make(path)
    with pytest.raises(SettingsError, match=r"cannot be read \(.*\); fix that, or move the file"):
        read_user_file(path)


def test_an_endless_settings_file_is_read_up_to_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    with path.open("wb") as file:
        file.truncate(MOST_B + 1)  # a file with holes, which takes no space on the disk
    with pytest.raises(SettingsError, match=r"larger than the 1,048,576 bytes .*; fix that"):
        read_user_file(path)
    os.truncate(path, MOST_B)
    assert len(read_user_file(path) or "") == MOST_B


@posix_only("symlinks")
def test_trusted_folders_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert trusted_folders((str(tmp_path / "link"), "~")) == (
        (tmp_path / "real").resolve(),
        Path.home().resolve(),
    )


@pytest.mark.parametrize(
    "text", [".", "work", pytest.param("~nobody-of-this-name/x", marks=posix_only("homes"))]
)
def test_a_relative_trusted_folder_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="trusted = "):
        trusted_folders((text,))
