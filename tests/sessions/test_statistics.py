from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from indwell.context.history import MessageSplice
from indwell.context.request.cache_health import Compactions, UsageFigures
from indwell.messages import Message, Meta, Text, Usage
from indwell.sessions.overview import (
    SessionFigures,
    StatisticsKey,
    by_turn,
    scanned_figures,
    statistics,
)
from indwell.sessions.records import (
    CompactionRecord,
    MessageRecord,
    Record,
    SessionStarted,
    Spent,
    TurnStartRecord,
)
from indwell.sessions.storage.writer import encode

NOON = "2026-11-{:02}T12:00:00.000+00:00"
WORDS = Message("user", (Text("x" * 1_000, Meta(1, "user", 250)),), 1)


def day_of(at: str) -> str:
    return at[:10]


def spent(
    day: int, *, turn: int = 1, model: str = "m", cost: float | None = 0.5, **usage: int
) -> Spent:
    return Spent(
        turn,
        model,
        Usage(**(usage or {"input": 100, "cached": 60, "output": 5})),
        cost,
        NOON.format(day),
    )


def compacted(day: int, layer: str, before: int, after: int, *, turn: int = 1) -> CompactionRecord:
    splice = MessageSplice(0, 1, (WORDS,))
    return CompactionRecord(turn, layer, (splice,), before, after, ("a.txt",), NOON.format(day))


def a_session(name: str, *records: Record, since: str = "") -> SessionFigures:
    begun = SessionStarted(session=name, workspace=f"/{name}", model="m0", at=NOON.format(1))
    log = b"".join(map(encode, (begun, *records)))
    pieces = [log[at : at + 97] for at in range(0, len(log), 97)]
    return scanned_figures(name, pieces, day_of, since=since)


ONE = UsageFigures(1, 0, 0, Usage(100, 60, 0, 5), 100, 0, 0.5)


def test_a_log_is_summed_by_day_model_and_turn() -> None:
    session = a_session(
        "a",
        TurnStartRecord(1, "go", NOON.format(20)),
        MessageRecord(WORDS, NOON.format(20)),
        spent(20),
        spent(20),
        compacted(20, "digest", 9_000, 4_000),
        spent(21, turn=2, model="n", cost=None),
        compacted(21, "collapse", 8_000, 3_000, turn=2),
        compacted(21, "digest", 5_000, 4_500, turn=2),
    )
    digest, other = {"digest": Compactions(1, 5_000)}, UsageFigures(1, 0, 1, ONE.usage, 100)
    both = {"collapse": Compactions(1, 5_000), "digest": Compactions(1, 500)}
    assert session == SessionFigures(
        id="a",
        workspace="/a",
        model="n",
        parts={
            StatisticsKey("2026-11-20", "m", 1): ONE + ONE + UsageFigures(compactions=digest),
            StatisticsKey("2026-11-21", "n", 2): other + UsageFigures(compactions=both),
        },
    )
    assert list(by_turn(session)) == [1, 2]
    assert (session.total.cost, session.total.known_cost, session.total.saved) == (
        None,
        1.0,
        10_500,
    )


def test_sessions_are_merged_newest_first_and_counted_once() -> None:
    first = a_session("a", spent(20), spent(21, model="n", input=900))
    second = a_session("b", spent(21), spent(22, cost=None))
    empty = a_session("c")
    shown = statistics([first, empty, second])
    assert [one.id for one in shown.sessions] == ["b", "a"]
    assert list(shown.days) == ["2026-11-22", "2026-11-21", "2026-11-20"]
    assert list(shown.models) == ["n", "m"]
    for table in (shown.days, shown.models, {one.id: one.total for one in shown.sessions}):
        assert sum(table.values(), UsageFigures()) == shown.total
    assert (shown.total.requests, shown.total.usage.input) == (4, 1_200)
    assert (shown.total.cost, shown.total.known_cost, shown.total.unpriced) == (None, 1.5, 1)
    # A call of unknown cost affects only the sums that include it.
    assert shown.days["2026-11-20"].cost == 0.5
    assert shown.models["n"].cost == 0.5


def test_only_the_requested_days_count() -> None:
    records = (spent(20), spent(21), compacted(20, "digest", 9, 4))
    assert a_session("a", *records, since="2026-11-21").total == ONE
    assert statistics([a_session("a", *records, since="2026-11-22")]).sessions == ()


def test_messages_are_not_decoded_and_damage_is_reported() -> None:
    # This line is skipped because its beginning and end do not match.
    broken = b'{"type":"said","message":{"no such thing":1}}\n'
    torn = b'{"type":"spent","turn":1\n'
    log = encode(spent(20)) + broken + torn + encode(spent(20))
    session = scanned_figures("a", [log], day_of)
    assert session.total == ONE + ONE
    (notice,) = session.notices
    assert notice.startswith("line 3 of the session's log is cut off or damaged (24 bytes)")


def test_no_sessions_give_empty_sums() -> None:
    shown = statistics([])
    assert (shown.total, shown.days, shown.sessions) == (UsageFigures(), {}, ())


@given(
    st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.booleans(),
            st.integers(1, 9),
            st.integers(0, 4),
            st.sampled_from("mn"),
            st.sampled_from([None, 0.0, 0.25]),
        ),
        max_size=20,
    )
)
def test_statistics_by_day_model_session_and_turn_have_equal_sums(steps) -> None:
    logs: dict[str, list[Record]] = {"a": [], "b": []}
    for name, is_call, day, turn, model, cost in steps:
        record: Record = (
            spent(day, turn=turn, model=model, cost=cost)
            if is_call
            else compacted(day, "digest", 900, 300, turn=turn)
        )
        logs[name].append(record)
    shown = statistics(a_session(name, *records) for name, records in logs.items())
    by_session = {one.id: one.total for one in shown.sessions}
    turns = [figures for one in shown.sessions for figures in by_turn(one).values()]
    for rows in (shown.days.values(), shown.models.values(), by_session.values(), turns):
        assert sum(rows, UsageFigures()) == shown.total
    assert shown.total.requests == sum(is_call for _, is_call, *_ in steps)
