"""The choice of lines to keep, and the chance that a line is needed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from indwell.context.compaction.digesting.line_choice import (
    LEAST_WORTH,
    ReducibleText,
    chosen,
    edit_chance,
    name_chance,
)
from indwell.context.compaction.digesting.lines import lines_of
from indwell.context.compaction.digesting.transcript_index import Read, Uses, uses_of
from indwell.messages import Message, Meta, Text, ToolResult, ToolUse

NAMES = ("cart_total", "tax_rate", "shop/cart.py", "priceOf", "E4711", "user.name")


def meta(source="tool") -> Meta:
    return Meta(tier=3, source=source, tokens=10, turn=1)


def uses(**changes) -> Uses:
    known = {
        "n_calls": 50,
        "written": {},
        "seen": dict.fromkeys(NAMES, 40),
        "spread": dict.fromkeys(NAMES, 2),
        "reads": {},
        "read_last": {},
    }
    return Uses(**(known | changes))


def test_a_name_that_the_agent_wrote_recently_is_likeliest_to_be_used():
    never = name_chance("tax_rate", uses())
    long_ago = name_chance("tax_rate", uses(written={"tax_rate": 5}))
    lately = name_chance("tax_rate", uses(written={"tax_rate": 48}))
    assert 0 < never < long_ago < lately < 1


def test_a_line_read_lately_in_a_short_file_is_likelier_to_be_edited():
    (line,) = lines_of("    total = cart_total(items)")
    known = uses(read_last={"a.py": 48, "b.py": 10})
    late, early = Read("a.py", 48), Read("b.py", 10)
    assert edit_chance(line, 20, late, known) > edit_chance(line, 2_000, late, known)
    assert edit_chance(line, 20, late, known) > edit_chance(line, 20, early, known)
    assert edit_chance(lines_of("}")[0], 20, late, known) == 0


def test_only_the_first_of_two_lines_with_the_same_names_is_kept():
    lines = "uses cart_total and tax_rate\nuses cart_total and tax_rate again"
    kept = chosen([ReducibleText(lines)], 1_000, (), uses(written=dict.fromkeys(NAMES, 49)))
    assert len(kept[0]) == 1


def test_a_line_with_a_name_from_the_agents_own_text_is_kept():
    lines = "cart_total = 12"
    spoken = Text("I look at cart_total.", meta("assistant"))
    result = ToolResult("c1", "cart_total = 12", meta())
    known = uses(written={"cart_total": 50})
    assert chosen([ReducibleText(lines)], 1_000, [spoken], known) == [{0}]
    assert chosen([ReducibleText(lines)], 1_000, [result], known) == [set()]


def test_required_lines_stay_even_without_space():
    lines = "<skill>\nwords\n</skill>"
    assert chosen([ReducibleText(lines, kept=(0, 2))], -100, (), uses()) == [{0, 2}]


def test_the_second_line_of_a_call_pair_costs_no_marker():
    piece = ReducibleText("cart_total\ntax_rate here", head=30, pair="1:a")
    known = uses(written=dict.fromkeys(NAMES, 50))
    # The line needs a little more than 85 tokens: its text, a break, a marker, and the tool pair.
    assert chosen([piece], 85, (), known) == [set()]
    assert chosen([piece], 100, (), known) == [{0, 1}]


LINES = st.lists(
    st.lists(st.sampled_from((*NAMES, "plain", "words")), max_size=6).map(" ".join), max_size=30
)


@given(st.lists(LINES, max_size=6), st.integers(-50, 400))
def test_chosen_lines_fit_the_token_limit_and_exclude_worthless_lines(texts, room):
    pieces = [
        ReducibleText("\n".join(lines), head=10, pair=str(at % 2)) for at, lines in enumerate(texts)
    ]
    known = uses(written={"tax_rate": 49})
    kept = chosen(pieces, room, (), known)
    by_number = [{one.number: one for one in lines_of(piece.text)} for piece in pieces]
    taken = [by_number[at][number] for at, numbers in enumerate(kept) for number in numbers]
    assert sum(line.tokens + 1 for line in taken) <= max(0, room)
    for line in taken:
        most = 0.001 + sum(name_chance(name, known) for name in line.names)
        assert most / (line.tokens + 2) >= LEAST_WORTH


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
    assert known.written["shop/cart.py"] == 1
    assert known.written["tax_rate"] == 2
    assert "cart_total" not in known.written
    assert known.spread["cart_total"] == 2
    assert known.reads["c1"] == Read("shop/cart.py", 1)


def test_both_ends_of_a_huge_text_are_read_with_correct_line_numbers():
    text = "\n".join(f"name_{number}" for number in range(200_000))
    lines = lines_of(text)
    assert len(lines) < 90_000
    assert lines[0].names == ("name_0",)
    assert lines[-1].number == 199_999
    assert lines[-1].names == ("name_199999",)
    assert all(one.names in ((f"name_{one.number}",), ()) for one in lines[1_000:-1_000:997])
