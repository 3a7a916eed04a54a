"""While an answer streams in and the user types, no text is lost and no text comes twice."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsprotocol import types

from indwell.agent.core import events
from indwell.lsp.chat.layout import draft_of, headings, in_breaks
from support.fake_editor.applying import Hook
from support.fake_editor.clients import ALE, CLIENTS, NEOVIM_11
from support.fake_editor.profiles import PLAIN
from support.paper_desk import ASKED, START, PaperDesk, finished
from support.room import in_no_time
from support.virtual_time import run

NAMES = [one.name for one in CLIENTS]
RECEIPT = "*1 round · 0 tokens in (0 cached), 0 out · $0.0000 · 1.0 s*"
DONE = f"{START}\n\n## Indwell · turn 1\n\nOne, two, three.\n\n{RECEIPT}\n\n## You\n\n"


def started() -> events.TurnStarted:
    return events.TurnStarted(1, "t", ASKED, "m")


def text(words: str) -> events.TextAdded:
    return events.TextAdded(1, words)


@pytest.mark.parametrize("kind", [PLAIN, *CLIENTS], ids=["plain", *NAMES])
@in_no_time
async def test_an_answer_is_below_its_prompt_in_every_editor(tmp_path, kind) -> None:
    desk = PaperDesk(tmp_path, kind)
    stream = desk.stream()
    going = asyncio.ensure_future(stream.run())
    for event in (started(), text("One, "), text("two, "), text("three."), finished()):
        stream.take(event)
        await asyncio.sleep(1)
    await going
    assert desk.text == DONE
    assert desk.said == []
    await desk.editor.leave()


@pytest.mark.parametrize("kind", [PLAIN, *CLIENTS], ids=["plain", *NAMES])
@in_no_time
async def test_text_typed_below_a_streaming_answer_stays_the_draft(tmp_path, kind) -> None:
    desk = PaperDesk(tmp_path, kind)
    stream = desk.stream()
    going = asyncio.ensure_future(stream.run())
    stream.take(started())
    await asyncio.sleep(1)
    for number in range(20):
        stream.take(text(f"word {number} "))
        desk.type_text(len(desk.text), f"mine{number} ")
        await asyncio.sleep(0.07)
    stream.take(finished())
    await going
    desk.editor.desk.tell()
    draft = draft_of(desk.text)
    assert draft is not None
    typed = " ".join(f"mine{number}" for number in range(20))
    assert desk.text[draft.start : draft.stop] == typed
    answer = " ".join(f"word {number}" for number in range(20))
    assert "".join(desk.text.split()).count("".join(answer.split())) == 1
    await desk.editor.leave()


@in_no_time
async def test_a_part_of_an_answer_that_the_user_undid_is_not_inserted_again(
    tmp_path,
) -> None:
    desk = PaperDesk(tmp_path)
    stream = desk.stream()
    going = asyncio.ensure_future(stream.run())
    stream.take(started())
    for words in ("Alpha beta. ", "Gamma delta. ", "Epsilon zeta. "):
        await asyncio.sleep(1)
        stream.take(text(words))
    await asyncio.sleep(1)
    desk.editor.desk.undo(desk.buffer)
    stream.take(text("Eta theta. "))
    await asyncio.sleep(2)
    assert "Epsilon" not in desk.text
    assert "Eta" not in desk.text
    stream.take(finished())
    await going
    assert "Gamma delta.\n\nEta theta." in desk.text
    assert "Epsilon" not in desk.text
    assert len(desk.said) == 1


@in_no_time
async def test_a_stream_continues_normally_after_an_undo_and_a_redo(tmp_path) -> None:
    desk = PaperDesk(tmp_path)
    stream = desk.stream()
    going = asyncio.ensure_future(stream.run())
    for event in (started(), text("One, "), text("two, ")):
        stream.take(event)
        await asyncio.sleep(1)
    desk.editor.desk.undo(desk.buffer)
    await asyncio.sleep(1)
    desk.editor.desk.redo(desk.buffer)
    stream.take(text("three."))
    await asyncio.sleep(1)
    stream.take(finished())
    await going
    assert desk.text == DONE


@in_no_time
async def test_a_turn_removed_from_the_chat_stays_removed_and_is_reported_once(tmp_path) -> None:
    desk = PaperDesk(tmp_path)
    stream = desk.stream()
    going = asyncio.ensure_future(stream.run())
    for event in (started(), text("One.")):
        stream.take(event)
        await asyncio.sleep(1)
    while "Indwell" in desk.text:
        desk.editor.desk.undo(desk.buffer)
    for event in (text(" Two."), text(" Three.")):
        stream.take(event)
        await asyncio.sleep(1)
    stream.take(finished())
    await going
    assert desk.text == START
    assert len(desk.said) == 1


@in_no_time
async def test_an_editor_that_refuses_edits_gets_the_answer_later_in_one_edit(tmp_path) -> None:
    desk = PaperDesk(tmp_path)
    stream = desk.stream()
    going = asyncio.ensure_future(stream.run())
    stream.take(started())
    await asyncio.sleep(1)
    desk.editor.desk.behaviour = PLAIN.behaving(takes=False).behaviour
    for words in ("One, ", "two, ", "three."):
        stream.take(text(words))
        await asyncio.sleep(0.5)
    refused = len(desk.editor.sent)
    assert refused <= 3
    desk.editor.desk.behaviour = PLAIN.behaviour
    stream.take(finished())
    await going
    assert desk.text == DONE
    assert len(desk.editor.sent) <= refused + 1


@in_no_time
async def test_an_abandoned_edit_that_is_applied_late_is_not_sent_again(tmp_path) -> None:
    desk = PaperDesk(tmp_path, timeout_s=1.0)
    stream = desk.stream()
    going = asyncio.ensure_future(stream.run())
    stream.take(started())
    await asyncio.sleep(1)

    async def slowly(_edit: types.WorkspaceEdit) -> None:
        desk.editor.moments.before = at_once
        await asyncio.sleep(3)

    at_once = desk.editor.moments.before
    desk.editor.desk.behaviour = PLAIN.behaving(heeds_cancel=False).behaviour
    desk.editor.moments.before = slowly
    stream.take(text("One, two, "))
    await asyncio.sleep(8)
    stream.take(text("three."))
    await asyncio.sleep(8)
    stream.take(finished())
    await going
    assert desk.text == DONE


@in_no_time
async def test_a_closed_chat_gets_the_answer_on_disk_and_a_reopened_chat_in_the_buffer(
    tmp_path,
) -> None:
    desk = PaperDesk(tmp_path)
    stream = desk.stream()
    going = asyncio.ensure_future(stream.run())
    for event in (started(), text("One, ")):
        stream.take(event)
        await asyncio.sleep(1)
    desk.editor.desk.save(desk.buffer)
    desk.editor.desk.close(desk.buffer)
    stream.take(text("two, "))
    await asyncio.sleep(1)
    desk.editor.open(desk.path)
    stream.take(text("three."))
    await asyncio.sleep(1)
    assert "One, two, three." in desk.text
    desk.editor.desk.save(desk.buffer)
    desk.editor.desk.close(desk.buffer)
    stream.take(finished())
    await going
    assert desk.put_on_disk == [DONE]


@in_no_time
async def test_a_prompt_that_never_reached_the_model_returns_above_newly_typed_text(
    tmp_path,
) -> None:
    desk = PaperDesk(tmp_path)
    stream = desk.stream()
    going = asyncio.ensure_future(stream.run())
    stream.take(started())
    await asyncio.sleep(1)
    desk.type_text(len(desk.text), "and this")
    stream.take(finished(draft=ASKED, ending="failed", message="the endpoint is not there"))
    await going
    assert "> the endpoint is not there" in desk.text
    draft = draft_of(desk.text)
    assert draft is not None
    assert desk.text[draft.start : draft.stop] == f"{ASKED}\n\nand this"


@in_no_time
async def test_the_receipt_and_the_returned_prompt_come_in_one_edit(tmp_path) -> None:
    desk = PaperDesk(tmp_path)
    stream = desk.stream()
    going = asyncio.ensure_future(stream.run())
    stream.take(started())
    await asyncio.sleep(1)
    edits = len(desk.editor.sent)
    stream.take(text("One"))
    stream.take(finished(draft=ASKED, ending="failed", message="the endpoint is not there"))
    await going
    assert len(desk.editor.sent) == edits + 1
    draft = draft_of(desk.text)
    assert draft is not None
    assert desk.text[draft.start : draft.stop] == ASKED


def starts(call: str, target: str) -> events.ToolStarted:
    return events.ToolStarted(1, call, "bash", target)


def ends(call: str, target: str) -> events.ToolFinished:
    return events.ToolFinished(1, call, "bash", target, is_error=False, figure="exit 0", seconds=2)


@pytest.mark.parametrize("kind", [PLAIN, *CLIENTS], ids=["plain", *NAMES])
@in_no_time
async def test_a_running_command_is_shown_until_it_ends(tmp_path, kind) -> None:
    desk = PaperDesk(tmp_path, kind)
    stream = desk.stream()
    going = asyncio.ensure_future(stream.run())
    shown = []
    for event in (
        started(), text("One."), starts("c1", "npm test"), starts("c2", "ruff *"),
        ends("c1", "npm test"), ends("c2", "ruff *"), text("Two."), finished(),
    ):  # fmt: skip
        stream.take(event)
        await asyncio.sleep(1)
        shown.append([line for line in desk.text.splitlines() if line.endswith(" …")])
    await going
    both, last = "`Run npm test`, `Run ruff *` …", "`Run ruff *` …"
    assert shown == [[], [], ["`Run npm test` …"], [both], [last], [], [], []]
    assert desk.text.count("npm test") == desk.text.count("ruff *") == 1
    assert desk.text.index("One.") < desk.text.index("npm test") < desk.text.index("Two.")
    await desk.editor.leave()


@in_no_time
async def test_a_taken_message_is_shown_until_the_model_receives_it(tmp_path) -> None:
    desk = PaperDesk(tmp_path)
    desk.gave = False
    stream = desk.stream()
    going = asyncio.ensure_future(stream.run())
    stream.take(started())
    await asyncio.sleep(1)
    stream.took("Be quick.")
    await asyncio.sleep(1)
    assert "> taken for the next step: `Be quick.`" in desk.text
    stream.take(events.Steered(1, "Be quick.", delivered=True))
    await asyncio.sleep(1)
    assert "taken for" not in desk.text
    assert "> **You, meanwhile:**" in desk.text
    stream.take(finished())
    await going


@in_no_time
async def test_an_undone_line_about_a_running_command_does_not_stop_the_stream(tmp_path) -> None:
    desk = PaperDesk(tmp_path)
    stream = desk.stream()
    going = asyncio.ensure_future(stream.run())
    for event in (started(), text("One, "), starts("c1", "npm test")):
        stream.take(event)
        await asyncio.sleep(1)
    before = desk.text
    stream.take(ends("c1", "npm test"))
    await asyncio.sleep(1)
    desk.editor.desk.undo(desk.buffer)
    assert desk.text == before
    stream.take(text("two."))
    await asyncio.sleep(1)
    stream.take(finished())
    await going
    assert "`Run npm test` …" not in desk.text
    assert desk.text.count("two.") == 1


@in_no_time
async def test_a_steering_message_leaves_the_draft_when_the_model_received_it(tmp_path) -> None:
    desk = PaperDesk(tmp_path)
    stream = desk.stream()
    going = asyncio.ensure_future(stream.run())
    for event in (started(), text("One.")):
        stream.take(event)
        await asyncio.sleep(1)
    desk.type_text(len(desk.text), "Faster!")
    stream.take(events.Steered(1, "Faster!", delivered=True))
    await asyncio.sleep(1)
    stream.take(text("Two."))
    stream.take(finished())
    await going
    assert desk.text.count("Faster!") == 1
    assert "One.\n\n> **You, meanwhile:**\n> Faster!\n\nTwo." in desk.text


def test_a_streamed_answer_keeps_the_line_ends_of_the_document(tmp_path) -> None:
    async def work() -> str:
        desk = PaperDesk(tmp_path, text=in_breaks(START, "\r\n"))
        stream = desk.stream()
        going = asyncio.ensure_future(stream.run())
        for event in (started(), text("One, "), text("two, three."), finished()):
            stream.take(event)
            await asyncio.sleep(1)
        await going
        return desk.text

    assert run(work()) == in_breaks(DONE, "\r\n")


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["text", "type", "type end", "newline", "tool", "wait", "think", "late", "race"]
        ),
        st.integers(0, 10_000),
    ),
    max_size=25,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(STEPS, st.sampled_from([PLAIN, NEOVIM_11, ALE]))
def test_text_typed_during_streaming_is_in_the_document_exactly_once(steps, kind) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run(_typed_and_streamed(Path(folder), steps, kind))


def _typing(desk: PaperDesk, where: int, words: str, afterwards: Hook) -> Hook:
    """The user types while an edit is being applied."""

    async def before(_edit: types.WorkspaceEdit) -> None:
        desk.editor.moments.before = afterwards
        desk.type_text(where % (len(desk.text) + 1), words)

    return before


async def _typed_and_streamed(folder: Path, steps: list[tuple[str, int]], kind) -> None:
    desk = PaperDesk(folder, kind)
    at_once = desk.editor.moments.before
    stream = desk.stream()
    going = asyncio.ensure_future(stream.run())
    stream.take(started())
    await asyncio.sleep(0.5)
    typed: list[str] = []
    for number, (what, where) in enumerate(steps):
        match what:
            case "text":
                stream.take(text(f"<{number}> lorem ipsum\n\n## You\n\n"))
            case "type" | "type end" | "newline":
                at = len(desk.text) if what == "type end" else where % (len(desk.text) + 1)
                # A single character leaves no position inside the chunk for the user's typing.
                typed.append(chr(0x4E00 + number))
                desk.type_text(at, typed[-1] + ("\n" if what == "newline" else ""))
            case "tool":
                stream.take(events.ToolOutput(1, f"{number}", "## You\n```\n</details>"))
                stream.take(
                    events.ToolFinished(1, f"{number}", "bash", "x", False, "", 0.1)  # noqa: FBT003
                )
            case "think":
                stream.take(events.ThinkingAdded(1, f"hm {number}"))
            case "race":
                # A single character leaves no position inside the chunk for the user's typing.
                typed.append(chr(0x4E00 + number))
                desk.editor.moments.before = _typing(desk, where, typed[-1], at_once)
                stream.take(text(f"<{number}>"))
                await asyncio.sleep(1)
                if desk.editor.moments.before is not at_once:  # nothing was written in the meantime
                    typed.pop()
                    desk.editor.moments.before = at_once
            case "late":
                desk.editor.desk.tell()
            case _:
                await asyncio.sleep(0.15)
    stream.take(finished())
    await going
    desk.editor.desk.tell()
    for one in typed:
        assert desk.text.count(one) == 1, desk.text
    model_headings = [one for one in headings(desk.text) if one.kind == "turn"]
    assert len(model_headings) <= 1
    await desk.editor.leave()
