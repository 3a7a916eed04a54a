from __future__ import annotations

import pytest

from indwell.workspace.encoding.editorconfig import charset_of, matches


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*", "a/b.py", True),
        ("*.py", "a/b.py", True),
        ("*.{py,js}", "b.js", True),
        ("*.{py,js}", "b.ts", False),
        ("src/*.c", "src/x.c", True),
        ("src/*.c", "src/y/x.c", False),
        ("src/**.c", "src/y/x.c", True),
        ("/x.c", "x.c", True),
        ("[ab].c", "a.c", True),
        ("[!ab].c", "a.c", False),
        ("{1..3}.txt", "2.txt", True),
        ("a?c", "abc", True),
        ("{x", "{x", True),
        ("(a|b)+", "a", False),
        ("*a*a*a*a*b", "aaaa", False),  # too many stars are not tried
        ("*" * 10_000, "a", False),
    ],
)
def test_a_pattern_means_what_editorconfig_says(pattern, path, fits) -> None:
    assert matches(pattern, path) is fits


def test_the_innermost_file_that_says_something_counts_and_a_root_ends_the_search() -> None:
    outer = ("a/b/x.py", "[*]\ncharset = latin1\n")
    assert charset_of([("x.py", "[*.js]\ncharset=utf-8\n"), outer]) == "latin1"
    assert charset_of([("x.py", "[*.py]\ncharset = UTF-8\n[x.*]\ncharset=utf-16le"), outer]) == (
        "utf-16le"
    )
    assert charset_of([("x.py", "root = true\n[*]\nindent_size = 2\n"), outer]) is None
    assert charset_of([("x.py", "[*]\ncharset = unset\n"), outer]) is None
    assert charset_of([("x.py", "# [*]\n;charset=latin1\n"), outer]) == "latin1"
    assert charset_of([]) is None
