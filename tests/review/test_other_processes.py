"""A process that sees an older text of a file does not revert another process's changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path

from indwell.lsp.review.hunk_display import Elsewhere
from indwell.lsp.wire import sync
from indwell.lsp.workspace.documents import Document, Documents
from indwell.review.hunk import Actor
from indwell.review.ledger import ReviewLedger
from indwell.review.verdicts import Scope, reject
from indwell.service.chores import Chores
from indwell.workspace.disk import DiskWorkspace
from support.ledgers import change, ledger_in

BEFORE = "one\ntwo\nthree\n"
AFTER = "one\n2\nthree\n"
TYPED = "# mine\n" + AFTER


async def held(folder: Path) -> tuple[ReviewLedger, Path]:
    """Return an editor's ledger with a change only in the buffer; the disk has ``BEFORE``."""
    folder = folder.resolve()
    (folder / "work").mkdir()
    path = folder / "work" / "a.txt"
    path.write_bytes(BEFORE.encode())
    ledger = await ledger_in(folder, folder / "work")
    await change(ledger, path, BEFORE, AFTER)
    ledger.sync(path, AFTER)
    return ledger, path


def news(ledger: ReviewLedger, path: Path) -> list[tuple[str, ...]]:
    return [one.new for one in ledger.hunks(path)]


def kinds(ledger: ReviewLedger) -> list[str]:
    lines = (ledger.folder / "changes.jsonl").read_text(encoding="utf-8").split("\n")
    return [line.partition('"type":"')[2].partition('"')[0] for line in lines if line]


async def test_a_process_that_sees_only_the_disk_does_not_revert_unsaved_hunks_for_others(
    tmp_path,
) -> None:
    ledger, path = await held(tmp_path)
    other = await ledger_in(tmp_path.resolve(), path.parent)
    other.sync(path, BEFORE)
    other.sync(path, BEFORE + "\n")
    other.sync(path, BEFORE)  # synced twice, with a change in between
    await other.close()
    assert other.hunks(path) == ()
    assert kinds(ledger) == ["started", "began", "finished"]
    await ledger.refresh()
    ledger.sync(path, TYPED)
    assert news(ledger, path) == [("2\n",)]


async def test_a_server_that_sees_the_disk_before_the_buffer_keeps_the_hunk(tmp_path) -> None:
    _, path = await held(tmp_path)
    anew = await ledger_in(tmp_path.resolve(), path.parent)
    anew.sync(path, BEFORE)
    anew.sync(path, TYPED)  # the editor opens its buffer late
    await anew.close()
    assert news(anew, path) == [("2\n",)]


async def test_an_undo_in_the_editor_is_recorded_before_further_typing(tmp_path) -> None:
    ledger, path = await held(tmp_path)
    ledger.sync(path, BEFORE)
    await ledger.close()
    assert kinds(ledger)[-1] == "noticed"
    ledger.sync(path, "# mine\n" + BEFORE)
    assert news(ledger, path) == []
    ledger.sync(path, BEFORE)
    ledger.sync(path, AFTER)
    assert news(ledger, path) == [("2\n",)]


async def test_an_edit_of_the_file_on_disk_leaves_unsaved_lines_pending(tmp_path) -> None:
    ledger, path = await held(tmp_path)
    other = await ledger_in(tmp_path.resolve(), path.parent)
    await change(other, path, BEFORE, BEFORE + "four\n", Actor("s2", 1))
    await ledger.refresh()
    ledger.sync(path, TYPED)
    assert news(ledger, path) == [("2\n",)]


async def test_a_verdict_on_saved_text_leaves_unsaved_lines_pending(tmp_path) -> None:
    ledger, path = await held(tmp_path)
    saved, both = BEFORE + "four\n", AFTER + "four\n"
    path.write_bytes(saved.encode())
    await change(ledger, path, AFTER, both, Actor("s1", 2))
    other = await ledger_in(tmp_path.resolve(), path.parent)
    workspace = DiskWorkspace([path.parent], private=tmp_path / "undo")
    other.sync(path, saved)
    assert news(other, path) == [("four\n",)]
    assert (await reject(other, workspace, Scope())).failed == ()
    assert path.read_text(encoding="utf-8") == BEFORE
    await ledger.refresh()
    # The editor reloads the file, or the user reverts by hand.
    ledger.sync(path, "# mine\n" + AFTER)
    assert news(ledger, path) == [("2\n",)]


