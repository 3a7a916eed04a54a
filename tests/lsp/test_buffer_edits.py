from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from lsprotocol.types import Position, Range

from indwell.errors import EditRefused
from indwell.lsp.buffer_edits import BufferEdits
from indwell.workspace.base import Change, Stamp, digest
from support.editor_texts import ENCODINGS, texts
from support.stub_editor import StubEditor

PATH = Path("/w/a.py")
BEFORE, AFTER = "one\ntwo\nthree\n", "one\n2\nthree\n"
BRIEF_S = 0.05
UNCHANGED = (
    "the editor took the edit, but has told of no change; read_file 'a.py' before anything else"
)
UNCHANGED = (
    "the editor took the edit, but has told of no change; read_file 'a.py' before anything else"
)


def edits_of(editor: StubEditor) -> BufferEdits:
    return BufferEdits(editor.documents, editor, apply_timeout_s=BRIEF_S, after_check_s=BRIEF_S)


async def change(editor: StubEditor, text: str = AFTER) -> Change:
    return await edits_of(editor).change(editor.document, PATH, text, "Indwell: edit a.py")


async def refused(editor: StubEditor, text: str = AFTER) -> str:
    with pytest.raises(EditRefused) as caught:
        await change(editor, text)
    return str(caught.value)


def changed_to(text: str, version: int) -> Change:
    return Change(
        path=PATH, before=BEFORE, after=text, stamp=Stamp(digest=digest(text), version=version)
    )


async def test_an_edit_is_minimal_labelled_and_bound_to_its_version() -> None:
    editor = StubEditor(PATH, BEFORE)
    assert await change(editor) == changed_to(AFTER, 2)
    assert (editor.text, editor.document.dirt) == (AFTER, "agent")
    identifier = types.OptionalVersionedTextDocumentIdentifier(uri="file:///w/a.py", version=1)
    two = Range(start=Position(line=1, character=0), end=Position(line=1, character=3))
    assert editor.sent == [
        (
            types.WorkspaceEdit(
                document_changes=[
                    types.TextDocumentEdit(
                        text_document=identifier, edits=[types.TextEdit(range=two, new_text="2")]
                    )
                ]
            ),
            "Indwell: edit a.py",
        )
    ]


async def test_what_stands_there_already_is_not_sent() -> None:
    editor = StubEditor(PATH, BEFORE)
    assert await change(editor, BEFORE) == changed_to(BEFORE, 1)
    assert (editor.sent, editor.document.dirt) == ([], "clean")


@pytest.mark.parametrize("how", ["applies_silently", "applies_later", "applies_and_fails"])
async def test_the_text_decides_whatever_the_answer_is(how) -> None:
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    editor = StubEditor(PATH, BEFORE)
    editor.behave = getattr(editor, how)
    assert await change(editor) == changed_to(AFTER, 2)
    assert (editor.text, complaints) == (AFTER, [])


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        (
            "refuses",
            "the editor refused the edit (the user said no); the text of 'a.py' is untouched",
        ),
        (
            "fails",
            "the editor refused the edit (method not found); the text of 'a.py' is untouched",
        ),
        (
            "ignores",
            "the editor did not answer the edit within 0.05 s; the text of 'a.py' is untouched",
        ),
        (
            "lies",
            UNCHANGED,
        ),
        (
            "answers_nothing",
            UNCHANGED,
        ),
    ],
)
async def test_an_edit_that_was_not_taken_says_why(how, sentence) -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.behave = getattr(editor, how)
    assert await refused(editor) == sentence
    assert (editor.text, editor.version, editor.document.dirt) == (BEFORE, 1, "clean")


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ("is_typed_in_before", "the editor refused the edit (the document has changed)"),
        ("drops_it_for_typing", "the editor dropped the edit"),
    ],
)
async def test_a_user_who_types_first_keeps_every_character(how, what) -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.behave = getattr(editor, how)
    assert await refused(editor) == (
        f"{what}, and 'a.py' was changed meanwhile; read_file it again"
    )
    assert (editor.text, editor.document.dirt) == ("# mine\n" + BEFORE, "user")


async def test_a_user_who_types_on_makes_the_next_edit_read_first() -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.behave = editor.is_typed_in_after
    assert await change(editor) == Change(
        path=PATH,
        before=BEFORE,
        after="# mine\n" + AFTER,
        stamp=Stamp(digest=digest(AFTER), version=3),
        verified=False,
        note="the text now differs from the proposal: the user or the editor changed it at the "
        "same time; read_file it before the next edit",
    )
    assert (editor.text, editor.document.dirt) == ("# mine\n" + AFTER, "user")


async def test_an_edit_over_the_user_s_unsaved_text_stays_the_user_s() -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.type_text(0, 3, "ONE")
    await change(editor, "ONE\n2\nthree\n")
    assert (editor.text, editor.document.dirt) == ("ONE\n2\nthree\n", "user")


async def test_a_turn_that_is_cancelled_lets_go_of_an_unanswered_edit() -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.behave = editor.ignores
    edits = BufferEdits(editor.documents, editor, apply_timeout_s=60)
    task = asyncio.create_task(edits.change(editor.document, PATH, AFTER, "x"))
    await editor.was_sent.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    left = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.wait_for(asyncio.gather(*left, return_exceptions=True), 1)


async def test_a_crlf_buffer_keeps_its_line_breaks() -> None:
    editor = StubEditor(PATH, "one\r\ntwo\r\nthree\r\n")
    await change(editor, "one\r\n2\r\nmore\r\nthree\r\n")
    assert editor.text == "one\r\n2\r\nmore\r\nthree\r\n"
    ((edit, _),) = editor.sent
    (one,) = edit.document_changes[0].edits
    assert (one.range.start.line, one.range.end.line, one.new_text) == (1, 1, "2\r\nmore")


@given(texts, texts, st.sampled_from(ENCODINGS))
def test_the_edits_make_any_text_of_any_other_and_touch_only_what_differs(
    before, after, encoding
) -> None:
    lines = [f"{number} 😀\r\n" for number in range(3)]
    editor = StubEditor(PATH, "".join([*lines, before, "\n", *lines]), encoding=encoding)
    wanted = "".join([*lines, after, "\n", *lines])
    asyncio.run(change(editor, wanted))
    assert editor.text == wanted
    for edit, _label in editor.sent:
        assert all(one.range.start.line >= 3 for one in edit.document_changes[0].edits)


async def test_nothing_is_said_of_a_buffer_that_was_closed_while_it_was_edited() -> None:
    editor = StubEditor(PATH, BEFORE)

    async def closes(_edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult:
        editor.documents.close(editor.document.uri)
        return types.ApplyWorkspaceEditResult(applied=True)

    editor.behave = closes
    said = await refused(editor)
    assert "was closed in the editor while it was edited" in said
    assert "untouched" not in said
