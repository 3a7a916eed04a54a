"""The decisions and texts of ``indwell review``, without a ledger and a terminal."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from indwell.cli.review.command import ReviewReport, rows
from indwell.cli.review.files import lacks
from indwell.cli.review.session import (
    Judge,
    Move,
    Quit,
    Tell,
    TerminalScreen,
    lines_of,
    place_of,
    step,
    whose,
)
from indwell.cli.terminal.json_line import json_line
from indwell.review.hunk import Actor, Hunk

SHOP, OTHER = Path("/w/shop.py"), Path("/w/other.py")
TURN = Actor("20261121-034012", 1)


def hunk(id_: str, path: Path = SHOP, line: int = 2, old=("b\n",), new=("B\n",), **more) -> Hunk:
    return Hunk(
        id=id_,
        path=path,
        actors=more.pop("actors", (TURN,)),
        line=line,
        old=tuple(old),
        new=tuple(new),
        **more,
    )


HUNKS = (hunk("1"), hunk("2", line=9), hunk("3", OTHER))


@pytest.mark.parametrize(
    ("typed", "at", "then"),
    [
        ("a", 0, Judge("accept", HUNKS[:1])),
        ("r", 1, Judge("reject", HUNKS[1:2])),
        ("A", 0, Judge("accept", HUNKS[:2])),
        ("R", 1, Judge("reject", HUNKS[1:2])),
        ("A", 2, Judge("accept", HUNKS[2:])),
        ("n", 2, Move(3)),
        ("", 0, Move(1)),
        ("b", 1, Move(0)),
        (" q ", 1, Quit()),
    ],
)
def test_each_review_key_has_one_meaning(typed, at, then) -> None:
    assert step(HUNKS, at, typed) == then


@pytest.mark.parametrize("typed", ["b", "?", "y", "aa", "Q", "yes", "\u202e"])
def test_any_other_key_is_reported_and_the_question_repeated(typed) -> None:
    assert isinstance(step(HUNKS, 0, typed), Tell)


def test_the_review_keeps_its_position_when_the_list_of_hunks_changes() -> None:
    assert place_of(HUNKS, HUNKS[1], 0) == 1
    assert place_of((HUNKS[0], HUNKS[2]), HUNKS[1], 1) == 1
    assert place_of((), HUNKS[1], 1) == 0


KNOWN = "a\nB\nc\nd\nE\nf\n"
PENDING = (hunk("1"), hunk("2", line=5, old=("e\n",), new=("E\n",)))


@pytest.mark.parametrize(
    ("text", "is_lacking"),
    [
        (KNOWN, False),
        ("a\nb\nc\nd\ne\nf\n", True),  # saved before the turn
        ("a\nB\nc\nd\ne\nf\n", True),  # saved in the middle of the turn
        ("a\nb\nc\nd\nE\nf\nmore\n", True),
        ("a\nmine\nc\nd\nE\nf\n", False),  # the user rewrote the line
        (KNOWN + "more\n", False),
        (None, False),
    ],
)
def test_a_change_missing_on_disk_is_distinguished_from_an_edited_file(text, is_lacking) -> None:
    assert lacks(KNOWN, text, PENDING) == is_lacking


def test_a_missing_new_file_counts_as_not_saved_yet() -> None:
    assert lacks("new\n", None, (hunk("1", kind="create", line=1, old=(), new=("new\n",)),))
    assert lacks(None, "old\n", (hunk("1", kind="delete", line=1, old=("old\n",), new=()),))


def test_a_hunk_is_shown_with_context_and_escaped_control_characters() -> None:
    one = hunk("1", line=3, old=("x\u202ey\n",), new=("\x1b[2Jz",))
    assert list(lines_of(one, "1\n2\n\x1b[2Jz")) == [
        (" ", "1"),
        (" ", "2"),
        ("-", "x\\u202ey"),
        ("+", "\\u001b[2Jz"),
        ("\\", " No newline at end of file"),
    ]


def test_a_hunk_shows_line_ends_only_where_the_line_ends_differ() -> None:
    one = hunk("1", line=1, old=("a\r\n",), new=("a\n",))
    assert list(lines_of(one, "a\n")) == [("-", "a\\u000d"), ("+", "a")]
    crlf = hunk("1", line=1, old=("a\r\n",), new=("b\r\n",))
    assert list(lines_of(crlf, "b\r\n")) == [("-", "a"), ("+", "b")]


def test_the_author_of_a_hunk_is_shown() -> None:
    assert whose(hunk("1")) == "turn 1 of 20261121-034012"
    several = hunk("1", actors=(TURN, Actor(TURN.session, 4), Actor("other", 2)))
    assert whose(several) == "turns 1, 4, 2 of 20261121-034012, other"


def test_half_a_surrogate_pair_stops_neither_text_nor_json_output() -> None:
    one = hunk("1", Path("/w/\udcff.py"), new=("\udc80\n",))
    told = json.loads(json_line(ReviewReport("/w", rows((one,)))))
    assert told["hunks"][0]["new"] == "\udc80\n"
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8")
    screen = TerminalScreen(Console(file=stream, width=80), [Path("/w")])
    screen.hunk(one, "a\n\udc80\n", number=1, total=1)
    screen.say("\udc80")
    stream.flush()
    assert b"+\\udc80" in stream.buffer.getvalue()
