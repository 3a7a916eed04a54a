"""The framer alone gives the same frames or refusal for any chunks of bytes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indwell.lsp.wire.base_protocol import MAX_HEADER_B, Framer, framed
from wire.test_framing import BROKEN, READABLE

BODIES = st.lists(st.binary(max_size=60), max_size=6)
LINE_ENDS = st.sampled_from([b"\r\n", b"\n"])
NAMES = st.sampled_from(
    [b"Content-Length", b"content-length", b"CONTENT-LENGTH", b"cOnTeNt-LeNgTh"]
)
BLANKS = st.sampled_from([b"", b" ", b"\t", b"  \t "])
OTHER = st.sampled_from(
    [b"", b"Content-Type: application/vscode-jsonrpc; charset=utf-8", b"X-A:b", b"x: y: z"]
)
NOISE = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([*BROKEN.values(), *READABLE.values()]).map(lambda data: data[:200]),
)


@st.composite
def frames(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Draw a body, and a frame around it in any valid form."""
    body, end = draw(st.binary(max_size=60)), draw(LINE_ENDS)
    length = draw(NAMES) + b":" + draw(BLANKS) + b"%d" % len(body) + draw(BLANKS)
    lines = [line for line in (draw(OTHER), length, draw(OTHER)) if line]
    return body, b"".join(line + end for line in lines) + end + body


def read(pieces: list[bytes]) -> tuple[list[bytes], str]:
    """Return all bodies, and the reason for the end, if any."""
    framer = Framer()
    return [body for piece in pieces for body in framer.feed(piece)], framer.broken


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:stop] for start, stop in pairwise(edges)]


PLACES = st.lists(st.integers(0, 10**6), max_size=12)


@given(st.lists(frames(), max_size=5), PLACES)
def test_every_frame_format_gives_its_body_with_any_split_of_the_bytes(written, places) -> None:
    data = b"".join(frame for _, frame in written)
    assert read(cut(data, places)) == ([body for body, _ in written], "")


@given(st.lists(st.one_of(NOISE, st.binary(max_size=30).map(framed)), max_size=6), PLACES)
@settings(max_examples=3 * settings().max_examples)
def test_the_framer_gives_equal_results_for_any_split_of_the_bytes(parts, places) -> None:
    data = b"".join(parts)
    whole = read([data])
    assert read(cut(data, places)) == whole
    assert read([data[at : at + 1] for at in range(len(data))]) == whole


@given(BODIES)
def test_our_own_frames_can_be_parsed(bodies) -> None:
    assert read([b"".join(map(framed, bodies))]) == (bodies, "")


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_lsp_03_and_06_a_broken_header_is_refused_with_a_reason(data) -> None:
    good = framed(b'{"a":1}')
    bodies, reason = read([good + data])
    assert bodies[0] == b'{"a":1}'
    assert reason
    assert "\n" not in reason
    assert len(reason) < 200


def test_a_header_has_a_size_limit_in_one_chunk_and_byte_by_byte() -> None:
    data = b"X: " + b"y" * MAX_HEADER_B
    for pieces in ([data], [data[at : at + 1] for at in range(len(data))], [data + b"\r\n\r\n"]):
        assert read(pieces)[1]


def test_no_memory_is_reserved_before_the_bytes_of_a_body_arrive() -> None:
    """A header alone needs no memory, whatever length it announces."""
    framer = Framer(max_body=1 << 40)
    assert framer.feed(b"Content-Length: 99999999999\r\n\r\n") == []
    assert framer.awaits_body


def test_the_size_limit_of_a_body_is_exact_to_the_byte() -> None:
    assert Framer(max_body=3).feed(b"Content-Length: 3\r\n\r\nabc") == [b"abc"]
    framer = Framer(max_body=3)
    assert framer.feed(b"Content-Length: 4\r\n\r\n") == []
    assert "4" in framer.broken


def test_the_framer_reads_no_message_after_the_first_error() -> None:
    framer = Framer()
    assert framer.feed(b"no header\r\n" + framed(b"{}")) == []
    assert framer.feed(framed(b"{}")) == []


STALLED = {
    "a whole object, and bytes still missing": (b'{"a":"}"}', 20, True),
    "a whole object and blanks": (b'{"a":1} \r\n', 20, True),
    "the middle of an object": (b'{"a":{"b":1}', 20, False),
    "the middle of a text that ends like an object": (b'{"a":"}', 20, False),
    "nothing yet": (b"", 20, False),
    "no object": (b"12", 20, False),
}


@pytest.mark.parametrize(("begun", "length", "is_broken"), STALLED.values(), ids=STALLED)
def test_lsp_03_a_too_large_content_length_is_detected_when_the_stream_stalls(
    begun, length, is_broken
) -> None:
    framer = Framer()
    framer.feed(b"Content-Length: %d\r\n\r\n" % length + begun)
    framer.check_stalled()
    assert bool(framer.broken) is is_broken
    if not is_broken:
        assert framer.feed(b"x" * (length - len(begun))) == [begun + b"x" * (length - len(begun))]


def test_a_large_body_in_small_chunks_takes_time_in_proportion() -> None:
    """16 MB in 4 KB chunks are 4,096 calls; copying the rest in each call would be 32 GB."""
    framer, piece = Framer(), b"x" * 4096
    framer.feed(b"Content-Length: %d\r\n\r\n" % (4096 * 4096))
    done = [body for _ in range(4096) for body in framer.feed(piece)]
    assert [len(body) for body in done] == [4096 * 4096]


def test_ten_thousand_small_frames_take_time_in_proportion_to_their_number() -> None:
    """2 MB at once; removing each frame from the front would be 10 GB of copies."""
    body = b"y" * 200
    assert Framer().feed(framed(body) * 10_000) == [body] * 10_000
