"""Tests files on Windows: other processes and programs that use them, and access permissions."""

from __future__ import annotations

import _winapi
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import win32security

from indwell.errors import EditRefused, ToolError
from indwell.files.append_log import AppendLog, make_private_folder
from indwell.files.beneath import PathBeneath, open_place, parent_folder
from indwell.files.contents.atomic import write_atomic
from indwell.files.contents.reading import read_guarded
from indwell.files.listing import file_mark, names_of_file, state_of
from indwell.files.locks import locked, one_writer
from indwell.files.private import remove_own, remove_own_tree, replace_durable, write_private
from indwell.files.system import access, calls, windows
from indwell.files.system.held_files import HeldOpen
from indwell.files.user_files import delete_exactly, put_back
from indwell.files.watch.file_watch import FolderWatch
from indwell.files.watch.snapshot import opened_folder, read_body, take_census
from indwell.sessions.storage.retention import delete_unless
from support.loopback_endpoint import endpoint_in_thread, say
from windows.stdio_editor import PATIENCE_S, environment

pytestmark = pytest.mark.timeout(120)

BEGIN = "import sys; from pathlib import Path; at = Path(sys.argv[1])\n"
END = "\nprint('ready', flush=True); sys.stdin.read()"
HOLDS_LOG = "from indwell.files.append_log import AppendLog; log = AppendLog(at)"
HOLDS_LOCK = """
from indwell.files.locks import locked
held = locked(at, timeout_s=9); held.__enter__()"""
HOLDS_FOLDER = """
import os
from indwell.files.locks import one_writer
from indwell.files.system import calls
held = one_writer(calls.open_file(at, os.O_RDONLY | calls.DIRECTORY), at); held.__enter__()"""
OPENS = "file = at.open('rb')"  # opens like most programs: others may write, but not delete
SHUTS = """
import win32file
file = win32file.CreateFile(str(at), 0x80000000, 0, None, 3, 0, None)  # OPEN_EXISTING
"""


