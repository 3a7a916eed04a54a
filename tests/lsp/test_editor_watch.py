"""Changed files: buffers, files that the editor watches, and files that the server watches."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from indwell.lsp.wire.sync import OpenedDocument, TextChange
from indwell.lsp.workspace.documents import Documents
from indwell.workspace.base import BufferWatch
from support.memory_workspace import MemoryWatch

A, B = (Path(one).absolute() for one in ("/w/a.py", "/w/b.py"))


class Desk:
    """A watch for an editor that can or cannot watch folders."""

    def __init__(self, *, watches: bool) -> None:
        self.documents, self.disk = Documents(), MemoryWatch()
        self.asked: list[Path] = []
        self._watches = watches
        self.watch = BufferWatch(self.disk, self._ask)
        self.documents.on_change(self.watch.note)

    async def _ask(self, folder: Path) -> bool:
        self.asked.append(folder)
        return self._watches

    async def follow(self, *paths: Path) -> None:
        for path in paths:
            self.watch.follow(path)
        for _ in range(3):  # the request was begun, sent and answered
            await asyncio.sleep(0)


async def test_a_watching_editor_is_asked_once_per_folder() -> None:
    desk = Desk(watches=True)
    await desk.follow(A, B)
    assert (desk.asked, desk.disk.followed) == ([A.parent], set())
    desk.documents.changed_on_disk([A.as_uri(), "file:///w/other.py", "untitled:1"])
    assert desk.watch.changed() == {A}
    assert desk.watch.changed() == frozenset()


async def test_for_other_editors_the_server_watches_the_disk() -> None:
    desk = Desk(watches=False)
    await desk.follow(A)
    await desk.follow(B)
    assert desk.disk.followed == {A, B}
    desk.disk.note(B)
    assert desk.watch.changed() == {B}


@pytest.mark.parametrize("watches", [True, False])
async def test_each_change_of_a_buffer_is_noticed_at_once(watches: bool) -> None:  # noqa: FBT001 - a parameter
    desk = Desk(watches=watches)
    await desk.follow(A)
    uri = A.as_uri()
    desk.documents.open(OpenedDocument(uri=uri, language_id="python", version=1, text="1"))
    assert desk.watch.changed() == {A}
    desk.documents.change(uri, 2, [TextChange(text="2")])
    assert desk.watch.changed() == {A}
    desk.documents.saved(uri)
    assert desk.watch.changed() == {A}
    desk.documents.close(uri)
    assert desk.watch.changed() == {A}


async def test_a_closed_editor_watch_reports_no_changes() -> None:
    desk = Desk(watches=True)
    await desk.follow(A)
    desk.watch.close()
    desk.documents.changed_on_disk([A.as_uri()])
    assert desk.watch.changed() == frozenset()
