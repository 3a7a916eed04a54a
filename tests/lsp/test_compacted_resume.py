"""A compacted session over a real endpoint continues in the next server with equal bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from indwell.cli.stored.sessions import replay
from indwell.lsp.messages.context import ContextParams
from indwell.sessions.conversation_restore import rebuilt
from indwell.sessions.records import CompactionRecord, RequestRecord, Wire
from indwell.sessions.storage.store import SessionStore
from support.editing import MODEL, Editor, Home, editing, results
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, say
from support.strict_chat import strictly

WINDOW = 40_000
N_FILES = 20
SUMMARY = "The files r0.py to r9.py define parts of carts; nothing was changed yet."
SMALL = "tiny-model"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    for number in range(N_FILES):
        lines = [f"def cart_{number}_{line}(): return {line}" for line in range(150)]
        home.write(f"r{number}.py", "\n".join(lines) + "\n")
    return home


def newest_of(home: Home) -> str:
    return SessionStore(home.state, home.workspace).ids()[0]


def is_summary(seen: Seen) -> bool:
    return b'"tool_choice":"none"' in seen.raw or seen_model(seen) == SMALL


def seen_model(seen: Seen) -> str:
    return str(seen.body["model"])


def n_common(before: str, after: str) -> int:
    """Count the characters at the beginning that are equal."""
    pairs = zip(before, after, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), len(before))


def reads(*, has_cache: bool) -> Callable[[Seen], Answer]:
    """A model that reads a file in each round until it has written a summary.

    The model then reads another file. The model counts the tokens that a cache would have served; a
    token has 2.5 characters.
    """
    made = iter(range(N_FILES))
    last = ""

    def answer(seen: Seen) -> Answer:
        nonlocal last, made
        text = seen.raw.decode()
        cached = n_common(last, text) * 2 // 5 if has_cache else 0
        usage = {
            "prompt_tokens": len(text) * 2 // 5,
            "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        if is_summary(seen):
            made = iter((N_FILES - 1,))
            return say(SUMMARY, usage=usage)
        last = text
        number = next(made, None)
        if number is None:
            return say("done", usage=usage)
        call = ("read_file", json.dumps({"path": f"r{number}.py"}))
        return say(f"I look at {number}.", calls=[call], usage=usage)

    return answer


def conversation_of(seen: Seen) -> bytes:
    """Return the bytes up to the last message."""
    head, _, _ = seen.raw.rpartition(b'],"tools":')
    return head


@pytest.mark.parametrize("reader", ["main", "small"])
async def test_a_compacted_session_resumes_in_another_server_with_equal_request_bytes(
    home: Home, reader: str
) -> None:
    small = f'small_model = "{SMALL}"\n' if reader == "small" else ""
    home.configure(f'window = {WINDOW}\nmax_output = 2000\ncompaction = "regions-d"\n{small}')
    script = reads(has_cache=reader == "main")
    async with LoopbackEndpoint(strictly(script)) as endpoint:
        async with editing(home, endpoint.base_url, extensions=("events",)) as editor:
            answer = await editor.ask("read all files")
            assert answer.ending == "done", answer
            told = [one for one in editor.events if one["type"] == "compacted"]
            assert told
        session, n_before = newest_of(home), len(endpoint.seen)
        asked = [one for one in endpoint.seen if is_summary(one)]
        assert {seen_model(one) for one in asked} == {SMALL if reader == "small" else MODEL}
        last = [one for one in endpoint.seen if not is_summary(one)][-1]
        async with editing(home, endpoint.base_url, extensions=("events",)) as editor:
            await _went_on(editor, session)
            status = await editor.client.protocol.send_request_async(
                "indwell/context", ContextParams()
            )
            figures = status.health.session
            assert figures["indwell.requests"] == len(endpoint.seen)
            assert figures["indwell.compactions"]["regions"]["count"] >= 1
            assert (figures["indwell.cache.hit_rate"] > 0.6) == (reader == "main")
        went_on = endpoint.seen[n_before]
        assert went_on.raw.startswith(conversation_of(last))
        assert SUMMARY.encode() in went_on.raw
    (log,) = home.logs()
    assert any(isinstance(one, CompactionRecord) for one in log)
    _is_made_again(log, endpoint.seen)


async def _went_on(editor: Editor, session: str) -> None:
    answer = await editor.ask("and now?", session=session)
    assert (answer.session, answer.turn, answer.ending) == (session, 2, "done"), answer


def _is_made_again(log: tuple[object, ...], seen: list[Seen]) -> None:
    """Rebuild every request that the endpoint received from the log, byte for byte."""
    assert [one.number for one in log if isinstance(one, RequestRecord)] == list(
        range(1, len(seen) + 1)
    )
    assert all(one.digest for one in log if isinstance(one, Wire))
    for number, one in enumerate(seen, start=1):
        again = replay("s", rebuilt(log, number))
        assert (again.equal, bytes(again.body)) == (True, one.raw), number


async def test_cut_text_can_still_be_read_after_a_restart_of_the_server(
    home: Home,
) -> None:
    home.configure(f'window = {WINDOW}\nmax_output = 2000\ncompaction = "regions-d"\n')
    async with LoopbackEndpoint(strictly(reads(has_cache=True))) as endpoint:
        async with editing(home, endpoint.base_url) as editor:
            assert (await editor.ask("read all files")).ending == "done"
        session = newest_of(home)
        places = re.findall(rb"[^\s\"'`]+/transcript-[\w.-]*\w", endpoint.seen[-1].raw)
        assert places, endpoint.seen[-1].raw[-3_000:]
    given = {"path": places[0].decode(), "offset": 1, "limit": 240}
    call = ("read_file", json.dumps(given))
    async with LoopbackEndpoint(strictly([say("I look.", calls=[call]), say("seen")])) as endpoint:
        async with editing(home, endpoint.base_url) as editor:
            await _went_on(editor, session)
        assert "def cart_0_149(): return 149" in results(endpoint.seen[1])[-1]
