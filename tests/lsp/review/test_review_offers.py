"""The actions that are offered at a position with pending hunks. Pure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lsprotocol import types
from lsprotocol.converters import get_converter

from indwell.lsp.review.shown_hunks import (
    Shown,
    hint_of,
    lenses_of,
    lines_of,
    offer,
    range_of,
    reachable,
)
from indwell.lsp.wire import sync
from indwell.review.hunk import Actor, Hunk

HERE, THERE = Path("/w/a.py").absolute(), Path("/w/b.py").absolute()
URI = HERE.as_uri()
ME, BEFORE, ELSE = Actor("s1", 4), Actor("s1", 3), Actor("s0", 9)
INVOKED, AUTOMATIC = 1, 2


def hunk(
    id_: str,
    line: int,
    *,
    old: str = "",
    new: str = "x\n",
    path: Path = HERE,
    actors: tuple[Actor, ...] = (ME,),
    **more,
) -> Hunk:
    return Hunk(
        id=id_,
        path=path,
        actors=actors,
        line=line,
        old=tuple(old.splitlines(keepends=True)),
        new=tuple(new.splitlines(keepends=True)),
        **more,
    )


def shown(*hunks: Hunk, n_lines: int | None = 20, session: str | None = "s1") -> Shown:
    return Shown(URI, hunks, n_lines, "utf-16", session)


def actions(
    at: Shown, first: int, last: int | None = None, *, others=(), only=None, trigger=INVOKED
) -> list[dict]:
    """Return actions for lines, which are 0-based and inclusive."""
    end = sync.Position(first if last is None else last, 1)
    found = offer(
        at,
        sync.Range(sync.Position(first, 0), end),
        sync.ActionContext(only=only, trigger_kind=trigger),
        lambda: [*at.hunks, *others],
        lambda one: hint_of(one, at),
    )
    get_converter().structure(found, list[types.CodeAction])
    assert json.loads(json.dumps(found)) == found
    return found


def titles(*arguments, **named) -> list[str]:
    return [one["title"] for one in actions(*arguments, **named)]


def pair(words: str) -> list[str]:
    return [f"Accept {words}", f"Reject {words}"]


DIFF = ["Show the changes as a diff"]


def test_lines_without_pending_changes_have_no_code_actions() -> None:
    assert actions(shown(), 3) == []


def test_review_actions_are_sorted_by_scope_without_duplicates() -> None:
    at = shown(hunk("a", 2), hunk("b", 6, actors=(BEFORE,)))
    others = [
        hunk("c", 1, path=THERE),
        hunk("d", 3, path=THERE, actors=(BEFORE,)),
        hunk("e", 9, path=THERE, actors=(ELSE,)),
    ]
    assert titles(at, 1, others=others) == [
        *pair("this change"),
        *pair("all changes in this file (2)"),
        *pair("all changes of turn 4 (2 in 2 files)"),
        *pair("all changes of this session (4 in 2 files)"),
        *pair("all pending changes (5 in 2 files)"),
        *DIFF,
    ]
    assert titles(at, 1) == [*pair("this change"), *pair("all changes in this file (2)"), *DIFF]
    assert titles(shown(hunk("a", 2)), 1) == [*pair("this change"), *DIFF]


def test_a_single_hunk_is_offered_as_its_file_if_only_source_actions_are_requested() -> None:
    at = shown(hunk("a", 2))
    assert titles(at, 1, only=["source"]) == [*pair("all changes in this file (1)"), *DIFF]
    assert titles(at, 1, only=["quickfix"]) == pair("this change")
    assert titles(at, 1, only=["quickfix.indwell"]) == pair("this change")
    assert titles(at, 1, only=["refactor"]) == []
    assert titles(at, 1, only=["source.organizeImports"]) == []


def test_an_automatic_trigger_offers_only_accept_and_reject_of_the_hunk() -> None:
    at = shown(hunk("a", 2), hunk("b", 6))
    assert titles(at, 1, trigger=AUTOMATIC) == pair("this change")
    assert titles(at, 10, trigger=AUTOMATIC) == []


def test_outside_hunks_only_larger_review_scopes_are_offered() -> None:
    at = shown(hunk("a", 2), hunk("b", 6, actors=(BEFORE,)))
    assert titles(at, 15) == [
        *pair("all changes in this file (2)"),
        *pair("all changes of turn 4 (1)"),
        *pair("all changes of turn 3 (1)"),
        *DIFF,
    ]
    assert titles(shown(), 3, others=[hunk("c", 1, path=THERE)]) == pair(
        "all changes of this session (1)"
    )
    other = [hunk("c", 1, path=THERE, actors=(ELSE,))]
    assert titles(shown(), 3, others=other) == pair("all pending changes (1)")


def test_several_hunks_in_a_selection_are_accepted_or_rejected_together() -> None:
    at = shown(hunk("a", 2), hunk("b", 6), hunk("c", 9))
    accept, reject, *_ = actions(at, 1, 5)
    assert (accept["title"], reject["title"]) == (
        "Accept these 2 changes",
        "Reject these 2 changes",
    )
    assert accept["command"]["arguments"] == [{"hunks": ["a", "b"], "uri": URI}]


def test_a_review_action_is_bound_to_the_shown_hunk_and_its_diagnostic() -> None:
    at = shown(hunk("a", 2, old="was\n", new="now\nand\n"))
    accept, reject, *_ = actions(at, 1)
    hint = {
        "range": {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 3}},
        "severity": 4,
        "code": "change",
        "source": "indwell",
        "message": "Change by Indwell, turn 4, +2 −1; accept or reject it by code action",
    }
    assert reject == {
        "title": "Reject this change",
        "kind": "quickfix.indwell",
        "command": {
            "title": "Reject this change",
            "command": "indwell.reject",
            "arguments": [{"hunks": ["a"], "uri": URI}],
        },
        "diagnostics": [hint],
    }
    assert accept["command"]["command"] == "indwell.accept"


def test_a_review_action_for_a_turn_names_the_turn_and_not_its_hunks() -> None:
    at = shown(hunk("a", 2, actors=(BEFORE, ME)), hunk("b", 6, actors=(BEFORE,)))
    of_turn = next(one for one in actions(at, 5) if "turn 3" in one["title"])
    assert of_turn["title"] == "Accept all changes of turn 3 (2)"
    assert of_turn["command"]["arguments"] == [
        {"hunks": ["a", "b"], "uri": URI, "session": "s1", "turn": 3}
    ]


def test_no_review_action_is_marked_as_preferred() -> None:
    at = shown(hunk("a", 2), hunk("b", 6))
    assert all("isPreferred" not in one for one in actions(at, 1))


@pytest.mark.parametrize(
    ("text", "line", "reached"),
    [
        ("a\nb\n", 3, 1),  # deleted at the end: the last line that a cursor can reach
        ("a\nb", 3, 1),
        ("a\nb\n", 2, 1),
        ("a\nb\n", 1, 0),
        ("", 1, 0),
    ],
)
def test_a_hunk_of_deleted_lines_is_placed_at_an_existing_line(text, line, reached) -> None:
    n_lines = text.count("\n") + 1
    there = reachable(n_lines, ends_empty=not text or text.endswith("\n"))
    gone = hunk("a", line, old="x\n", new="")
    assert lines_of(gone, there) == (reached, reached)
    assert range_of(gone, there, "utf-16") == {
        "start": {"line": reached, "character": 0},
        "end": {"line": reached, "character": 0},
    }
    at = shown(gone, n_lines=there)
    assert titles(at, reached)[:2] == pair("this change")
    # Some editors have an empty line below the last line.
    assert (titles(at, n_lines)[:2] == pair("this change")) == (reached == there - 1)


@pytest.mark.parametrize(("encoding", "units"), [("utf-8", 7), ("utf-16", 4), ("utf-32", 3)])
def test_a_range_ends_in_code_units_of_the_encoding_with_its_last_line(encoding, units) -> None:
    one = hunk("a", 3, new="x\né😀y\r\n")
    assert range_of(one, None, encoding)["end"] == {"line": 3, "character": units}


def test_a_selection_that_ends_at_a_line_start_excludes_that_line() -> None:
    at = shown(hunk("a", 3))
    found = offer(
        at,
        sync.Range(sync.Position(0, 0), sync.Position(2, 0)),
        sync.ActionContext(only=["quickfix"]),
        lambda: list(at.hunks),
        lambda one: hint_of(one, at),
    )
    assert found == []


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (hunk("a", 1, old="a\nb\n"), "turn 4, +1 −2"),
        (hunk("a", 1, actors=(BEFORE, ME)), "turns 3 and 4, +1 −0"),
        (hunk("a", 1, actors=(ELSE,)), "turn 9 of another session, +1 −0"),
        (hunk("a", 1, actors=(ELSE, ME)), "turn 9 of another session and turn 4, +1 −0"),
        (hunk("a", 1, kind="create"), "turn 4, new file, +1 −0"),
        (hunk("a", 1, kind="delete", old="a\n", new=""), "turn 4, file deleted, +0 −1"),
        (
            hunk("a", 1, new="", kind="opaque", note="binary, 4 KB -> 5 KB"),
            "turn 4, binary, 4 KB -> 5 KB",
        ),
        (hunk("a", 1, is_touched=True), "turn 4, +1 −0, edited since"),
    ],
)
def test_a_review_hint_names_the_author_and_size_of_the_change(one, words) -> None:
    message = f"Change by Indwell, {words}; accept or reject it by code action"
    assert hint_of(one, shown(one))["message"] == message


def test_review_lenses_are_above_each_hunk_and_at_the_top() -> None:
    at = shown(hunk("a", 3, old="was\n"), hunk("b", 9, old="x\n", new="", actors=(BEFORE,)))
    lenses = lenses_of(at)
    get_converter().structure(lenses, list[types.CodeLens])
    assert [(one["range"]["start"]["line"], one["command"]["title"]) for one in lenses] == [
        (0, "2 changes by Indwell"),
        (0, "Accept all in this file"),
        (0, "Reject all in this file"),
        (2, "Accept"),
        (2, "Reject"),
        (2, "Turn 4, +1 −1"),
        (8, "Accept"),
        (8, "Reject"),
        (8, "Turn 3, +0 −1"),
    ]
    diff = {"what": "diff", "uri": URI}
    assert [(one["command"]["command"], *one["command"]["arguments"]) for one in lenses[1:6]] == [
        ("indwell.accept", {"hunks": ["a", "b"], "uri": URI}),
        ("indwell.reject", {"hunks": ["a", "b"], "uri": URI}),
        ("indwell.accept", {"hunks": ["a"], "uri": URI}),
        ("indwell.reject", {"hunks": ["a"], "uri": URI}),
        ("indwell.open", diff),
    ]
    assert lenses_of(shown()) == []
