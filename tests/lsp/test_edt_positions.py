"""Positions of every kind against a slow reading of the protocol (EDT-17), and encodings (ENC-09).

The protocol: lines end at CRLF, LF and CR only; a character beyond the line is its end; what is
outside the document is its start or its end. Half of a character is its start.
"""

from __future__ import annotations

import json
from random import Random

import pytest
from lsprotocol import types

from indwell.lsp.wire import sync
from indwell.lsp.wire.base_protocol import Framer, framed
from indwell.lsp.wire.handshake import Opening
from indwell.lsp.workspace.documents import Documents
from support.fake_editor.buffer import Places
from support.fake_editor.profiles import PLAIN
from support.room import Room, in_no_time

ENCODINGS = ("utf-8", "utf-16", "utf-32")
PIECES = ("a", "bc", "é", "e\u0301", "\u200d", "😀", "🝳", "👩\u200d💻", "\r\n", "\n", "\r", "\x85")
PIECES += ("\u2028", "\f", "\v", "\x1c", "\t", " ", "\ufeff", "漢")
ODD = (-(1 << 31), -1, (1 << 31) - 1)
N_TEXTS = 500


def units(character: str, encoding: str) -> int:
    """Count the code units of one character by encoding it."""
    codec, size = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2)}.get(
        encoding, ("utf-32-le", 4)
    )
    return len(character.encode(codec)) // size


def all_places(text: str, encoding: str) -> list[list[tuple[int, int]]]:
    """Return all positions of each line: the character offset, and the offset in code points."""
    lines: list[list[tuple[int, int]]] = [[(0, 0)]]
    at = character = 0
    while at < len(text):
        if text[at] in "\r\n":
            at += 2 if text[at : at + 2] == "\r\n" else 1
            character = 0
            lines.append([(0, at)])
            continue
        character += units(text[at], encoding)
        at += 1
        lines[-1].append((character, at))
    return lines


def slow_offset(text: str, line: int, character: int, encoding: str) -> int:
    """Look up the offset of a position in the list of all positions."""
    lines = all_places(text, encoding)
    if line < 0:
        return 0
    if line >= len(lines):
        return len(text)
    return max(offset for begins, offset in lines[line] if begins <= max(character, 0))


def some_text(random: Random) -> str:
    return "".join(random.choices(PIECES, k=random.randint(0, 24)))


def some_position(random: Random, text: str) -> tuple[int, int]:
    n_lines = text.count("\n") + text.count("\r") + 2
    if random.random() < 0.1:
        return random.choice((*ODD, 0)), random.choice((*ODD, 0, 3))
    return random.randint(0, n_lines), random.randint(0, 14)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_edt_17_changes_of_any_ranges_do_what_the_protocol_says(encoding) -> None:
    random = Random(17)
    for _ in range(N_TEXTS):
        text = some_text(random)
        documents = Documents()
        documents.encoding = encoding
        uri = "file:///w/a.txt"
        documents.open(sync.OpenedDocument(uri=uri, language_id="text", version=1, text=text))
        for version in range(2, 6):
            start, end = some_position(random, text), some_position(random, text)
            new = some_text(random)
            range_ = sync.Range(start=sync.Position(*start), end=sync.Position(*end))
            documents.change(uri, version, [sync.TextChange(text=new, range=range_)])
            first, last = sorted(slow_offset(text, *one, encoding) for one in (start, end))
            text = text[:first] + new + text[last:]
            document = documents.get(uri)
            assert document is not None
            assert document.text == text, (start, end, new)
            assert document.version == version


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_edt_17_positions_and_offsets_correspond_one_to_one(encoding) -> None:
    random = Random(18)
    for _ in range(N_TEXTS):
        text = some_text(random)
        documents = Documents()
        document = documents.open(
            sync.OpenedDocument(uri="file:///w/a.txt", language_id="text", version=1, text=text)
        )
        editor = Places(text, encoding)
        for number, line in enumerate(all_places(text, encoding)):
            for character, offset in line:
                position = types.Position(line=number, character=character)
                assert document.place(offset, encoding) == position
                assert document.offset(position, encoding) == offset
                assert editor.position(offset) == position
                assert editor.offset(position) == offset
        for _ in range(5):
            where = some_position(random, text)
            if min(where) >= 0:
                position = types.Position(line=where[0], character=where[1])
                offset = slow_offset(text, *where, encoding)
                assert document.offset(position, encoding) == offset
                assert editor.offset(position) == offset


def negotiated(capabilities: object) -> str:
    """Return the server's answer to ``initialize``."""
    opening = Opening(Framer())
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"processId": None, "rootUri": None, "capabilities": capabilities},
    }
    (body,) = Framer().feed(opening.receive(framed(json.dumps(request).encode())))
    assert opening.opened is not None
    said = json.loads(body)["result"]["capabilities"]["positionEncoding"]
    assert opening.opened.encoding == said
    return said


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        ({"general": {"positionEncodings": ["utf-16"]}}, "utf-16"),
        ({"general": {"positionEncodings": ["utf-8"]}}, "utf-8"),
        ({"general": {"positionEncodings": ["utf-32", "utf-16"]}}, "utf-32"),
        ({"general": {"positionEncodings": ["utf-7", "utf-8"]}}, "utf-8"),
        ({"general": {"positionEncodings": ["utf-7"]}}, "utf-16"),
        ({"general": {"positionEncodings": []}}, "utf-16"),
        ({"general": {}}, "utf-16"),
        ({"general": None}, "utf-16"),
        ({}, "utf-16"),
    ],
)
def test_enc_09_the_position_encoding_is_offered_by_the_client_or_utf_16(offered, chosen) -> None:
    assert negotiated(offered) == chosen


@pytest.mark.parametrize("offered", [("utf-8",), ("utf-16",), ("utf-32",), ()])
@in_no_time
async def test_enc_09_edits_use_the_negotiated_position_encoding(tmp_path, offered) -> None:
    text = 'a = "😀é漢\u2028" + x  # 🝳\r\nb = 2\r\n'
    room = Room(tmp_path, PLAIN.offering(*offered), text=text)
    assert room.editor.documents.encoding == (offered or ("utf-16",))[0]
    await room.agent.read()
    # the client reports the change as a range after wide characters
    room.type_text(len(text) - 3, "4")
    room.type_text(text.index("é"), "😀")
    await room.agent.read()
    await room.agent.edit({"old": " + x", "new": " + 😀y"})
    expected = 'a = "😀😀é漢\u2028" + 😀y  # 🝳\r\nb = 42\r\n'
    document = room.editor.documents.get(room.buffer.uri)
    assert document is not None
    assert (room.text, document.text) == (expected, expected)
