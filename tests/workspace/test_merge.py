from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.workspace.comparing.merge import Conflict, Merge, MergePiece, merge
from indwell.workspace.text import split_lines

TEXTS = st.text("ab\n", max_size=24) | st.text("ab\r\n", max_size=12)


def clean(base: str, mine: str, theirs: str) -> str:
    merged = merge(base, mine, theirs)
    assert merged.conflicts == ()
    return merged.text


def changed(rng: random.Random, lines: list[str], side: str, n_changes: int) -> list[str]:
    """Return ``lines`` with some lines replaced, deleted or inserted; all new lines differ."""
    lines = list(lines)
    for number in range(n_changes):
        at = rng.randrange(len(lines) + 1)
        new = [f"{side} {number}.{i}\n" for i in range(rng.randrange(3))]
        lines[at : at + rng.randrange(3)] = new
    return lines


def sides(seed: int) -> tuple[str, str, str]:
    rng = random.Random(seed)
    base = [f"line {i}\n" for i in range(rng.randrange(30))]
    mine = changed(rng, base, "mine", rng.randrange(4))
    theirs = changed(rng, base, "theirs", rng.randrange(4))
    if rng.random() < 0.3 and base:  # both sides make the same change at the same position
        for side in (mine, theirs):
            if base[-1] in side:
                side[side.index(base[-1])] = "both\n"
    return "".join(base), "".join(mine), "".join(theirs)


def test_changes_at_different_positions_are_both_merged() -> None:
    assert clean("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n") == "A\nb\nC\n"


def test_a_change_that_both_sides_made_is_merged_once() -> None:
    assert clean("a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\nd\n") == "a\nB\nc\nd\n"


@pytest.mark.parametrize(
    ("base", "theirs"),
    [
        ("import os\nX = 1\n\n\n\n\ndef f():\n", "import os\nX = 1\n\n\n\ndef f():\n"),
        ("import os\nfoo(\n)\n}\n}\nend\n", "import os\nfoo(\n)\n}\n}\n}\nend\n"),
        ("import os\nq\n}\n\n}\n\nend\n", "import os\nq\n}\n\n}\n\n}\n\nend\n"),
        ("import os\r\nq\r\n\r\n\r\nend", "import os\r\nq\r\n\r\nend"),
    ],
)
def test_a_merge_applies_an_equal_change_of_both_sides_once(base: str, theirs: str) -> None:
    mine = theirs.replace("import os", "import sys")
    assert clean(base, mine, theirs) == clean(base, theirs, mine) == mine


def test_many_conflicts_are_numbered_in_one_pass() -> None:
    base = "".join(f"some words of line {i}\nkeep {i}\n" for i in range(10_000))
    began = time.process_time()
    merged = merge(base, base.replace("some", "my"), base.replace("some", "their"))
    assert time.process_time() - began < 3
    assert len(merged.conflicts) == 10_000
    assert [piece.line for piece in merged.conflicts[-1]] == [19_999] * 3


def test_the_same_lines_changed_differently_conflict() -> None:
    assert merge("a\nb\nc\n", "a\nM\nc\n", "new\na\nT1\nT2\nc\n") == Merge(
        "new\na\nT1\nT2\nc\n",
        "a\nb\nc\n",
        (Conflict(MergePiece(2, 2, "b\n"), MergePiece(2, 2, "M\n"), MergePiece(3, 6, "T1\nT2\n")),),
    )


def test_changes_of_neighbouring_lines_conflict() -> None:
    assert merge("a\nb\n", "A\nb\n", "a\nB\n").conflicts == (
        Conflict(
            MergePiece(1, 0, "a\nb\n"), MergePiece(1, 0, "A\nb\n"), MergePiece(1, 0, "a\nB\n")
        ),
    )
    assert merge("a\n-\nb\n", "A\n-\nb\n", "a\n-\nB\n").conflicts == ()


def test_a_deleted_line_that_the_other_side_changed_conflicts() -> None:
    (conflict,) = merge("a\nb\nc\n", "a\nc\n", "a\nB\nc\n").conflicts
    assert (conflict.mine, conflict.theirs) == (MergePiece(2, 2, ""), MergePiece(2, 2, "B\n"))


