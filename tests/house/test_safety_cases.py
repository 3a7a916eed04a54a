"""Checks that a test names each case of the safety corpus, or this module gives a reason.

A test names a case in its own name (``test_pol_12_…``, ``test_pol_01_02_…``) or in its docstring. A
test of the extension (``test("UI-07 …")``, ``test("ui_07 …")``) names a case in its title.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tools.shared_data import shared_cases

TESTS = Path(__file__).resolve().parents[1]
EXTENSION_TESTS = TESTS.parent / "vscode-extension" / "test"
AREAS = ["TRU", "POL", "CMD", "SBX", "SEC", "NET", "INJ", "PRC", "FS", "EDT", "UI"]
_IN_NAME = re.compile(rf"_({'|'.join(AREAS).lower()})((?:_\d\d)+)(?=_|$)")
_IN_WORDS = re.compile(rf"\b({'|'.join(AREAS)})-(\d\d)\b")
_TITLE = re.compile(r"""\b(?:test|it)\(\s*(["'`])(.*?)\1""")

ELSEWHERE = {
    "INJ-16": "there are no MCP servers yet",
}
"""Cases that no test of this version can do, with the reason."""


def named() -> dict[str, list[str]]:
    """Return the ids of cases with the tests that name them."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if not node.name.startswith("test_"):
                continue
            for case in ids_of(node.name, ast.get_docstring(node) or ""):
                found.setdefault(case, []).append(f"{path.name}::{node.name}")
    for path in extension_tests():
        for title in titles_in(path.read_text(encoding="utf-8")):
            for case in ids_of(f"_{title.replace(' ', '_')}", title):
                found.setdefault(case, []).append(f"{path.name}::{title}")
    return found


def extension_tests() -> list[Path]:
    """Return the extension's test files, without those of installed packages."""
    return [
        path
        for path in sorted(EXTENSION_TESTS.rglob("*.test.ts*"))
        if "node_modules" not in path.parts
    ]


def titles_in(source: str) -> list[str]:
    """Return the titles of the tests in a TypeScript file, without skipped tests."""
    return [title for _quote, title in _TITLE.findall(source)]


def ids_of(name: str, words: str) -> set[str]:
    """Return the ids of the cases that a test's name and docstring name."""
    found = {
        f"{area.upper()}-{number}"
        for area, numbers in _IN_NAME.findall(name)
        for number in numbers.strip("_").split("_")
    }
    return found | {f"{area}-{number}" for area, number in _IN_WORDS.findall(words)}


@pytest.mark.parametrize(
    ("name", "words", "ids"),
    [
        ("test_pol_12_a_rule", "", {"POL-12"}),
        ("test_pol_01_02_a_tru_11_b", "", {"POL-01", "POL-02", "TRU-11"}),
        ("test_all", "Cases INJ-01, FS-18 and XY-02.", {"INJ-01", "FS-18"}),
        ("", "UI-07 UI-09 what hides is escaped", {"UI-07", "UI-09"}),
        ("test_offs_01_things", "", set()),
    ],
)
def test_a_safety_case_is_found_in_a_test_name_and_in_a_docstring(name, words, ids) -> None:
    assert ids_of(name, words) == ids


def test_titles_are_read_from_typescript_but_not_of_skipped_tests() -> None:
    source = """test("UI-01 a", () => {}); it('UI-02: b', f);\n  test(\n    `UI-03 ${x}`, g);
    test.skip("UI-04 c", h); // test UI-05"""
    assert titles_in(source) == ["UI-01 a", "UI-02: b", "UI-03 ${x}"]


def test_every_safety_case_of_these_areas_has_a_test_or_a_reason() -> None:
    wanted = [
        case["id"] for case in shared_cases("safety.json") if case["id"].split("-")[0] in AREAS
    ]
    assert len(wanted) > 120
    done = named()
    missing = [case for case in wanted if case not in done and case not in ELSEWHERE]
    assert missing == []
    assert [case for case in ELSEWHERE if case in done] == []  # a case with a test needs no reason
