from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Indel

from indwell.workspace.comparing.diff import (
    TextEdit,
    apply_edits,
    compare,
    count_changes,
    line_edits,
    unified,
    unified_diff,
)
from indwell.workspace.text import split_lines
from support.platforms import posix_only

TEXTS = st.text("ab\r\n\ud83d\ude00", max_size=30)
BIG = "".join(f"line {i % 977} of some text\n" for i in range(50_000))


def best_of(n_tries: int, before: str, after: str) -> float:
    """Return the shortest of several runs, in seconds of processor time."""
    times = []
    for _ in range(n_tries):
        began = time.process_time()
        unified_diff(before, after, "f")
        line_edits(before, after)
        times.append(time.process_time() - began)
    return min(times)


def test_a_hunk_has_three_lines_of_context_on_each_side() -> None:
    before = "".join(f"{i}\n" for i in range(1, 12))
    assert unified_diff(before, before.replace("6\n", "six\n"), "src/a.py") == (
        "--- a/src/a.py\n+++ b/src/a.py\n@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n"
    )


def test_changes_far_apart_are_two_hunks() -> None:
    before = "".join(f"{i}\n" for i in range(1, 21))
    after = before.replace("2\n", "two\n", 1).replace("19\n", "")
    assert unified_diff(before, after, "f") == (
        "--- a/f\n+++ b/f\n"
        "@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n"
        "@@ -16,5 +16,4 @@\n 16\n 17\n 18\n-19\n 20\n"
    )


def test_a_missing_last_newline_is_reported() -> None:
    assert unified_diff("a\nb", "a\nb\n", "f") == (
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"
    )


def test_the_diff_of_a_new_or_deleted_file_is_against_dev_null() -> None:
    assert unified_diff(None, "a\n", "f") == "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"
    assert unified_diff("a\n", None, "f") == "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"


def test_equal_texts_have_an_empty_diff() -> None:
    assert (unified_diff("a", "a", "f"), count_changes("a", "a"), line_edits("a", "a")) == (
        "",
        (0, 0),
        (),
    )


def test_added_and_removed_lines_are_counted() -> None:
    assert count_changes("a\nb\nc\n", "a\nB\nB2\nc\n") == (2, 1)


@pytest.mark.skipif(shutil.which("patch") is None, reason="the program `patch` is the oracle")
@given(st.text("ab\n", max_size=40), st.text("ab\n", max_size=40))
def test_patch_restores_the_new_text_from_a_diff(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str
) -> None:
    if before == after or not before or not after:
        return  # patch decides by name whether an empty file is created or deleted
    folder = tmp_path_factory.mktemp("patch")
    (folder / "f").write_bytes(before.encode())
    diff = unified_diff(before, after, "f").encode()
    subprocess.run(["patch", "-p1", "-s"], cwd=folder, input=diff, check=True)
    assert (folder / "f").read_bytes().decode() == after


@given(TEXTS, TEXTS)
def test_edits_in_order_without_overlap_produce_the_new_text(before: str, after: str) -> None:
    edits = line_edits(before, after)
    assert apply_edits(before, edits) == after
    assert all(one.stop < other.start for one, other in pairwise(edits))


@given(TEXTS, TEXTS)
def test_no_edit_splits_a_crlf_or_a_surrogate_pair(before: str, after: str) -> None:
    shift = 0
    for edit in line_edits(before, after):
        new_start = edit.start + shift
        shift += len(edit.text) - (edit.stop - edit.start)
        new_stop = edit.stop + shift
        cuts = [(before, edit.start), (before, edit.stop), (after, new_start), (after, new_stop)]
        assert all(text[at - 1 : at + 1] not in {"\r\n", "\ud83d\ude00"} for text, at in cuts if at)


@given(TEXTS, TEXTS)
def test_line_counts_equal_the_added_and_removed_lines(before: str, after: str) -> None:
    n_added, n_removed = count_changes(before, after)
    assert n_added - n_removed == len(split_lines(after)) - len(split_lines(before))


def test_an_edit_is_trimmed_to_the_characters_that_changed() -> None:
    assert line_edits("x\nfoo(bar)\ny\n", "x\nfoo(baz)\ny\n") == (TextEdit(8, 9, "z"),)


def test_a_deleted_line_is_deleted_with_its_line_end() -> None:
    assert line_edits("a\r\nb\r\nc\r\n", "a\r\nc\r\n") == (TextEdit(3, 6, ""),)


def test_changes_at_many_positions_stay_small_among_repeated_lines() -> None:
    lines = BIG.splitlines(keepends=True)
    for number in range(0, 50_000, 500):
        lines[number] = f"changed {number}\n"
    assert count_changes(BIG, "".join(lines)) == (100, 100)


