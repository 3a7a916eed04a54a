from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from lsprotocol.types import Position, Range

from indwell.errors import EditMayCome, EditRefused, TextMoved
from indwell.lsp.messages.features import ClientFeatures
from indwell.lsp.wire.base_protocol import RequestError
from indwell.lsp.workspace.annotations import AnswerLimits, applied_edits
from indwell.lsp.workspace.buffer_edits import BufferEdits
from indwell.lsp.workspace.edits import GRACE_S, MOST_EDITS
from indwell.workspace.base import UNMARKED, AppliedChange, ChangeMarks, TextStamp, digest
from indwell.workspace.comparing.diff import line_edits
from support.editor_texts import ENCODINGS, texts
from support.room import in_no_time
from support.stub_editor import StubEditor

PATH = Path("/w/a.py").absolute()
BEFORE, AFTER = "one\ntwo\nthree\n", "one\n2\nthree\n"
BRIEF_S = 0.05
UNKNOWN = (
    "the editor did not answer the edit within 0.05 s and may still apply it; the text of 'a.py' "
    "is untouched so far; read_file it before anything else"
)
UNCHANGED = (
    "the editor accepted the edit, but reported no change; read_file 'a.py' before anything else"
)


def limits(seconds: float) -> AnswerLimits:
    return AnswerLimits(seconds, seconds)


def edits_of(editor: StubEditor) -> BufferEdits:
    return BufferEdits(editor.documents, editor, limits(BRIEF_S), after_check_s=BRIEF_S)


async def change(editor: StubEditor, text: str = AFTER) -> AppliedChange:
    return await edits_of(editor).change(editor.document, PATH, text, "Indwell: edit a.py")


async def refused(editor: StubEditor, text: str = AFTER) -> str:
    with pytest.raises(EditRefused) as caught:
        await change(editor, text)
    return str(caught.value)


