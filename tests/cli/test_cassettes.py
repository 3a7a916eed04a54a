"""Recorded sessions of real editors replay with the same output; differences are found and told."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from indwell.cli.cassette.command import RecordOptions, record
from indwell.cli.cassette.compare import DigestNames, difference, may_miss, overtaken
from indwell.cli.cassette.file_format import (
    Cassette,
    CassetteEvent,
    Places,
    WrongCassette,
    packed,
    read_cassette,
    unpacked,
)
from indwell.cli.cassette.player import replay
from indwell.cli.cassette.recorder import RecordedFiles, Recorder
from indwell.cli.cassette.split_secrets import hide_across
from indwell.errors import UserError
from indwell.lsp.wire.base_protocol import framed
from indwell.providers.http.cassette_transport import CassetteTransport, HttpAnswer
from indwell.sandbox import Finished
from indwell.secrets import KNOWN, Hider, mark
from support.editing import USAGE, Home
from support.loopback_endpoint import LoopbackEndpoint, say
from support.made_secrets import made_secrets
from support.raw_client import raw_client

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="replays need time.tzset")

CASSETTES = Path(__file__).parent / "cassettes"
NAMES = sorted(path.name for path in CASSETTES.glob("*.xz"))
REVIEW = CASSETTES / "emacs-eglot-review.jsonl.xz"


@pytest.mark.parametrize("name", NAMES)
def test_the_server_sends_an_editor_what_it_sent_in_the_cassette(name: str) -> None:
    outcome = replay(read_cassette(CASSETTES / name))
    assert outcome.code == 0, outcome.words


def changed(cassette: Cassette, change: dict[int, CassetteEvent]) -> Cassette:
    events = [change.get(number, one) for number, one in enumerate(cassette.events)]
    return Cassette(cassette.start, events)


def at(cassette: Cassette, method: str) -> int:
    """Return the number of the first message with this method."""
    return next(
        number
        for number, one in enumerate(cassette.events)
        if isinstance(one.body, dict) and one.body.get("method") == method
    )


def test_a_different_message_is_named_with_its_place() -> None:
    cassette = read_cassette(REVIEW)
    number = at(cassette, "textDocument/publishDiagnostics")
    body = json.loads(json.dumps(cassette.events[number].body))
    body["params"]["diagnostics"] = []
    event = msgspec.structs.replace(cassette.events[number], body=body)
    outcome = replay(changed(cassette, {number: event}), silence_s=3.0)
    assert outcome.code == 1
    assert "the notification textDocument/publishDiagnostics about" in outcome.words
    assert "differs at params.diagnostics[0]" in outcome.words


def unused(name: str) -> Cassette:
    cassette = read_cassette(REVIEW)
    return Cassette(cassette.start, [CassetteEvent("unrecorded", name=name), *cassette.events])


def test_a_cassette_with_an_edge_that_is_not_recorded_is_refused() -> None:
    outcome = replay(unused("a background command"))
    assert (outcome.code, outcome.n_inputs) == (2, 0)
    assert outcome.words.endswith("what is not recorded: a background command")


@pytest.mark.parametrize("data", [b"", b"{}\n", b'{"cassette":99}\n', b"\x00\xff"])
def test_another_file_is_not_taken_for_a_cassette(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "other.jsonl"
    path.write_bytes(data)
    with pytest.raises(WrongCassette):
        read_cassette(path)


def test_folders_have_names_in_a_cassette_also_in_addresses() -> None:
    places = Places({"home": "/home/zoë", "root0": "/srv/code"})
    texts = ("/home/zoë/a", "file:///home/zo%C3%AB/a", "file%3A/home/zo%25C3%25AB/a", "/srv/code/b")
    folded = [places.fold(one) for one in texts]
    assert folded == ["«home»/a", "file://«home%»/a", "file%3A«home%%»/a", "«root0»/b"]
    assert [places.unfold(one) for one in folded] == list(texts)


@pytest.mark.parametrize("data", [b"", b"text \xc3\xa9", b"\xff\x00\n", b"bytes:x"])
def test_bytes_survive_in_a_cassette(data: bytes) -> None:
    assert unpacked(packed(data)) == data


def make_recorder(kept: list[CassetteEvent], root: Path) -> Recorder:
    hider = Hider(own=("hunter2-canary-key",))
    files = RecordedFiles([root], lambda path: path.name == ".env")
    return Recorder(kept.append, Places({"home": str(root)}), hider, files, datetime.now(UTC))


def test_a_key_is_hidden_in_every_part_of_a_cassette(tmp_path: Path) -> None:
    kept: list[CassetteEvent] = []
    recorder = make_recorder(kept, tmp_path)
    recorder.on_message_received(
        b'{"method":"x","params":{"hunter2-canary-key":["a hunter2-canary-key b"]}}'
    )
    recorder.on_message_sent(b'{"result":"hunter2-canary-key"}')
    recorder.value("folder", lambda: "hunter2-canary-key")
    (tmp_path / "new.txt").write_bytes(b"hunter2-canary-key")
    recorder.on_message_received(b'{"method":"y"}')
    assert "canary" not in str(kept)
    assert [one.kind for one in kept] == ["in", "out", "value", "disk", "in"]
    assert recorder.n_hidden == 5


def test_a_key_that_the_user_types_or_that_a_request_carries_is_hidden(tmp_path: Path) -> None:
    kept: list[CassetteEvent] = []
    recorder = make_recorder(kept, tmp_path)
    login = {"method": "indwell/login", "params": {"provider": "x", "key": "typed-canary-1"}}
    recorder.on_message_received(json.dumps(login).encode())
    settings = {"method": "y", "params": {"settings": [{"apiKey": "typed-canary-2"}]}}
    recorder.on_message_received(json.dumps(settings).encode())
    recorder.learn(["Bearer sent-canary", "sent-canary"])
    for text in ("typed-canary-1", "a typed-canary-2", "no key sent-canary"):
        recorder.on_message_sent(json.dumps({"result": text}).encode())
    assert len(kept) == 5
    assert "canary" not in str(kept)


async def test_the_key_in_a_requests_headers_is_learned() -> None:
    learned: list[str] = []

    class Kept:
        def learn(self, keys: Iterable[str]) -> None:
            learned.extend(keys)

        async def exchange(self, *_request: object) -> HttpAnswer:
            return HttpAnswer(200, {}, anything())

    async def anything() -> AsyncIterator[bytes]:
        yield b""

    transport = CassetteTransport(Kept(), httpx2.AsyncHTTPTransport)
    headers = {"Authorization": "Bearer abc", "api-key": "def", "Accept": "text/plain"}
    async with httpx2.AsyncClient(transport=transport) as client:
        await client.get("http://none.invalid", headers=headers)
    assert learned == ["Bearer abc", "abc", "def"]


def test_a_file_that_no_model_may_see_is_kept_only_with_its_size(tmp_path: Path) -> None:
    kept: list[CassetteEvent] = []
    secret = tmp_path / ".env"
    secret.write_bytes(b"A=old canary")
    recorder = make_recorder(kept, tmp_path)
    recorder.begin()
    recorder.on_file_read(secret, b"A=old canary")
    secret.write_bytes(b"A=newer canary")
    recorder.on_message_received(b'{"method":"x"}')
    assert [one.kind for one in kept] == ["files", "disk", "in"]
    assert kept[0].body == {"«home»/.env": len("A=old canary")}
    assert kept[1].body == " " * len("A=newer canary")


CANARY = "hunter2-canary-key"


@pytest.mark.parametrize("width", [1, 2, 5])
def test_a_secret_across_chunks_is_hidden_and_no_chunk_becomes_empty(width: int) -> None:
    text = f"the key {CANARY} is é"
    pieces = [text[at : at + width] for at in range(0, len(text), width)]
    hidden = hide_across(pieces, Hider(own=(CANARY,)).find)
    whole = "".join(hidden)
    assert whole == f"the key {mark(KNOWN)} is é"
    assert all(hidden)
    assert [one for one in hidden if one not in whole] == []
    # The same spread, however the server joins the chunks.
    pairs = ["".join(pieces[at : at + 2]) for at in range(0, len(pieces), 2)]
    joined = ["".join(hidden[at : at + 2]) for at in range(0, len(hidden), 2)]
    assert hide_across(pairs, Hider(own=(CANARY,)).find) == joined


def test_a_long_secret_across_chunks_keeps_its_length() -> None:
    secret = made_secrets()["github"][1] * 3
    pieces = [f"a {secret[:50]}", *secret[50:-50], f"{secret[-50:]} b"]
    hidden = hide_across(pieces, Hider(own=(secret,)).find)
    assert [*map(len, hidden)] == [*map(len, pieces)]
    assert not any(one in secret for one in hidden[1:-1] if one not in f".{mark(KNOWN)}")


def told(text: str) -> bytes:
    """Return an event of a streamed answer."""
    return f"data: {json.dumps({'choices': [{'delta': {'content': text}}]})}\n\n".encode()


def written(kept: Sequence[CassetteEvent]) -> str:
    return "".join(str(one.body) for one in kept)


async def test_a_key_in_two_chunks_of_an_answer_is_hidden(tmp_path: Path) -> None:
    kept: list[CassetteEvent] = []
    recorder = make_recorder(kept, tmp_path)
    raw = told(f'"ü\n{CANARY[:9]}') + told(CANARY[9:] + " ok")
    cut = len(raw) // 3

    async def parts() -> AsyncIterator[bytes]:
        for at in range(0, len(raw), cut):
            yield raw[at : at + cut]

    async def send() -> HttpAnswer:
        return HttpAnswer(200, {}, parts())

    answer = await recorder.exchange("POST", "http://x/v1", b"{}", send)
    assert b"".join([one async for one in answer.parts]) == raw
    for number, text in enumerate((CANARY[:9], CANARY[9:])):
        event = {"type": "text", "turn": 1, "text": text}
        params = {"session": "s", "seq": number, "event": event}
        recorder.on_message_sent(json.dumps({"method": "indwell/event", "params": params}).encode())
    recorder.finish()
    assert ("hunter2" in written(kept), "canary" in written(kept)) == (False, False)
    answered = b"".join(unpacked(one.body) for one in kept if one.kind == "part")
    contents = [
        json.loads(line.removeprefix("data: "))["choices"][0]["delta"]["content"]
        for line in answered.decode().split("\n\n")
        if line
    ]
    assert "".join(contents) == f'"ü\n{mark(KNOWN)} ok'
    outs = [one.body["params"]["event"]["text"] for one in kept if one.kind == "out"]
    assert "".join(outs) == mark(KNOWN)
    assert contents == [f'"ü\n{outs[0]}', f"{outs[1]} ok"]


async def test_after_a_stopped_answer_and_a_stopped_command_the_cassette_grows(
    tmp_path: Path,
) -> None:
    kept: list[CassetteEvent] = []
    recorder = make_recorder(kept, tmp_path)

    async def parts() -> AsyncGenerator[bytes]:
        yield told("half")
        await asyncio.Event().wait()

    async def send() -> HttpAnswer:
        return HttpAnswer(200, {}, parts())

    async def run(on_chunk: Callable[[bytes], Any] | None) -> None:
        assert on_chunk is not None
        on_chunk(b"half")
        await asyncio.Event().wait()

    async def read() -> None:
        answer = await recorder.exchange("POST", "http://x/v1", b"{}", send)
        async for _part in answer.parts:
            pass

    turns = [
        asyncio.create_task(read()),
        asyncio.create_task(recorder.program("cat", lambda _chunk: None, run)),
    ]
    await asyncio.sleep(0)  # each task begins, and waits for more
    for turn in turns:
        turn.cancel()
    await asyncio.wait(turns)
    recorder.on_message_received(b'{"method":"x"}')
    async with asyncio.timeout(60):
        while "in" not in [one.kind for one in kept]:  # noqa: ASYNC110 - written by a thread
            await asyncio.sleep(0.005)
    assert sorted(one.kind for one in kept) == ["ask", "chunk", "head", "in", "part", "run"]


def test_a_key_in_two_chunks_of_a_commands_output_is_hidden(tmp_path: Path) -> None:
    kept: list[CassetteEvent] = []
    recorder = make_recorder(kept, tmp_path)
    ended = Finished(
        exit_code=0,
        head=CANARY[:5].encode(),
        tail=CANARY[5:].encode(),
        cut_b=0,
        total_b=len(CANARY),
        errors=b"",
        timed_out=False,
        seconds=0.1,
        left_running=0,
    )

    async def run(on_chunk: Callable[[bytes], Any] | None) -> Finished:
        assert on_chunk is not None
        on_chunk(b"\xff" + CANARY[:9].encode())
        recorder.value("folder", lambda: "between")
        on_chunk(CANARY[9:].encode() + b"\xc3")
        on_chunk(b"\xa9")
        return ended

    asyncio.run(recorder.program("cat", lambda _chunk: None, run))
    recorder.finish()
    assert [one.kind for one in kept] == ["run", "chunk", "value", "chunk", "chunk", "ran"]
    assert ("hunter" in written(kept), "canary" in written(kept)) == (False, False)
    chunks = b"".join(unpacked(one.body) for one in kept if one.kind == "chunk")
    assert chunks == b"\xff" + mark(KNOWN).encode() + b"\xc3\xa9"
    body = kept[-1].body
    assert unpacked(body["head"]) + unpacked(body["tail"]) == mark(KNOWN).encode()


async def test_a_recording_with_a_key_across_chunks_replays_the_same(tmp_path: Path) -> None:
    home, path = Home(tmp_path), tmp_path / "session.jsonl"
    script = [say(f"it is {CANARY}.", piece=7, usage=USAGE), say("Again.", usage=USAGE)]
    command = (sys.executable, "-m", "indwell", "record", "--to", str(path))
    async with LoopbackEndpoint(script) as endpoint:
        environment = home.environment(endpoint.base_url, MY_TOKEN=CANARY)
        async with raw_client(home, command=command, environment=environment) as client:
            client.open_shop()
            for words in ("what is it", "and again"):
                assert (await client.prompt(words))["result"]["ending"] == "done"
            assert await client.say_goodbye() == 0
    recorded = path.read_text(encoding="utf-8")
    assert ("hunter2" in recorded, "canary" in recorded) == (False, False)
    outcome = await asyncio.to_thread(replay, read_cassette(path))
    assert outcome.code == 0, outcome.words


def test_a_change_of_a_file_by_others_is_recorded_and_indwells_own_is_not(tmp_path: Path) -> None:
    kept: list[CassetteEvent] = []
    path = tmp_path / "a.txt"
    path.write_bytes(b"one")
    recorder = make_recorder(kept, tmp_path)
    recorder.before_file_write(path, b"two!")
    path.write_bytes(b"two!")
    recorder.on_message_received(b'{"method":"x"}')
    path.write_bytes(b"three")
    recorder.on_message_received(b'{"method":"x"}')
    disks = [(one.name, one.body) for one in kept if one.kind == "disk"]
    assert disks == [("«home»/a.txt", "three")]


def message(kind: Any, **body: Any) -> CassetteEvent:
    return CassetteEvent(kind, body=body)


def test_a_key_in_the_output_of_a_command_is_hidden(tmp_path: Path) -> None:
    kept: list[CassetteEvent] = []
    ended = Finished(
        exit_code=0,
        head=b"hunter2-canary-key\n",
        tail=b"\xff hunter2-canary-key\n",
        cut_b=1,
        total_b=40,
        errors=b"",
        timed_out=False,
        seconds=0.1,
        left_running=0,
    )

    async def run(_on_chunk: object) -> Finished:
        return ended

    asyncio.run(make_recorder(kept, tmp_path).program("cat", None, run))
    assert [one.kind for one in kept] == ["run", "ran"]
    assert "canary" not in str(kept)
    assert unpacked(kept[1].body["tail"]).startswith(b"\xff [secret hidden")


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("done · 11,824 tokens, $0.0012 · x", "done · 9,840 tokens, $0.0010 · x"),
        ("fertig · 11,824 Token · x", "fertig · 11,840 Token · x"),
        ("完成 · 11,824 个令牌\uff0c$0.0012 · x", "完成 · 11,840 个令牌\uff0c$0.0013 · x"),
    ],
)
def test_a_number_of_tokens_is_not_compared_in_any_language(was: str, now: str) -> None:
    assert DigestNames().are_same(message("out", result=was), message("out", result=now))
    other = message("out", result=now.replace("x", "2 files"))
    assert not DigestNames().are_same(message("out", result=was.replace("x", "1 files")), other)


def with_usage(tokens: int, **more: object) -> CassetteEvent:
    return message("out", params={"usage": {"input": tokens, "cached": 0, "output": 2, **more}})


def test_tokens_are_compared_unless_they_are_estimates() -> None:
    for more in ({"reported": False}, {"cost": 0.1}):
        assert DigestNames().are_same(with_usage(3029, **more), with_usage(3038, **more))
    now = with_usage(3038, reported=True)
    assert not DigestNames().are_same(with_usage(3029, reported=True), now)
    assert not DigestNames().are_same(with_usage(3029, reported=False), now)


GIT = '["git","--git-dir=«home»/w/.git","-c","core.hooksPath=/dev/null",'


@pytest.mark.parametrize(
    ("name", "is_optional"),
    [
        (f'{GIT}"ls-files","--stage","-z"]', True),
        (f'{GIT}"rev-list","--stdin","-1"]', True),
        (f'{GIT}"ls-files","--others","-z"]', False),
        (f'{GIT}"add","ls-files"]', False),
        ("git ls-files --stage", False),
        (f'{GIT}"', False),
    ],
)
def test_only_looks_for_protected_files_may_be_missing(name: str, *, is_optional: bool) -> None:
    assert may_miss(CassetteEvent("run", name=name)) is is_optional


def test_an_answer_after_a_later_message_counts_as_overtaken() -> None:
    events: Sequence[CassetteEvent] = [
        message("in", id=1, method="a"),
        message("out", id=1, result=1),
        message("in", id=2, method="a"),
        message("in", method="b"),
        message("out", id=2, result=1),
    ]
    assert overtaken(events) == {id(events[4])}


def test_a_digest_must_always_have_the_same_partner() -> None:
    names = DigestNames()
    old, new = "6b60fc7016a9", "c19bd89df82e"
    assert names.are_same(message("out", result=old), message("out", result=new))
    assert names.now(f"x {old}") == f"x {new}"
    assert names.are_same(message("out", result=[old]), message("out", result=[new]))
    assert not names.are_same(message("out", result=old), message("out", result=old))


def test_a_difference_of_texts_is_shown_by_lines() -> None:
    words = difference(message("out", result="a\nb\nc"), message("out", result="a\nx\nc"))
    assert words == "differs at result:\n--- recorded\n+++ now\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c"


def test_a_recorded_server_replays_from_the_command_line(tmp_path: Path) -> None:
    home, path = Home(tmp_path), tmp_path / "session.jsonl"
    root = {"uri": home.workspace.as_uri(), "name": "w"}
    messages: list[dict[str, Any]] = [
        {
            "id": 1,
            "method": "initialize",
            "params": {"capabilities": {}, "workspaceFolders": [root]},
        },
        {"method": "initialized", "params": {}},
        {"id": 2, "method": "indwell/changes", "params": {}},
        {"id": 3, "method": "nothing/such", "params": {}},
        {"id": 4, "method": "shutdown"},
        {"method": "exit"},
    ]
    sent = b"".join(framed(json.dumps({"jsonrpc": "2.0", **one}).encode()) for one in messages)
    command = [sys.executable, "-m", "indwell"]
    recorded = subprocess.run(
        [*command, "record", "--scripted", "--to", str(path)],
        input=sent,
        capture_output=True,
        env=home.environment(),
        cwd=home.workspace,
        check=False,
    )
    assert (recorded.returncode, b"indwell: recorded" in recorded.stderr) == (0, True), recorded
    assert b'"id":3' in recorded.stdout
    outcome = replay(read_cassette(path))
    assert (outcome.code, outcome.n_inputs) == (0, 5), outcome.words


def test_a_link_at_the_name_of_a_cassette_is_refused(tmp_path: Path) -> None:
    path, target = tmp_path / "session.jsonl", tmp_path / "target"
    path.symlink_to(target)
    with pytest.raises(UserError, match="cannot be written"):
        record(RecordOptions(to=str(path)))
    assert not target.exists()
