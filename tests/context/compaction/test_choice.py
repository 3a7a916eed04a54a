"""The choice of lines to keep, and the chance that a line is needed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.context.compaction.digesting.line_choice import (
    LEAST_WORTH,
    ReducibleText,
    chosen,
    edit_chance,
    name_chance,
    near_asked,
)
from indwell.context.compaction.digesting.line_store import (
    DecisionStopped,
    KeySet,
    LineStore,
    NameNumbers,
)
from indwell.context.compaction.digesting.transcript_index import Read, Uses, uses_of
from indwell.messages import Message, Meta, Text, ToolResult, ToolUse

NAMES = ("cart_total", "tax_rate", "shop/cart.py", "priceOf", "E4711", "user.name")


def meta(source="tool") -> Meta:
    return Meta(tier=3, source=source, tokens=10, turn=1)


def said(role, text="Go on", path="") -> Message:
    source = "assistant" if role == "assistant" else "user"
    blocks = [Text(text, meta(source))]
    if path:
        blocks.append(ToolUse(path, "read_file", f'{{"path": "{path}"}}', meta("assistant")))
    return Message(role, tuple(blocks), 1)


def uses(written=(), read=(), n_calls=50) -> Uses:
    """Return the uses after some model calls.

    Args:
        written: Identifiers, each with the model call in which the agent wrote the identifier.
        read: Paths, each with the model call that read the file.
        n_calls: The number of model calls.
    """
    replies = {call: name for name, call in dict(written).items()}
    reads = {call: path for path, call in dict(read).items()}
    messages: list[Message] = []
    for call in range(1, n_calls + 1):
        messages.append(said("user", " ".join(NAMES) if call in {40, 41} else "Go on"))
        messages.append(said("assistant", replies.get(call, "Done"), reads.get(call, "")))
    return uses_of(messages)


def all_written() -> Uses:
    return uses_of([said("user"), said("assistant", " ".join(NAMES))])


def number(known: Uses, name: str) -> int:
    return known.lines.numbers.number(name)


def reducible(text, **given) -> ReducibleText:
    return ReducibleText(Text(text, meta()), **given)


def only_kept(piece, room, shown, known) -> list[int]:
    (kept,) = chosen([piece], room, shown, known)
    return sorted(kept)


def test_a_name_that_the_agent_wrote_recently_is_likeliest_to_be_used():
    known = uses(written={"tax_rate": 5, "cart_total": 48})
    never, long_ago, lately = (
        name_chance(number(known, name), known) for name in ("E4711", "tax_rate", "cart_total")
    )
    assert 0 < never < long_ago < lately < 1


def test_a_line_read_lately_in_a_short_file_is_likelier_to_be_edited():
    known = uses(read={"a.py": 48, "b.py": 10})
    (line,) = known.lines.lines("    total = cart_total(items)").digested()
    (short,) = known.lines.lines("}").digested()
    late, early = Read("a.py", 48), Read("b.py", 10)
    assert edit_chance(line, 20, late, known) > edit_chance(line, 2_000, late, known)
    assert edit_chance(line, 20, late, known) > edit_chance(line, 20, early, known)
    assert edit_chance(short, 20, late, known) == 0


def read_twice(*results: str) -> Uses:
    """Return the uses after the agent has read a file several times, with these results."""
    messages = [said("user", "Change the rounding in tax_rate")]
    for call, text in enumerate(results):
        use = ToolUse(f"c{call}", "read_file", '{"path": "a.py"}', meta("assistant"))
        messages.append(Message("assistant", (use,), 1))
        messages.append(Message("user", (ToolResult(f"c{call}", text, meta()),), 1))
    return uses_of(messages)


def test_a_line_that_two_calls_read_is_likelier_to_be_edited():
    # The same line twice in one result does not count, and a number does not matter.
    once = read_twice("1\ttotal = 1\n2\tprint(total)\n3\tprint(total)", "9\treturn total")
    twice = read_twice("1\ttotal = 1\n2\tprint(total)", "7\tprint(total)\n9\treturn total")
    read = Read("a.py", 2)
    chances = [
        edit_chance(next(known.lines.lines("print(total)").digested()), 3, read, known)
        for known in (once, twice)
    ]
    assert chances[0] < chances[1]


def test_lines_near_a_rare_name_of_the_user_are_kept_before_others():
    plain = [f"    line of code with number {at}" for at in range(40)]
    plain[20] = "    def tax_rate(order):"
    known = read_twice("\n".join(plain))
    near = near_asked(known.lines.lines("\n".join(plain)).digested(), len(plain), known)
    assert [at for at, is_near in enumerate(near) if is_near] == list(range(14, 27))
    piece = reducible("\n".join(plain), read=Read("a.py", 1))
    kept = only_kept(piece, 120, [Text("tax_rate", meta("user"))], known)
    assert len(kept) > 5
    assert set(kept) <= set(range(14, 27))
    for _ in range(7):  # The name is everywhere, so it tells of no place.
        known.add(said("user", "tax_rate"))
    assert not any(near_asked(known.lines.lines("\n".join(plain)).digested(), len(plain), known))


def test_only_the_first_of_two_lines_with_the_same_names_is_kept():
    lines = "uses cart_total and tax_rate\nuses cart_total and tax_rate again"
    kept = chosen([reducible(lines)], 1_000, (), all_written())
    assert len(kept[0]) == 1


def test_a_line_with_a_name_from_the_agents_own_text_is_kept():
    lines = "cart_total = 12"
    spoken = Text("I look at cart_total.", meta("assistant"))
    result = ToolResult("c1", "cart_total = 12", meta())
    known = uses(written={"cart_total": 50})
    assert only_kept(reducible(lines), 1_000, [spoken], known) == [0]
    assert only_kept(reducible(lines), 1_000, [result], known) == []


def test_required_lines_stay_even_without_space():
    lines = "<skill>\nwords\n</skill>"
    assert only_kept(reducible(lines, kept=(0, 2)), -100, (), uses()) == [0, 2]


def test_the_second_line_of_a_call_pair_costs_no_marker():
    piece = reducible("cart_total\ntax_rate here", head=30, pair=1)
    known = all_written()
    # The line needs a little more than 85 tokens: its text, a break, a marker, and the tool pair.
    assert only_kept(piece, 85, (), known) == []
    assert only_kept(piece, 100, (), known) == [0, 1]


LINES = st.lists(
    st.lists(st.sampled_from((*NAMES, "plain", "words")), max_size=6).map(" ".join), max_size=30
)


@given(st.lists(LINES, max_size=6), st.integers(-50, 400))
def test_chosen_lines_fit_the_token_limit_and_exclude_worthless_lines(texts, room):
    pieces = [
        reducible("\n".join(lines), head=10, pair=1 + at % 2) for at, lines in enumerate(texts)
    ]
    known = uses(written={"tax_rate": 49})
    kept = chosen(pieces, room, (), known)
    by_number = [
        {one.number: one for one in known.lines.lines(one.text).digested()} for one in pieces
    ]
    taken = [by_number[at][number] for at, numbers in enumerate(kept) for number in numbers]
    assert sum(line.tokens + 1 for line in taken) <= max(0, room)
    for line in taken:
        most = 0.001 + sum(name_chance(name, known) for name in line.names)
        assert most / (line.tokens + 2) >= LEAST_WORTH


def searched(pieces, room, known) -> list[list[int]]:
    """Choose lines as ``chosen`` does, but visit each line before each choice."""
    left = {
        (at, one.number): one
        for at, text in enumerate(pieces)
        for one in known.lines.lines(text.text).digested()
    }
    kept, pairs, names = [list[int]() for _ in pieces], set(), set()

    def worth(line) -> float:
        new = (name_chance(name, known) for name in line.names if name not in names)
        return sum(new, 0.001) / (line.tokens + 2)

    while room > 0 and left:
        at, one = min(left, key=lambda key: (-worth(left[key]), key))
        line = left.pop((at, one))
        if worth(line) < LEAST_WORTH:
            break
        head = pieces[at].head * (not kept[at]) + 50 * (pieces[at].pair not in pairs)
        if line.tokens + 1 + head <= room:
            room -= line.tokens + 1 + head
            kept[at].append(line.number)
            pairs.add(pieces[at].pair)
            names |= set(line.names)
    return kept


@given(st.lists(LINES, max_size=6), st.integers(40, 120))
def test_the_choice_equals_a_search_of_all_lines(texts, room):
    pieces = [
        reducible("\n".join(lines), head=10, pair=1 + at // 2) for at, lines in enumerate(texts)
    ]
    known = uses(written={"tax_rate": 49})
    kept = [sorted(numbers) for numbers in chosen(pieces, room, (), known)]
    assert kept == [sorted(numbers) for numbers in searched(pieces, room, known)]


def test_lines_that_lose_worth_wait_behind_better_lines():
    names = ("cart_total", "priceOf", "E4711", "user.name", "shop/cart.py")
    lines = (f"tax_rate {name}{' word' * at}" for at, name in enumerate(names))
    piece = reducible("\n".join(lines), pair=1)
    known = uses(written={"tax_rate": 49})
    for room in range(60, 130):
        kept = list(only_kept(piece, room, (), known))
        assert kept == sorted(searched([piece], room, known)[0]), room


def test_uses_of_names_are_counted_call_by_call():
    read = ToolUse("c1", "read_file", '{"path": "shop/cart.py"}', meta("assistant"))
    told = ToolResult("c1", "1\tcart_total = 1", meta())
    known = uses_of(
        (
            Message("user", (Text("Mend cart_total", meta("user")),), 1),
            Message("assistant", (read,), 1),
            Message("user", (told,), 1),
            Message("assistant", (Text("tax_rate is next", meta("assistant")),), 1),
        )
    )
    assert known.n_calls == 2
    names = ("shop/cart.py", "tax_rate", "cart_total")
    cart, rate, total = (number(known, name) for name in names)
    assert (known.written[cart], known.written[rate], known.written[total]) == (1, 2, 0)
    assert known.spread[total] == 2
    assert known.reads["c1"] == Read("shop/cart.py", 1)


def test_both_ends_of_a_huge_text_are_read_with_correct_line_numbers():
    text = "\n".join(f"name_{at}" for at in range(200_000))
    store = LineStore()
    lines = list(store.lines(text).digested())
    assert len(lines) < 90_000
    assert (lines[0].number, lines[-1].number) == (0, 199_999)
    for line in lines[1_000:-1_000:997]:
        assert line.names == (store.numbers.number(f"name_{line.number}"),)
        assert store.lines(text).line(line.number) == line


@pytest.mark.parametrize("lines_after", [[], ["", "cart_total = 2"], [""]])
def test_a_huge_line_with_both_ends_of_a_text_is_one_line(lines_after):
    text = "\n".join(("cart_total = 1", "tax_rate " * 100_000, *lines_after))
    found = list(LineStore().lines(text).digested())
    assert [line.number for line in found] == [0, 1, *[3] * ("cart_total = 2" in lines_after)]


def test_a_set_of_keys_has_exactly_the_added_keys_also_after_it_widens():
    # Three keys each begin in the same slot, and the key 0 is skipped.
    keys = [(number << 36) + number // 3 for number in range(3_000)]
    found = KeySet()
    found.update((*keys, *keys))
    assert [key for key in keys if key in found] == keys[1:]
    assert not any(key + 5_000 in found for key in keys)


def test_only_known_keys_are_marked_and_marks_stay_when_the_set_widens():
    keys = [(number << 36) + number // 3 for number in range(1, 3_000)]
    found = KeySet()
    found.update(keys[:100])
    found.mark_known((0, *keys[50:150]))
    found.update(keys)
    assert [key for key in keys if found.is_marked(key)] == keys[50:100]
    assert all(key in found for key in keys)


@given(st.lists(st.sampled_from(NAMES) | st.text(min_size=1, max_size=3), max_size=40))
def test_equal_names_and_no_others_have_one_number(names):
    numbers = NameNumbers()
    found = [numbers.number(name) for name in names]
    order = list(dict.fromkeys(names))
    assert found == [order.index(name) for name in names]
    assert len(numbers) == len(order)


def test_names_keep_their_numbers_when_the_table_widens():
    numbers = NameNumbers()
    names = [f"name_{at}" for at in range(5_000)]
    assert [numbers.number(name) for name in names] == list(range(5_000))
    assert [numbers.number(name) for name in names] == list(range(5_000))


def test_a_decision_that_is_no_longer_needed_stops():
    known = uses()
    known.lines.is_stopped = True
    with pytest.raises(DecisionStopped):
        chosen([reducible("cart_total")], 1_000, (), known)
