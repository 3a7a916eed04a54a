"""Messages to the editor about review: lists, lenses, annotations, hints."""

from __future__ import annotations

import json

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from indwell.lsp.messages import documents as protocol_review
from indwell.lsp.messages import methods as protocol
from support.editing import USAGE, Home, editing
from support.fake_editor.clients import ALE, NEOVIM_11, VSCODE
from support.loopback_endpoint import LoopbackEndpoint, say
from support.reviewing import (
    AFTER,
    BEFORE,
    act,
    at_line,
    changed,
    edit,
    look,
    marked,
    titles,
    turn,
    until_marked,
)

ALL = ((4, 5), (16, 17), (28, 29))


@pytest.fixture
def home(tmp_path) -> Home:
    home = Home(tmp_path)
    home.write("work.txt", BEFORE)
    return home


async def changes(editor, **wanted) -> protocol_review.ChangesResult:
    params = protocol_review.ChangesParams(**wanted)
    return await editor.client.protocol.send_request_async("indwell/changes", params)


async def test_a_client_that_draws_changes_itself_gets_line_ranges_and_an_event(home) -> None:
    async with (
        LoopbackEndpoint([*turn(), *turn("work.txt", (20,))]) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        buffer = editor.open(home.workspace / "work.txt")
        ended = await editor.ask("go on")
        await editor.wait_for_event("hunksChanged")
        listed = await changes(editor)
        assert (listed.files, listed.added, listed.removed, listed.pending) == (1, 6, 3, 3)
        first = listed.changes[0]
        assert first == protocol_review.ChangeRow(
            id=first.id,
            uri=buffer.uri,
            path="work.txt",
            range=types.Range(
                start=types.Position(line=3, character=0), end=types.Position(line=4, character=9)
            ),
            old="line 4\n",
            new="new 4\nnew 4 too\n",
            turn=1,
            session=ended.session,
            touched=False,
            kind="change",
            note="",
        )
        await editor.ask("more")
        assert [row.turn for row in (await changes(editor)).changes] == [1, 1, 2, 1]
        assert [row.turn for row in (await changes(editor, turn=2)).changes] == [2]
        assert (await changes(editor, session="nobody")).changes == ()
        assert len((await changes(editor, uri=buffer.uri)).changes) == 4
        assert (await changes(editor, uri="file:///else.txt")).changes == ()
        done = await editor.execute("indwell.reject", {"hunks": [first.id]})
        assert (done["hunks"], done["kept"]) == ([first.id], [])
        assert editor.messages == []
        assert (await changes(editor)).pending == 3


async def test_code_that_the_user_applies_is_a_pending_change_of_its_turn(home) -> None:
    async def apply(editor, buffer, text: str, **more) -> protocol_review.ApplyResult:
        facts = {"uri": buffer.uri, "version": buffer.version, "text": text, "turn": 1, **more}
        params = protocol_review.ApplyParams(**facts)
        return await editor.client.protocol.send_request_async("indwell/apply", params)

    async with (
        LoopbackEndpoint([say("Like this.")]) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        buffer = editor.open(home.workspace / "work.txt")
        session = (await editor.ask("how?")).session
        code = BEFORE.replace("line 4\n", "line four\n")
        with pytest.raises(JsonRpcException, match="has changed since"):
            await apply(editor, buffer, code, session=session, version=buffer.version + 1)
        with pytest.raises(JsonRpcException, match="not open here"):
            await apply(editor, buffer, code, session="nobody")
        assert (await apply(editor, buffer, code, session=session)).pending == 1
        assert buffer.text == code
        (row,) = (await changes(editor)).changes
        assert (row.old, row.new, row.turn, row.session) == ("line 4\n", "line four\n", 1, session)
        await editor.execute("indwell.reject", {"hunks": [row.id]})
        assert buffer.text == BEFORE


async def test_review_code_lenses_are_refreshed_and_their_commands_work(home) -> None:
    async with (
        LoopbackEndpoint(turn()) as endpoint,
        editing(home, endpoint.base_url, profile=VSCODE) as editor,
    ):
        buffer = editor.open(home.workspace / "work.txt")
        assert await editor.code_lenses(buffer) == []
        await editor.ask("go on")
        await editor.wait_until(lambda: editor.marks.n_refreshes > 0)
        lenses = await editor.code_lenses(buffer)
        shown = [(one.range.start.line + 1, one.command.title) for one in lenses]
        assert shown == [
            (1, "3 changes by Indwell"),
            (1, "Accept all in this file"),
            (1, "Reject all in this file"),
            *((line, words) for line, _ in ALL for words in ("Accept", "Reject", "Turn 1, +2 −1")),
        ]
        n_refreshes = editor.marks.n_refreshes
        reject = lenses[7].command
        await editor.execute(reject.command, *reject.arguments)
        assert buffer.text == changed(4, 26)
        await editor.wait_until(lambda: editor.marks.n_refreshes > n_refreshes)
        assert len(await editor.code_lenses(buffer)) == 9

        # An annotation names the author of a change and the reason, and requires no confirmation.
        (edit, *_), rejection = editor.edits, editor.edits[-1]
        for one, label in ((edit, "Indwell: edit work.txt"), (rejection, "Indwell: reject in")):
            (annotation,) = one.change_annotations.values()
            assert annotation.label.startswith(label)
            assert annotation.needs_confirmation is False
        assert "turn 1" in next(iter(edit.change_annotations.values())).label


async def test_in_mode_auto_the_editor_asks_about_a_file_that_the_prompt_does_not_name(
    home,
) -> None:
    home.configure('mode = "auto"\n')
    home.write("other.txt", "other\n")

    async def leaves_out_the_first(edit: types.WorkspaceEdit) -> None:
        ((identifier, annotation),) = edit.change_annotations.items()
        asked.append((identifier, annotation.label, annotation.needs_confirmation))
        edit.document_changes[0].edits = edit.document_changes[0].edits[1:]

    asked: list[tuple[str, str, bool]] = []
    script = [
        *turn(),
        say(calls=[edit("work.txt", 4)], usage=USAGE),
        say("Once more.", usage=USAGE),
    ]
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url, profile=VSCODE) as editor,
    ):
        buffer = editor.open(home.workspace / "work.txt")
        editor.open(home.workspace / "other.txt")  # the file that the user looks at
        at_once, editor.moments.before = editor.moments.before, leaves_out_the_first
        params = protocol.PromptParams("Do it.", mentions=("other.txt",))
        await editor.client.protocol.send_request_async("indwell/prompt", params)
        label = "Change a file that your prompt does not name"
        assert asked == [("indwell.unnamed", label, True)]
        assert buffer.text == changed(15, 26)
        told = endpoint.seen[2].raw.decode()
        assert "left out 1 of 3 places" in told
        assert (await changes(editor)).pending == 0, "an edit in mode auto is accepted"
        # The prompt names the file, so the editor does not ask.
        editor.moments.before = at_once
        await editor.ask("Now line 4 of work.txt.")
        (annotation,) = editor.edits[-1].change_annotations.values()
        assert annotation.needs_confirmation is False
        assert buffer.text == AFTER


