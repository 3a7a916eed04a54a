from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.tools.truncate import TextEnds, cut_diff, cut_output, plain, without_escapes


def test_an_output_of_15_000_characters_stays_whole() -> None:
    assert cut_output("x" * 15_000) is None


def test_a_longer_output_keeps_6_000_characters_at_the_start_and_3_000_at_the_end() -> None:
    text = "a" * 10_000 + "\n" + "b" * 10_000
    assert cut_output(text) == TextEnds(
        head="a" * 6_000, tail="b" * 3_000, n_chars=11_001, n_lines=1
    )


def test_a_line_limit_keeps_both_ends_of_an_output() -> None:
    text = "".join(f"{i}\n" for i in range(10))
    assert cut_output(text, max_lines=10) is None
    assert cut_output(text, max_lines=3) == TextEnds("0\n1\n", "9\n", n_chars=14, n_lines=7)
    assert cut_output(text, max_lines=1) == TextEnds("0\n", "", n_chars=18, n_lines=9)


@given(st.text("ab\n", max_size=40_000), st.integers(0, 20))
def test_kept_and_omitted_parts_together_are_the_whole_text(text: str, max_lines: int) -> None:
    cut = cut_output(text, max_lines)
    if cut is not None:
        assert text.startswith(cut.head)
        assert text.endswith(cut.tail)
        assert len(cut.head) + len(cut.tail) + cut.n_chars == len(text)


def test_a_long_diff_is_cut_at_a_line() -> None:
    assert cut_diff("+x\n" * 1_000) == "+x\n" * 1_000
    assert cut_diff("+x\n" * 1_001) == "+x\n" * 833 + "[… 168 more lines of diff …]\n"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link", "textlink"),
        ("bell\x07 back\x08space \x9b", "bell backspace "),
        ("\x1b[", ""),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_terminal_escape_sequences_are_removed_from_output(raw: str, shown: str) -> None:
    assert without_escapes(raw) == shown


def test_overwritten_progress_is_not_shown() -> None:
    assert plain("10%\r20%\r100%\ndone\r\nlast\r") == "100%\ndone\nlast"


def test_a_long_line_with_one_carriage_return_is_processed_in_time() -> None:
    began = time.process_time()
    assert plain("x\r" + "y" * 1_000_000 + "\r\n") == "y" * 1_000_000 + "\n"
    assert time.process_time() - began < 5
