"""``indwell permissions explain`` considers the folder's secret files, as a session does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from indwell.cli.commands import run_command
from support.platforms import posix_only


def decision(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    assert run_command(["permissions", "explain", "--json", *words]) == 0
    told = json.loads(capsys.readouterr().out)
    return told["decision"], told["rule"]


@posix_only("symlinks")
def test_without_a_sandbox_a_command_that_reaches_a_secret_file_needs_permission(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("INDWELL_STATE", str(tmp_path / "state"))
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "sub" / "a.txt").write_bytes(b"a")
    monkeypatch.chdir(work)
    commands = ("cat alias.txt", "cat hard.txt", "grep -r a .")
    assert [decision(capsys, "--", one)[0] for one in commands] == ["allow"] * 3
    (work / ".env").write_bytes(b"KEY=1")
    (work / "alias.txt").symlink_to(".env")
    (work / "hard.txt").hardlink_to(work / ".env")
    assert [decision(capsys, "--", one) for one in commands] == [("ask", "secret")] * 3
    assert decision(capsys, "--", "grep -r a sub") == ("allow", "read-only")
    assert decision(capsys, "--sandboxed", "--", "grep -r a .") == ("allow", "read-only")
    assert decision(capsys, "--cwd", "nowhere", "--", "ls") == ("allow", "read-only")
