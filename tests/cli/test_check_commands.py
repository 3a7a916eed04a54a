"""The commands that check a folder: the user's own, or those that the folder's files name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from indwell.bounds.folder_trust import FolderTrust
from indwell.settings.load import load
from indwell.settings.model import Settings
from indwell.wiring.project_files import checks_of
from indwell.workspace.disk import DiskWorkspace
from support.platforms import posix_only


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path.resolve() / "work"
    work.mkdir()
    return work


def commands(folder: Path, name: str, *, is_trusted: bool = True, **settings: object) -> list[str]:
    trust = FolderTrust({}, is_given=is_trusted)
    now = Settings(**settings)  # type: ignore[arg-type]
    if is_trusted:
        trust.look([folder], now)
    checks = checks_of(DiskWorkspace([folder]), lambda: now, trust)
    return [one.command for one in checks.finder.commands((folder / name,))]


def test_a_checker_in_the_projects_virtual_environment_comes_first(folder: Path) -> None:
    (folder / "pyproject.toml").write_bytes(b"[tool.mypy]\nfiles = ['a.py']\n")
    program = folder / ".venv" / "bin" / "mypy"
    program.parent.mkdir(parents=True)
    program.write_bytes(b"#!/bin/sh\n")
    (found,) = commands(folder, "a.py")
    assert found.startswith(".venv/bin/mypy --show-column-numbers ")
    assert commands(folder, "README.md") == []


def test_a_checker_that_is_not_installed_gives_no_check_command(folder: Path) -> None:
    (folder / "tsconfig.json").write_bytes(b"{}")
    (folder / "package.json").write_bytes(json.dumps({"name": "x"}).encode())
    assert commands(folder, "a.ts") in ([], ["tsc --noEmit --pretty false"])


@posix_only("symlinks")
def test_a_check_command_behind_a_link_out_of_the_folder_is_not_used(folder: Path) -> None:
    (folder.parent / "other.toml").write_bytes(b"[tool.ruff]\n")
    (folder / "pyproject.toml").symlink_to(folder.parent / "other.toml")
    assert commands(folder, "a.py") == []
    (folder / "pyproject.toml").unlink()
    (folder / "pyproject.toml").write_bytes(b"[tool.ruff]\n")
    assert len(commands(folder, "a.py")) == (shutil.which("ruff") is not None)


def test_the_users_check_command_replaces_all_found_commands(folder: Path) -> None:
    (folder / "pyproject.toml").write_bytes(b"[tool.mypy]\n")
    assert commands(folder, "README.md", check_command=" make check ") == ["make check"]


def test_an_untrusted_folder_gives_no_check_command(folder: Path) -> None:
    assert commands(folder, "a.py", is_trusted=False, check_command="make check") == []


def test_only_the_user_settings_can_set_the_check_command() -> None:
    for options, text in (({"check_command": "evil"}, None), (None, 'check_command = "evil"')):
        loaded = load({}, 'check_command = "make"', "config.toml", options, text)
        assert loaded.settings.check_command == "make"
        assert any("only your own settings can set it" in one for one in loaded.notices)
