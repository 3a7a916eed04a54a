"""Edits over the wire: the real server, and the fake editor as each of the seven clients."""

from __future__ import annotations

import asyncio
import json

import pytest
from lsprotocol import types

from support.editing import EDIT, MENDED, READ, SOURCE, USAGE, Home, editing, mend, results
from support.fake_editor.buffer import lines_range
from support.fake_editor.clients import ALE, CLIENTS, VSCODE
from support.fake_editor.profiles import PLAIN
from support.loopback_endpoint import LoopbackEndpoint, say

WIDE = "# 😀é漢\n"
AT_ONCE_S = 30.0
NEW = ("write_file", json.dumps({"path": "new.py", "content": "NEW = 1\n"}))


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize("kind", CLIENTS, ids=[kind.name for kind in CLIENTS])
async def test_edt_01_a_turn_edits_and_creates_files_in_each_of_the_seven_clients(
    home, kind
) -> None:
    """ALE never answers an edit, Kate declares no edits, and eglot asks the user first."""
    home.shop.write_bytes((WIDE + SOURCE).encode())
    script = [*mend()[:-1], say(calls=[NEW], usage=USAGE), mend()[-1]]
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url, profile=kind) as editor,
    ):
        buffer = editor.open(home.shop)
        editor.type_text(buffer, 2, 2, "é")
        finished = await editor.ask("mend it")
        told = results(endpoint.seen[-1])
    assert (finished.ending, finished.answer) == ("done", "It added one too many.")
    assert buffer.text == f"# é{WIDE[2:]}{MENDED}"
    assert len(buffer.undo) == 2  # the typed text, and the edit
    assert told[-2].startswith("edited shop.py: +1 −1\n")
    assert told[-1] == "created new.py (1 line): +1 −0"
    assert home.files == {"shop.py": (WIDE + SOURCE).encode(), "new.py": b"NEW = 1\n"}


async def test_edt_01_without_any_answer_the_turn_continues(home) -> None:
    script = [say(calls=[READ]), say(calls=[EDIT]), say("Well."), say("Again.")]
    options = {"apply_edit_timeout_s": 0.3}
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(
            home, endpoint.base_url, options=options, profile=ALE.behaving(takes=False)
        ) as editor,
    ):
        buffer = editor.open(home.shop)
        finished = await editor.ask("mend it")
        told = results(endpoint.seen[-1])
        again = await editor.ask("and now?")
    assert (finished.ending, finished.answer) == ("done", "Well.")
    assert "did not answer the edit within 0.3 s" in told[-1]
    assert again.ending == "done"
    assert buffer.text == SOURCE


@pytest.mark.parametrize("kind", [PLAIN, VSCODE], ids=["heeds cancel", "does not"])
async def test_edt_19_a_withdrawn_edit_is_not_applied_after_a_stop(home, kind) -> None:
    came, release = asyncio.Event(), asyncio.Event()

    async def wait(_edit: types.WorkspaceEdit) -> None:
        came.set()
        await release.wait()

    script = [say(calls=[READ]), say(calls=[EDIT]), *mend()]
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url, profile=kind) as editor,
    ):
        buffer = editor.open(home.shop)
        editor.moments.before = wait
        asked = asyncio.create_task(editor.ask("mend it"))
        await came.wait()
        async with asyncio.timeout(AT_ONCE_S):
            assert await editor.execute("indwell.cancel") is True
            finished = await asked
        assert (finished.ending, buffer.text) == ("cancelled", SOURCE)
        release.set()
        await editor.heard()
        if kind is PLAIN:
            assert (buffer.text, buffer.version) == (SOURCE, 1)
        editor.behave(takes=True)
        await editor.ask("go on")  # an edit that was applied late is not repeated
        read = next(one for one in results(endpoint.seen[-1]) if "def total" in one)
    assert buffer.text == MENDED
    assert len(buffer.undo) == 1
    assert read
    assert home.shop.read_text(encoding="utf-8") == SOURCE


async def test_edt_19_closing_the_window_during_an_edit_keeps_the_disk_unchanged(home) -> None:
    came = asyncio.Event()

    async def wait(_edit: types.WorkspaceEdit) -> None:
        came.set()
        await asyncio.Event().wait()

    async with (
        LoopbackEndpoint([say(calls=[READ]), say(calls=[EDIT])]) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        editor.open(home.shop)
        editor.moments.before = wait
        asked = asyncio.create_task(editor.ask("mend it"))
        await came.wait()
        assert editor.process.stdin is not None
        editor.process.stdin.close()
        async with asyncio.timeout(60):
            await editor.process.wait()
        asked.cancel()
        await asyncio.wait({asked})
    assert home.files == {"shop.py": SOURCE.encode()}


async def test_edt_21_a_code_action_for_an_older_text_is_checked_again(home) -> None:
    diagnostic = types.Diagnostic(
        range=types.Range(
            start=types.Position(line=1, character=4), end=types.Position(line=1, character=26)
        ),
        message="adds one",
        severity=types.DiagnosticSeverity.Warning,
    )
    async with (
        LoopbackEndpoint(mend()) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        buffer = editor.open(home.shop)
        actions = await editor.code_actions(buffer, lines_range(2, 2), diagnostics=[diagnostic])
        command = next(one for one in actions if one.title == "Fix this").command
        assert command is not None
        (argument,) = command.arguments or ()
        editor.type_text(buffer, 0, 0, "import math\n\n\n")
        await editor.execute(command.command, {**argument, "wait": True})
        asked = endpoint.seen[0].body["messages"][-1]["content"]
    assert "the document was changed since, so the lines may have moved" in asked
    assert "return sum(items) + 1" not in asked.partition("<ide_selection>")[2].partition("</")[0]
    assert buffer.text == "import math\n\n\n" + MENDED


async def test_edt_21_a_range_beyond_a_shortened_text_means_its_end(home) -> None:
    async with (
        LoopbackEndpoint([say("Nothing there.")]) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        buffer = editor.open(home.shop)
        actions = await editor.code_actions(buffer, lines_range(2, 2))
        command = next(one for one in actions if one.title == "Fix this").command
        assert command is not None
        (argument,) = command.arguments or ()
        editor.type_text(buffer, 0, len(buffer.text), "x\n")
        finished = await editor.execute(command.command, {**argument, "wait": True})
        asked = endpoint.seen[0].body["messages"][-1]["content"]
    assert finished["ending"] == "done"
    assert SOURCE not in asked
