from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from indwell.errors import ToolError
from indwell.files.listing import modified_s, newest_first
from indwell.files.private import (
    clear_scratch,
    parted,
    read_own,
    remove_scratch,
    replace_durable,
    replace_own,
    scratch_folder,
    unused_scratch,
    write_private,
)
from support.platforms import posix_only


@posix_only("modes")
def test_only_the_user_can_read_a_private_file(tmp_path: Path) -> None:
    write_private(tmp_path / "a", b"text")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert read_own(tmp_path / "a", 10) == b"text"


@posix_only("symlinks")
def test_a_private_file_is_not_written_through_an_existing_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "a").symlink_to("target")
    with pytest.raises(FileExistsError):
        write_private(tmp_path / "a", b"text")
    assert (tmp_path / "target").read_bytes() == b"old"


def test_a_file_of_the_state_folder_that_exceeds_a_size_limit_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 11)
    with pytest.raises(ToolError, match="larger than the 10 bytes"):
        read_own(tmp_path / "a", 10)


def test_a_missing_file_sorts_like_the_oldest_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    assert modified_s(tmp_path / "gone") == 0
    assert newest_first([tmp_path / "gone", tmp_path / "a"]) == (tmp_path / "a", tmp_path / "gone")


@pytest.mark.skipif(sys.platform == "win32", reason="bounds the size of files")
@pytest.mark.parametrize("name", ["replace_own", "replace_durable"])
def test_a_failed_private_write_keeps_the_old_file_and_leaves_no_partial_file(
    tmp_path, name
) -> None:
    (tmp_path / "kept").write_bytes(b"old")
    program = (
        "import resource, sys; from pathlib import Path; from indwell.files import private\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        f"private.{name}(Path(sys.argv[1]), b'x' * 100)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "kept")], capture_output=True, check=False
    )
    assert b"File too large" in done.stderr
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("kept", b"old")]


@posix_only("modes")
@pytest.mark.parametrize("replace", [replace_own, replace_durable])
def test_a_replaced_private_file_is_readable_only_by_the_user(tmp_path, replace) -> None:
    replace(tmp_path / "kept", b"one")
    replace(tmp_path / "kept", b"two")
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("kept", b"two")]
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o600


NETWORK_DRIVE = """
import errno, fcntl, os, stat, sys

def fsync(descriptor, sync=os.fsync):
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        raise OSError(errno.EINVAL, "this drive cannot flush folders")
    sync(descriptor)

def link(source, target, link=os.link):
    link(source, target)
    raise FileExistsError(errno.EEXIST, "the answer was lost, and the request was repeated")

def flock(descriptor, operation):
    raise OSError(errno.ENOLCK, "no locks")

os.fsync, os.link, fcntl.flock = fsync, link, flock
from pathlib import Path
from indwell.files.append_log import AppendLog
from indwell.files.private import write_once

folder = Path(sys.argv[1])
log = AppendLog(folder / "new" / "log")
log.append(b"a line")
log.close()
print(log.is_locked, write_once(folder / "result", b"1"), write_once(folder / "result", b"2"))
"""


@posix_only("descriptors")
def test_private_files_are_written_on_a_network_drive(tmp_path) -> None:
    """The drive flushes no folder, has no locks, and repeats a request with a lost answer."""
    command = [sys.executable, "-c", NETWORK_DRIVE, str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (said.stdout, said.stderr) == ("False True False\n", "")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["new", "result"]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use another folder for temporary files."""
    remove_scratch(scratch_folder())  # the first folder of a process starts a thread
    for thread in threading.enumerate():
        if thread.name == "indwell-scratch":
            thread.join()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def aged(path: Path) -> Path:
    os.utime(path, (0, 0), follow_symlinks=False)
    return path


@posix_only("descriptors")
def test_the_temporary_folder_of_a_killed_process_is_removed(temporary: Path) -> None:
    code = (
        "from indwell.files.private import *\nfolder = scratch_folder()\nparted(folder)\n"
        "print(folder, flush=True)\nopen(0).read()"
    )
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout is not None
        folder = aged(Path(process.stdout.readline().strip()))
        clear_scratch()
        assert (folder / "tmp").is_dir()  # the process is alive
        process.kill()
    assert unused_scratch() == (folder,)
    clear_scratch()
    assert list(temporary.iterdir()) == []


@posix_only("descriptors")
def test_only_old_unused_real_folders_of_indwell_are_removed(temporary: Path) -> None:
    names = ("indwell-temp-aaaaaaaa", "indwell-projects", "indwell-demo-aaaaaaaa")
    for name in names:
        (temporary / name / "work").mkdir(parents=True)
        aged(temporary / name)
    aged_link = temporary / "indwell-temp-bbbbbbbb"
    aged_link.symlink_to(temporary / "indwell-projects")
    aged(aged_link)
    (temporary / "indwell-temp-cccccccc").mkdir()  # its process has not locked it yet
    (temporary / "indwell-temp-dddddddd").touch()
    aged(temporary / "indwell-temp-dddddddd")
    own = aged(scratch_folder())
    assert unused_scratch() == (temporary / names[0],)
    clear_scratch()
    kept = {*names[1:], own.name, aged_link.name}
    kept |= {"indwell-temp-cccccccc", "indwell-temp-dddddddd"}
    assert {one.name for one in temporary.iterdir()} == kept
    assert (temporary / "indwell-projects" / "work").is_dir()
    remove_scratch(own)
    assert not own.exists()


@posix_only("modes")
def test_a_temporary_folder_is_private_and_holds_a_file_that_nobody_reads(temporary: Path) -> None:
    folder = scratch_folder()
    inner, mask = parted(folder)
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (folder, inner, mask)]
    assert (folder.parent, modes) == (temporary, [0o700, 0o700, 0])
    remove_scratch(folder)
    assert list(temporary.iterdir()) == []
