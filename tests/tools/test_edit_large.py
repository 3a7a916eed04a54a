from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from indwell.errors import EditRefused, ToolError
from indwell.tools.editing.edit_large import planned
from indwell.tools.editing.replace import Replacement, replaced
from indwell.workspace.disk import DiskWorkspace
from indwell.workspace.large import LARGE_B, Large
from indwell.workspace.line_index import index_of
from indwell.workspace.text import PIECE
from tools.calling import Agent

FILLER = b"nothing to see here, line after line of it, until the file is large\n"
N_LINES = LARGE_B // len(FILLER) + 1
BODY = FILLER * N_LINES


class Room:
    """A large file, with an agent that edits the file."""

    def __init__(self, folder: Path, data: bytes) -> None:
        (folder / "w").mkdir()
        self.path = folder / "w" / "a"
        self.path.write_bytes(data)
        self.agent = Agent(DiskWorkspace([folder / "w"]), folder / "spill")

    async def edit(self, *edits: tuple[str, str], read: bool = True, **options: bool) -> str:
        """Edit the file; return the result for the model."""
        if read:
            await self.agent.call("read_file", path="a", limit=1)
        listed = [{"old": old, "new": new, **options} for old, new in edits]
        return (await self.agent.call("edit_file", path="a", edits=listed)).text


async def test_a_unique_text_is_replaced_and_shown_with_its_lines(tmp_path: Path) -> None:
    room = Room(tmp_path, BODY + b"one\ntwo\nthree\nfour\nfive\n" + BODY)
    told = await room.edit(("three", "3\nand more"))
    assert room.path.read_bytes() == BODY + b"one\ntwo\n3\nand more\nfour\nfive\n" + BODY
    at = N_LINES + 3
    filler = FILLER.decode()
    assert told == (
        f"edited a: +2 −1\n--- a/a\n+++ b/a\n@@ -{at - 3},7 +{at - 3},8 @@\n {filler} one\n two\n"
        f"-three\n+3\n+and more\n four\n five\n {filler}".rstrip("\n")
    )


async def test_several_edits_of_a_large_file_apply_in_order_or_not_at_all(tmp_path: Path) -> None:
    before = b"first\n" + BODY + b"last\n"
    room = Room(tmp_path, before)
    with pytest.raises(ToolError, match=r"edit 2 of 2: old text does not appear in 'a'.*no edit"):
        await room.edit(("first", "1st"), ("missing", "x"))
    assert room.path.read_bytes() == before
    await room.edit(("first", "1st"), ("1st\nnothing", "2nd\nnothing"), ("last\n", "end"))
    assert room.path.read_bytes() == b"2nd\n" + BODY + b"end"


async def test_a_text_that_appears_more_than_once_is_reported_with_its_lines(
    tmp_path: Path,
) -> None:
    room = Room(tmp_path, b"here\n" + BODY + b"here\nhere\n")
    lines = f"lines 1, {N_LINES + 2}, {N_LINES + 3}"
    with pytest.raises(ToolError, match=f"appears 3 times in 'a', at {lines}; add surrounding"):
        await room.edit(("here\n", "there\n"))
    with pytest.raises(ToolError, match=r"appears at least 1000 times in 'a', at lines 2, 3, 4, "):
        await room.edit(("nothing", "x"))


async def test_an_edit_with_all_replaces_every_match_in_a_large_file(tmp_path: Path) -> None:
    room = Room(tmp_path, b"<x>\n<x><x>\n" + BODY + b"<x>")
    told = await room.edit(("<x>", "<yz>"), all=True)
    assert room.path.read_bytes() == b"<yz>\n<yz><yz>\n" + BODY + b"<yz>"
    assert told.startswith("edited a: +3 −3\n")
    assert f"\n@@ -{N_LINES},4 +{N_LINES},4 @@\n" in told
    with pytest.raises(ToolError, match="appears more than 10,000 times"):
        await room.edit(("nothing", "x"), all=True)


