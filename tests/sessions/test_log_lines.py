from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from indwell.messages import Message, Text, ToolUse
from indwell.sessions.conversation_restore import fold
from indwell.sessions.log_lines import LogReading, decode
from indwell.sessions.records import MessageRecord, Record, Repaired, TurnStartRecord
from indwell.sessions.storage.writer import encode
from sessions.session_logs import AT, FINISHED, HEARD, META, STARTED, WHOLE_TURN, records


def log(*items: Record | bytes) -> bytes:
    return b"".join(item if isinstance(item, bytes) else encode(item) for item in items)


def damaged(number: int, n_bytes: int) -> str:
    return (
        f"line {number} of the session's log is cut off or damaged ({n_bytes} bytes); "
        "it stays in the file, and the session continues without it"
    )


@given(st.lists(records, max_size=8).map(tuple))
def test_written_records_read_back_unchanged(written: tuple[Record, ...]) -> None:
    reading = decode(log(*written))
    assert reading == LogReading(written, ())
    assert fold(reading.records) == fold(written)


@given(records)
def test_a_record_is_one_line(record: Record) -> None:
    line = encode(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1


def test_a_log_line_is_readable_for_people() -> None:
    assert encode(TurnStartRecord(turn=1, words="läuft 🐢 \\ 走", at=AT)).decode() == (
        '{"type":"turnStarted","turn":1,"words":"läuft 🐢 \\\\ 走",'
        '"at":"2026-11-21T03:40:12.123+00:00"}\n'
    )


def test_lone_surrogates_are_replaced_in_the_log_and_their_positions_recorded() -> None:
    blocks = (
        Text(text="whole", meta=META),
        ToolUse(id="c", name="bash", arguments='{"x":"\udc00\ud83d\ude00"}', meta=META),
    )
    message = Message(role="assistant", blocks=blocks, turn=1)
    mended = ToolUse(id="c", name="bash", arguments='{"x":"\ufffd😀"}', meta=META)
    assert decode(encode(MessageRecord(message=message, at=AT))).records == (
        MessageRecord(message=Message(role="assistant", blocks=(blocks[0], mended), turn=1), at=AT),
        Repaired(
            what="lone surrogates became U+FFFD in the line above, at message.blocks[1].arguments",
            at=AT,
        ),
    )


@given(st.text(st.characters(categories=["Cs", "L", "So"]), min_size=1))
def test_every_text_can_be_logged(words: str) -> None:
    first, *rest = decode(encode(TurnStartRecord(turn=1, words=words, at=AT))).records
    expected = words.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert first == TurnStartRecord(turn=1, words=expected, at=AT)
    assert len(rest) == (expected != words)


def test_every_cut_of_the_last_line_loses_at_most_that_line() -> None:
    whole = log(*WHOLE_TURN)
    last = encode(WHOLE_TURN[-1])
    start = len(whole) - len(last)
    for n_bytes in range(1, len(last) - 1):
        sentence = damaged(len(WHOLE_TURN), n_bytes)
        expected = LogReading(WHOLE_TURN[:-1], (sentence,), (sentence,))
        assert decode(whole[: start + n_bytes]) == expected
    assert decode(whole[:start]) == LogReading(WHOLE_TURN[:-1], ())
    assert decode(whole[:-1]) == LogReading(WHOLE_TURN, ())


def test_a_broken_line_in_the_middle_is_reported_and_the_rest_is_read() -> None:
    for broken in (
        b"{}",
        b"null",
        b'{"type":"said"}',
        b'{"type":7}',
        b"\xff\xfe",
        b"\x00" * 512,
        b'{"type":"said","x":' + b"[" * 100_000,
        b'{"type":"turnStarted","turn":"one","words":"","at":""}',
    ):
        sentence = damaged(2, len(broken)).replace(str(len(broken)), f"{len(broken):,}", 1)
        assert decode(log(STARTED, broken + b"\n", FINISHED)) == LogReading(
            (STARTED, FINISHED), (sentence,), (sentence,)
        )


def test_recorded_damage_is_not_reported_again() -> None:
    repaired = Repaired(what=damaged(2, 9), at=AT)
    assert decode(log(STARTED, b'{"type":"\n', repaired, HEARD)) == LogReading(
        (STARTED, repaired, HEARD), ()
    )


def test_records_of_a_newer_version_are_skipped_and_counted() -> None:
    newer = msgspec.structs.replace(STARTED, format=2)
    strange = b'{"type":"checkpoint","at":"x"}\n'
    assert decode(log(newer, strange, HEARD, strange, b'{"type":"mood"}\n')) == LogReading(
        (newer, HEARD),
        (
            (
                "the session was written by a newer Indwell (format 2, this one knows 1); "
                "update Indwell if something is missing"
            ),
            (
                "records of a newer Indwell were skipped (2 'checkpoint', 1 'mood'); "
                "update Indwell to read them"
            ),
        ),
    )


def test_a_field_from_a_newer_version_is_ignored() -> None:
    line = encode(FINISHED).replace(b'"turn":1', b'"turn":1,"mood":{"good":[true]}')
    assert decode(line) == LogReading((FINISHED,), ())


@given(st.binary(max_size=400))
def test_a_log_with_any_bytes_can_be_read(data: bytes) -> None:
    for line, number in ((part, n) for n, part in enumerate(data.split(b"\n"), 1) if part):
        assert damaged(number, len(line)) in decode(data).notices


@given(st.binary(max_size=60), st.integers(0, 10**6))
def test_damage_in_a_log_loses_only_the_damaged_lines(noise: bytes, at: int) -> None:
    whole = log(*WHOLE_TURN)
    at %= len(whole)
    hit = whole[:at] + noise + whole[at + len(noise) :]
    touched = range(whole.count(b"\n", 0, at), whole.count(b"\n", 0, at + len(noise)) + 1)
    kept = tuple(record for i, record in enumerate(WHOLE_TURN) if i not in touched)
    assert [record for record in decode(hit).records if record in kept] == list(kept)
