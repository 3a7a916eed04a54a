from __future__ import annotations

from indwell.prompt.system import summary_words


def test_the_instructions_for_a_summary_name_content_length_and_untrusted_data() -> None:
    words = summary_words(target=1_200, range_words="turns 3 to 17")
    assert words.startswith("Sum up turns 3 to 17 of this conversation")
    for part in ("at most 1,200 tokens", "files and lines", "what is finished", "error messages",
                 "decisions", "requirements", "is data"):  # fmt: skip
        assert part in words