async def test_a_verdict_first_reads_the_changes_of_other_processes(tmp_path) -> None:
    ledger, path = await held(tmp_path)
    other = path.parent / "b.txt"
    other.write_bytes(b"new\n")
    second = await ledger_in(tmp_path.resolve(), path.parent)
    await change(ledger, other, "old\n", "new\n")
    workspace = DiskWorkspace([path.parent], private=tmp_path / "undo")
    done = await reject(second, workspace, Scope(path=other))
    assert len(done.hunks) == 1
    assert other.read_text(encoding="utf-8") == "old\n"


class Window:
    """An editor with ``text`` open, which is informed of verdicts of other processes."""

    def __init__(self, path: Path, text: str) -> None:
        self.told: list[str] = []
        self.documents = Documents()
        self.document = self.documents.open(sync.OpenedDocument(path.as_uri(), "text", 1, text))
        self._path = path
        self._elsewhere = Elsewhere(
            self.documents, Chores(), self._differs, self.told.append, reload_s=0
        )

    async def hear(self, ledger: ReviewLedger, *beside: Awaitable[None]) -> None:
        """Read verdicts of other processes, and wait for all resulting messages."""
        await asyncio.gather(self._elsewhere.hear(ledger), *beside)
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})

    async def _differs(self, document: Document) -> bool:
        return self._path.read_text(encoding="utf-8") != document.text


async def test_a_buffer_with_text_that_was_reverted_elsewhere_is_reported(tmp_path) -> None:
    ledger, path = await held(tmp_path)
    path.write_bytes(AFTER.encode())
    window = Window(path, AFTER)
    other = await ledger_in(tmp_path.resolve(), path.parent)
    workspace = DiskWorkspace([path.parent], private=tmp_path / "undo")
    await reject(other, workspace, Scope())
    await window.hear(ledger)
    assert [words.partition(" by ")[0] for words in window.told] == ["a.txt was changed on disk"]
    assert window.document.text == AFTER
    assert ledger.hunks(path) == ()


async def test_a_verdict_unsaved_in_another_editor_is_not_reported_as_on_disk(
    tmp_path,
) -> None:
    ledger, path = await held(tmp_path)
    path.write_bytes(AFTER.encode())
    window = Window(path, AFTER)
    other = await ledger_in(tmp_path.resolve(), path.parent)
    hunks = [one.id for one in other.hunks(path)]
    await other.rejected(other.rejection(path, hunks), BEFORE)
    await window.hear(ledger)
    assert ledger.hunks(path) == ()
    assert window.told == []


async def test_a_file_that_was_accepted_elsewhere_is_not_reported(tmp_path) -> None:
    ledger, path = await held(tmp_path)
    window = Window(path, AFTER)
    other = await ledger_in(tmp_path.resolve(), path.parent)
    other.sync(path, AFTER)
    await other.accept([one.id for one in other.hunks(path)])
    await window.hear(ledger)
    assert ledger.hunks(path) == ()
    assert window.told == []


async def test_a_file_that_the_editor_opens_while_the_log_is_read_is_not_reported(tmp_path) -> None:
    """The case occurs after a restart, if ``git checkout`` reverted the change meanwhile."""
    _, path = await held(tmp_path)
    window = Window(path, BEFORE)
    reopened = await ledger_in(tmp_path.resolve(), path.parent)

    async def looked_at() -> None:
        reopened.sync(path, BEFORE)

    await window.hear(reopened, looked_at())
    assert reopened.hunks(path) == ()
    assert window.told == []


async def test_a_hunk_overwritten_by_an_agent_in_another_process_gets_no_verdict(
    tmp_path,
) -> None:
    ledger, path = await held(tmp_path)
    path.write_bytes(b"one\n")
    window = Window(path, AFTER)
    other = await ledger_in(tmp_path.resolve(), path.parent)
    await change(other, path, AFTER, "one\nthree\n", Actor("s2", 1))
    await change(other, path, "one\nthree\n", BEFORE, Actor("s2", 1))
    await window.hear(ledger)
    assert window.told == []


async def test_a_path_outside_the_workspace_in_a_log_is_not_shown(tmp_path) -> None:
    ledger, path = await held(tmp_path)
    root = path.parent
    for odd in (root / ".." / "x.txt", root / ".git" / "hooks" / "pre-commit", tmp_path / "y"):
        await change(ledger, odd, "a\n", "b\n")
    assert ledger.paths() == (path,)