def varied(seed: int) -> tuple[str, str]:
    """Return two texts of many lines, with repeated, replaced, moved and new lines."""
    rng = random.Random(seed)
    ending = rng.choice(["\n", "\n", "\r\n", "\r"])
    n_kinds = rng.choice([3, 40, 5_000])
    lines = [f"{rng.randrange(n_kinds)} {'x' * rng.randrange(60)}{ending}" for _ in range(2_000)]
    new = list(lines)
    for number in range(rng.choice([1, 30, 400])):
        at, size = rng.randrange(len(new)), rng.choice([0, 1, 1, 2, 5])
        new[at : at + size] = [f"new {number}.{i}{ending}" for i in range(rng.randrange(3))]
    for _ in range(rng.randrange(3)):  # whole parts are moved or inserted
        at, size, to = rng.randrange(len(new)), rng.choice([10, 300]), rng.randrange(len(new))
        part = new[at : at + size]
        del new[at : at + size]
        new[to:to] = part if rng.random() < 0.5 else [f"part {i}{ending}" for i in range(size)]
    return "".join(lines), "".join(new)


@pytest.mark.parametrize("seed", range(24))
def test_edits_of_large_texts_produce_the_new_text_and_equal_the_diff(seed: int) -> None:
    before, after = varied(seed)
    edits = line_edits(before, after)
    assert apply_edits(before, edits) == after
    assert all(one.stop < other.start for one, other in pairwise(edits))
    difference = compare(before, after)
    body = unified(difference, "f").split("\n", 2)[2]
    marks = Counter(line[:1] for line in body.splitlines())
    assert (marks["+"], marks["-"]) == (difference.n_added, difference.n_removed)


@pytest.mark.skipif(shutil.which("patch") is None, reason="the program `patch` is the oracle")
@pytest.mark.parametrize("seed", range(6))
def test_patch_restores_the_new_text_of_a_large_diff(tmp_path: Path, seed: int) -> None:
    before, after = (text.replace("\r\n", "\n").replace("\r", "\n") for text in varied(seed))
    (tmp_path / "f").write_bytes(before.encode())
    diff = unified_diff(before, after, "f").encode()
    subprocess.run(["patch", "-p1", "-s"], cwd=tmp_path, input=diff, check=True)
    assert (tmp_path / "f").read_text(encoding="utf-8") == after


def test_the_edits_of_scattered_changes_are_minimal() -> None:
    rng = random.Random(7)
    lines = [f"line {rng.randrange(400)}\n" for _ in range(3_000)]
    new = list(lines)
    for at in rng.sample(range(3_000), 150):
        new[at] = f"changed {at}\n"
    shortest = Indel.distance(lines, new)
    n_added, n_removed = count_changes("".join(lines), "".join(new))
    assert n_added + n_removed <= shortest * 1.02


def test_a_moved_part_is_deleted_and_inserted() -> None:
    lines = [f"line {i}\n" for i in range(5_000)]
    moved = [*lines[:500], *lines[550:3_000], *lines[500:550], *lines[3_000:]]
    assert count_changes("".join(lines), "".join(moved)) == (50, 50)


def test_a_large_insertion_keeps_the_surrounding_changes_small() -> None:
    lines = [f"line {i}\n" for i in range(20_000)]
    new = [*lines[:10_000], *(f"new {i}\n" for i in range(5_000)), *lines[10_000:]]
    new[100], new[-100] = "changed\n", "changed too\n"
    assert count_changes("".join(lines), "".join(new)) == (5_002, 2)


def test_a_local_edit_of_50_000_lines_is_compared_fast() -> None:
    at = BIG.index("\n", len(BIG) // 2)
    assert best_of(5, BIG, f"{BIG[:at]} changed{BIG[at:]}") < 0.1  # idle: 10 ms


def test_a_rewrite_of_50_000_lines_is_compared_in_bounded_time() -> None:
    assert best_of(1, BIG, "".join(f"other {i % 313}\n" for i in range(50_000))) < 5


def test_the_most_repetitive_texts_are_compared_in_bounded_time() -> None:
    assert best_of(1, "a\nb\n" * 20_000, "b\nc\na\n" * 15_000) < 5


@posix_only("diff")
def test_a_unified_diff_equals_the_output_of_the_program_diff(tmp_path: Path) -> None:
    before = "".join(f"def f{i}():\n    return {i}\n\n" for i in range(40))
    after = before.replace("return 7\n", "x = 7\n    return x\n").replace("return 30\n", "pass\n")
    (tmp_path / "a").write_bytes(before.encode())
    (tmp_path / "b").write_bytes(after.encode())
    shown = subprocess.run(
        ["diff", "-u", "a", "b"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert unified_diff(before, after, "f").splitlines()[2:] == shown.stdout.splitlines()[2:]