async def test_review_hints_offer_actions_and_are_never_sent_as_problems(home) -> None:
    script = [*turn(), say(calls=[look("work.txt")], usage=USAGE), say("Nothing.", usage=USAGE)]
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        buffer = editor.open(home.workspace / "work.txt")
        await editor.ask("go on")
        await until_marked(editor, buffer, *ALL)
        hints = editor.marks.problems[buffer.uri]
        params = protocol.DidChangeDiagnosticsParams(buffer.uri, tuple(hints))
        editor.client.protocol.notify("indwell/didChangeDiagnostics", params)
        asked = {"diagnostics": hints[:1], "trigger": types.CodeActionTriggerKind.Automatic}
        found = await editor.code_actions(buffer, at_line(4), **asked)
        assert [one.title for one in found] == ["Accept this change", "Reject this change"]
        assert [list(one.diagnostics) for one in found] == [list(hints[:1])] * 2
        fix = next(
            one
            for one in await editor.code_actions(buffer, at_line(4), diagnostics=hints)
            if one.title == "Fix this"
        )
        assert fix.diagnostics is None
        (argument,) = fix.command.arguments
        # The same applies to a client that inserts hints itself.
        told = [
            json.loads(
                json.dumps({"range": argument["range"], "message": "HINT", "source": "indwell"})
            )
        ]
        await editor.execute(fix.command.command, {**argument, "diagnostics": told, "wait": True})
        sent = b"".join(seen.raw for seen in endpoint.seen)
    assert b"Change by Indwell" not in sent
    assert b"HINT" not in sent