async def test_different_line_endings_match_and_are_kept(tmp_path: Path) -> None:
    body = BODY.replace(b"\n", b"\r\n")
    room = Room(tmp_path, body + b"one\r\ntwo\r\nthree\r\n" + body)
    await room.edit(("one\ntwo\n", "1\n2\n3\n"))
    assert room.path.read_bytes() == body + b"1\r\n2\r\n3\r\nthree\r\n" + body


async def test_deleting_a_whole_line_leaves_no_empty_line(tmp_path: Path) -> None:
    room = Room(tmp_path, BODY + b"gone\nstays\n")
    await room.edit(("gone", ""))
    assert room.path.read_bytes() == BODY + b"stays\n"


async def test_a_failed_edit_of_a_large_file_points_to_the_longest_matching_line(
    tmp_path: Path,
) -> None:
    room = Room(tmp_path, BODY + b"  if value is None:\n      return\n")
    at = N_LINES + 1
    with pytest.raises(ToolError, match="'a'; its longest line is at line") as told:
        await room.edit(("if value is None:\nreturn", "x"))
    assert f"is at line {at}:\n" in str(told.value)
    assert str(told.value).endswith(f"\n{at}\t  if value is None:\n{at + 1}\t      return")
    with pytest.raises(ToolError, match="nor does its longest line; find the place with grep"):
        await room.edit(("no such thing", "x"))


async def test_an_edit_in_a_very_long_line_is_shown_in_part(tmp_path: Path) -> None:
    room = Room(tmp_path, b"x" * LARGE_B + b"here" + b"y" * LARGE_B)
    told = await room.edit(("here", "there"))
    assert room.path.read_bytes() == b"x" * LARGE_B + b"there" + b"y" * LARGE_B
    assert len(told) < 3_000


async def test_undecodable_bytes_stay_unchanged(tmp_path: Path) -> None:
    room = Room(tmp_path, BODY + b"gr\xc3\xb6\xc3\x9fe\n\xff old\n\xfe\n" + BODY)
    told = await room.edit(("old", "né"))
    assert room.path.read_bytes() == BODY + b"gr\xc3\xb6\xc3\x9fe\n\xff n\xc3\xa9\n\xfe\n" + BODY
    assert "-\\xff old\n+\\xff né\n" in told


async def test_a_guessed_encoding_accepts_only_characters_in_the_file(tmp_path: Path) -> None:
    room = Room(tmp_path, BODY + "größe = 1\n".encode("latin-1"))
    await room.edit(("= 1", "= 'ö'"))
    assert room.path.read_bytes() == BODY + "größe = 'ö'\n".encode("latin-1")
    with pytest.raises(ToolError, match="brings in 'ä', and that the file is in cp1252 is a guess"):
        await room.edit(("'ö'", "'ä'"))


async def test_a_multi_byte_encoding_is_refused_with_the_reason(tmp_path: Path) -> None:
    room = Room(tmp_path, b"# coding: gb18030\n" + "检查\n".encode("gb18030") + BODY)
    told = (await room.agent.call("read_file", path="a", limit=2)).text
    assert told.startswith("1\t# coding: gb18030\n2\t检查\n")
    with pytest.raises(ToolError, match="is in gb18030 and too large to be read as one text"):
        await room.edit(("coding", "x"))


async def test_a_file_that_was_not_read_or_has_changed_is_refused(tmp_path: Path) -> None:
    room = Room(tmp_path, b"old\n" + BODY)
    with pytest.raises(ToolError, match="has not been read yet"):
        await room.edit(("old", "new"), read=False)
    await room.edit(("old", "new"))
    await room.edit(("new", "newer"), read=False)  # the model knows the text that it has edited
    with room.path.open("ab") as file:
        file.write(b"the user's\n")
    with pytest.raises(ToolError, match="has changed since it was read"):
        await room.edit(("newer", "newest"), read=False)
    assert room.path.read_bytes() == b"newer\n" + BODY + b"the user's\n"


