"""Over stdio, events and a turn's end report pending changes; the model receives verdicts."""

from __future__ import annotations

import asyncio
from pathlib import Path

from support.editing import MENDED, SOURCE, Editor, Home, editing, mend, results, texts_of
from support.loopback_endpoint import LoopbackEndpoint, say

REJECTED = (
    "The user rejected this change of yours, which is taken back. Do not make it again unless the "
    "user asks for it:\n@@ line 2 @@\n-    return sum(items) + 1\n+    return sum(items)"
)


def hunks_changed(editor: Editor) -> list[tuple[int, tuple[str, ...]]]:
    return [
        (one["pending"], tuple(one["files"]))
        for one in editor.events
        if one["type"] == "hunksChanged"
    ]


async def test_a_turns_end_says_how_many_changes_wait_for_a_verdict(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with LoopbackEndpoint(mend()) as endpoint, editing(home, endpoint.base_url) as editor:
        buffer = editor.open(home.shop)
        await editor.fix(buffer, wait=True)
        await editor.wait_until(lambda: bool(editor.messages))
        assert editor.messages[-1].startswith(
            "Indwell: done · shop.py +1 −1 · 1 change to review · "
        )
        assert editor.labels == ["Indwell: edit shop.py (turn 1)"]


async def test_the_next_server_reports_a_rejection_to_the_model(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    script = [*mend(), say("I see."), say("Well.")]
    async with LoopbackEndpoint(script) as endpoint:
        async with editing(home, endpoint.base_url, extensions=("events",)) as editor:
            buffer = editor.open(home.shop)
            finished = await editor.ask("mend it")
            assert buffer.text == MENDED
            await editor.wait_until(lambda: hunks_changed(editor) == [(1, ("shop.py",))])
            await editor.execute("indwell.reject", {"all": True})
            assert buffer.text == SOURCE
            await editor.wait_until(lambda: hunks_changed(editor)[-1] == (0, ()))
        async with editing(home, endpoint.base_url, extensions=("events",)) as editor:
            editor.open(home.shop)
            await editor.ask("and now?", session=finished.session)
            assert texts_of(endpoint.seen[-1].body["messages"]).count(REJECTED) == 1
            await editor.ask("more?")
            assert texts_of(endpoint.seen[-1].body["messages"]).count(REJECTED) == 1
    assert results(endpoint.seen[-1])[-1].startswith("edited shop.py: +1 −1")


async def test_in_auto_mode_no_change_waits_for_review(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.configure('mode = "auto"\n')
    async with (
        LoopbackEndpoint(mend()) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        editor.open(home.shop)
        await editor.ask("mend it")
        assert hunks_changed(editor) == []
        (ended,) = [one for one in editor.events if one["type"] == "turnFinished"]
        assert ended["toReview"] == 0


async def test_an_edit_interrupted_by_a_kill_still_counts_as_the_agents(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    async with LoopbackEndpoint(mend()) as endpoint:
        async with editing(home, endpoint.base_url, extensions=("events",)) as editor:
            editor.open(home.shop)
            editor.hold = asyncio.Event()
            asking = asyncio.ensure_future(editor.ask("mend it"))
            await editor.wait_until(lambda: editor.n_held == 1)
            editor.process.kill()
            await editor.process.wait()
            await asyncio.wait({asking})
            asking.exception()
        home.shop.write_bytes(MENDED.encode())  # the editor has applied the edit and saved
        async with editing(home, endpoint.base_url) as editor:
            buffer = editor.open(home.shop)
            await editor.execute("indwell.reject", {"all": True})
            assert buffer.text == SOURCE
