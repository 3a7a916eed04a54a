"""A session in a worktree, from an editor: unsaved text goes along, and a merge is reviewed."""

from __future__ import annotations

from pathlib import Path

from indwell.lsp.messages import documents
from support.editing import EDIT, MENDED, READ, SOURCE, Home, editing
from support.loopback_endpoint import LoopbackEndpoint, say


async def test_an_unsaved_buffer_is_copied_and_the_merge_awaits_review_in_it(tmp_path) -> None:
    home = Home(tmp_path)
    script = 2 * [say(calls=[READ]), say(calls=[EDIT]), say("Done.")]
    async with LoopbackEndpoint(script) as endpoint, editing(home, endpoint.base_url) as editor:
        buffer = editor.open(home.shop)
        editor.type_text(buffer, 0, 0, "# typed\n")
        done = await editor.ask("Fix it", session="worktree")
        assert "# typed" in str(endpoint.seen[1].body)
        assert (buffer.text, home.shop.read_text()) == (f"# typed\n{SOURCE}", SOURCE)
        answer = await editor.ask("/worktree merge", session=done.session)
        assert "1 file awaits your review" in answer.message
        assert buffer.text == f"# typed\n{MENDED}"
        params = documents.ChangesParams(session=done.session)
        found = await editor.client.protocol.send_request_async("indwell/changes", params)
        assert [Path(one.uri).name for one in found.changes] == ["shop.py"]
        back = {"session": done.session, "turn": 0, "files": True}
        await editor.execute("indwell.rewind", back)
        assert buffer.text == f"# typed\n{SOURCE}", "the changes are in the folder now"
        done = await editor.ask("Fix it", session="worktree")
        (apart,) = home.folder.glob("state-worktrees/*/work/shop.py")
        assert apart.read_text() == f"# typed\n{MENDED}"
        await editor.execute("indwell.rewind", {**back, "session": done.session})
        assert apart.read_text() == f"# typed\n{SOURCE}", "the changes are still in the worktree"
