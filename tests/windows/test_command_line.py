"""The command line on Windows: whole commands, from their start to their end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from indwell.cli.demo.project import make_project
from windows.stdio_editor import PATIENCE_S, environment

pytestmark = pytest.mark.timeout(200)


def indwell(*words: str, folder: Path, **more: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command with a home of its own; its output goes into a pipe, in the ANSI code page."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    given = {name: text for name, text in os.environ.items() if not name.startswith("PYTHONIO")}
    return subprocess.run(
        [sys.executable, "-m", "indwell", *words],
        cwd=work,
        env={**given, **environment(folder), **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
    )


def test_the_demo_fixes_a_project_and_needs_no_shell(tmp_path) -> None:
    (tmp_path / "settings" / "indwell").mkdir(parents=True)
    settings = 'command_shell = "pwsh"\n'  # which Wine does not have
    (tmp_path / "settings" / "indwell" / "config.toml").write_text(settings, encoding="utf-8")
    done = indwell("demo", "--json", "--scripted", "--seed", "1", folder=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    (report,) = map(json.loads, done.stdout.splitlines())
    told = {key: report[key] for key in ("ok", "before", "after", "turns", "message")}
    assert told == {"ok": True, "before": "failed", "after": "passed", "turns": 1, "message": ""}
    assert report["diff"].startswith(f"--- a/{make_project(1).path}\n")


def test_the_demo_shows_what_a_code_page_cannot_hold(tmp_path) -> None:
    done = indwell("demo", "--scripted", "--seed", "1", folder=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    assert "▸ read_file" in done.stdout.decode("utf-8")
    assert b"UnicodeEncodeError" not in done.stderr


def test_a_run_ends_with_its_answer(tmp_path) -> None:
    done = indwell("run", "--scripted", "--json", "hello", folder=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["type"] == "turnFinished"


def test_doctor_checks_everything_and_ends(tmp_path) -> None:
    done = indwell("doctor", "--json", folder=tmp_path)
    assert done.returncode in {0, 1}, done.stderr.decode()
    checks = json.loads(done.stdout)["findings"]
    states = {one["name"]: one["state"] for one in checks}
    assert {states[name] for name in ("Indwell", "packages", "text", "state folder")} == {"ok"}
    assert "file watches" not in states  # they have no limit here
    assert b"Traceback" not in done.stderr
