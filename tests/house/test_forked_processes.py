"""Tests that a forked process behaves like a process that was started normally."""

from __future__ import annotations

import signal
import sys

import pytest

from support import file_keyring
from support.editing import Home
from support.hatching import can_hatch, hatch
from support.terminal import indwell

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has nests")


async def test_a_forked_command_has_the_output_and_exit_code_of_a_started_command(
    tmp_path,
) -> None:
    home = Home(tmp_path)
    own, foreign = home.environment(), home.environment(LC_ALL="C.UTF-8")
    assert (can_hatch(own), can_hatch(foreign)) == (True, False)
    assert can_hatch({**own, **file_keyring.variables(tmp_path)})
    assert not can_hatch(home.environment(PYTHONPATH=str(tmp_path)))
    for command in ("--version", "nonsense"):
        hatched, true = [
            await indwell(command, environment=one, folder=home.workspace) for one in (own, foreign)
        ]
        assert hatched == true


async def test_a_forked_server_can_be_killed(tmp_path) -> None:
    home = Home(tmp_path)
    server = await hatch(
        ("serve", "--stdio"), environment=home.environment(), folder=home.workspace
    )
    server.kill()
    assert await server.wait() == -signal.SIGKILL
    assert await server.stdout.read() == b""
    server._transport.close()
