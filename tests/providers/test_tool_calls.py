from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from indwell.messages import ToolCall
from indwell.providers.wires.tool_calls import CallAssembler, CallDelta, delta_of


def assemble(*deltas: CallDelta) -> tuple[ToolCall, ...]:
    assembler = CallAssembler()
    for delta in deltas:
        assembler.add(delta)
    return assembler.calls()


def check(*deltas: CallDelta, calls: Sequence[tuple[str, str, str]]) -> None:
    assert assemble(*deltas) == tuple(ToolCall(*call) for call in calls)


def piece(**fields: Any) -> CallDelta:
    return CallDelta(**fields)


def test_arguments_are_joined_by_index_even_when_calls_interleave() -> None:
    check(
        piece(index=0, id="a", name="read"),
        piece(index=1, id="b", name="grep"),
        piece(index=0, arguments='{"p":'),
        piece(index=1, arguments='{"q":'),
        piece(index=0, arguments="1}"),
        piece(index=1, arguments="2}"),
        calls=[("a", "read", '{"p":1}'), ("b", "grep", '{"q":2}')],
    )


def test_a_new_id_at_a_used_index_is_a_new_call() -> None:
    check(  # Ollama gives every call the index 0
        piece(index=0, id="a", name="read", arguments='{"p":1}'),
        piece(index=0, id="b", name="read", arguments='{"p":2}'),
        calls=[("a", "read", '{"p":1}'), ("b", "read", '{"p":2}')],
    )


def test_a_new_name_at_a_used_index_is_a_new_call() -> None:
    check(
        piece(index=0, name="read", arguments="{}"),
        piece(index=0, name="grep", arguments="{}"),
        calls=[("call_0", "read", "{}"), ("call_1", "grep", "{}")],
    )


def test_a_second_object_under_the_same_name_is_a_new_call() -> None:
    check(
        piece(index=0, name="read", arguments='{"p":1}'),
        piece(index=0, name="read", arguments='{"p":2}'),
        calls=[("call_0", "read", '{"p":1}'), ("call_1", "read", '{"p":2}')],
    )


def test_a_name_repeated_in_each_chunk_is_not_doubled() -> None:
    check(
        piece(index=0, id="a", name="read", arguments='{"p":'),
        piece(index=0, id="a", name="read", arguments='{"q":1}'),
        piece(index=0, id="a", name="read", arguments="}"),
        calls=[("a", "read", '{"p":{"q":1}}')],
    )


def test_a_call_chunk_without_an_index_continues_or_starts_a_call_by_its_id() -> None:
    check(
        piece(id="a", name="read"),
        piece(arguments='{"p":1}'),
        piece(id="b", name="read"),
        piece(arguments="{}"),
        piece(id="a", arguments=" "),
        calls=[("a", "read", '{"p":1} '), ("b", "read", "{}")],
    )


def test_a_late_index_belongs_to_the_call_without_an_index() -> None:
    check(
        piece(id="a", name="read", arguments='{"p":'),
        piece(index=0, arguments="1}"),
        piece(index=1, id="b", name="grep", arguments="{}"),
        calls=[("a", "read", '{"p":1}'), ("b", "grep", "{}")],
    )


def test_missing_and_repeated_ids_are_replaced_by_unused_ids() -> None:
    check(
        piece(index=0, name="read"),
        piece(index=1, id="call_0", name="read"),
        piece(index=2, id="x", name="read"),
        piece(index=3, id="x", name="read"),
        calls=[
            ("call_1", "read", "{}"),
            ("call_0", "read", "{}"),
            ("x", "read", "{}"),
            ("call_3", "read", "{}"),
        ],
    )


def test_empty_arguments_are_an_empty_object() -> None:
    check(piece(index=0, id="a", name="read", arguments=" "), calls=[("a", "read", "{}")])


def test_a_tool_call_without_a_name_is_kept_and_an_empty_call_is_dropped() -> None:
    check(piece(index=0), piece(index=1, arguments="{}"), calls=[("call_1", "unnamed", "{}")])


def test_a_character_split_between_two_call_chunks_is_joined() -> None:
    check(
        piece(index=0, id="a", name="say", arguments='{"p":"\ud83d'),
        piece(index=0, arguments='\ude00"}'),
        calls=[("a", "say", '{"p":"😀"}')],
    )


def test_the_name_of_a_call_is_reported_once_when_it_arrives() -> None:
    assembler = CallAssembler()
    deltas = (piece(index=0, id="a"), piece(index=0, name="read"), piece(index=0, name="read"))
    assert [assembler.add(delta) for delta in deltas] == [None, "read", None]


