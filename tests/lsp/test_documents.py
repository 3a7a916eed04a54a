from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lsprotocol.types import Position, Range

from indwell.lsp.wire import sync
from indwell.lsp.workspace.documents import LONG, Document, Documents, notebook_of, path_of
from indwell.workspace.base import TextStamp, digest
from indwell.workspace.text import document_lines
from support.editor_texts import ENCODINGS, changed, ranges, texts

URI = "file:///work/a.py"


def document_of(text: str) -> Document:
    documents = Documents()
    return documents.open(item(URI, text))


def item(uri: str, text: str = "", version: int = 1) -> sync.OpenedDocument:
    return sync.OpenedDocument(uri=uri, language_id="python", version=version, text=text)


def partial(range_: Range, text: str) -> sync.TextChange:
    return sync.TextChange(range=range_, text=text)


def whole(text: str) -> sync.TextChange:
    return sync.TextChange(text=text)


EVERYTHING = Range(start=Position(line=0, character=0), end=Position(line=9, character=9))


def at(line: int, start: int, stop: int | None = None) -> Range:
    end = start if stop is None else stop
    return Range(start=Position(line=line, character=start), end=Position(line=line, character=end))


@given(
    texts,
    st.lists(st.tuples(ranges, texts) | texts.map(lambda text: (None, text)), max_size=6),
    st.sampled_from(ENCODINGS),
)
@example("a\rb", [(at(1, 0), "\n")], "utf-16")  # the inserted text completes a CRLF
@example("a\r\nb", [(at(0, 1), "\r")], "utf-16")
@example("a\nb", [(at(0, 1), "\r")], "utf-16")  # the text that follows completes a CRLF
@example("ab", [(at(0, 2, 1), "x")], "utf-16")  # the start is after the end
@example("a\n", [(EVERYTHING, "")], "utf-8")
def test_applying_partial_changes_equals_editing_the_whole_text(text, steps, encoding) -> None:
    document = document_of(text)
    for version, (range_, new) in enumerate(steps, 2):
        change = whole(new) if range_ is None else partial(range_, new)
        document.apply([change], version, encoding)
        text = new if range_ is None else changed(text, range_, new, encoding)
        assert (document.text, document.lines, document.version, document.dirt) == (
            text,
            document_lines(text),
            version,
            "user",
        )


def test_the_changes_of_one_notification_build_on_each_other() -> None:
    document = document_of("one\ntwo\n")
    document.apply([partial(at(0, 3), "!"), partial(at(0, 4), "?\nnew")], 2, "utf-16")
    assert document.text == "one!?\nnew\ntwo\n"


def test_a_stamp_names_text_and_version() -> None:
    assert document_of("a").stamp == TextStamp(digest=digest("a"), version=1)


def test_a_change_before_the_open_and_after_the_close_is_ignored() -> None:
    documents = Documents()
    documents.change(URI, 3, [whole("x")])
    documents.saved(URI)
    documents.close(URI)
    documents.open(item(URI, "a"))
    documents.close(URI)
    documents.change(URI, 4, [whole("y")])
    assert (documents.get(URI), list(documents)) == (None, [])


def test_a_second_open_replaces_the_document() -> None:
    documents = Documents()
    documents.open(item(URI, "a"))
    documents.change(URI, 2, [whole("b")])
    second = documents.open(item(URI, "c", version=7))
    assert list(documents) == [second]
    assert (second.text, second.version, second.dirt) == ("c", 7, "clean")


def test_a_save_makes_a_document_clean() -> None:
    documents = Documents()
    document = documents.open(item(URI, "a"))
    documents.change(URI, 2, [whole("b")])
    documents.saved(URI)
    assert document.dirt == "clean"


async def test_the_origin_of_a_document_is_the_text_last_opened_or_saved() -> None:
    documents = Documents()
    document = documents.open(item(URI, "a\r\n"))
    documents.change(URI, 2, [whole("b")])
    assert await document.origin() == digest("a\n")  # without regard to line ends
    documents.saved(URI)
    documents.change(URI, 3, [whole("c")])
    assert (await document.origin(), document.n_agreed) == (digest("b"), 2)


async def test_a_long_text_is_digested_in_a_thread_and_once() -> None:
    text = "x" * LONG
    document = document_of(text)
    read, stamp = await document.stamped()
    assert (read, stamp) == (text, TextStamp(digest(text), 1))
    assert document.stamp == stamp
    document.apply([partial(at(0, 0, 1), "")], 2, "utf-16")
    assert document.stamp == TextStamp(digest(text[1:]), 2)


async def test_a_digest_of_an_earlier_text_is_not_stored() -> None:
    document = document_of("a")
    document.learn("b", "the digest of b")
    assert document.stamp == TextStamp(digest("a"), 1)


