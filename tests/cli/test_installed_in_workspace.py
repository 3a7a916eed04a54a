"""If Indwell is installed in its own workspace, no file from a model becomes part of it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from indwell.bounds.command_bounds import confiner
from indwell.cli.doctor.machine import editors, installation, programs
from indwell.policy.rules import Widening
from indwell.sandbox.spawn import spawn
from indwell.settings.model import Settings
from support.bubblewrap import needs_bubblewrap
from support.platforms import posix_only

PREFIX = Path(sys.prefix).resolve()


@needs_bubblewrap
@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="there is no environment to protect")
async def test_no_sandboxed_command_writes_where_indwells_own_python_is_installed() -> None:
    bounds = confiner((PREFIX,), Settings)(Widening())
    place = PREFIX / "bin" / "planted-by-a-test"
    try:
        ran = await spawn(f"echo x > {place}", cwd=PREFIX, timeout_s=60, confinement=bounds)
        assert "Read-only file system" in ran.output
        assert not await asyncio.to_thread(place.exists)
    finally:
        await asyncio.to_thread(place.unlink, missing_ok=True)


def test_the_doctor_warns_of_an_installation_inside_the_workspace(tmp_path: Path) -> None:
    (found,) = installation(PREFIX.parent)
    assert found.state == "warn"
    assert str(PREFIX) in found.sentence
    assert installation(tmp_path) == ()


@posix_only("git")
async def test_the_doctor_runs_no_program_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("git", "hx"):
        (tmp_path / name).write_bytes(f"#!/bin/sh\n: > {tmp_path}/ran\necho planted\n".encode())
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {one.name: one for one in await programs(tmp_path)}
    assert found["git"].state == "warn"
    assert "so it is not used" in found["git"].sentence
    await editors(Path("/home-of-nobody"), tmp_path / "other")
    assert (tmp_path / "ran").exists()  # otherwise the program would have run
    (tmp_path / "ran").unlink()
    await editors(Path("/home-of-nobody"), tmp_path)
    assert not (tmp_path / "ran").exists()
