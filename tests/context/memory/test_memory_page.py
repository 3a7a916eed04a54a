"""The memory page: facts that people write are read, and other text stays unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.context.memory import (
    FACT_CHARACTERS,
    MOST_FACTS,
    Fact,
    alike,
    entries,
    fact_line,
    new_page,
    with_fact,
    without,
)
from indwell.errors import ToolError

KEPT = Fact("Tests run with `just test`.", day="2026-11-22", session="01kx-ab12")
SIGNS = st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"))
TEXTS = st.text(SIGNS, min_size=1, max_size=80).map(lambda text: " ".join(text.split()))


def facts(page: str) -> list[Fact]:
    return [one.fact for one in entries(page, "workspace")]


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("- Tests run with `just test`.", Fact("Tests run with `just test`.")),
        ("* starred", Fact("starred")),
        ("  + plus  ", Fact("plus")),
        (fact_line(KEPT), KEPT),
        ("- by hand <!-- 2026-11-22 -->", Fact("by hand", day="2026-11-22")),
        ("- a <!-- comment --> of mine", Fact("a <!-- comment --> of mine")),
        ("- " + "x" * 400, Fact("x" * FACT_CHARACTERS, is_cut=True)),
        ("- a\x0cpage \x85 break\u2028is a blank", Fact("a page break is a blank")),
    ],
)
def test_a_list_item_on_the_page_is_a_fact(line, fact) -> None:
    assert facts(f"{new_page('workspace')}{line}\n") == [fact]


@pytest.mark.parametrize("line", ["", "-", "- ", "no list", "    - code", "-none", "# - heading"])
def test_a_line_that_is_not_a_list_item_is_not_a_fact(line) -> None:
    assert facts(f"{line}\n") == []


def test_a_line_in_a_block_of_code_is_not_a_fact() -> None:
    assert facts("- one\n```\n- two\n```\n- three\n") == [Fact("one"), Fact("three")]


def test_a_huge_memory_page_is_read_up_to_a_limit() -> None:
    assert len(facts("- x\n" * (MOST_FACTS + 9))) == MOST_FACTS


def test_a_new_fact_is_appended_and_other_text_stays() -> None:
    page = "# Mine\r\n\r\n- one\r\n\r\nwords of mine"
    assert with_fact(page, KEPT) == f"{page}\r\n{fact_line(KEPT)}\r\n"


def test_a_corrected_fact_replaces_the_old_fact() -> None:
    page = "- one\n- Tests run with `make`. <!-- 2026-01-01 -->\n- three\n"
    changed = with_fact(page, KEPT, "Tests run with `make`.")
    assert changed == f"- one\n{fact_line(KEPT)}\n- three\n"
    assert with_fact(page, KEPT, "gone meanwhile") == f"{page}{fact_line(KEPT)}\n"


@pytest.mark.parametrize(
    ("page", "why"),
    [("- x\n" * MOST_FACTS, "contains 500 facts"), ("- one\n```sh\nmake\n", "has no end")],
)
def test_a_fact_is_refused_if_the_memory_page_is_full_or_broken(page, why) -> None:
    with pytest.raises(ToolError, match=why):
        with_fact(page, KEPT)


def test_a_correction_fits_a_full_page() -> None:
    page = "- one\n" + "- x\n" * (MOST_FACTS - 1)
    assert facts(with_fact(page, KEPT, "one"))[0] == KEPT


def test_a_fact_that_was_shown_cut_is_never_replaced() -> None:
    (cut,) = facts("- " + "word " * 70 + "and what nobody was shown\n")
    assert alike(cut.text, [cut]) is None
    assert alike(cut.text, [Fact(cut.text)]) is not None


def test_a_very_long_blank_line_is_read_fast() -> None:
    blanks = " " * 400_000  # an earlier version took minutes, because a search began at each blank
    assert facts(f"- a{blanks}b{blanks}<!-- {blanks}\n")[0].text.startswith("a b <!--")


def test_only_the_forgotten_fact_is_removed() -> None:
    page = "# Mine\n- one\n- two <!-- 2026-01-01 -->\n- one\n- three\x0cfour\n"
    assert without(page, "workspace", frozenset({"one", "two"})) == "# Mine\n- three\x0cfour\n"


@given(st.lists(TEXTS.filter(bool), max_size=8, unique=True))
def test_a_kept_fact_is_read_back_and_can_be_forgotten(texts) -> None:
    page = new_page("user")
    for text in texts:
        page = with_fact(page, Fact(text, "user", "2026-11-22", "01kx"))
    assert [one.fact.text for one in entries(page, "user")] == texts
    assert without(page, "user", frozenset(texts)) == new_page("user")