async def test_the_preview_of_a_large_edit_is_the_diff_and_writes_no_file(tmp_path: Path) -> None:
    room = Room(tmp_path, b"old\n" + BODY)
    await room.agent.call("read_file", path="a", limit=1)
    preview = await room.agent.preview("edit_file", path="a", edits=[{"old": "old", "new": "new"}])
    assert preview.startswith("--- a/a\n+++ b/a\n@@ -1,4 +1,4 @@\n-old\n+new\n")
    assert room.path.read_bytes() == b"old\n" + BODY


async def test_write_file_does_not_replace_a_file_too_large_to_compare(tmp_path: Path) -> None:
    room = Room(tmp_path, BODY)
    with pytest.raises((ToolError, EditRefused), match="more than the 8,388,608"):
        await room.agent.call("write_file", path="a", content="new")
    assert room.path.read_bytes() == BODY


async def test_the_last_character_of_a_file_without_a_last_line_end_is_edited(
    tmp_path: Path,
) -> None:
    room = Room(tmp_path, BODY + "name: é\nname: é".encode())
    await room.edit(("é", "e"), all=True)
    assert room.path.read_bytes() == BODY + b"name: e\nname: e"


async def test_an_exact_match_is_edited_and_not_an_earlier_similar_match(tmp_path: Path) -> None:
    room = Room(tmp_path, BODY + "a: é\r\nb: é\na: é\nb: é".encode())
    await room.edit(("a: é\nb: é", "done"))
    assert room.path.read_bytes() == BODY + "a: é\r\nb: é\ndone".encode()


async def test_a_search_text_that_begins_with_a_line_end_is_found_once(tmp_path: Path) -> None:
    body = BODY.replace(b"\n", b"\r\n")
    room = Room(tmp_path, body + b"one\r\ntwo\r\n")
    await room.edit(("\ntwo", "\n2\n3"))
    assert room.path.read_bytes() == body + b"one\r\n2\r\n3\r\n"


async def test_a_new_line_in_a_long_line_gets_the_line_ending_of_the_file(tmp_path: Path) -> None:
    line = b"v" * 6_000 + b" MARK%d " + b"w" * 6_000 + b"\r\n"
    before = b"".join(line % number for number in range(LARGE_B // 12_000 + 1))
    room = Room(tmp_path, before)
    await room.edit((" MARK7 ", " MARK7\nsplit "))
    assert room.path.read_bytes() == before.replace(b" MARK7 ", b" MARK7\r\nsplit ")


WORDS = st.lists(
    st.sampled_from(["a", "b", "é", "😀", "\n", "\r\n", "\r", "\udcff"]), max_size=12
).map("".join)


@settings(max_examples=40, phases=[Phase.generate])  # shrinking 256 kB would take minutes
@given(WORDS, WORDS, st.data())
def test_an_edit_of_a_file_in_chunks_equals_an_edit_of_the_whole_text(
    head: str, tail: str, drawn: st.DataObject
) -> None:
    shift = drawn.draw(st.integers(0, 14))
    tail += "b"
    data = f"{head}é{'x' * (PIECE - shift)}{tail}".encode("utf-8", "surrogateescape")
    text = data.decode("utf-8", "surrogateescape")
    start = drawn.draw(st.integers(len(text) - len(tail), len(text) - 1))
    old = text[start : start + drawn.draw(st.integers(1, 5))]
    old = old.replace("\r\n", "\n") if drawn.draw(st.booleans()) else old
    edit = Replacement(
        old, drawn.draw(st.sampled_from(["", "c", "é\n", "\nc\n"])), drawn.draw(st.booleans())
    )

    def read(offset: int, size: int) -> bytes:
        return data[offset : offset + size]

    large = Large(Path("/w/a"), read, index_of(read, len(data), lambda: "utf-8"))
    try:
        expected = replaced(text, [edit], "a", exactly=True).text.encode("utf-8", "surrogateescape")
    except ToolError:
        with pytest.raises(ToolError):
            planned(large, [edit], "a")
    else:
        made, _ = planned(large, [edit], "a")
        assert made.read(0, made.size_b) == expected