@pytest.mark.parametrize(("version", "is_stale"), [(1, True), (0, True), (2, False), (9, False)])
def test_edt_16_a_version_that_does_not_rise_makes_a_document_stale(version, is_stale) -> None:
    documents = Documents()
    document = documents.open(item(URI, "a"))
    documents.change(URI, version, [partial(at(0, 1), "b")])
    assert (document.text, document.version, document.is_stale) == ("ab", version, is_stale)


def test_edt_16_changes_without_a_version_are_accepted() -> None:
    documents = Documents()
    document = documents.open(item(URI, "a"))
    documents.change(URI, None, [partial(at(0, 1), "b")])
    assert (document.text, document.version, document.is_stale) == ("ab", 1, False)


@pytest.mark.parametrize("how", ["opened", "sent whole", "sent whole and changed", "saved"])
def test_edt_16_a_whole_text_ends_the_stale_state(how) -> None:
    documents = Documents()
    documents.open(item(URI, "a", version=5))
    documents.change(URI, 3, [partial(at(0, 1), "b")])
    match how:
        case "opened":
            documents.open(item(URI, "whole", version=1))
        case "sent whole":
            documents.change(URI, 2, [whole("whole")])
        case "sent whole and changed":
            documents.change(URI, 4, [whole("hole"), partial(at(0, 0), "w")])
        case "saved":
            documents.saved(URI, "whole")
    document = documents.get(URI)
    assert (document.text, document.is_stale) == ("whole", False)


def test_edt_16_a_later_change_in_order_does_not_end_the_stale_state() -> None:
    documents = Documents()
    document = documents.open(item(URI, "a", version=5))
    documents.change(URI, 3, [partial(at(0, 1), "b")])
    documents.change(URI, 4, [partial(at(0, 2), "c")])
    documents.saved(URI)
    assert document.is_stale


def test_edt_16_an_unknown_saved_text_is_accepted() -> None:
    documents = Documents()
    document = documents.open(item(URI, "a"))
    documents.saved(URI, "formatted")
    assert (document.text, document.version, document.dirt) == ("formatted", 1, "clean")


def test_a_file_is_found_by_its_path_and_the_document_opened_last_counts() -> None:
    documents = Documents()
    first = documents.open(item(URI, "a"))
    second = documents.open(item("file:///work/./a.py", "b"))
    assert documents.at(Path("/work/a.py").absolute()) is second
    documents.close("file:///work/./a.py")
    assert documents.at(Path("/work/a.py").absolute()) is first
    documents.close(URI)
    assert documents.at(Path("/work/a.py").absolute()) is None


def test_half_a_character_from_an_editor_is_kept_and_digested() -> None:
    document = document_of("ab")
    document.apply([partial(at(0, 1), "\ud83d")], 2, "utf-16")
    assert document.stamp == TextStamp(digest("a\ud83db"), 2)
    # The second change adds the other half of the character.
    document.apply([partial(at(0, 2), "\ude00")], 3, "utf-16")
    assert document.text == "a😀b"


def test_the_newest_document_is_never_a_preview() -> None:
    documents = Documents()
    seen = []
    for uri in (URI, "git:/w/a.py?HEAD", "untitled:Untitled-1", "output:log"):
        documents.open(item(uri))
        seen.append(documents.newest)
    documents.close("untitled:Untitled-1")
    seen.append(documents.newest)
    documents.close(URI)
    seen.append(documents.newest)
    assert seen == [URI, URI, "untitled:Untitled-1", "untitled:Untitled-1", URI, None]


def test_after_a_close_the_last_opened_document_is_the_newest() -> None:
    documents = Documents()
    for uri in (URI, "file:///work/b.py", URI, "file:///work/c.py"):
        documents.open(item(uri))
    documents.close("file:///work/c.py")
    assert documents.newest == URI


async def test_a_waiting_task_is_notified_only_of_the_next_document_change() -> None:
    documents = Documents()
    documents.open(item(URI, "a"))
    waiting = asyncio.ensure_future(documents.changed())
    await asyncio.sleep(0)
    assert not waiting.done()
    documents.change(URI, 2, [whole("b")])
    await waiting


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///work/a%20b.py", Path("/work/a b.py").absolute()),
        ("file:///work/x/../%C3%A9.py", Path("/work/é.py").absolute()),
        ("untitled:Untitled-1", None),
        ("git:/w/a.py?HEAD", None),
    ],
)
def test_only_file_addresses_have_a_path(uri, path) -> None:
    assert path_of(uri) == path


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        (
            "vscode-notebook-cell:/work/a%20b.ipynb#W0sZmlsZQ%3D%3D",
            Path("/work/a b.ipynb").absolute(),
        ),
        ("file:///work/a.ipynb", None),
        ("untitled:Untitled-1", None),
    ],
)
def test_a_notebook_cell_belongs_to_its_notebook_file(uri, path) -> None:
    assert notebook_of(uri) == path
