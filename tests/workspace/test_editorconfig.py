from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.workspace.encoding.editorconfig import LIMIT_B, matches, setting_of


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
        ("*a*a*a*a*b", "aaaa", False),
        ("{*.py,*.js,*.{c,h}pp}", "b.hpp", True),
        ("{*.py,*.js,*.{c,h}pp}", "b.pp", False),
        ("**/x/*/y/**.c", "a/x/b/y/c/d.c", True),
        ("**/x/*/y/**.c", "a/x/b/b/y/c/d.c", False),
        ("x{,y}", "x", True),
        ("}x{", "x", False),
        ("[a-c!]?", "b/", False),
        ("[!a-c]", "d", True),
        ("\\*", "*", True),
        ("\\*", "x", False),
        ("{-1..3}.txt", "-7.txt", True),
        ("{1..3}.txt", ".txt", False),
        ("*" * 10_000, "a", False),
    ],
)
def test_an_editorconfig_pattern_matches_the_specified_paths(pattern, path, fits) -> None:
    assert matches(pattern, path) is fits


def test_the_innermost_editorconfig_with_a_value_counts_and_a_root_ends_the_search() -> None:
    outer = ("a/b/x.py", "[*]\ncharset = latin1\n")
    assert setting_of("charset", [("x.py", "[*.js]\ncharset=utf-8\n"), outer]) == "latin1"
    assert setting_of(
        "charset", [("x.py", "[*.py]\ncharset = UTF-8\n[x.*]\ncharset=utf-16le"), outer]
    ) == ("utf-16le")
    assert setting_of("charset", [("x.py", "root = true\n[*]\nindent_size = 2\n"), outer]) is None
    assert setting_of("charset", [("x.py", "[*]\ncharset = unset\n"), outer]) is None
    assert setting_of("charset", [("x.py", "# [*]\n;charset=latin1\n"), outer]) == "latin1"
    assert setting_of("charset", []) is None


@given(st.text("ab/*?", max_size=8), st.text("ab/", max_size=8))
def test_editorconfig_stars_match_like_the_equal_regular_expression(
    pattern: str, path: str
) -> None:
    words = {"*": "[^/]*", "?": "[^/]"}
    regex = re.sub(
        r"\*+|.", lambda part: words.get(part[0], ".*" if part[0][0] == "*" else part[0]), pattern
    )
    name = path if "/" in pattern else path.rpartition("/")[2]
    fits = re.fullmatch(regex.removeprefix("/"), name) is not None
    assert matches(pattern, path) is fits


@pytest.mark.parametrize(
    "pattern",
    [
        "{,?}" * 60 + "!",
        "{,*}" * 60 + "!",
        "{{{{" * 30 + "a" + "}}}}" * 30,
        "*?" * 120 + "!",
        "/a?[a-z!]*" * 25,
        "/",
    ],
)
def test_no_editorconfig_pattern_takes_long_to_match(pattern: str) -> None:
    n_sections = LIMIT_B // (len(pattern) + 20)
    hostile = f"[{pattern}]\ncharset=latin1\n" * n_sections
    begun = time.process_time()
    assert setting_of("charset", [("module_of_tests/" * 200 + "b.c" * 50, hostile)] * 500) is None
    assert time.process_time() - begun < 2  # seconds; a regular expression took years


def test_editorconfig_files_beyond_a_total_length_are_not_read() -> None:
    outer = ("a/x.py", "[*]\ncharset = latin1\n")
    inner = ("x.py", "#" * (LIMIT_B - 100))
    assert setting_of("charset", [inner, outer]) == "latin1"
    assert setting_of("charset", [inner, inner, outer]) is None
