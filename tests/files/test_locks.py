"""A lock for threads and processes prevents reading a file while another process changes it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from indwell.files.locks import locked
from support.platforms import posix_only

COUNT = """
import sys
from pathlib import Path
from indwell.files.locks import locked
lock, number = Path(sys.argv[1]), Path(sys.argv[2])
for _ in range(50):
    with locked(lock, timeout_s=20):
        number.write_text(str(int(number.read_text()) + 1))
"""
HOLD = """
import sys
from pathlib import Path
from indwell.files.locks import locked
with locked(Path(sys.argv[1]), timeout_s=20):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_file_lock_prevents_lost_updates_between_processes(tmp_path) -> None:
    lock, number = tmp_path / "lock", tmp_path / "number"
    number.write_bytes(b"0")
    command = [sys.executable, "-c", COUNT, str(lock), str(number)]
    others = [subprocess.Popen(command) for _ in range(4)]
    assert [one.wait(30) for one in others] == [0, 0, 0, 0]
    assert number.read_text(encoding="utf-8") == "200"
    assert sys.platform == "win32" or lock.stat().st_mode & 0o777 == 0o600


def test_the_file_lock_prevents_lost_updates_between_threads(tmp_path) -> None:
    numbers = [0]

    def count() -> None:
        for _ in range(200):
            with locked(tmp_path / "lock", timeout_s=20):
                now = numbers[0]
                time.sleep(0)
                numbers[0] = now + 1

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert numbers == [800]


def test_the_file_lock_is_reentrant(tmp_path) -> None:
    lock = tmp_path / "lock"
    with locked(lock, timeout_s=0), locked(lock, timeout_s=0):
        pass
    with locked(lock, timeout_s=0):
        pass


@posix_only("signals")
def test_a_lock_that_another_process_holds_ends_with_that_process(tmp_path) -> None:
    lock = tmp_path / "lock"
    command = [sys.executable, "-c", HOLD, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline().rstrip() == b"held"
        with (
            pytest.raises(TimeoutError, match="another process is busy"),
            locked(lock, timeout_s=0),
        ):
            pass
        other.send_signal(signal.SIGKILL)
        other.wait(20)
        with locked(lock, timeout_s=20):
            pass


@posix_only("symlinks")
def test_a_link_at_the_path_of_a_lock_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"), locked(tmp_path / "lock", timeout_s=0):
        pass
    assert not (tmp_path / "elsewhere").exists()
