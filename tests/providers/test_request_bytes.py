from __future__ import annotations

import asyncio

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indwell.messages import Anchors, Message, Request, Thinking
from indwell.providers.quirks import ROWS
from indwell.providers.wires.dialect import Dialect, WireName
from indwell.providers.wires.encoder import SENT_B, RequestBody, RequestEncoder, digest_of
from support.requests import READ, assistant, meta, request, result, use, user
from support.wire_streams import WIRES

SEALED = {
    wire: Thinking("hm", meta(), f'{{"wire":"{wire}","model":"small","item":{item}}}')
    for wire, item in (
        ("responses", '{"id":"rs_1","summary":[],"encrypted_content":"s"}'),
        ("messages", '{"type":"thinking","signature":"s"}'),
    )
}
TURNS: tuple[Message, ...] = (
    user("fix it é"),
    assistant(SEALED["responses"], SEALED["messages"], "I read.", use(id_="c1")),
    user(result("1\tx"), "and the tests"),
    assistant(use("glob", '{"pattern":"*"}', id_="c2")),
    user(result("b.py", id_="c2")),
    assistant("done"),
    user("thanks"),
)
DIALECTS = (
    *(row.dialect for row in ROWS),
    Dialect(cache_marks=True),
    Dialect(wire="responses", cache_key=True, phases=True),
)
OF_WIRES = {wire: Dialect(wire=wire, cache_marks=wire != "responses") for wire in WIRES}
each_wire = pytest.mark.parametrize("dialect", OF_WIRES.values(), ids=OF_WIRES)


SIZES = (3, 300, 20_000, 70_000)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """Draw a request: a part of the turns, perhaps with one changed message, with cache marks."""
    n_turns = 2 * draw(st.integers(0, 3)) + 1
    said = list(TURNS[:n_turns])
    if draw(st.booleans()):
        said[draw(st.integers(0, (n_turns - 1) // 2)) * 2] = user("changed")
    marks = draw(st.sets(st.integers(0, n_turns - 1), max_size=2))
    return request(
        *said,
        system=draw(st.sampled_from([(), ("be brief",), ("be brief", "be kind")])),
        tools=draw(st.sampled_from([(), (READ,)])),
        anchors=Anchors(draw(st.booleans()), draw(st.booleans()), tuple(sorted(marks))),
        tool_choice=draw(st.sampled_from(["auto", "none"])),
        cache_key="s1",
    )


def legal(asked: Request) -> Request:
    """Return the request without a cache mark on missing tools."""
    marks = msgspec.structs.replace(asked.anchors, tools=asked.anchors.tools and bool(asked.tools))
    return msgspec.structs.replace(asked, anchors=marks)


@given(st.lists(st.tuples(requests().map(legal), st.sampled_from(DIALECTS)), min_size=1))
def test_an_incrementally_encoded_body_equals_a_fully_encoded_body(
    asked: list[tuple[Request, Dialect]],
) -> None:
    encoder = RequestEncoder()
    for one, dialect in asked:
        whole = RequestEncoder().encode(one, dialect)
        body = encoder.body(one, dialect)
        assert body == RequestBody(body.parts, len(whole), digest_of(whole))
        assert body.joined() == whole == encoder.encode(one, dialect)


async def sent(body: RequestBody) -> list[bytes]:
    return [piece async for piece in body]


@settings(max_examples=min(30, settings().max_examples))
@given(
    st.sampled_from(WIRES),
    st.lists(st.tuples(st.sampled_from(SIZES), st.booleans()), min_size=1, max_size=9),
    st.data(),
)
def test_a_long_request_body_is_sent_in_chunks_with_the_digest_of_the_whole(
    wire: WireName, script: list[tuple[int, bool]], data: st.DataObject
) -> None:
    encoder, dialect = RequestEncoder(), OF_WIRES[wire]
    said: list[Message] = []
    for n_characters, is_rewritten in script:
        if said and is_rewritten:
            said[2 * data.draw(st.integers(0, len(said) // 2 - 1))] = user("shortened")
        said += (user("é" * n_characters), assistant("ok"))
        marks = data.draw(st.sets(st.integers(0, len(said) - 2), max_size=3))
        asked = request(*said[:-1], anchors=Anchors(messages=tuple(sorted(marks))))
        body = encoder.body(asked, dialect)
        whole = RequestEncoder().encode(asked, dialect)
        pieces = asyncio.run(sent(body))
        assert b"".join(pieces) == body.joined() == whole
        assert body.digest == digest_of(whole)
        assert len(pieces) <= len(whole) / SENT_B + 1
        assert asyncio.run(sent(body)) == pieces  # a second attempt sends the same chunks


@each_wire
def test_a_request_body_reuses_the_encoded_parts_of_the_previous_body(dialect: Dialect) -> None:
    encoder = RequestEncoder()
    first = encoder.body(request(user("x" * 100_000), *TURNS[1:3]), dialect)
    second = encoder.body(request(user("x" * 100_000), *TURNS[1:5]), dialect)
    assert all(one is other for one, other in zip(first.parts[1:4], second.parts[1:4], strict=True))


@each_wire
def test_two_consecutive_requests_share_their_prefix(dialect: Dialect) -> None:
    encoder = RequestEncoder()
    first = encoder.body(request(*TURNS[:3]), dialect)
    second = encoder.body(request(*TURNS[:5]), dialect)
    assert second.joined().startswith(b"".join(first.parts[:-1]))


@each_wire
def test_only_new_messages_are_encoded(dialect: Dialect) -> None:
    encoder = RequestEncoder()
    long = request(user("x" * 1_000), *TURNS[1:3])
    assert encoder.n_new(long, dialect) > 1_000
    encoder.encode(long, dialect)
    assert encoder.n_new(long, dialect) == 0
    more = request(*long.messages, assistant("ok"), user("12345"))
    assert encoder.n_new(more, dialect) == 7
    other = msgspec.structs.replace(dialect, reasoning=False)
    assert encoder.n_new(more, other) > 1_000
