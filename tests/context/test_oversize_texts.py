from __future__ import annotations

from indwell.context.injections import is_oversize, oversize_words


def test_a_text_over_a_quarter_of_the_window_is_oversize() -> None:
    assert not is_oversize("word " * 700, window=4_000)  # it has many characters
    assert is_oversize("word " * 1_000, window=4_000)
    assert is_oversize("\U0001f600" * 500, window=4_000)  # it has many tokens
    assert is_oversize("\u4e16" * 1_400, window=4_000)


def test_an_oversized_text_is_replaced_by_both_ends_its_length_and_its_path() -> None:
    text = "\n".join(f"line {number}" for number in range(10_000))
    words = oversize_words(text, "/state/spill/0001-prompt.txt")
    assert words.startswith("line 0\nline 1\n")
    assert words.endswith("line 9998\nline 9999")
    assert "[… this text is too long for one message: 98,889 characters in 10,000 lines; " in words
    assert "all of it is in /state/spill/0001-prompt.txt, and read_file reads it" in words
    assert len(words) < 3_300
