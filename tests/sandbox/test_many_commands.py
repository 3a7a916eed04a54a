from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from indwell.sandbox import spawn

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def zombies() -> list[str]:
    """Return Indwell's child processes that ended and were not reaped."""
    found = []
    for one in Path("/proc").iterdir():
        if one.name.isdecimal():
            try:
                fields = (one / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] == "Z" and int(fields[1]) == os.getpid():
                found.append(one.name)
    return found


async def test_prc_10_a_hundred_commands_leave_no_zombie_and_no_descriptor(tmp_path: Path) -> None:
    await spawn("true", cwd=tmp_path, timeout_s=20)
    before, n_before = set(zombies()), len(list(Path("/dev/fd").iterdir()))
    command = "sleep 9 >/dev/null 2>&1 & (true &) ; true | true"
    for _ in range(10):  # ten at once, so that a busy machine's delays do not add up
        await asyncio.gather(*(spawn(command, cwd=tmp_path, timeout_s=60) for _ in range(10)))
    while not set(zombies()) <= before:  # noqa: ASYNC110 - /proc tells nobody
        await asyncio.sleep(0.01)  # the last processes may still be ending
    assert len(list(Path("/dev/fd").iterdir())) <= n_before


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("./plain", 126),
        ("no-such-command", 127),
        ("exit 77", 77),
        ("bash -c 'kill -TERM $$'; exit $?", 143),
        ("kill -SEGV $$", -11),
        ("rmdir $PWD 2>/dev/null; mkdir gone; cd gone; rmdir ../gone; ls; exit 5", 5),
    ],
)
async def test_prc_11_every_ending_is_reported_exactly(
    tmp_path: Path, command: str, code: int
) -> None:
    (tmp_path / "plain").write_text("no program")
    assert (await spawn(command, cwd=tmp_path, timeout_s=20)).exit_code == code


@pytest.mark.parametrize(
    "command",
    [
        "cat; read -r x",
        "read -r x </dev/tty",
        "read -rsp 'Password: ' x",
        "$EDITOR file; $VISUAL file",
        "seq 1000 | $PAGER >/dev/null",
    ],
)
async def test_prc_04_no_command_waits_for_user_input(tmp_path: Path, command: str) -> None:
    finished = await spawn(command, cwd=tmp_path, timeout_s=20)
    assert not finished.timed_out


async def test_prc_15_no_start_up_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (".bashrc", ".bash_profile", ".profile", ".bash_login", "evil"):
        (tmp_path / name).write_text("echo evil\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "evil"))
    monkeypatch.setenv("ENV", str(tmp_path / "evil"))
    finished = await spawn("echo $HOME; bash -c :; sh -c :", cwd=tmp_path, timeout_s=20)
    assert finished.output == f"{tmp_path}\n"
