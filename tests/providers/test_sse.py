from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.providers.http.sse import Event, EventReader, EventTooLong


def read(*parts: bytes, limit: int = 1_000) -> list[Event]:
    reader = EventReader(limit)
    return [event for part in parts for event in reader.feed(part)] + reader.close()


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b"data: a\n\n", [Event(b"a")]),
        (b"data:a\r\n\r\ndata: b\r\r", [Event(b"a"), Event(b"b")]),
        (b"\xef\xbb\xbfdata: a\n\n", [Event(b"a")]),
        (b"data: a\ndata: b\n\n", [Event(b"a\nb")]),
        (b"data\n\n", [Event(b"")]),
        (b"data:  a\n\n", [Event(b" a")]),
        (b": ping\n\nid: 1\nretry: 3\n\n", []),
        (b"event: error\ndata: a\n\ndata: b\n\n", [Event(b"a", b"error"), Event(b"b")]),
        (b"event: ping\n\ndata: b\n\n", [Event(b"b")]),
        (b"data: a\n", [Event(b"a")]),
        (b"data: a", [Event(b"a")]),
        (b"database: a\n\n", []),
        (b"", []),
    ],
)
def test_events_are_parsed_as_the_standard_requires(body: bytes, events: list[Event]) -> None:
    assert read(body) == events


LINES = st.lists(
    st.sampled_from(["data: é😀", "data:", "data: {}", ": x", "", "", "event: e", "id: 3", "dat"])
)


@given(
    LINES,
    st.lists(st.sampled_from(["\n", "\r", "\r\n"]), min_size=1),
    st.lists(st.integers(1, 5), min_size=1),
)
def test_any_split_of_the_bytes_gives_the_same_events(
    lines: list[str], ends: list[str], sizes: list[int]
) -> None:
    text = "".join(line + ends[n % len(ends)] for n, line in enumerate(lines))
    body = text.encode()
    parts, start = [], 0
    while start < len(body):
        size = sizes[len(parts) % len(sizes)]
        parts.append(body[start : start + size])
        start += size
    plain = "".join(f"{line}\n" for line in lines).encode()
    # A lone CR before an empty line that ends with LF is always read as one CR LF.
    if "\r" not in ends or "\n" not in ends:
        assert read(body) == read(plain)
    assert read(*parts) == read(body)


@pytest.mark.parametrize("parts", [[b"x" * 50] * 3, [b"data: " + b"x" * 60, b"x" * 60]])
def test_a_line_over_the_limit_is_refused_before_the_line_ends(parts: list[bytes]) -> None:
    with pytest.raises(EventTooLong, match="over 100 bytes"):
        read(*parts, limit=100)


def test_many_empty_data_lines_exceed_the_event_limit() -> None:
    with pytest.raises(EventTooLong):
        read(b"data:\n" * 50, limit=100)
