"""Writers take turns in a folder, and the second writer finds a changed text (EDT-13)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from subprocess import PIPE

import pytest

from indwell.errors import EditRefused, TextMoved
from indwell.files.contents.atomic import write_atomic
from indwell.files.locks import one_writer
from support.platforms import posix_only

ADD = """
import sys
from pathlib import Path
from indwell.errors import TextMoved
from indwell.files.contents.atomic import write_atomic
path, root, moved = Path(sys.argv[1]), Path(sys.argv[2]), 0
old = path.read_bytes()
print("read", flush=True)
sys.stdin.readline()
for _ in range(40):
    while True:
        try:
            write_atomic(path, old + sys.argv[3].encode(), [root], expected=old)
            break
        except TextMoved:
            moved += 1
        finally:
            old = path.read_bytes()
print(moved)
"""
HOLD = """
import os, sys
from pathlib import Path
from indwell.files.locks import one_writer
with one_writer(os.open(sys.argv[1], os.O_RDONLY), Path("x")) as is_alone:
    print(is_alone, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("is_hard_linked", [False, True])
def test_edt_13_two_processes_that_edit_one_file_lose_no_line(
    tmp_path: Path, *, is_hard_linked: bool
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    if is_hard_linked:
        (tmp_path / "other").hardlink_to(path)
    command = [sys.executable, "-c", ADD, str(path), str(tmp_path)]
    with (
        subprocess.Popen([*command, "a"], stdin=PIPE, stdout=PIPE, text=True) as first,
        subprocess.Popen([*command, "b"], stdin=PIPE, stdout=PIPE, text=True) as second,
    ):
        for one in (first, second):
            assert one.stdout is not None
            assert one.stdout.readline() == "read\n"
        # Both processes have read the empty file, so the slower one finds a changed file.
        for one in (first, second):
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        moved = [int(one.communicate(timeout=60)[0]) for one in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0]
    assert sorted(path.read_text(encoding="utf-8")) == ["a"] * 40 + ["b"] * 40
    assert sum(moved) > 0


def test_edt_13_threads_that_edit_one_file_lose_no_edit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")

    def add() -> None:
        for _ in range(20):
            while True:
                old = path.read_bytes()
                try:
                    write_atomic(path, old + b"x", [tmp_path], expected=old)
                    break
                except TextMoved:
                    pass

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert path.read_bytes() == b"x" * 80


@posix_only("descriptors")
def test_a_write_waits_a_limited_time_for_a_locked_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    folder = os.open(tmp_path, os.O_RDONLY)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"True\n"
        with (
            pytest.raises(EditRefused, match="holds it or its folder locked; try again"),
            one_writer(folder, tmp_path / "x", wait_s=0),
        ):
            pass
        other.send_signal(signal.SIGKILL)
        other.wait(20)
        with one_writer(folder, tmp_path / "x", wait_s=20) as is_alone:
            assert is_alone
    os.close(folder)


NO_LOCKS = 1_000_000
"""No open descriptor, so it has no locks, as a folder of some network drives."""


@posix_only("descriptors")
def test_without_file_locks_threads_of_the_process_exclude_each_other() -> None:
    inside: list[int] = []

    def enter() -> None:
        for _ in range(200):
            with one_writer(NO_LOCKS, Path("x")) as is_alone:
                assert not is_alone
                inside.append(1)
                os.sched_yield()
                assert len(inside) == 1
                inside.pop()

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert inside == []


def test_one_writer_reports_no_lock_for_a_descriptor_that_cannot_be_locked(tmp_path: Path) -> None:
    flag = getattr(os, "O_PATH", None)
    if flag is None:
        pytest.skip("needs O_PATH, whose descriptors take no lock")
    folder = os.open(tmp_path, flag)
    with one_writer(folder, tmp_path / "x") as is_alone:
        assert not is_alone
    os.close(folder)