def test_a_call_counts_as_begun_after_its_first_chunk() -> None:
    assembler = CallAssembler()
    before = assembler.begun
    assembler.add(piece(index=0))
    assert (before, assembler.begun) == (False, True)


def test_arguments_given_as_an_object_become_its_text() -> None:
    sent = {"index": 0, "id": "a", "function": {"name": "read", "arguments": {"p": "é"}}}
    assert delta_of(sent) == piece(index=0, id="a", name="read", arguments='{"p":"é"}')


def test_a_field_of_the_wrong_type_counts_as_missing() -> None:
    assert delta_of({"index": "x", "id": 7, "function": []}) == CallDelta()
    assert delta_of({"function": {"name": 3, "arguments": None}}) == CallDelta()


JSON = st.dictionaries(
    st.text(max_size=4),
    st.recursive(st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3)),
    max_size=3,
)


@st.composite
def chunked_calls(draw: st.DrawFn) -> tuple[tuple[ToolCall, ...], list[CallDelta]]:
    """Draw calls, and one way in which an endpoint may split and interleave the calls."""
    arguments = draw(st.lists(JSON, min_size=1, max_size=4))
    calls = tuple(
        ToolCall(f"id{index}", draw(st.sampled_from(["read", "grep"])), json.dumps(value))
        for index, value in enumerate(arguments)
    )
    repeat_name = draw(st.booleans())
    queues: list[list[CallDelta]] = []
    for index, call in enumerate(calls):
        cuts = sorted(draw(st.sets(st.integers(1, len(call.arguments) - 1), max_size=5)))
        bounds = [0, *cuts, len(call.arguments)]
        pieces = [call.arguments[a:b] for a, b in itertools.pairwise(bounds)]
        queue = [CallDelta(index, call.id, call.name)]
        queue += [
            CallDelta(
                index,
                call.id if repeat_name else "",
                call.name if repeat_name else "",
                text,
            )
            for text in pieces
        ]
        queues.append(queue)
    deltas: list[CallDelta] = [queue.pop(0) for queue in queues]  # the calls begin in order
    while left := [queue for queue in queues if queue]:
        deltas.append(left[draw(st.integers(0, len(left) - 1))].pop(0))
    return calls, deltas


@given(chunked_calls())
def test_calls_split_into_any_chunks_are_assembled_equally(
    case: tuple[tuple[ToolCall, ...], list[CallDelta]],
) -> None:
    calls, deltas = case
    assert assemble(*deltas) == calls


@given(chunked_calls())
def test_consecutive_calls_need_neither_index_nor_repeated_ids(
    case: tuple[tuple[ToolCall, ...], list[CallDelta]],
) -> None:
    calls, deltas = case
    in_turn = sorted(deltas, key=lambda delta: delta.index or 0)
    without = [
        CallDelta(None, d.id if not d.arguments else "", d.name, d.arguments) for d in in_turn
    ]
    assert assemble(*without) == calls


@given(
    st.lists(
        st.builds(
            CallDelta,
            st.none() | st.integers(0, 2),
            st.sampled_from(["", "a", "call_0"]),
            st.sampled_from(["", "read"]),
            st.sampled_from(["", "{}", '{"p":', "1}", "\ud83d"]),
        )
    )
)
def test_ids_are_unique_and_no_argument_text_is_lost_for_any_stream(
    deltas: list[CallDelta],
) -> None:
    calls = assemble(*deltas)
    assert len({call.id for call in calls}) == len(calls)
    assert all(call.id and call.name and call.arguments for call in calls)
    text = "".join(delta.arguments for delta in deltas).replace("\ud83d", "\ufffd")
    assert sorted(text.replace("{}", "")) == sorted(
        "".join(call.arguments for call in calls).replace("{}", "")
    )


def test_ids_that_cannot_be_encoded_stay_distinct() -> None:
    ids = ("x\ufffd_2", "x\ud800", "x\ud801")
    calls = assemble(*(piece(index=n, id=id_, name="read") for n, id_ in enumerate(ids)))
    assert [call.id for call in calls] == ["x\ufffd_2", "x\ufffd", "call_2"]


def test_arguments_that_are_too_long_or_too_deep_are_not_calls() -> None:
    assembler = CallAssembler()
    for _ in range(1_001):
        assembler.add(piece(index=0, name="read", arguments="{" * 1_000))
    assert "'read' were over 1,000,000 characters" in assembler.problem
    deep = '{"a":' + "[" * 1_500 + "]" * 1_500 + "}"
    check(
        piece(index=0, name="read", arguments=deep),
        piece(index=0, name="read", arguments="{}"),
        calls=[("call_0", "read", deep + "{}")],
    )
