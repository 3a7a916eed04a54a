"""Attacks that were once found on the connection, with one test for each."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from typing import Literal

import pytest

from indwell.lsp.wire.base_protocol import Framer, encoded
from indwell.lsp.wire.conversion import WrongParams, structure, with_whole_numbers
from indwell.lsp.wire.editor_process import parent_watch
from indwell.lsp.wire.serving import GONE_S, HARD_LIMIT_B, LIMIT_B, Outgoing
from indwell.lsp.wire.tcp import accept_editor, listening
from indwell.lsp.workspace.documents import path_of
from support.platforms import posix_only
from wire.test_tcp import TOKEN, hello


@pytest.mark.parametrize(
    "begun", [b'"}', b"}Content-Le", b"Content-Length: 5\r\r", b"\xef\xbb\xbfContent", b"a b"]
)
def test_bytes_that_cannot_become_a_header_break_the_stream_at_once(begun) -> None:
    framer = Framer()
    assert framer.feed(begun) == []
    assert framer.broken


@pytest.mark.parametrize("begun", [b"Con", b"Content-Length : 5\r", b"", b"\r", b"X-Any: a b: c"])
def test_bytes_that_may_become_a_header_are_waited_for(begun) -> None:
    framer = Framer()
    framer.feed(begun)
    assert framer.broken == ""


def pipe() -> tuple[int, int]:
    reading, writing = os.pipe()
    if sys.platform != "win32":
        os.set_blocking(writing, False)
    return reading, writing


@posix_only("slow")
async def test_a_large_answer_to_a_reading_editor_does_not_end_the_connection() -> None:
    reading, writing = pipe()
    lost: list[str] = []
    outgoing = Outgoing(writing, lost.append)
    for _ in range(3):
        # The messages exceed the limit within one tick of the event loop.
        outgoing.send(b"x" * (LIMIT_B // 2 + 1))
    assert lost == []
    received = 0
    while received < 3 * (LIMIT_B // 2):
        received += len(await asyncio.to_thread(os.read, reading, 1 << 20))
    outgoing.close()
    os.close(reading)
    os.close(writing)
    assert lost == []


async def test_an_editor_that_reads_nothing_for_long_is_disconnected() -> None:
    reading, writing = pipe()
    lost: list[str] = []
    outgoing = Outgoing(writing, lost.append)
    outgoing.send(b"x" * (LIMIT_B + 1_000_000))  # the pipe accepts a part of the data
    outgoing.send(b"y")
    assert lost == []
    outgoing._taken_at -= GONE_S + 1
    outgoing.send(b"z")
    assert len(lost) == 1
    os.close(reading)
    os.close(writing)


async def test_the_memory_for_unsent_messages_is_limited() -> None:
    reading, writing = pipe()
    lost: list[str] = []
    outgoing = Outgoing(writing, lost.append)
    for _ in range(9):
        outgoing.send(b"x" * LIMIT_B)
    assert len(lost) == 1
    assert outgoing._waiting_b <= HARD_LIMIT_B + LIMIT_B + 100
    os.close(reading)
    os.close(writing)


def test_half_of_a_character_is_sent_escaped() -> None:
    assert json.loads(encoded({"text": "\ud800 hi"})) == {"text": "\ud800 hi"}


@pytest.mark.parametrize("process_id", [2**31, 2**63, 2**70])
async def test_an_impossible_process_id_is_not_watched(process_id) -> None:
    async with parent_watch(process_id) as gone:
        assert not gone.is_set()


@pytest.mark.parametrize("uri", ["file:///a%00b", "file:///a\x00b", "file:///\ud800"])
def test_an_impossible_file_name_is_not_a_path(uri) -> None:
    assert path_of(uri) is None


def test_whole_numbers_may_be_written_as_floats() -> None:
    assert with_whole_numbers({"a": [1.0, 2.5, True, None], "b": "1.0"}) == {
        "a": [1, 2.5, True, None],
        "b": "1.0",
    }


@pytest.mark.parametrize(
    ("value", "type_", "words"),
    [
        (float("inf"), int, "must be a whole number"),
        ("x", int, "must be a whole number"),
        (5, str, "must be a text"),
        (1, bool, "must be true or false"),
        ("yolo", Literal["ask", "plan"], r"must be one of \['ask', 'plan'\]"),
    ],
)
def test_wrong_parameters_are_reported_in_plain_words(value, type_, words) -> None:
    with pytest.raises(WrongParams, match=words):
        structure(value, type_)


@posix_only("shell")
def test_a_server_without_stdin_prints_one_sentence_and_no_traceback() -> None:
    command = f"exec {sys.executable} -m indwell serve --scripted <&- "
    ended = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, check=False, timeout=30
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("indwell: there is no stdin or stdout to serve an editor on")
    assert ended.stderr.count("\n") == 1


def test_many_silent_connections_do_not_block_an_editor() -> None:
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        opened: list[object] = []
        accepting = threading.Thread(target=lambda: opened.append(accept_editor(listener, TOKEN)))
        accepting.start()
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(60)]
        with socket.create_connection(("127.0.0.1", port)) as editor:
            editor.sendall(hello(TOKEN))
            accepting.join(5)
            assert len(opened) == 1
            assert b"serverInfo" in editor.recv(65_536)
        for one in silent:
            one.close()


def test_the_size_of_input_before_the_token_is_limited() -> None:
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        opened: list[object] = []
        accepting = threading.Thread(target=lambda: opened.append(accept_editor(listener, TOKEN)))
        accepting.start()
        with socket.create_connection(("127.0.0.1", port)) as greedy:
            greedy.sendall(b"Content-Length: 2000000\r\n\r\n")
            greedy.settimeout(5)
            assert greedy.recv(10) == b""
        with socket.create_connection(("127.0.0.1", port)) as editor:
            editor.sendall(hello(TOKEN))
            accepting.join(5)
            assert len(opened) == 1


def test_a_second_editor_with_the_token_is_refused() -> None:
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        editors = [socket.create_connection(("127.0.0.1", port)) for _ in range(2)]
        for editor in editors:
            editor.sendall(hello(TOKEN))
            editor.settimeout(10)
        accept_editor(listener, TOKEN)
    # The second editor is refused or disconnected, and never waits for ever after its "hello".
    assert sorted(map(is_greeted, editors)) == [False, True]
    for editor in editors:
        editor.close()


def is_greeted(editor: socket.socket) -> bool:
    try:
        return b"serverInfo" in editor.recv(65_536)
    except ConnectionError:
        return False
