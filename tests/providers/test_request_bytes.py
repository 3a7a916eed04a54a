from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from indwell.messages import Anchors, Message, Request
from indwell.providers.chat_messages import chat_body
from indwell.providers.dialect import Dialect
from indwell.providers.quirks import ROWS
from indwell.providers.request_bytes import RequestEncoder
from support.requests import READ, assistant, request, result, use, user

TURNS: tuple[Message, ...] = (
    user("fix it é"),
    assistant("I read.", use(id_="c1")),
    user(result("1\tx"), "and the tests"),
    assistant(use("glob", '{"pattern":"*"}', id_="c2")),
    user(result("b.py", id_="c2")),
    assistant("done"),
    user("thanks"),
)
DIALECTS = (*(row.dialect for row in ROWS), Dialect(cache_marks=True))


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """A part of the turns, or the same with one message changed, with marks somewhere."""
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
    """Without a mark on tools that are not there."""
    marks = msgspec.structs.replace(asked.anchors, tools=asked.anchors.tools and bool(asked.tools))
    return msgspec.structs.replace(asked, anchors=marks)


@given(st.lists(st.tuples(requests().map(legal), st.sampled_from(DIALECTS)), min_size=1))
def test_the_bytes_are_those_of_encoding_everything(
    asked: list[tuple[Request, Dialect]],
) -> None:
    encoder = RequestEncoder()
    for one, dialect in asked:
        assert encoder.encode(one, dialect) == msgspec.json.encode(chat_body(one, dialect))


def test_two_requests_in_a_row_share_their_prefix() -> None:
    encoder = RequestEncoder()
    first = encoder.encode(request(*TURNS[:3]), Dialect())
    second = encoder.encode(request(*TURNS[:5]), Dialect())
    assert second.startswith(first[: first.index(b'],"max_tokens"')])


def test_only_what_is_new_is_encoded() -> None:
    encoder, dialect = RequestEncoder(), Dialect()
    long = request(user("x" * 1_000), *TURNS[1:3])
    assert encoder.n_new(long, dialect) > 1_000
    encoder.encode(long, dialect)
    assert encoder.n_new(long, dialect) == 0
    more = request(*long.messages, assistant("ok"), user("12345"))
    assert encoder.n_new(more, dialect) == 7
    assert encoder.n_new(more, Dialect(bridge=True)) > 1_000
