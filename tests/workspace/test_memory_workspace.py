from __future__ import annotations

from indwell.workspace.base import AppliedChange, Settlement, Snapshot, TextStamp, digest
from support.memory_workspace import ROOT, MemoryWorkspace


async def test_an_open_buffer_takes_precedence_over_the_disk() -> None:
    workspace = MemoryWorkspace({"a": "disk"}, unsaved={"a": "buffer"})
    assert await workspace.read(ROOT / "a") == Snapshot(
        path=ROOT / "a",
        text="buffer",
        stamp=TextStamp(digest("buffer"), 1),
        origin="buffer",
        unsaved=True,
    )


async def test_after_a_change_of_a_buffer_its_file_is_stale() -> None:
    workspace = MemoryWorkspace({"a": "disk"}, unsaved={"a": "buffer"})
    base = await workspace.read(ROOT / "a")
    change = await workspace.write(base.path, base, "edited", label="edit")
    assert change == AppliedChange(ROOT / "a", "buffer", "edited", TextStamp(digest("edited"), 2))
    assert (workspace.files, workspace.unsaved()) == ({ROOT / "a": "disk"}, {ROOT / "a": "edited"})
    assert await workspace.settle() == Settlement(stale=(ROOT / "a",))