def test_two_insertions_at_the_same_position_conflict() -> None:
    assert len(merge("a\nb\n", "a\nM\nb\n", "a\nT\nb\n").conflicts) == 1


def test_a_conflict_keeps_the_other_side_and_the_rest_is_merged() -> None:
    merged = merge("1\n2\n3\n4\n5\n", "1\nM\n3\n4\nfive\n", "one\n2\nT\n4\n5\n")
    assert (merged.text, len(merged.conflicts)) == ("one\n2\nT\n4\nfive\n", 1)


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_an_edit_is_merged_into_a_file_whose_line_endings_changed(ending: str) -> None:
    base, mine = "a\nb\nc\n", "a\nB\nB2\nc\n"
    theirs = base.replace("\n", ending)
    assert clean(base, mine, theirs) == mine.replace("\n", ending)
    assert clean(theirs, mine.replace("\n", ending), base) == mine


def test_an_edit_is_merged_into_a_region_whose_line_endings_changed() -> None:
    base, mine = "a\nb\nc\n-\nd\r\n", "a\nB\nc\n-\nd\r\n"
    theirs = "a\r\nb\r\nc\r\n-\nd\r\n"
    assert clean(base, mine, theirs) == "a\r\nB\r\nc\r\n-\nd\r\n"


def test_a_missing_last_newline_stays_missing() -> None:
    assert clean("a\nb\nc", "A\nb\nc", "a\nb\nc") == "A\nb\nc"
    assert clean("a\nb\nc", "A\nb\nc", "a\nb\nc\n") == "A\nb\nc\n"


@given(TEXTS, TEXTS)
def test_a_change_of_only_one_side_is_the_result(base: str, other: str) -> None:
    assert clean(base, other, base) == clean(base, base, other) == other
    assert clean(base, other, other) == other


@given(TEXTS, TEXTS, TEXTS)
def test_swapping_the_sides_of_a_merge_gives_the_same_result(
    base: str, mine: str, theirs: str
) -> None:
    one, other = merge(base, mine, theirs), merge(base, theirs, mine)
    assert [(c.base, c.mine, c.theirs) for c in one.conflicts] == [
        (c.base, c.theirs, c.mine) for c in other.conflicts
    ]
    if not one.conflicts:
        assert one.text == other.text


@given(st.integers(0, 10**9))
def test_a_clean_merge_contains_every_changed_line(seed: int) -> None:
    base, mine, theirs = sides(seed)
    merged = merge(base, mine, theirs)
    if merged.conflicts:
        return
    n_base, n_merged = Counter(split_lines(base)), Counter(split_lines(merged.text))
    for side in (mine, theirs):
        n_side = Counter(split_lines(side))
        assert n_side - n_base <= n_merged  # the inserted lines are in the merge
        assert not (n_base - n_side) & n_merged  # the deleted lines are not in the merge


@given(TEXTS, TEXTS, TEXTS)
def test_a_conflict_names_the_positions_of_its_parts(base: str, mine: str, theirs: str) -> None:
    if "\r" in base + mine + theirs:
        return  # the texts may have been given other line endings first
    for conflict in merge(base, mine, theirs).conflicts:
        for text, piece in zip((base, mine, theirs), conflict, strict=True):
            assert text.startswith(piece.text, piece.start)
            assert text.count("\n", 0, piece.start) == piece.line - 1


@pytest.mark.skipif(shutil.which("git") is None, reason="`git merge-file` is the oracle")
def test_merges_agree_with_git_merge_file(tmp_path: Path) -> None:
    n_clean = 0
    for seed in range(150):
        texts = sides(seed)
        for name, text in zip(("base", "mine", "theirs"), texts, strict=True):
            (tmp_path / name).write_bytes(text.encode())
        git = subprocess.run(
            ["git", "merge-file", "-p", "mine", "base", "theirs"],
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        merged = merge(*texts)
        assert bool(merged.conflicts) == (git.returncode != 0), (seed, texts)
        if not merged.conflicts:
            n_clean += 1
            assert merged.text == git.stdout.decode(), (seed, texts)
    assert 30 < n_clean < 130  # both outcomes occur
