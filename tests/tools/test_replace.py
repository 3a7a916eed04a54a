from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.errors import ToolError
from indwell.tools.editing.replace import (
    Replacement,
    ReplacementResult,
    apply,
    find_alike,
    replaced,
)


def edited(text: str, *edits: tuple[str, str]) -> str:
    return apply(text, [Replacement(old, new) for old, new in edits], "f")


def refusal(text: str, *edits: Replacement) -> str:
    with pytest.raises(ToolError) as caught:
        apply(text, edits, "f")
    return str(caught.value)


def test_enc_11_trailing_blanks_are_ignored_for_one_match_and_reported() -> None:
    text = "a:\n    b  \n\t\nc\n"
    assert replaced(text, [Replacement("    b\n\nc", "    B\n\nc")], "f") == ReplacementResult(
        "a:\n    B\n\nc\n", ("matched with other trailing blanks at line 2",)
    )
    assert edited("b\r\nc\r\n", ("b  \nc", "B\nc")) == "B\r\nc\r\n"
    assert edited("a\nb  \nc\n", ("b ", "")) == "a\n \nc\n"  # an exact match is used unchanged


def test_enc_11_two_matches_without_trailing_blanks_are_refused() -> None:
    assert refusal("b  \nb\t\n", Replacement("b \n", "x")).startswith("old text does not appear")


@pytest.mark.parametrize(
    ("text", "old", "said"),
    [
        ("if x:\n\treturn 1\n", "if x:\n    return 1", "only white space differs; "),
        (
            "    if x:\n        return 1\n",
            "if x:\n    return 1\n",
            "only white space differs, each line is indented by 4 spaces more; ",
        ),
        (
            "\tx = 1\n\ty = 2\n",
            "\t\tx = 1\n\t\ty = 2\n",
            "only white space differs, each line is indented by 1 tab less; ",
        ),
        ("say(\u201chello\u201d)\n", 'say("hello")', "only quotation marks differ; "),
        ("Return Total\n", "return total", "only case differs; "),
    ],
)
def test_enc_11_other_differences_are_named_and_never_ignored(
    text: str, old: str, said: str
) -> None:
    words = refusal(text, Replacement(old, "x"))
    assert words.startswith(f"old text does not appear in 'f'; {said}the closest place is line 1:")


def test_enc_10_another_unicode_form_is_named_and_the_exact_form_matches() -> None:
    composed, apart = "caf\u00e9 = 1\n", "cafe\u0301 = 1\n"
    assert edited(composed + apart, (apart, "x\n")) == f"{composed}x\n"
    said = refusal(composed, Replacement(apart, "x"))
    assert "only the form of some characters differs (Unicode NFC and NFD)" in said


def test_enc_11_the_most_similar_places_are_listed_first() -> None:
    text = "def a():\n    x = 1\n    return x\n\n\ndef b():\n    x = 1\n    return y\n"
    words = refusal(text, Replacement("def b():\n    x = 1\n    return x\n", ""))
    assert words.endswith(
        "the closest place is line 1:\n1\tdef a():\n2\t    x = 1\n3\t    return x\n"
        "another is line 6:\n6\tdef b():\n7\t    x = 1\n8\t    return y"
    )


def test_enc_12_the_whole_file_may_be_replaced() -> None:
    assert edited("a\nb\n", ("a\nb\n", "c\n")) == "c\n"
    assert edited("a\nb\n", ("a\nb\n", "")) == ""


def test_an_edit_of_a_long_crlf_file_takes_little_work() -> None:
    text = "".join(f"line {i}\r\n" for i in range(100_000))
    began = time.process_time()
    assert "line 50000\r\nx\r\nline 50001\r\n" in edited(
        text, ("line 50000\nline 50001", "line 50000\nx\nline 50001")
    )
    assert time.process_time() - began < 3


