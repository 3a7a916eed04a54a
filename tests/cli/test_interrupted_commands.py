"""The end of a command that is interrupted, or whose output pipe was closed."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from support import file_keyring
from support.editing import Home
from support.loopback_endpoint import HANG, Answer, Seen, endpoint_in_thread, say
from support.model_server import answering, listed
from support.replay_sessions import entries, record
from support.terminal_screen import Terminal


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize("arguments", [("models",), ("doctor",), ("run", "hello")], ids=" ".join)
def test_ctrl_c_prints_one_sentence_and_exits_with_code_130(home, arguments) -> None:
    asked = threading.Event()

    def silent(_seen: Seen) -> Answer:
        asked.set()
        return Answer((HANG,))

    with (
        endpoint_in_thread(silent, gets=True) as endpoint,
        Terminal(
            *arguments,
            environment={
                **home.environment(endpoint.base_url),
                **file_keyring.variables(home.folder),
            },
            folder=home.workspace,
        ) as terminal,
    ):
        assert asked.wait(30)
        terminal.interrupt("")
        assert (terminal.ends(), terminal.echoes) == (130, True), terminal.shown
    assert "Traceback" not in terminal.shown
    assert "stopped" in terminal.shown or "cancelled" in terminal.shown, terminal.shown


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "hello", "--json"),
        ("run", "hello", "--quiet"),
        ("models",),
        ("models", "--json"),
        ("doctor", "--offline"),
        ("doctor", "--offline", "--report"),
        ("demo", "--scripted"),
        ("--help",),
    ],
    ids=" ".join,
)
def test_a_closed_output_pipe_ends_the_command_silently(home, arguments) -> None:
    with endpoint_in_thread(answering(listed("q"), chat=lambda _seen: say("Hello."))) as endpoint:
        environment = {
            **home.environment(endpoint.base_url),
            **file_keyring.variables(home.folder),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "indwell", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=home.workspace,
            env=environment,
        )
        assert process.stdout is not None
        process.stdout.close()
        _, stderr = process.communicate(timeout=60)
    assert stderr == b""
    assert process.returncode in {0, 1}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "arguments",
    [("sessions",), ("sessions", "--json"), ("stats",), ("replay", "a.jsonl"), ("demo", "-h")],
    ids=" ".join,
)
def test_a_full_output_device_is_reported_in_one_sentence(home, arguments) -> None:
    home.write("a.jsonl", record("a", entries(2)))
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "indwell", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=home.workspace,
            env={**home.environment(), "PYTHONUNBUFFERED": ""},
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr == "the output cannot be written (No space left on device)\n"


@pytest.mark.parametrize("closed", [1, 2], ids=["stdout", "stderr"])
@pytest.mark.parametrize("arguments", [("sessions",), ("run", "--scripted", "hi")], ids=" ".join)
def test_an_output_that_was_closed_before_the_start_counts_as_absent(
    home, arguments, closed
) -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}>&-', "sh", *_indwell(*arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=home.workspace,
        env=home.environment(),
        check=False,
    )
    assert (ended.returncode, ended.stdout if closed == 1 else ended.stderr) == (0, "")
    assert "Traceback" not in ended.stderr


def _indwell(*arguments: str) -> tuple[str, ...]:
    return sys.executable, "-m", "indwell", *arguments


PRESSED = """
import sys
class Pressed:
    def find_spec(self, name, path, target=None):
        if name == "indwell.cli.commands":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Pressed())
from indwell.cli import main
sys.exit(main(["sessions"]))
"""


def test_ctrl_c_during_start_up_prints_only_one_word(home) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PRESSED],
        capture_output=True,
        text=True,
        cwd=home.workspace,
        env=home.environment(),
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "stopped\n")


def test_a_server_in_a_terminal_reports_that_it_waits_for_an_editor(home) -> None:
    with Terminal("serve", environment=home.environment(), folder=home.workspace) as terminal:
        terminal.interrupt("Press Ctrl-C to stop")
        terminal.ends()
    assert "waiting for an editor on stdin" in terminal.shown
    assert "Traceback" not in terminal.shown
