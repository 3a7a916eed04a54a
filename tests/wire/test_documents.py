"""Floods of document changes, out of order or out of range, keep the editor's text."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest
import pytest_asyncio

from support.editing import Home, Playlist, results
from support.loopback_endpoint import LoopbackEndpoint, say
from support.platforms import posix_only
from support.raw_client import HATCHED, RawClient, raw_client

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Desk:
    """A server whose model only reads a file, so that a test sees the server's text."""

    def __init__(self, client: RawClient, playlist: Playlist, endpoint: LoopbackEndpoint) -> None:
        self.client = client
        self.playlist = playlist
        self.endpoint = endpoint

    async def text(self, name: str) -> list[str]:
        """Return the lines of an open document as the model receives them."""
        call = ("read_file", json.dumps({"path": name}))
        self.playlist.play(say(calls=[call]), say("Read."))
        answer = await self.client.prompt("read")
        assert answer["result"]["ending"] == "done", answer
        shown = results(self.endpoint.seen[-1])[-1]
        return re.findall(r"^\s*\d+\t(.*)$", shown, re.MULTILINE)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory) -> AsyncIterator[Desk]:
    home, playlist = Home(tmp_path_factory.mktemp("documents")), Playlist()
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        raw_client(
            home, command=HATCHED, environment=home.environment(endpoint.base_url)
        ) as client,
    ):
        yield Desk(client, playlist, endpoint)
        assert await client.say_goodbye() == 0


def change(uri: str, version: int, *changes: dict[str, Any]) -> dict[str, Any]:
    return {"textDocument": {"uri": uri, "version": version}, "contentChanges": list(changes)}


def replace(start: tuple[int, int], end: tuple[int, int], text: str) -> dict[str, Any]:
    places = [{"line": line, "character": character} for line, character in (start, end)]
    return {"range": {"start": places[0], "end": places[1]}, "text": text}


class Oracle:
    """A document as lines without line ends, in ASCII, for comparison."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")

    def edit(self, random: Random) -> dict[str, Any]:
        """Make a random change; return the change in the form of LSP."""
        first = random.randrange(len(self.lines))
        last = min(first + random.choice((0, 0, 0, 1)), len(self.lines) - 1)
        start = random.randint(0, len(self.lines[first]))
        end = random.randint(start if first == last else 0, len(self.lines[last]))
        text = random.choice(("", "x", "ab", "zz", "words", "y\n"))
        fresh = (self.lines[first][:start] + text + self.lines[last][end:]).split("\n")
        self.lines[first : last + 1] = fresh
        return replace((first, start), (last, end), text)


@posix_only("slow")
async def test_lsp_22_ten_thousand_changes_in_a_burst_lead_to_the_text_of_the_oracle(desk) -> None:
    client, random = desk.client, Random(22)
    text = "".join(f"line {number:03} of the file, some words\n" for number in range(180))
    assert 5_500 < len(text) < 6_500
    oracle = Oracle(text)
    (client.home.workspace / "burst.py").write_bytes(b"on disk\n")
    uri = client.open_shop(text, name="burst.py")
    bodies = [
        {"jsonrpc": "2.0", "method": "textDocument/didChange"}
        | {"params": change(uri, version, oracle.edit(random))}
        for version in range(2, 10_002)
    ]
    for body in bodies:
        client.send(body)
    await client.request("$/heard")
    assert await desk.text("burst.py") == _without_empty_end(oracle.lines)


async def test_many_changes_in_one_notification_are_applied_in_order(desk) -> None:
    client, random, oracle = desk.client, Random(23), Oracle("one\ntwo\nthree\n")
    (client.home.workspace / "many.py").write_bytes(b"")
    uri = client.open_shop("one\ntwo\nthree\n", name="many.py")
    edits = [oracle.edit(random) for _ in range(500)]
    client.notify("textDocument/didChange", change(uri, 2, *edits))
    assert await desk.text("many.py") == _without_empty_end(oracle.lines)


async def test_a_range_past_the_end_means_the_end(desk) -> None:
    client = desk.client
    (client.home.workspace / "end.py").write_bytes(b"")
    uri = client.open_shop("one\ntwo", name="end.py")
    far = (2**31 - 1, 2**31 - 1)
    client.notify("textDocument/didChange", change(uri, 2, replace(far, far, "!")))
    client.notify("textDocument/didChange", change(uri, 3, replace((0, 3), (0, 9_999), "?")))
    assert await desk.text("end.py") == ["one?", "two!"]


async def test_changes_of_closed_documents_are_ignored(desk) -> None:
    client = desk.client
    for uri in ("file:///nowhere", "untitled:x", "", "%", "file://[", "git:/a?b#c"):
        client.notify("textDocument/didChange", change(uri, 1, {"text": "x"}))
        client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert await desk.text("shop.py") != []


async def test_negative_positions_mean_the_start_of_the_document(desk) -> None:
    client = desk.client
    (client.home.workspace / "minus.py").write_bytes(b"")
    uri = client.open_shop("one\n", name="minus.py")
    client.notify("textDocument/didChange", change(uri, 2, replace((-1, 0), (0, -5), "!")))
    assert await desk.text("minus.py") == ["!one"]


async def test_a_document_opened_a_thousand_times_and_closed_once_is_closed(desk) -> None:
    client = desk.client
    (client.home.workspace / "again.py").write_bytes(b"on disk\n")
    for number in range(1_000):
        uri = client.open_shop(f"number {number}\n", name="again.py")
    assert await desk.text("again.py") == ["number 999"]
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert await desk.text("again.py") == ["on disk"]


def _without_empty_end(lines: list[str]) -> list[str]:
    return lines[:-1] if lines and not lines[-1] else lines
