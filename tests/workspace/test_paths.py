from __future__ import annotations

from pathlib import Path

import pytest

from indwell.errors import ToolError
from indwell.workspace.paths import display, folder_said, missing, parse, respelled

BASE = Path("/work")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a/b.py", "/work/a/b.py"),
        ("./a", "/work/a"),
        (".", "/work"),
        ("a/../b", "/work/b"),
        ("/etc/x", "/etc/x"),
        ("../x", "/x"),
        ("file:///work/a%20b", "/work/a b"),
        ("file://localhost/work/a", "/work/a"),
        ("file:///work/%2e%2e/x", "/x"),
        ("a%20b", "/work/a%20b"),
    ],
)
def test_each_written_path_has_one_meaning(written: str, meant: str) -> None:
    assert parse(written, BASE) == Path(meant)


@pytest.mark.parametrize("written", ["", " ", "a\0b", "~/x", "file:///work/a%00b", "http://host/x"])
def test_a_path_of_another_operating_system_is_refused(written: str) -> None:
    with pytest.raises(ToolError):
        parse(written, BASE)


def test_a_path_is_shown_relative_to_the_first_root() -> None:
    roots = [BASE, Path("/other")]
    shown = [display(Path(path), roots) for path in ("/work/a/b", "/work", "/other/c", "/work2/d")]
    assert shown == ["a/b", ".", "/other/c", "/work2/d"]


def test_a_name_cannot_forge_a_line_or_reverse_the_text() -> None:
    assert display(BASE / "a\nb\u202e\x1b[31m", [BASE]) == "a\\nb\\u202e\\x1b[31m"


def test_composed_and_decomposed_names_are_both_tried() -> None:
    assert respelled(BASE / "cafe\u0301", BASE) == (BASE / "caf\u00e9", BASE / "cafe\u0301")


def test_a_missing_path_is_reported_with_similar_names() -> None:
    assert str(missing("src/mian.py", "mian.py", ["main.py", "x.py"])) == (
        "'src/mian.py' does not exist; close to it: main.py"
    )
    assert str(missing("a", "a", [])) == "'a' does not exist; find it with glob"


def test_a_folder_path_is_reported_with_the_entries_of_the_folder() -> None:
    assert str(folder_said("src", ["a/", "b", "c"], limit=2)) == (
        "'src' is a folder; it holds a/, b and 1 more"
    )
    assert str(folder_said("src", [])) == "'src' is an empty folder"
