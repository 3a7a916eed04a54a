from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lsprotocol.types import Position, Range

from indwell.lsp.documents import Document, Documents, path_of
from indwell.lsp.wire import sync
from indwell.workspace.base import Stamp, digest
from indwell.workspace.lines import document_lines
from support.editor_texts import ENCODINGS, changed, ranges, texts

URI = "file:///w/a.py"


def document_of(text: str) -> Document:
    documents = Documents()
    return documents.open(item(URI, text))


def item(uri: str, text: str = "", version: int = 1) -> sync.Item:
    return sync.Item(uri=uri, language_id="python", version=version, text=text)


def partial(range_: Range, text: str) -> sync.Change:
    return sync.Change(range=range_, text=text)


def whole(text: str) -> sync.Change:
    return sync.Change(text=text)


EVERYTHING = Range(start=Position(line=0, character=0), end=Position(line=9, character=9))


EVERYTHING = Range(start=Position(line=0, character=0), end=Position(line=9, character=9))


def at(line: int, start: int, stop: int | None = None) -> Range:
    end = start if stop is None else stop
    return Range(start=Position(line=line, character=start), end=Position(line=line, character=end))


@given(
    texts,
    st.lists(st.tuples(ranges, texts) | texts.map(lambda text: (None, text)), max_size=6),
    st.sampled_from(ENCODINGS),
)
@example("a\rb", [(at(1, 0), "\n")], "utf-16")  # what comes in completes a CRLF
@example("a\r\nb", [(at(0, 1), "\r")], "utf-16")
@example("a\nb", [(at(0, 1), "\r")], "utf-16")  # and what stands there completes one
@example("ab", [(at(0, 2, 1), "x")], "utf-16")  # start behind end
@example("a\n", [(EVERYTHING, "")], "utf-8")
def test_any_changes_give_what_they_give_on_the_whole_text(text, steps, encoding) -> None:
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


def test_the_work_of_a_change_is_in_proportion_to_the_lines_it_touches() -> None:
    document = document_of("".join(f"line {number}\n" for number in range(50_000)))
    before = list(document.lines)
    document.apply([partial(at(40_000, 0, 4), "row\nLINE")], 2, "utf-16")
    assert document.lines[40_000:40_002] == ["row\n", "LINE 40000\n"]
    # Every other line is the very same object: nothing but the touched line was split again.
    kept = [*document.lines[:40_000], *document.lines[40_002:]]
    old = [*before[:40_000], *before[40_001:]]
    assert all(line is same for line, same in zip(kept, old, strict=True))


def test_a_stamp_names_text_and_version() -> None:
    assert document_of("a").stamp == Stamp(digest=digest("a"), version=1)


def test_a_change_before_the_open_and_after_the_close_is_ignored() -> None:
    documents = Documents()
    documents.change(URI, 3, [whole("x")])
    documents.saved(URI)
    documents.close(URI)
    documents.open(item(URI, "a"))
    documents.close(URI)
    documents.change(URI, 4, [whole("y")])
    assert (documents.get(URI), list(documents)) == (None, [])


def test_a_second_open_starts_the_document_anew() -> None:
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


def test_the_newest_document_is_a_file_or_untitled_and_never_a_peek() -> None:
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


def test_after_a_close_the_one_opened_last_is_the_newest_again() -> None:
    documents = Documents()
    for uri in (URI, "file:///w/b.py", URI, "file:///w/c.py"):
        documents.open(item(uri))
    documents.close("file:///w/c.py")
    assert documents.newest == URI


async def test_whoever_waits_for_a_change_hears_of_the_next_one_only() -> None:
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
        ("file:///w/a%20b.py", Path("/w/a b.py")),
        ("file:///w/x/../%C3%A9.py", Path("/w/é.py")),
        ("untitled:Untitled-1", None),
        ("git:/w/a.py?HEAD", None),
    ],
)
def test_only_file_addresses_have_a_path(uri, path) -> None:
    assert path_of(uri) == path
