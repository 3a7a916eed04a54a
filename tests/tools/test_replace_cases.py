"""Recorded edits of real agents and of other tools' tests, unchanged and mutated (H47)."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from indwell.errors import ToolError
from indwell.tools.editing.replace import Replacement, apply, replaced
from indwell.workspace.disk import DiskWorkspace
from tools.calling import Agent
from tools.shared_data import shared_cases


def replay(case: dict[str, Any]) -> str:
    """Return the text after a recorded edit, or the reason of a refusal."""
    edits = [
        Replacement(e["search"], e["replace"], e.get("replace_all", False)) for e in case["edits"]
    ]
    try:
        return apply(case["original"], edits, "f")
    except ToolError as error:
        message = str(error)
    if "does not appear" in message:
        return "not_found"
    return "ambiguous" if "times in" in message else "rejected"


def test_every_recorded_edit_of_a_real_agent_is_reproduced_byte_for_byte() -> None:
    cases = shared_cases("edit_real.jsonl.gz")
    whole = [case for case in cases if case["original"] is not None]
    assert (len(cases), len(whole)) == (294, 288)  # for 6 refused edits, the file was not recorded
    wrong = [
        case["id"]
        for case in whole
        if replay(case) != case.get("expected", case.get("expected_error"))
    ]
    assert wrong == []


def test_strict_test_cases_of_other_tools_are_reproduced() -> None:
    names = {
        "FindAndReplaceOldStringNotFound": "not_found",
        "FindAndReplaceMultipleOccurrences": "ambiguous",
    }
    cases = [
        case for case in shared_cases("edit_unit.json") if case["strict_search_replace"] == "agrees"
    ]
    assert len(cases) == 56
    wrong = []
    for case in cases:
        error = case.get("expected_error")
        if replay(case) != case.get("expected", names.get(error, error)):
            wrong.append(case["id"])
    assert wrong == []


DIALECTS = {
    "empty": "an empty search text stands for the beginning of the file",
    "first": "of several places it takes the first",
    "blocks": "it takes text in a block format of its own, not edits",
    "numbers": "it takes line numbers out of the search text",
    "blanks": "it looks for the text without its white space",
    "case": "it looks for the text without its case",
    "indentation": "it guesses another indentation",
    "units": "it counts an emoji as two characters, and the one after it is lost",
}


def dialect(case: dict[str, Any]) -> str:
    """Return why a case of another tool is not reproduced, as a key of ``DIALECTS``."""
    edits = case["edits"]
    if not edits or "$^.*" in edits[0]["search"]:
        return "blocks"
    outcome, wanted = replay(case), edits[0]["search"]
    if outcome == "ambiguous":
        return "first"
    if outcome == "rejected" and not all(edit["search"] for edit in edits):
        return "empty"
    if outcome != "not_found":
        is_near = "".join(outcome.split()) == "".join(case["expected"].split())
        return "units" if is_near and not wanted.isascii() else ""
    squeezed, original = "".join(wanted.split()), "".join(case["original"].split())
    if all(line.lstrip()[:1].isdigit() and "|" in line for line in wanted.splitlines()):
        return "numbers"
    if wanted.casefold() in case["original"].casefold():
        return "case"
    if squeezed.casefold() not in original.casefold():
        return ""
    lines = [line.strip() for line in wanted.strip().splitlines()]
    there = [line.strip() for line in case["original"].splitlines()]
    is_indented = any(there[at : at + len(lines)] == lines for at in range(len(there)))
    return "indentation" if is_indented else "blanks"


def test_enc_11_refused_edits_of_other_tools_have_a_reason_and_the_score_does_not_fall() -> None:
    cases = [
        case
        for case in shared_cases("edit_unit.json")
        if case["strict_search_replace"] == "differs"
    ]
    refused = [
        case for case in cases if replay(case) != case.get("expected", case.get("expected_error"))
    ]
    why = Counter(dialect(case) for case in refused)
    print(f"{len(cases) - len(refused)} of {len(cases)}; refused: {dict(why)}")  # noqa: T201
    assert len(cases) - len(refused) >= 1
    assert [case["id"] for case in refused if dialect(case) not in DIALECTS] == []


def tabbed(text: str) -> str:
    """Return the text with a tab for each four spaces at the beginning of a line."""
    return re.sub(r"(?m)^(?: {4})+", lambda spaces: "\t" * (len(spaces.group()) // 4), text)


MUTATIONS: dict[str, tuple[Callable[[str], str], Callable[[str], str], bytes]] = {
    # Each entry changes the file, changes the model's text, and has a byte order mark.
    "crlf": (lambda text: text.replace("\n", "\r\n"), str, b""),
    "mark": (str, str, b"\xef\xbb\xbf"),
    "tabs": (tabbed, tabbed, b""),
    "crlf from the model": (str, lambda text: text.replace("\n", "\r\n"), b""),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
async def test_recorded_edits_of_mutated_files_are_exact_to_the_byte(
    mutation: str, tmp_path: Path
) -> None:
    of_file, of_model, mark = MUTATIONS[mutation]
    (tmp_path / "w").mkdir()
    agent = Agent(DiskWorkspace([tmp_path / "w"]), tmp_path / "spill")
    cases = [case for case in shared_cases("edit_real.jsonl.gz") if case["original"] is not None]
    n_done, says = 0, "model" not in mutation
    for number, case in enumerate(cases[::3]):
        if "\r" in case["original"] or "\x00" in case["original"]:
            continue
        begins = all(f"\n{e.old}" in f"\n{case['original']}" for e in _edits(case))
        if mutation == "tabs" and not begins:
            continue  # the indentation of text inside a line is unknown
        path = tmp_path / "w" / f"{number}.txt"
        before = mark + of_file(case["original"]).encode()
        path.write_bytes(before)
        edits = [
            # A text without a line end does not show which kind of line end the writer means.
            Replacement(of_model(e.old), of_model(e.new) if says or "\n" in e.old else e.new, e.all)
            for e in _edits(case)
        ]
        try:
            expected = mark + of_file(apply(case["original"], _edits(case), "f")).encode()
            n_done += 1
        except ToolError:
            expected = before
        await agent.call("read_file", path=path.name)
        with contextlib.suppress(ToolError):
            await agent.call("edit_file", path=path.name, edits=msgspec.to_builtins(edits))
        assert path.read_bytes() == expected, case["id"]
    assert n_done > 40


def _edits(case: dict[str, Any]) -> list[Replacement]:
    return [
        Replacement(e["search"], e["replace"], e.get("replace_all", False)) for e in case["edits"]
    ]


def stripped(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def test_recorded_edits_of_files_with_trailing_blanks_are_applied_where_safe() -> None:
    cases = [case for case in shared_cases("edit_real.jsonl.gz") if "expected" in case]
    n_made = 0
    for case in cases:
        if case["original"] is None:
            continue
        text = case["original"].replace("\n", " \t\n")
        try:
            result = replaced(text, _edits(case), "f")
        except ToolError as error:
            assert "does not appear" in str(error)  # noqa: PT017 # it may also be made
            continue
        n_made += 1
        assert stripped(result.text) == stripped(case["expected"]), case["id"]
    assert n_made > 100