async def test_the_users_lines_stay_if_a_question_is_never_answered(home) -> None:
    options = {"answer_timeout_s": 0.2}
    async with (
        LoopbackEndpoint(turn()) as endpoint,
        editing(home, endpoint.base_url, profile=ALE, options=options) as editor,
    ):
        buffer = editor.open(home.workspace / "work.txt")
        await editor.ask("go on")
        await until_marked(editor, buffer, *ALL)
        at = buffer.text.index("new 4 too")
        editor.type_text(buffer, at, at + 3, "MY")
        done = await act(editor, buffer, 4, "Reject all changes in this file")
    assert (len(done["hunks"]), len(done["kept"])) == (2, 1)
    assert buffer.text == changed(4).replace("new 4 too", "MY 4 too")


@pytest.mark.parametrize("kind", [VSCODE, NEOVIM_11, ALE], ids=lambda kind: kind.name)
async def test_hunks_at_the_end_and_of_whole_files_can_be_reached(home, kind) -> None:
    home.write("work.txt", "one\ntwo\n")
    gone = say(
        calls=[
            ("edit_file", json.dumps({"path": "work.txt", "edits": [{"old": "two\n", "new": ""}]}))
        ]
    )
    empty = say(
        calls=[
            ("edit_file", json.dumps({"path": "work.txt", "edits": [{"old": "one\n", "new": ""}]}))
        ]
    )
    script = [say(calls=[look("work.txt")]), gone, say("Done."), empty, say("Done.")]
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url, profile=kind) as editor,
    ):
        buffer = editor.open(home.workspace / "work.txt")
        await editor.ask("the end")
        await until_marked(editor, buffer, (1, 1))
        assert buffer.text == "one\n"
        for line in (1, 2):
            assert (await titles(editor, buffer, line))[:2] == [
                "Accept this change",
                "Reject this change",
            ]
        await editor.ask("the rest")
        await editor.wait_until(lambda: buffer.text == "")
        await until_marked(editor, buffer, (1, 1))
        await act(editor, buffer, 1, "Reject this change")
        assert buffer.text == "one\ntwo\n"
        await until_marked(editor, buffer)


async def test_review_hints_can_be_turned_off_and_disappear_with_the_server(home) -> None:
    options = {"review_hints": False}
    async with (
        LoopbackEndpoint([*turn(), *turn()]) as endpoint,
        editing(home, endpoint.base_url, options=options, extensions=("events",)) as editor,
    ):
        buffer = editor.open(home.workspace / "work.txt")
        await editor.ask("go on")
        await editor.wait_for_event("hunksChanged")
        assert len(await titles(editor, buffer, 4)) == 5
        assert editor.marks.n_published == 0
    async with editing(home) as editor:
        buffer = editor.open(
            home.workspace / "work.txt",
        )
        editor.desk.rewrite(buffer, AFTER)
        await until_marked(editor, buffer, *ALL)
        await editor.client.shutdown_async(None)
        await editor.wait_until(lambda: not editor.marks.problems)
        assert marked(editor, buffer) == []
        editor.client.exit(None)
        await editor.process.wait()
