"""Tests the language server over stdio from a process of Windows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from demo.in_process import passes
from windows.stdio_editor import PATIENCE_S, StdioEditor

pytestmark = pytest.mark.timeout(200)
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process that represents the editor."""
    process = subprocess.Popen(SLEEP)
    yield process
    process.kill()
    process.wait()


def test_fix_this_runs_from_initialize_to_the_applied_edit_and_the_exit(tmp_path, other) -> None:
    editor = StdioEditor(tmp_path, process_id=other.pid)
    try:
        assert editor.initialize()["result"]["serverInfo"]["name"] == "indwell"
        assert not passes(editor.project, editor.text)
        editor.fix_this()
        assert passes(editor.project, editor.text)
        finished = next(one for one in editor.events if one["type"] == "turnFinished")
        assert finished["ending"] == "done"
        assert editor.leave() == 0
        assert editor.stray == b""
        assert not any("Traceback" in line for line in editor.log), "".join(editor.log)
    finally:
        editor.close()


def test_the_server_ends_with_the_editors_process(tmp_path, other) -> None:
    editor = StdioEditor(tmp_path, process_id=other.pid)
    try:
        editor.initialize()
        editor.request("indwell/nonesuch")
        other.kill()
        assert editor.process.wait(PATIENCE_S) == 1
    finally:
        editor.close()


def test_the_server_ends_at_the_end_of_its_input(tmp_path) -> None:
    editor = StdioEditor(tmp_path, process_id=None)
    try:
        editor.initialize()
        editor.request("indwell/nonesuch")
        assert editor.process.stdin is not None
        editor.process.stdin.close()
        assert editor.process.wait(PATIENCE_S) == 1
    finally:
        editor.close()


def test_a_large_message_goes_out_while_the_editor_reads_slowly(tmp_path) -> None:
    editor = StdioEditor(tmp_path, process_id=None)
    try:
        editor.initialize()
        name = "x" * 3_000_000  # a pipe of Windows holds some thousand bytes
        answer = editor.request(name)
        assert name in answer["error"]["message"]
        assert editor.leave() == 0
    finally:
        editor.close()


CLAIMED = """
import os, subprocess, sys
from indwell.lsp.wire.stdio import claim_stdio
line = claim_stdio()
print("of a library", flush=True)
os.write(1, b"of the C library\\n")
subprocess.run([sys.executable, "-c", "import sys; print('of a child', sys.stdin.read())"])
data = os.read(line.read_fd, 100)
os.write(line.write_fd, data + b"|a\\nb\\r\\nc\\x1a")
"""


def test_nobody_else_reads_stdin_or_writes_to_stdout_and_bytes_stay_as_they_are() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLAIMED],
        input=b"1\n2\r\n\x1a3",
        capture_output=True,
        check=True,
        timeout=PATIENCE_S,
    )
    assert done.stdout == b"1\n2\r\n\x1a3|a\nb\r\nc\x1a"
    said = done.stderr.decode().replace("\r\n", "\n")
    assert said == "of a library\nof the C library\nof a child \n"
