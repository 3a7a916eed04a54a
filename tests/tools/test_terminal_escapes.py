from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from indwell.tools.commands.command_output import Screen
from indwell.tools.truncate import plain

PIECES = st.lists(st.text(alphabet="ab\r\n\x1b[]3m;\x07\\P ", max_size=6))


@given(PIECES)
def test_terminal_output_fed_in_chunks_equals_output_fed_at_once(pieces: list[str]) -> None:
    screen = Screen()
    for piece in pieces:
        screen.feed(piece)
    assert screen.finish() == plain("".join(pieces))


def test_progress_without_a_line_end_takes_one_line() -> None:
    screen = Screen()
    for percent in range(100_000):
        screen.feed(f"\r{percent} %")
    assert screen.finish() == "99999 %"
