"""The editor's view follows ledger and documents, with work in proportion to the changes."""

from __future__ import annotations

from time import process_time

import pytest

from indwell.lsp.review.shown_hunks import lenses_of
from indwell.lsp.wire import sync
from indwell.review.hunk import Actor
from support.ledgers import ME, change, ledger_in
from support.review_desk import Desk

BEFORE = "".join(f"line {number}\n" for number in range(1, 21))


def new(*lines: int, text: str = BEFORE) -> str:
    for line in lines:
        text = text.replace(f"line {line}\n", f"new {line}\n")
    return text


@pytest.fixture
async def desk(tmp_path):
    desk = Desk(tmp_path, await ledger_in(tmp_path, tmp_path))
    yield desk
    desk.reviewing.stop()
    await desk.chores.stop()
    await desk.ledger.close()


async def test_review_hints_follow_the_text_and_disappear_with_the_verdict(desk) -> None:
    path = desk.path("a.txt", BEFORE)
    desk.open(path, BEFORE)
    desk.reviewing.attach(desk.ledger)
    await change(desk.ledger, path, BEFORE, new(3, 9))
    desk.type_text(path, new(3, 9))
    await desk.screen.until(lambda: desk.screen.lines(path.as_uri()) == [3, 9])
    desk.type_text(path, "mine\n" + new(3, 9))
    await desk.screen.until(lambda: desk.screen.lines(path.as_uri()) == [4, 10])
    first, second = desk.ledger.hunks(path)
    await desk.ledger.accept([first.id])
    await desk.screen.until(lambda: desk.screen.lines(path.as_uri()) == [10])
    desk.type_text(path, "mine\n" + new(3))  # the user undoes the change by hand
    await desk.screen.until(lambda: desk.screen.lines(path.as_uri()) == [])
    assert desk.ledger.find(second.id) is None


async def test_review_hints_mark_closed_files_and_the_first_line_of_deleted_files(desk) -> None:
    path, gone = desk.path("a.txt", new(3)), desk.path("gone.txt")
    await change(desk.ledger, path, BEFORE, new(3))
    await desk.ledger.made(ME, "call", gone, "a\nb\n", None, accepted=False)
    desk.reviewing.attach(desk.ledger)
    await desk.screen.until(lambda: desk.screen.lines(gone.as_uri()) == [1])
    assert desk.screen.lines(path.as_uri()) == [3]
    # An empty buffer of a deleted file shows nothing; typed text in the buffer does.
    desk.open(gone, "")
    assert [one.kind for one in desk.reviewing.shown(desk.documents.at(gone)).hunks] == ["delete"]


async def test_shown_hunks_stay_while_the_agent_writes(desk) -> None:
    path = desk.path("a.txt", BEFORE)
    desk.open(path, BEFORE)
    desk.reviewing.attach(desk.ledger)
    await change(desk.ledger, path, BEFORE, new(3))
    desk.type_text(path, new(3))
    await desk.screen.until(lambda: desk.screen.lines(path.as_uri()) == [3])
    n_before = len(desk.screen.published)
    pending = await desk.ledger.begin(Actor("s1", 2), "call", path, new(3), new(3, 9))
    desk.type_text(path, new(3, 9))
    other = desk.path("b.txt", new(5))
    # When this change is shown, the first change has been examined.
    await change(desk.ledger, other, BEFORE, new(5))
    await desk.screen.until(lambda: desk.screen.lines(other.as_uri()) == [5])
    assert len(desk.screen.published) == n_before + 1
    await desk.ledger.finish(pending, new(3, 9), accepted=False)
    await desk.screen.until(lambda: desk.screen.lines(path.as_uri()) == [3, 9])


async def test_hints_can_be_turned_off_and_lenses_stay(desk) -> None:
    path = desk.path("a.txt", BEFORE)
    desk.open(path, new(3))
    await change(desk.ledger, path, BEFORE, new(3))
    desk.reviewing.attach(desk.ledger)
    await desk.screen.until(lambda: desk.screen.lines(path.as_uri()) == [3])
    desk.wants_hints = False
    desk.reviewing.look_again()
    await desk.screen.until(lambda: desk.screen.lines(path.as_uri()) == [])
    assert len(lenses_of(desk.reviewing.shown(desk.documents.at(path)))) == 6


async def test_the_servers_end_removes_its_diagnostics_from_the_editor(desk) -> None:
    path = desk.path("a.txt", new(3))
    await change(desk.ledger, path, BEFORE, new(3))
    desk.reviewing.attach(desk.ledger)
    await desk.screen.until(lambda: desk.screen.lines(path.as_uri()) == [3])
    desk.reviewing.stop()
    assert desk.screen.lines(path.as_uri()) == []


async def test_a_file_that_the_editor_opens_under_another_uri_is_marked_once(desk) -> None:
    path = desk.path("a b.txt", new(3))
    await change(desk.ledger, path, BEFORE, new(3))
    desk.reviewing.attach(desk.ledger)
    await desk.screen.until(lambda: desk.screen.lines(path.as_uri()) == [3])
    other = path.as_uri().replace("%20", "%20").replace("a%20b", "%61%20b")
    desk.documents.open(sync.OpenedDocument(other, "text", 1, new(3)))
    await desk.screen.until(lambda: desk.screen.lines(other) == [3])
    assert desk.screen.lines(path.as_uri()) == []


async def test_a_request_includes_text_that_was_typed_just_before(desk) -> None:
    path = desk.path("a.txt", BEFORE)
    desk.open(path, new(3))
    await change(desk.ledger, path, BEFORE, new(3))
    desk.reviewing.attach(desk.ledger)
    desk.type_text(path, "mine\n" + new(3))
    (hunk,) = desk.reviewing.shown(desk.documents.at(path)).hunks
    assert hunk.line == 4


async def test_verdicts_of_another_process_are_noticed(desk, tmp_path) -> None:
    path = desk.path("a.txt", new(3))
    await change(desk.ledger, path, BEFORE, new(3))
    desk.open(path, new(3))
    desk.reviewing.attach(desk.ledger)
    await desk.screen.until(lambda: desk.screen.lines(path.as_uri()) == [3])
    other = await ledger_in(tmp_path, tmp_path)
    other.sync(path, new(3))
    await other.accept([one.id for one in other.hunks(path)])
    await other.close()
    await desk.screen.until(lambda: desk.screen.lines(path.as_uri()) == [])


async def test_a_thousand_hunks_are_shown_in_steps_and_a_key_press_updates_one_file(desk) -> None:
    text = "".join(f"line {number}\n" for number in range(200))
    lines = range(5, 200, 20)
    paths = [desk.path(f"f{number}.txt", new(*lines, text=text)) for number in range(100)]
    for path in paths:
        await change(desk.ledger, path, text, new(*lines, text=text))
    desk.open(paths[0], new(*lines, text=text))
    desk.reviewing.attach(desk.ledger)
    await desk.screen.until(lambda: len(desk.screen.hints) == 100)
    assert desk.ledger.n_pending == 1_000
    n_before, n_reads = len(desk.screen.published), desk.n_reads
    began = process_time()
    desk.type_text(paths[0], "mine\n" + new(*lines, text=text))
    await desk.screen.until(lambda: desk.screen.lines(paths[0].as_uri())[:1] == [7])
    assert process_time() - began < 1  # it takes about 10 ms on an idle machine
    assert len(desk.screen.published) == n_before + 1
    assert desk.n_reads == n_reads
    began = process_time()
    assert len(lenses_of(desk.reviewing.shown(desk.documents.at(paths[0])))) == 33
    assert process_time() - began < 1