def obedient() -> tuple[Any, Any]:
    """Return an editor's behaviour of answering a withdrawn edit, and the recorded requests."""
    withdrawn = asyncio.Event()

    async def behave(_edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult:
        await withdrawn.wait()
        raise RequestError("cancelled", -32800)

    return behave, lambda _edit: withdrawn.set()


def slow(_editor: StubEditor) -> tuple[Any, asyncio.Future[types.ApplyWorkspaceEditResult]]:
    """Return an answer of the editor that the test completes."""
    answer: asyncio.Future[types.ApplyWorkspaceEditResult] = (
        asyncio.get_running_loop().create_future()
    )

    async def behave(_edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult:
        return await answer

    return behave, answer


def changed_to(text: str, version: int) -> AppliedChange:
    return AppliedChange(
        path=PATH, before=BEFORE, after=text, stamp=TextStamp(digest=digest(text), version=version)
    )


@in_no_time
async def test_an_edit_is_minimal_labelled_and_bound_to_its_version() -> None:
    editor = StubEditor(PATH, BEFORE)
    assert await change(editor) == changed_to(AFTER, 2)
    assert (editor.text, editor.document.dirt) == (AFTER, "agent")
    identifier = types.OptionalVersionedTextDocumentIdentifier(uri=PATH.as_uri(), version=1)
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


@in_no_time
async def test_an_edit_to_the_present_text_is_not_sent() -> None:
    editor = StubEditor(PATH, BEFORE)
    assert await change(editor, BEFORE) == changed_to(BEFORE, 1)
    assert (editor.sent, editor.document.dirt) == ([], "clean")


@pytest.mark.parametrize("how", ["applies_silently", "applies_later", "applies_and_fails"])
@in_no_time
async def test_the_buffer_text_decides_whether_an_edit_was_applied_not_the_editors_answer(
    how,
) -> None:
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
            UNKNOWN,
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
@in_no_time
async def test_a_rejected_edit_reports_the_reason(how, sentence) -> None:
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
@in_no_time
async def test_a_user_who_types_first_keeps_every_character(how, what) -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.behave = getattr(editor, how)
    with pytest.raises(TextMoved) as caught:  # the caller may merge and try again
        await change(editor)
    assert str(caught.value) == f"{what}, and 'a.py' was changed meanwhile; read_file it again"
    assert (editor.text, editor.document.dirt) == ("# mine\n" + BEFORE, "user")


@in_no_time
async def test_typing_right_after_an_edit_makes_the_next_edit_need_a_read() -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.behave = editor.is_typed_in_after
    assert await change(editor) == AppliedChange(
        path=PATH,
        before=BEFORE,
        after="# mine\n" + AFTER,
        stamp=TextStamp(digest=digest(AFTER), version=3),
        verified=False,
        note="the text now differs from the proposal: the user or the editor changed it at the "
        "same time; read_file it before the next edit",
    )
    assert (editor.text, editor.document.dirt) == ("# mine\n" + AFTER, "user")


@in_no_time
async def test_an_edit_over_unsaved_user_text_leaves_it_unsaved() -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.type_text(0, 3, "ONE")
    await change(editor, "ONE\n2\nthree\n")
    assert (editor.text, editor.document.dirt) == ("ONE\n2\nthree\n", "user")


async def stopped(editor: StubEditor, edits: BufferEdits) -> float:
    """Stop a turn while its edit waits for the editor; return the seconds until the turn ends."""
    task = asyncio.create_task(edits.change(editor.document, PATH, AFTER, "x"))
    await editor.was_sent.wait()
    started = asyncio.get_running_loop().time()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return asyncio.get_running_loop().time() - started


@in_no_time
async def test_edt_19_a_cancelled_turn_withdraws_its_edit_and_ends_in_time() -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.behave = editor.ignores
    edits = BufferEdits(editor.documents, editor, limits(60))
    assert await stopped(editor, edits) == GRACE_S
    assert editor.withdrawn == [edit for edit, _ in editor.sent]
    assert (editor.text, await edits.late_edits()) == (BEFORE, ())


@in_no_time
async def test_edt_19_the_stop_does_not_wait_for_an_editor_that_confirms_the_cancellation() -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.behave, editor.on_withdraw = obedient()
    edits = BufferEdits(editor.documents, editor, limits(60))
    assert await stopped(editor, edits) == 0
    editor.behave = editor.applies
    await edits.change(editor.document, PATH, AFTER, "x")  # no earlier edit blocks this one
    assert (editor.text, len(editor.sent)) == (AFTER, 2)


@in_no_time
async def test_edt_19_an_edit_applied_after_a_stop_is_reported_once_and_not_repeated() -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.behave = editor.ignores
    edits = BufferEdits(editor.documents, editor, limits(60))
    await stopped(editor, edits)
    assert editor.take(editor.sent[0][0])
    editor.type_text(0, 0, "# mine\n")
    assert await edits.late_edits() == (PATH,)
    assert await edits.late_edits() == ()


@pytest.mark.parametrize("how", ["typed in", "closed", "undone"])
@in_no_time
async def test_an_abandoned_edit_that_cannot_be_applied_any_longer_is_not_reported(how) -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.behave = editor.ignores
    edits = edits_of(editor)
    with pytest.raises(EditRefused):
        await edits.change(editor.document, PATH, AFTER, "x")
    match how:
        case "typed in":
            editor.type_text(0, 0, "# mine\n")
        case "closed":
            editor.documents.close(editor.document.uri)
        case "undone":
            editor.take(editor.sent[0][0])
            editor.type_text(4, 5, "two")
    assert await edits.late_edits() == ()


@in_no_time
async def test_edt_04_an_unanswered_edit_blocks_the_next_edit_until_its_result_is_known() -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.behave = editor.ignores
    edits = edits_of(editor)
    with pytest.raises(EditRefused, match="may still apply it"):
        await edits.change(editor.document, PATH, AFTER, "x")
    assert editor.withdrawn == [editor.sent[0][0]]
    editor.behave = editor.applies
    with pytest.raises(EditRefused, match="has not answered an earlier edit of 'a.py'"):
        await edits.change(editor.document, PATH, AFTER, "x")
    assert len(editor.sent) == 1
    editor.take(editor.sent[0][0])  # the editor applies the edit late
    assert await edits.change(editor.document, PATH, AFTER, "x") == AppliedChange(
        path=PATH, before=AFTER, after=AFTER, stamp=TextStamp(digest(AFTER), 2)
    )
    assert (editor.text, len(editor.sent)) == (AFTER, 1)


@in_no_time
async def test_edt_04_an_edit_that_was_applied_without_an_answer_is_not_sent_again() -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.behave = editor.lies  # or the editor reports the edit after the check
    edits = edits_of(editor)
    with pytest.raises(EditRefused, match="reported no change; read_file"):
        await edits.change(editor.document, PATH, AFTER, "x")
    with pytest.raises(EditRefused, match="reported no change, and may still apply it"):
        await edits.change(editor.document, PATH, AFTER, "x")
    editor.take(editor.sent[0][0])
    assert (editor.text, len(editor.sent)) == (AFTER, 1)
    assert await edits.late_edits() == (PATH,)
    editor.behave = editor.applies
    await edits.change(editor.document, PATH, BEFORE, "x")
    assert (editor.text, await edits.late_edits()) == (BEFORE, ())


@in_no_time
async def test_edt_04_typing_does_not_prove_that_an_unanswered_edit_is_lost() -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.behave, answer = slow(editor)
    edits = edits_of(editor)
    with pytest.raises(EditRefused, match="may still apply it"):
        await edits.change(editor.document, PATH, AFTER, "x")
    editor.type_text(0, 0, "# mine\n")
    for _ in range(2):
        with pytest.raises(EditRefused, match="has not answered an earlier edit of 'a.py'"):
            await edits.change(editor.document, PATH, "# mine\n" + AFTER, "x")
    # an editor that ignores document versions
    editor.type_text(0, len(editor.text), "# mine\n" + AFTER)
    assert await edits.late_edits() == (PATH,)
    answer.set_result(types.ApplyWorkspaceEditResult(applied=True))
    editor.behave = editor.applies
    await edits.change(editor.document, PATH, AFTER, "x")
    assert (editor.text, len(editor.sent), await edits.late_edits()) == (AFTER, 2, ())


@pytest.mark.parametrize("applied", [True, False])
@in_no_time
async def test_edt_04_an_answer_after_typing_allows_the_next_edit(applied) -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.behave, answer = slow(editor)
    edits = edits_of(editor)
    with pytest.raises(EditRefused, match="may still apply it"):
        await edits.change(editor.document, PATH, AFTER, "x")
    editor.type_text(0, 0, "# mine\n")
    assert await edits.late_edits() == ()
    # the editor confirms the edit, but drops it (Neovim)
    answer.set_result(types.ApplyWorkspaceEditResult(applied=applied))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    editor.behave = editor.applies
    await edits.change(editor.document, PATH, "# mine\n" + AFTER, "x")
    assert (editor.text, len(editor.sent)) == ("# mine\n" + AFTER, 2)


@in_no_time
async def test_edt_04_a_late_refusal_allows_the_next_edit() -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.behave, answer = slow(editor)
    edits = edits_of(editor)
    with pytest.raises(EditRefused, match="may still apply it"):
        await edits.change(editor.document, PATH, AFTER, "x")
    answer.set_result(types.ApplyWorkspaceEditResult(applied=False))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    editor.behave = editor.applies
    await edits.change(editor.document, PATH, AFTER, "x")
    assert (editor.text, len(editor.sent), await edits.late_edits()) == (AFTER, 2, ())


@in_no_time
async def test_edt_01_an_edit_applied_without_an_answer_leaves_no_waiting_task() -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.behave = editor.applies_silently
    before = asyncio.all_tasks()
    edits = edits_of(editor)
    for number in range(3):
        await edits.change(editor.document, PATH, f"{number}\n", "x")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (editor.text, asyncio.all_tasks()) == ("2\n", before)


@in_no_time
async def test_edt_08_a_document_closed_during_an_edit_is_read_again_from_disk() -> None:
    editor = StubEditor(PATH, BEFORE)

    async def closes(_edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult:
        editor.documents.close(editor.document.uri)
        return types.ApplyWorkspaceEditResult(applied=False)

    editor.behave = closes
    with pytest.raises(TextMoved, match="was closed in the editor while it was edited"):
        await change(editor)


@in_no_time
async def test_edt_08_a_document_closed_before_the_editor_answers_may_have_been_edited() -> None:
    editor = StubEditor(PATH, BEFORE)

    async def closes(edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult:
        editor.documents.close(editor.document.uri)
        return await editor.ignores(edit)

    editor.behave = closes
    with pytest.raises(EditRefused, match="nobody can say whether the edit was taken") as caught:
        await change(editor)
    assert not isinstance(caught.value, TextMoved)


@pytest.mark.parametrize("n_lines", [500, 20_000])
async def test_edt_07_typing_while_an_edit_is_computed_takes_precedence_over_the_edit(
    n_lines,
) -> None:
    # long texts are compared in a thread
    text = "".join(f"line {number}\n" for number in range(n_lines))
    editor = StubEditor(PATH, text)
    task = asyncio.create_task(
        edits_of(editor).change(editor.document, PATH, text.replace("line", "row"), "x")
    )
    await asyncio.sleep(0)
    editor.type_text(0, 0, "#")
    with pytest.raises(TextMoved, match="was changed in the editor meanwhile"):
        await task
    assert (editor.sent, editor.text) == ([], "#" + text)


@in_no_time
async def test_an_annotated_edit_names_its_author_and_reason() -> None:
    editor = StubEditor(PATH, BEFORE)
    editor.features = ClientFeatures(annotations=True)
    await change(editor)
    ((edit, _),) = editor.sent
    assert edit.change_annotations == {
        "indwell": types.ChangeAnnotation(label="Indwell: edit a.py", needs_confirmation=False)
    }
    (one,) = edit.document_changes[0].edits
    assert (one.annotation_id, one.new_text, editor.text) == ("indwell", "2", AFTER)


REVIEWED = ChangeMarks(frozenset({"unnamed"}))
ASKING = ChangeMarks(frozenset({"unnamed"}), frozenset({"unnamed", "rewrite"}))
LONG = "".join(f"line {number}\n" for number in range(20))
TWO_PLACES = LONG.replace("line 3\n", "row 3\n").replace("line 12\n", "row 12\n")


def asking_editor(behave: str = "applies") -> StubEditor:
    editor = StubEditor(PATH, LONG)
    editor.features = ClientFeatures(annotations=True)
    editor.behave = getattr(editor, behave)
    return editor


async def marked(
    editor: StubEditor, text: str = TWO_PLACES, marks: ChangeMarks = ASKING
) -> AppliedChange:
    edits = edits_of(editor)
    return await edits.change(editor.document, PATH, text, "Indwell: edit a.py", marks)


@in_no_time
@pytest.mark.parametrize(
    ("marks", "text", "kind", "asks"),
    [
        (REVIEWED, TWO_PLACES, "unnamed", False),
        (ASKING, TWO_PLACES, "unnamed", True),
        (ASKING, LONG.upper(), "rewrite", True),
        (UNMARKED, LONG.upper(), "rewrite", False),
    ],
)
async def test_an_edit_is_annotated_by_its_kind_and_asks_only_about_the_given_kinds(
    marks, text, kind, asks
) -> None:
    editor = asking_editor()
    await marked(editor, text, marks)
    ((edit, _),) = editor.sent
    ((identifier, annotation),) = edit.change_annotations.items()
    assert (identifier, annotation.needs_confirmation) == (f"indwell.{kind}", asks)
    assert annotation.description.startswith("Indwell: edit a.py. ")
    plain = StubEditor(PATH, LONG)
    await marked(plain, text, marks)
    assert plain.sent[0][0].change_annotations is None, "this editor has no annotations"


@in_no_time
async def test_places_that_the_user_leaves_out_are_found_by_the_text_and_not_sent_again() -> None:
    editor = asking_editor()

    async def applies_the_second(edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult:
        del edit.document_changes[0].edits[0]
        return await editor.applies(edit)

    editor.behave = applies_the_second
    change = await marked(editor)
    after = LONG.replace("line 12\n", "row 12\n")
    assert (change.before, change.after, editor.text) == (LONG, after, after)
    assert (change.n_left_out, change.verified) == (1, True)
    assert change.stamp == TextStamp(digest=digest(after), version=2)
    assert "left out 1 of 2 places" in change.note
    assert len(editor.sent) == 1


@in_no_time
@pytest.mark.parametrize("is_typed", [False, True])
async def test_an_edit_that_the_user_does_not_confirm_is_refused_even_after_typing(
    is_typed,
) -> None:
    editor = asking_editor()

    async def declines(edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult:
        if is_typed:
            editor.type_text(0, 0, "# mine\n")
        return await editor.refuses(edit)

    editor.behave = declines
    with pytest.raises(EditRefused, match="who did not confirm the change") as caught:
        await marked(editor)
    assert not isinstance(caught.value, TextMoved), "another attempt would ask again"
    assert editor.text == ("# mine\n" if is_typed else "") + LONG


@in_no_time
async def test_an_asking_edit_waits_longer_and_a_late_answer_is_not_taken_for_a_yes() -> None:
    editor = asking_editor("ignores")
    edits = BufferEdits(editor.documents, editor, AnswerLimits(BRIEF_S, 2 * BRIEF_S))
    with pytest.raises(EditMayCome, match=r"within 0\.1 s"):
        await edits.change(editor.document, PATH, TWO_PLACES, "x", ASKING)
    assert editor.withdrawn


@given(st.data())
def test_applied_edits_are_found_for_any_choice(data) -> None:
    before = data.draw(st.text("ab\n", max_size=40))
    wanted = data.draw(st.text("ab\n", max_size=40))
    edits = line_edits(before, wanted)
    choice = tuple(data.draw(st.booleans()) for _ in edits)
    now, at = "", 0
    for edit, is_applied in zip(edits, choice, strict=True):
        now += before[at : edit.start]
        now += edit.text if is_applied else before[edit.start : edit.stop]
        at = edit.stop
    now += before[at:]
    found = applied_edits(before, edits, now)
    assert found is not None
    assert len(found) == len(edits)
    assert applied_edits(before, edits, f"{now}typed") is None


@in_no_time
async def test_edt_18_thousands_of_changed_lines_become_a_few_hundred_edits() -> None:
    text = "".join(f"line {number}\nsame\n" for number in range(3_000))
    editor = StubEditor(PATH, text)
    await change(editor, text.replace("line", "row"))
    ((edit, _),) = editor.sent
    assert len(edit.document_changes[0].edits) == MOST_EDITS
    assert editor.text == text.replace("line", "row")


@in_no_time
async def test_a_crlf_buffer_keeps_its_line_breaks() -> None:
    editor = StubEditor(PATH, "one\r\ntwo\r\nthree\r\n")
    await change(editor, "one\r\n2\r\nmore\r\nthree\r\n")
    assert editor.text == "one\r\n2\r\nmore\r\nthree\r\n"
    ((edit, _),) = editor.sent
    (one,) = edit.document_changes[0].edits
    assert (one.range.start.line, one.range.end.line, one.new_text) == (1, 1, "2\r\nmore")


@given(texts, texts, st.sampled_from(ENCODINGS))
def test_buffer_edits_turn_any_text_into_any_other_and_touch_only_differences(
    before, after, encoding
) -> None:
    lines = [f"{number} 😀\r\n" for number in range(3)]
    editor = StubEditor(PATH, "".join([*lines, before, "\n", *lines]), encoding=encoding)
    wanted = "".join([*lines, after, "\n", *lines])
    asyncio.run(change(editor, wanted))
    assert editor.text == wanted
    for edit, _label in editor.sent:
        assert all(one.range.start.line >= 3 for one in edit.document_changes[0].edits)


def test_a_text_that_thousands_of_choices_could_explain_is_not_searched_for_minutes() -> None:
    def chosen(n_edits: int) -> tuple[bool, ...] | None:
        edits = [(4 * one, 4 * one + 2, "a\na\n") for one in range(n_edits)]
        return applied_edits("a\n" * 2 * n_edits, edits, "a\n" * (2 * n_edits + 5))

    assert sum(chosen(10) or ()) == 5
    assert chosen(3_000) is None
