"""Tests whole commands of the command line on Windows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from indwell.files.system.access import why_readable
from indwell.service.demo_project import make_project
from support import file_keyring
from support.loopback_endpoint import endpoint_in_thread
from support.model_server import answering, listed
from windows.stdio_editor import PATIENCE_S, environment

pytestmark = pytest.mark.timeout(200)


def indwell(
    *words: str, folder: Path, typed: str = "", **more: str
) -> subprocess.CompletedProcess[bytes]:
    """Run a command as a separate user; a pipe receives its output in the ANSI code page."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    given = {name: text for name, text in os.environ.items() if not name.startswith("PYTHONIO")}
    return subprocess.run(
        [sys.executable, "-m", "indwell", *words],
        cwd=work,
        env={**given, **environment(folder), **more},
        input=typed.encode(),
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
    )


def test_the_demo_fixes_a_project_and_needs_no_shell(tmp_path) -> None:
    (tmp_path / "settings" / "indwell").mkdir(parents=True)
    settings = 'command_shell = "pwsh"\n'  # Wine has no pwsh
    (tmp_path / "settings" / "indwell" / "config.toml").write_text(settings, encoding="utf-8")
    done = indwell("demo", "--json", "--scripted", "--seed", "1", folder=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    (report,) = map(json.loads, done.stdout.splitlines())
    told = {key: report[key] for key in ("ok", "before", "after", "turns", "message")}
    assert told == {"ok": True, "before": "failed", "after": "passed", "turns": 1, "message": ""}
    assert report["diff"].startswith(f"--- a/{make_project(1).path}\n")


def test_the_demo_prints_characters_missing_in_the_code_page(tmp_path) -> None:
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
    assert "file watches" not in states  # Windows has no limit of file watches
    assert b"Traceback" not in done.stderr


CANARY = "sk-canary-30d7"


def files_with(text: str, folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if text.encode() in path.read_bytes()]


def test_a_login_keeps_the_key_in_the_keyring_and_the_next_commands_use_it(tmp_path) -> None:
    keyring = file_keyring.variables(tmp_path)
    with endpoint_in_thread(answering(listed("q"), key=CANARY)) as endpoint:
        url = endpoint.base_url
        words = ("login", url, "--key-stdin")
        done = indwell(*words, folder=tmp_path, typed=f"{CANARY}\r\n", **keyring)
        assert (done.returncode, done.stderr) == (0, b""), done.stdout
        assert "✓ q calls tools" in done.stdout.decode()
        assert file_keyring.held(tmp_path) == {f"indwell {url.removesuffix('/v1')}": CANARY}
        models = indwell("models", "--json", folder=tmp_path, **keyring)
        assert [one["name"] for one in json.loads(models.stdout)] == ["q"], models.stderr
        assert {one.headers["authorization"] for one in endpoint.seen} == {f"Bearer {CANARY}"}
    assert CANARY.encode() not in done.stdout + models.stdout + models.stderr
    assert files_with(CANARY, tmp_path) == ["keyring.json"]


def test_a_login_without_a_keyring_keeps_the_key_in_a_file_for_the_user_alone(tmp_path) -> None:
    off = {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
    with endpoint_in_thread(answering(listed("q"), key=CANARY)) as endpoint:
        words = ("login", endpoint.base_url, "--key-stdin")
        done = indwell(*words, folder=tmp_path, typed=f"{CANARY}\n", **off)
    assert done.returncode == 0, done.stdout.decode()
    keys = tmp_path / "settings" / "indwell" / "keys.json"
    assert "which only you can read" in done.stdout.decode()
    assert files_with(CANARY, tmp_path) == ["keys.json"]
    assert why_readable(keys) == ""


def test_a_login_with_a_wrong_key_keeps_nothing(tmp_path) -> None:
    keyring = file_keyring.variables(tmp_path)
    with endpoint_in_thread(answering(listed("q"), key="another")) as endpoint:
        words = ("login", endpoint.base_url, "--key-stdin")
        done = indwell(*words, folder=tmp_path, typed=f"{CANARY}\n", **keyring)
    assert done.returncode == 1
    assert "✗ the key is not accepted at" in done.stdout.decode()
    assert "nothing was stored" in done.stdout.decode()
    assert files_with(CANARY, tmp_path) == []
