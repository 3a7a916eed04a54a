"""Replaced files: an impossible verdict is reported, and the change stays pending."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from indwell.files.watch.snapshot import Bodies
from indwell.review.checkpoints.folder_comparison import Lookout
from indwell.review.verdicts import Scope, accept, reject, rewind_files
from indwell.service.sessions.session_commands import RESTORE, FilesBack
from indwell.workspace.disk import DiskWorkspace
from support.front_door import NotingDoor
from support.ledgers import change, ledger_in
from support.platforms import posix_only


def _binary(path: Path) -> None:
    path.write_bytes(b"\0\1mine")


def _link(path: Path) -> None:
    other = path.parent / "other.txt"
    other.write_bytes(b"mine\n")
    path.symlink_to(other)


def _dangling(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def _standing(path: Path) -> tuple[int, int, int]:
    """Return the state of a path without its access time."""
    found = path.lstat()
    return found.st_ino, found.st_mode, found.st_mtime_ns


SYMLINKS = posix_only("symlinks")
ODD = [
    _binary,
    pytest.param(_link, marks=SYMLINKS),
    pytest.param(_dangling, marks=SYMLINKS),
    Path.mkdir,
]


@pytest.mark.parametrize("replace", ODD)
@pytest.mark.parametrize("before", [None, "old\n"])
async def test_a_file_replaced_by_something_else_gives_a_plain_error(
    tmp_path: Path, replace: Callable[[Path], None], before: str | None
) -> None:
    root = tmp_path.resolve() / "work"
    root.mkdir()
    path = root / "a.txt"
    ledger = await ledger_in(tmp_path.resolve(), root)
    workspace = DiskWorkspace([root], private=tmp_path / "undo")
    await change(ledger, path, before, "new\n")
    replace(path)
    stood = _standing(path)
    for work in (
        reject(ledger, workspace, Scope()),
        rewind_files(ledger, workspace, "s1", 0, force=True),
    ):
        done = await work
        assert (done.hunks, [one for one, _ in done.failed]) == ((), [path])
        assert "exists already" not in done.failed[0][1]
    assert len(ledger.hunks(path)) == 1
    assert _standing(path) == stood
    if replace in {_binary, Path.mkdir}:
        done = await accept(ledger, workspace, Scope())
        assert (done.hunks, [one for one, _ in done.failed]) == ((), [path])
        assert len(ledger.hunks(path)) == 1


@posix_only("symlinks")
async def test_a_verdict_changes_no_file_through_a_folder_replaced_by_a_link(
    tmp_path: Path,
) -> None:
    root = tmp_path.resolve() / "work"
    (root / "real").mkdir(parents=True)
    path = root / "sub" / "a.txt"
    (root / "real" / "a.txt").write_bytes(b"new\n")
    ledger = await ledger_in(tmp_path.resolve(), root)
    await change(ledger, path, "old\n", "new\n")
    (root / "sub").symlink_to(root / "real")
    done = await reject(ledger, DiskWorkspace([root], private=tmp_path / "undo"), Scope())
    assert done.failed == ((path, "'a.txt' leads through a link to another file now"),)
    assert (root / "real" / "a.txt").read_text(encoding="utf-8") == "new\n"


class _Typist(NotingDoor):
    """An editor in which the user types during the question, and then allows the change."""

    def __init__(self, path: Path, typed: str) -> None:
        super().__init__()
        self._path = path
        self._typed = typed

    async def allow(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str:
        del question, titles, timeout_s
        self._path.write_bytes(
            self._path.read_text(encoding="utf-8").replace("MINE", self._typed).encode()
        )
        return RESTORE


@pytest.mark.parametrize(("typed", "reads"), [("MINE", "old\n"), ("MINE AND MORE", None)])
async def test_consent_counts_only_for_the_text_that_was_shown(
    tmp_path: Path, typed: str, reads: str | None
) -> None:
    root = tmp_path.resolve() / "work"
    root.mkdir()
    path = root / "a.txt"
    ledger = await ledger_in(tmp_path.resolve(), root)
    workspace = DiskWorkspace([root], private=tmp_path / "undo")
    await change(ledger, path, "old\n", "new line\n")
    path.write_bytes(b"new line MINE\n")
    files = FilesBack(ledger, workspace, _Typist(path, typed), timeout_s=5)
    told = await files.take("s1", 0)
    assert path.read_text(encoding="utf-8") == (reads or f"new line {typed}\n")
    assert any("changed while you were asked" in one for one in told) is (reads is None)


@posix_only("symlinks")
def test_a_link_to_a_secret_created_by_a_command_is_named_and_not_read(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "a.txt").write_bytes(b"a\n")
    lookout = Lookout(root, Bodies(), lambda: (str(root / "a.txt"), str(root / "b.txt")))
    look = lookout.before()
    (root / "a.txt").unlink()
    (root / "a.txt").symlink_to("/etc/passwd")
    (root / "b.txt").write_bytes(b"secret\n")
    seen = lookout.after(look)
    assert (seen.changes, seen.lost) == ((), ("a.txt",))