def test_edits_apply_in_order_each_to_the_previous_result() -> None:
    assert edited("a b", ("a", "x"), ("x b", "y")) == "y"


def test_the_edits_of_one_call_apply_all_together_or_not_at_all() -> None:
    assert refusal("a b", Replacement("a", "x"), Replacement("c", "y")) == (
        "edit 2 of 2: old text does not appear in 'f'; read_file it again, nothing there is like "
        "it; no edit was made"
    )


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (Replacement("", "x"), "old is empty; use write_file"),
        (Replacement("a", "a"), "old and new are the same"),
    ],
)
def test_an_edit_with_equal_old_and_new_text_is_refused(edit: Replacement, said: str) -> None:
    assert refusal("a", edit).startswith(said)


def test_a_call_without_edits_is_refused() -> None:
    assert refusal("a") == "there are no edits; give at least one {old, new}"


def test_an_ambiguous_text_is_reported_with_its_lines() -> None:
    assert refusal("x\ny\nx\n", Replacement("x", "z")) == (
        "old text appears 2 times in 'f', at lines 1, 3; add surrounding lines to name one, or "
        "set all to replace every one"
    )


def test_overlapping_matches_are_ambiguous() -> None:
    assert refusal("aaa", Replacement("aa", "b")).startswith("old text appears 2 times")


def test_the_option_all_replaces_every_match() -> None:
    assert apply("x\ny\nx\n", [Replacement("x", "z", all=True)], "f") == "z\ny\nz\n"


def test_a_replacement_is_literal_text() -> None:
    assert edited("a.c abc", ("a.c", r"\1 \g<0> $1")) == r"\1 \g<0> $1 abc"


def test_line_feeds_match_crlf_and_become_crlf() -> None:
    text = "a\r\nb\r\nc\r\n"
    assert edited(text, ("a\nb", "a\nnew\nb")) == "a\r\nnew\r\nb\r\nc\r\n"


def test_an_added_line_gets_the_line_end_of_the_file() -> None:
    assert edited("a\r\nb\r\n", ("b", "b1\nb2")) == "a\r\nb1\r\nb2\r\n"
    assert edited("a\r\nb", ("b", "b1\nb2")) == "a\r\nb1\r\nb2"


def test_unchanged_lines_keep_their_line_ends() -> None:
    assert edited("a\r\nb\nc\r\nd", ("a\nb\nc\nd", "a\nB\nc\nd")) == "a\r\nB\nc\r\nd"
    assert edited("a\r\nb\nc\r\nd", ("a\nb\nc\nd", "a\nc\nd")) == "a\r\nc\r\nd"


def test_crlf_from_the_model_matches_line_feeds() -> None:
    assert edited("a\nb\n", ("a\r\nb", "x\r\ny")) == "x\ny\n"


def test_a_match_never_begins_within_a_line_end() -> None:
    assert edited("a\r\nb", ("\nb", "\nc")) == "a\r\nc"
    assert edited("a\r\n\r\nb", ("\n\nb", "\nc")) == "a\r\nc"


def test_the_option_all_matches_every_kind_of_line_end() -> None:
    text = "a\nb\n-\r\na\r\nb\r\n"
    assert apply(text, [Replacement("a\nb", "x\ny", all=True)], "f") == "x\ny\n-\r\nx\r\ny\r\n"


def test_a_lone_carriage_return_counts_as_a_line_end() -> None:
    assert edited("a\rb\r", ("a\nb", "a\nx\nb")) == "a\rx\rb\r"


def test_a_missing_last_newline_stays_missing() -> None:
    assert edited("a\nb", ("b", "c")) == "a\nc"


def test_deleting_whole_lines_leaves_no_empty_line() -> None:
    assert edited("a\nb\nc\n", ("b", "")) == "a\nc\n"
    assert edited("a\r\nb\r\nc", ("a\nb", "")) == "c"