@contextmanager
def another(code: str, at: Path) -> Iterator[None]:
    """Run code in another process, which keeps the path open until the block ends."""
    command = [sys.executable, "-c", BEGIN + code + END, str(at)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"ready"
        try:
            yield
        finally:
            process.stdin.close()
            process.wait(PATIENCE_S)


def test_a_log_that_another_process_writes_is_refused_and_can_be_read(tmp_path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"line\n")
    with another(HOLDS_LOG, path):
        with pytest.raises(BlockingIOError, match="another writer has it open"):
            AppendLog(path)
        assert path.read_bytes() == b"line\n"
    log = AppendLog(path)
    log.append(b"more\n")
    log.sync()
    log.close()
    assert path.read_bytes() == b"line\nmore\n"


def test_an_open_log_can_be_removed_and_replaced_by_a_new_log(tmp_path) -> None:
    log = AppendLog(tmp_path / "log.jsonl")
    log.append(b"line\n")
    assert log.is_in_place
    assert remove_own(tmp_path / "log.jsonl")
    assert not log.is_in_place
    log.write_again()
    assert log.is_in_place
    log.close()
    assert (tmp_path / "log.jsonl").read_bytes() == b"line\n"


def test_a_session_is_deleted_unless_another_process_has_it_open(tmp_path) -> None:
    session = tmp_path / "20261127-010203-004-0123456789ab"
    (session / "texts").mkdir(parents=True)
    (session / "log.jsonl").write_bytes(b"{}\n")
    with another(HOLDS_LOG, session / "log.jsonl"), pytest.raises(Exception, match="is open"):
        delete_unless(session, lambda: False)
    assert delete_unless(session, lambda: False)
    assert list(tmp_path.iterdir()) == []


def test_locks_hold_between_processes_and_end_with_their_process(tmp_path) -> None:
    with (
        another(HOLDS_LOCK, tmp_path / "lock"),
        pytest.raises(TimeoutError, match="another process"),
        locked(tmp_path / "lock", timeout_s=0),
    ):
        pass
    with locked(tmp_path / "lock", timeout_s=9):
        pass


def test_only_one_process_at_a_time_writes_in_a_folder(tmp_path) -> None:
    folder = calls.open_file(tmp_path, os.O_RDONLY | calls.DIRECTORY)
    with (
        another(HOLDS_FOLDER, tmp_path),
        pytest.raises(EditRefused, match="holds it or its folder locked"),
        one_writer(folder, tmp_path / "x", wait_s=0),
    ):
        pass
    with one_writer(folder, tmp_path / "x", wait_s=9) as is_alone:
        assert is_alone
    os.close(folder)


def test_a_file_that_another_program_has_open_is_edited_and_keeps_its_place(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old\r\n")
    with another(OPENS, path):
        write_atomic(path, b"new\r\n", [tmp_path], private=tmp_path / "private")
        assert path.read_bytes() == b"new\r\n"
    assert {one.name for one in tmp_path.iterdir()} == {"a.txt", "private"}
    assert {one.name for one in (tmp_path / "private").iterdir()} <= {"key"}


def test_a_file_opened_exclusively_by_another_program_is_refused_quickly(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    with another(SHUTS, path):
        began = time.monotonic()
        with pytest.raises(ToolError, match=r"a\.txt' is held open by .*close it there") as told:
            write_atomic(path, b"new", [tmp_path])
        assert time.monotonic() - began < 10
        assert "Errno" not in str(told.value)
        with pytest.raises(ToolError, match="is held open by"):
            delete_exactly(path, [tmp_path], b"old")
        with pytest.raises(HeldOpen, match="is held open by"):
            replace_durable(path, b"new")
        with pytest.raises(HeldOpen, match="is held open by"):
            read_guarded(path, 9)
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]
    write_atomic(path, b"new", [tmp_path])
    assert path.read_bytes() == b"new"


def test_our_own_open_files_keep_no_other_program_from_replacing_them(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    held = open_place(PathBeneath(tmp_path.resolve(), ("a.txt",)), os.O_RDONLY)
    path.write_bytes(b"new")
    path.rename(tmp_path / "b.txt")
    (tmp_path / "b.txt").unlink()
    os.close(held)
    assert list(tmp_path.iterdir()) == []


def test_a_read_only_file_of_a_project_is_not_written_and_a_private_file_is_replaced(
    tmp_path,
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(ToolError, match="is read-only; if it is meant to be changed"):
        write_atomic(path, b"new", [tmp_path])
    replace_durable(path, b"new")
    assert path.read_bytes() == b"new"
    path.chmod(0o444)
    assert remove_own(path)
    put_back(path, b"back", [tmp_path.resolve()], mode=0o100444)
    assert not path.stat().st_mode & 0o200
    path.chmod(0o600)


def test_private_files_are_for_the_user_alone(tmp_path) -> None:
    make_private_folder(tmp_path / "state" / "deep")
    write_private(tmp_path / "key", b"secret")
    (tmp_path / "state" / "in it").write_bytes(b"x")
    (tmp_path / "other").write_bytes(b"x")
    for private in ("state", "state/deep", "key"):
        assert access.why_readable(tmp_path / private) == ""
        assert access.why_writable(tmp_path / private) == ""
    assert access.is_alone(tmp_path / "state")
    everybody = access.why_readable(tmp_path / "other")
    assert everybody == "others on this machine may read it (Everyone)"


def test_a_trust_file_that_others_may_write_is_ignored(tmp_path) -> None:
    path = write_private(tmp_path / "trust.json", b"{}")
    assert access.why_foreign(path) == ""
    kind, what = win32security.SE_FILE_OBJECT, win32security.DACL_SECURITY_INFORMATION
    given = win32security.GetNamedSecurityInfo(str(path), kind, what)
    rights = given.GetSecurityDescriptorDacl()
    everyone = win32security.ConvertStringSidToSid(access.EVERYONE)
    rights.AddAccessAllowedAce(win32security.ACL_REVISION, 0x1F01FF, everyone)
    win32security.SetNamedSecurityInfo(str(path), kind, what, None, None, rights, None)
    assert "Everyone can write" in access.why_foreign(path)
    assert "icacls" in access.why_foreign(path)


def test_an_overwrite_of_the_same_size_and_time_is_noticed(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    before, mark, state = path.stat(), file_mark(path), state_of(path)
    census = take_census(str(tmp_path), shut=(), most_files=9)
    time.sleep(0.02)  # wait for the next tick of the disk's clock
    path.write_bytes(b"new")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    now = state_of(path)
    assert (path.stat().st_mtime_ns, path.stat().st_size) == (before.st_mtime_ns, 3)
    assert file_mark(path) != mark
    assert now is not None
    assert state is not None
    assert now.seen != state.seen
    assert take_census(str(tmp_path), shut=(), most_files=9) != census


def test_a_folder_listing_and_the_file_report_the_same_facts(tmp_path) -> None:
    (tmp_path / "a.txt").write_bytes(b"text")
    (tmp_path / "b").mkdir()
    os.link(tmp_path / "a.txt", tmp_path / "b" / "again.txt")
    with calls.scan(str(tmp_path)) as entries:
        found = {one.name: one for one in entries}
    assert found.keys() == {"a.txt", "b"}
    assert found["a.txt"].inode() == calls.lstat(tmp_path / "a.txt").st_ino != 0
    assert found["b"].is_dir()
    assert names_of_file(tmp_path / "a.txt", [tmp_path / "b"]) == (tmp_path / "b" / "again.txt",)
    with opened_folder(tmp_path) as root:
        (facts,) = take_census(str(tmp_path), shut=("b",), most_files=9).folders[""].facts()
        body = read_body(root, "a.txt", 99)
    assert body is not None
    assert (body.data, body.facts) == (b"text", facts)


def on_host(program: str, *words: str | Path) -> None:
    """Start a program of Wine's host, whose root is drive Z:; do not wait for its end."""
    given = [str(one).removeprefix("Z:").replace("\\", "/") for one in words]
    command = " ".join([f"Z:\\bin\\{program}", *given])
    with suppress(OSError):
        inherits = False
        started = _winapi.CreateProcess(None, command, None, None, inherits, 0, None, None, None)
        for handle in started[:2]:
            _winapi.CloseHandle(handle)


def comes(is_so: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.02)
    return is_so()


def linked(at: Path, target: Path) -> bool:
    """Create a junction, or on Wine a link by the host; return whether the link exists."""
    try:
        _winapi.CreateJunction(str(target), str(at))
    except OSError:
        at.rmdir()  # Python left an empty folder instead of a junction
        on_host("ln", "-s", target, at)
    return comes(at.exists)


@pytest.fixture
def shared() -> Iterator[Path]:
    """Yield a folder that also has a path on the host."""
    root = "Z:\\tmp" if Path("Z:\\tmp").is_dir() else None
    folder = Path(tempfile.mkdtemp(dir=root))
    yield folder
    with suppress(OSError):
        (folder / "root" / "way").rmdir()  # `rmdir` removes a junction
    on_host("rm", "-r", folder)
    if not comes(lambda: not folder.exists()):
        remove_own_tree(folder)


def test_no_file_is_reached_through_a_new_link(shared) -> None:
    root, outside = shared / "root", shared / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "a.txt").write_bytes(b"secret")
    if not linked(root / "way", outside):
        pytest.skip("this Wine makes neither junctions nor links")
    # the path is made before the link exists
    place = PathBeneath(root=root, parts=("way", "a.txt"))
    with pytest.raises(ToolError, match="link"):
        open_place(place, os.O_RDONLY)
    with pytest.raises(ToolError, match="link"), parent_folder(place):
        pass
    with pytest.raises(ToolError, match="outside the workspace"):
        write_atomic(root / "way" / "a.txt", b"new", [root])
    with opened_folder(root) as folder:
        assert read_body(folder, "way/a.txt", 99) is None
    assert (outside / "a.txt").read_bytes() == b"secret"


def test_the_path_of_an_open_file_is_compared_with_what_was_asked(tmp_path) -> None:
    (tmp_path / "Folder").mkdir()
    (tmp_path / "Folder" / "a.txt").write_bytes(b"x")
    root = calls.open_file(tmp_path, os.O_RDONLY | calls.DIRECTORY)
    found = calls.open_file(tmp_path / "Folder" / "a.txt", os.O_RDONLY)
    windows.check_beneath(found, root, ("folder", "A.TXT"))
    for parts in (("a.txt",), ("Folder", "b.txt"), ("Folder", "a.txt", "x"), ()):
        with pytest.raises(OSError, match="link"):
            windows.check_beneath(found, root, parts)
    os.close(found)
    os.close(root)


def test_a_missing_folder_is_watched_by_polling(tmp_path) -> None:
    watch = FolderWatch()
    watch.follow(tmp_path / "later" / "a.txt")
    watch.follow(tmp_path / "b.txt")
    watch.settle()
    watch.changed()
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "a.txt").write_bytes(b"x")
    (tmp_path / "b.txt").write_bytes(b"x")
    changed: set[Path] = set()

    def both() -> bool:
        changed.update(watch.changed())
        return len(changed) == 2

    comes(both)
    watch.close()
    assert changed == {tmp_path / "later" / "a.txt", tmp_path / "b.txt"}


def test_a_run_is_reviewed_and_rejected_byte_for_byte(tmp_path) -> None:
    """One process makes an edit and runs a command; another process reviews the changes."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    (work / "b.txt").write_bytes(b"before")
    edit = {"path": "a.txt", "edits": [{"old": "two", "new": "2"}]}
    change = {"command": "echo changed > b.txt; echo new > c.txt", "description": "change"}
    script = [
        say(calls=[("read_file", json.dumps({"path": "a.txt"}))]),
        say(calls=[("edit_file", json.dumps(edit))]),
        say(calls=[("bash", json.dumps(change))]),
        say("done"),
    ]

    def indwell(*words: str) -> bytes:
        done = subprocess.run(
            [sys.executable, "-m", "indwell", *words],
            cwd=work,
            env={**os.environ, **environment(tmp_path), **model},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout + done.stderr

    with endpoint_in_thread(script) as endpoint:
        model = {
            "OPENAI_BASE_URL": endpoint.base_url,
            "OPENAI_API_KEY": "sk-none",
            "INDWELL_MODEL": "m",
        }
        told = indwell("run", "--trust", "--allow-commands", "--mode", "review", "change it")
    assert b"3 changes to review" in told
    assert (work / "a.txt").read_bytes() == b"one\r\n2\r\n"
    assert (work / "b.txt").read_bytes().strip() == b"changed"
    assert indwell("review", "--reject", "--all").count(b"rejected: ") == 3
    left = {one.name: one.read_bytes() for one in work.iterdir()}
    assert left == {"a.txt": b"one\r\ntwo\r\n", "b.txt": b"before"}
