"""Indwell starts no program from the workspace, whatever PATH contains (S-H6)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from indwell.sandbox import spawn
from indwell.sandbox.environment import (
    clean_environment,
    find_program,
    own_installation,
    path_without,
    program_within,
)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a project whose environment is activated: its programs are first on PATH."""
    work = tmp_path / "work"
    (work / ".venv" / "bin").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{work}/.venv/bin:{os.environ['PATH']}")
    return work


def program(path: Path, text: str = "#!/bin/sh\necho planted >&2; echo planted\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_program_in_the_workspace_is_skipped_in_favour_of_the_systems(work: Path) -> None:
    planted = program(work / ".venv" / "bin" / "bash")
    assert find_program("bash") == planted
    found = find_program("bash", (work,))
    assert found is not None
    assert not found.is_relative_to(work)


@pytest.mark.parametrize("way", ["folder", "file", "hop"])
def test_a_link_into_the_workspace_is_skipped_too(tmp_path: Path, monkeypatch, way: str) -> None:
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    program(work / "bin" / "onlyhere")
    elsewhere.mkdir()
    if way == "folder":
        (elsewhere / "bin").symlink_to(work / "bin")
    else:
        (elsewhere / "bin").mkdir()
        inner = work / "bin" / "onlyhere"
        if way == "hop":  # the link leads out of the workspace again, for now
            inner.unlink()
            inner.symlink_to("/bin/sh")
        (elsewhere / "bin" / "onlyhere").symlink_to(inner)
    monkeypatch.setenv("PATH", f"{elsewhere}/bin:{os.environ['PATH']}")
    assert find_program("onlyhere") is not None
    assert find_program("onlyhere", (work,)) is None
    assert program_within("onlyhere", (work,)) == elsewhere / "bin" / "onlyhere"
    assert program_within("sh", (work,)) is None


def test_a_path_variable_with_only_workspace_folders_does_not_become_empty(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:bin:.")
    assert path_without((tmp_path,)) == os.defpath
    assert clean_environment({"PATH": "bin:."})["PATH"] == os.defpath


async def test_bash_and_programs_without_a_question_come_from_the_system(work: Path) -> None:
    for name in ("bash", "ls", "git"):
        program(work / ".venv" / "bin" / name)
    ran = await spawn("ls -d /; pwd", cwd=work, timeout_s=20, never_in=(work,), unasked=True)
    assert ran.output == f"/\n{work}\n"
    asked = await spawn("ls -d /", cwd=work, timeout_s=20, never_in=(work,))
    assert asked.output.splitlines() == ["planted", "planted"]  # the question showed the file


def test_our_own_installation_in_the_workspace_is_found(tmp_path: Path) -> None:
    prefix = Path(sys.prefix).resolve()
    assert own_installation([prefix.parent]) == (prefix,)
    assert own_installation([tmp_path]) == ()


def test_programs_are_found_if_the_workspace_contains_the_system() -> None:
    assert find_program("bash", (Path("/"),)) is not None
