"""A write in place never loses the old text, neither by a fault nor by a kill.

The faults are real: strace or a limit of the process causes them.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from indwell.files.append_log import list_names
from indwell.files.contents.atomic import write_atomic
from indwell.files.contents.reading import read_bytes
from support.platforms import posix_only

OLD, NEW = b"old text " * 50_000, b"new " * 20_000
WRITE = """
import os
import sys
from pathlib import Path
from indwell.errors import ToolError
from indwell.files.contents.atomic import write_atomic
path = Path(sys.argv[1])
private = None if len(sys.argv) > 2 else path.parent.parent / "undo"
if len(sys.argv) > 2:  # whom to become; Python itself may lie where they cannot read
    os.setegid(int(sys.argv[2]))
    os.seteuid(int(sys.argv[2]))
try:
    write_atomic(path, b"new " * 20_000, [path.parent], expected=path.read_bytes(), private=private)
except ToolError as error:
    sys.exit(str(error))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "w" / "file"
    made.parent.mkdir()
    made.write_bytes(OLD)
    (tmp_path / "w" / "other").hardlink_to(made)
    return made


def traced(
    path: Path, *faults: str, user: int | None = None, temporary: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Write the file in a child process, with faults in some system calls."""
    program = shutil.which("strace")
    tried = program and subprocess.run([program, "-o", os.devnull, "true"], check=False)
    if not tried or tried.returncode:
        if os.environ.get("CI") == "true":
            pytest.fail("CI has to have strace, and may trace")
        pytest.skip("strace is not installed, or may not trace here")
    command = [str(program), "-qq", "-o", os.devnull]
    command += ["-e", f"trace={','.join(fault.partition(':')[0] for fault in faults)}"]
    for fault in faults:
        command += ["-e", f"inject={fault}"]
    command += [sys.executable, "-c", WRITE, str(path), *([str(user)] if user else [])]
    environment = {**os.environ, "TMPDIR": str(temporary)} if temporary else None
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def names(path: Path) -> list[str]:
    return list(list_names(path.parent))


def kept(path: Path) -> list[str]:
    """Return the files in the private folder, except the key."""
    return [name for name in list_names(path.parent.parent / "undo") if name != "key"]


def write(path: Path, data: bytes) -> None:
    write_atomic(path, data, [path.parent], private=path.parent.parent / "undo")


def test_a_fault_during_a_write_restores_the_old_text(path: Path) -> None:
    # all new bytes are written, followed by the old end
    done = traced(path, "ftruncate:error=EIO:when=1")
    assert "cannot be used: Input/output error" in done.stderr
    assert (path.read_bytes() == OLD, names(path)) == (True, ["file", "other"])
    assert kept(path) == []


def test_old_text_after_a_failed_write_is_kept_and_restored_at_the_next_read(path: Path) -> None:
    done = traced(path, "ftruncate:error=EIO:when=1", "fallocate:error=EIO:when=2")
    (undo,) = kept(path)
    private = path.parent.parent / "undo"
    assert f"its old text is kept in {str(private / undo)!r}" in done.stderr
    assert (path.read_bytes() != OLD, names(path)) == (True, ["file", "other"])
    done = traced(path, "fallocate:error=EIO:when=1")  # the restore fails again
    assert f"its old text is kept in {str(private / undo)!r}" in done.stderr
    assert kept(path) == [undo]
    assert read_bytes(path, [path.parent], 1 << 20, private=private) == OLD
    assert (path.read_bytes() == OLD, kept(path)) == (True, [])


def test_old_text_is_kept_elsewhere_without_a_private_folder(path: Path, tmp_path: Path) -> None:
    (tmp_path / "undo").write_bytes(b"no folder")
    spare = tmp_path / "spare"
    spare.mkdir()
    faults = ("ftruncate:error=EIO:when=1", "fallocate:error=EIO:when=2")
    done = traced(path, *faults, temporary=spare)
    (old,) = [one for one in spare.iterdir() if one.suffix == ".old"]
    assert f"its old text is kept in {str(old)!r}" in done.stderr
    assert (old.read_bytes() == OLD, old.stat().st_mode & 0o777) == (True, 0o600)


@pytest.mark.parametrize("call", ["ftruncate", "fallocate", "unlink"])
def test_per_13_a_kill_in_the_middle_is_undone_by_the_next_read(path: Path, call: str) -> None:
    write(path.with_name("next"), b"")  # creates the key, which also uses an unlink
    done = traced(path, f"{call}:signal=KILL:when=1")
    assert done.returncode == -signal.SIGKILL
    assert len(kept(path)) == 1
    data = path.read_bytes()
    write(path.with_name("next"), b"")
    assert path.read_bytes() == data  # an edit of another file restores nothing
    stands = NEW if call == "unlink" else OLD
    read = read_bytes(path, [path.parent], 1 << 20, private=path.parent.parent / "undo")
    assert (read == stands, names(path)) == (True, ["file", "next", "other"])
    assert kept(path) == []


def test_per_13_a_temporary_file_left_by_a_kill_is_removed_by_the_next_write(
    path: Path,
) -> None:
    path.with_name("other").unlink()
    done = traced(path, "renameat:signal=KILL:when=1")
    assert done.returncode == -signal.SIGKILL
    write(path.with_name("next"), b"")
    stands = path.read_bytes()
    assert (stands in {OLD, NEW}, names(path)) == (True, ["file", "next"])


@posix_only("owners")
def test_a_mount_point_is_written_in_place(path: Path, tmp_path: Path) -> None:
    """A single mounted file, as in containers, cannot be replaced by a rename."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("needs root to mount a file")
    path.with_name("other").unlink()
    (tmp_path / "elsewhere").write_bytes(OLD)
    mounted = subprocess.run(["mount", "--bind", tmp_path / "elsewhere", path], check=False)
    if mounted.returncode:
        pytest.skip("this container may not mount")
    try:
        write_atomic(path, NEW, [path.parent], expected=OLD)
        assert read_bytes(path, [path.parent], 1 << 20) == NEW
    finally:
        subprocess.run(["umount", path], check=True)
    assert (tmp_path / "elsewhere").read_bytes() == NEW
    assert names(path) == ["file"]


@posix_only("owners")
def test_old_text_is_kept_elsewhere_if_the_folder_accepts_no_file() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to make a folder that somebody else may not write")
    with tempfile.TemporaryDirectory() as shared:
        path, spare = Path(shared) / "file", Path(shared) / "spare"
        path.write_bytes(OLD)
        spare.mkdir()
        for one in (path, spare):
            os.chown(one, 12_346, 12_346)
        path.parent.chmod(0o755)
        done = traced(
            path,
            "ftruncate:error=EIO:when=1",
            "fallocate:error=EIO:when=2",
            user=12_346,
            temporary=spare,
        )
        old = list(spare.iterdir())
        assert [one.stat().st_mode & 0o777 for one in old] == [0o600]
        assert f"its old text is kept in {str(old[0])!r}" in done.stderr
        assert old[0].read_bytes() == OLD


@pytest.mark.parametrize("is_hard_linked", [False, True])
def test_a_named_temporary_file_is_used_if_an_unnamed_one_cannot_be_linked(
    path: Path, *, is_hard_linked: bool
) -> None:
    if not is_hard_linked:
        path.with_name("other").unlink()
    path.chmod(0o751)
    done = traced(path, "linkat:error=EPERM")
    assert (done.returncode, done.stderr) == (0, "")
    assert (path.read_bytes() == NEW, path.stat().st_mode & 0o777) == (True, 0o751)
    assert names(path) == (["file", "other"] if is_hard_linked else ["file"])