def test_deleting_a_part_of_a_line_leaves_its_end() -> None:
    assert edited("a # note\nb\n", (" # note", "")) == "a\nb\n"
    assert edited("a\nb", ("b", "")) == "a\n"
    assert edited("a\nb\nc\n", ("b\n", "")) == "a\nc\n"


def test_the_closest_text_is_shown_if_old_does_not_match() -> None:
    text = "import os\n\ndef start(self):\n    run(1)\n    stop()\n"
    assert refusal(text, Replacement("def start(self):\n    run(2)\n", "")) == (
        "old text does not appear in 'f'; the closest place is line 3:\n"
        "3\tdef start(self):\n4\t    run(1)"
    )


def test_a_likely_typo_is_found() -> None:
    text = "one\nreturn calculate_total(items)\ntwo\n"
    assert refusal(text, Replacement("return calculate_totals(item)", "x")).endswith(
        "the closest place is line 2:\n2\treturn calculate_total(items)"
    )


def test_a_difference_in_white_space_alone_is_named() -> None:
    assert refusal("if x:\n\treturn 1\n", Replacement("if x:\n    return 1\n", "")).endswith(
        "only white space differs; the closest place is line 1:\n1\tif x:\n2\t\treturn 1"
    )


def test_line_numbers_copied_into_old_are_pointed_out() -> None:
    assert "leave out the line numbers" in refusal("a\nb\n", Replacement("1\ta\n2\tb", "x"))


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("some line of text\n" * 200_000, "some line of test\n" * 400),
        ("".join(f"value_{i} = compute({i})\n" for i in range(100_000)), "value_x = computed(y)"),
        ("a" * 5_000_000, "a" * 100_000 + "b"),
        ("}\n" * 200_000, "}\n" * 500 + "x"),
    ],
)
def test_the_search_for_the_closest_text_is_bounded(text: str, old: str) -> None:
    began = time.process_time()
    assert "does not appear" in refusal(text, Replacement(old, ""))
    assert time.process_time() - began < 3


@pytest.mark.parametrize("new", ["b", "b\nc"])
def test_many_matches_in_one_long_line_search_its_end_once(new: str) -> None:
    began = time.process_time()
    result = apply("\r\n" + "a" * 160_000, [Replacement("aa", new, all=True)], "f")
    assert time.process_time() - began < 3
    assert result == "\r\n" + new.replace("\n", "\r\n") * 80_000


@pytest.mark.parametrize("end", ["\n", "\r"])
def test_ignoring_trailing_blanks_is_quick_for_every_line_end(end: str) -> None:
    text = end.join(["x" * 100] * 20_000 + ["key line here longer", *["b"] * 5] * 900)
    began = time.process_time()
    assert find_alike(text, "\n".join(["b"] * 4_000 + ["key line here longer"])) is None
    assert time.process_time() - began < 3
    start, stop = find_alike(f"{text}{end}the  {end}end{end}", "the\nend\n") or (0, 0)
    assert (start, stop) == (len(text) + 1, len(text) + 11)


@given(st.text("ab\r\n", max_size=20), st.text("ab\r\n", max_size=4), st.text("cd\n", max_size=4))
def test_an_exact_match_changes_only_the_matched_text(before: str, old: str, new: str) -> None:
    text = f"{before}<{old}>{before}"
    if not new:
        return  # deletions may remove a line end, too
    result = apply(text, [Replacement(f"<{old}>", new)], "f")
    assert (result[: len(before)], result[len(result) - len(before) :]) == (before, before)


def test_the_marker_of_a_cut_line_is_named_as_the_reason_if_old_does_not_appear() -> None:
    text = "x" * 5_000 + "\n"
    old = "x" * 2_000 + "[… 3,000 more characters]"
    words = refusal(text, Replacement(old, "y"))
    assert "old contains '[… 3,000 more characters]', which only marks that read_file cut" in words
    marked = old + "\n"  # a file may really contain such a text
    assert edited(marked, (old, "y")) == "y\n"
