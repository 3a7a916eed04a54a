"""The output of checkers is parsed in each format; arbitrary output does no harm."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.context.attachments import MESSAGE_LIMIT
from indwell.workspace.problems.difference import LINE_LIMIT, MOST_READ, read_output

FORMS = {
    "ruff, concise": (
        "a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n",
        [("a.py", 1, "error", "`os` imported but unused", "F401")],
    ),
    "ruff, full": (
        "F401 [*] `os` imported but unused\n --> pkg/a.py:1:8\n  |\n1 | import os\n  |        ^^\n",
        [("pkg/a.py", 1, "error", "`os` imported but unused", "F401")],
    ),
    "mypy": (
        (
            'shop/a.py:4:5: error: Name "totl" is not defined  [name-defined]\n'
            'shop/a.py:5: note: Did you mean "total"?\n'
            "shop/b.py:7: error: Missing return statement\n"
        ),
        [
            ("shop/a.py", 4, "error", 'Name "totl" is not defined', "name-defined"),
            ("shop/b.py", 7, "error", "Missing return statement", ""),
        ],
    ),
    "pyright": (
        (
            '/w/a.py\n  /w/a.py:3:5 - error: "x" is not defined (reportUndefinedVariable)\n'
            "  /w/a.py:4:5 - warning: Import unused (reportUnusedImport)\n1 error, 1 warning\n"
        ),
        [
            ("/w/a.py", 3, "error", '"x" is not defined', "reportUndefinedVariable"),
            ("/w/a.py", 4, "warning", "Import unused", "reportUnusedImport"),
        ],
    ),
    "tsc": (
        "src/a.ts(3,5): error TS2304: Cannot find name 'x'.\n",
        [("src/a.ts", 3, "error", "Cannot find name 'x'.", "TS2304")],
    ),
    "tsc, pretty": (
        "src/a.ts:3:5 - error TS2304: Cannot find name 'x'.\n\n3 x = 1\n  ~\n",
        [("src/a.ts", 3, "error", "Cannot find name 'x'.", "TS2304")],
    ),
    "eslint, unix": (
        (
            "/w/a.js:3:5: 'x' is not defined. [Error/no-undef]\n"
            "/w/a.js:4:1: Unexpected console. [Warning/no-console]\n\n2 problems\n"
        ),
        [
            ("/w/a.js", 3, "error", "'x' is not defined.", "no-undef"),
            ("/w/a.js", 4, "warning", "Unexpected console.", "no-console"),
        ],
    ),
    "eslint, stylish": (
        (
            "\n/w/a.js\n  3:5  error    'x' is not defined  no-undef\n"
            "  4:1  warning  Unexpected console  @own/no-console\n\n"
            "✖ 2 problems (1 error, 1 warning)\n"
        ),
        [
            ("/w/a.js", 3, "error", "'x' is not defined", "no-undef"),
            ("/w/a.js", 4, "warning", "Unexpected console", "@own/no-console"),
        ],
    ),
    "cargo": (
        (
            "warning: unused variable: `y`\n --> src/lib.rs:4:9\n  |\n"
            "error[E0425]: cannot find value `x` in this scope\n   --> src/main.rs:3:5\n    |\n"
            "error: could not compile `a` (bin) due to 1 previous error\n"
        ),
        [
            ("src/lib.rs", 4, "warning", "unused variable: `y`", ""),
            ("src/main.rs", 3, "error", "cannot find value `x` in this scope", "E0425"),
        ],
    ),
    "cargo, short": (
        "src/main.rs:3:5: error[E0425]: cannot find value `x` in this scope\n",
        [("src/main.rs", 3, "error", "cannot find value `x` in this scope", "E0425")],
    ),
    "go vet": (
        "# shop\n./a.go:3:5: undefined: totl\nvet: ./b.go:4:5: undefined: x\n",
        [
            ("a.go", 3, "error", "undefined: totl", ""),
            ("b.go", 4, "error", "undefined: x", ""),
        ],
    ),
    "gcc": (
        (
            "a.c: In function 'main':\n"
            "a.c:3:5: error: 'x' undeclared (first use in this function)\n"
            "a.c:3:5: note: each undeclared identifier is reported once\n"
            "a.c:4:5: warning: unused variable 'y' [-Wunused-variable]\n"
            "b.c:1:10: fatal error: foo.h: No such file or directory\n"
        ),
        [
            ("a.c", 3, "error", "'x' undeclared (first use in this function)", ""),
            ("a.c", 4, "warning", "unused variable 'y'", "-Wunused-variable"),
            ("b.c", 1, "error", "foo.h: No such file or directory", ""),
        ],
    ),
    "pytest": (
        "test_a.py:3: AssertionError\n=== 1 failed in 0.1s ===\n",
        [("test_a.py", 3, "error", "AssertionError", "")],
    ),
    "windows": (
        "C:\\w\\a.py:3:5: error: bad  [x]\n",
        [("C:\\w\\a.py", 3, "error", "bad", "x")],
    ),
    "no checker": (
        (
            "12:30:45: started\nlistening on http://localhost:8080: ok\nlocalhost:8080: refused\n"
            "10.0.0.1:80: closed\n3:5\nerror: something\nSuccess: no issues found in 3 files\n"
        ),
        [],
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_output_format_is_parsed(form: str) -> None:
    text, expected = FORMS[form]
    report = read_output(text, "check")
    assert [
        (path, one.line, one.severity, one.message, one.code)
        for path, problems in report.problems.items()
        for one in problems
    ] == expected
    assert all(one.source == "check" for some in report.problems.values() for one in some)
    assert not report.is_cut


pieces = st.sampled_from(
    [
        *(
            "a.py",
            "/w/b.ts",
            "src\\c.rs",
            ":3",
            ":5",
            ":",
            " - ",
            "error",
            "warning",
            ": ",
            "(3,5)",
        ),
        *("[x]", " --> ", "\n", "\r\n", "  3:5  error  ", "F401 ", "TS2304", "\x1b[31m", "\u202e"),
        *("error[E1]: ", "vet: ", "</system-reminder>", "\0", "é", "9" * 30, " ", "\t", "%s{0}"),
    ]
)


@given(st.one_of(st.text(max_size=400), st.lists(pieces, max_size=60).map("".join)))
def test_arbitrary_output_is_parsed_within_limits(text: str) -> None:
    for path, problems in read_output(text, "x").problems.items():
        assert path
        assert "\n" not in path
        for one in problems:
            assert one.line > 0
            assert one.severity in {"error", "warning"}
            assert 0 < len(one.message) <= MESSAGE_LIMIT
            assert "\n" not in one.message


@pytest.mark.parametrize(
    "line",
    [
        "a" * 200_000,
        "a.py:" * 50_000,
        "a" * LINE_LIMIT + ":3: error: x",
        " " * 100_000 + "3:5 error",
        "a.py:3: " + "x [" * 50_000,
        "a.py:3: error: " + "(" * 100_000,
        "/" * 100_000,
    ],
)
def test_no_output_line_takes_long_to_parse(line: str) -> None:
    begun = time.process_time()
    read_output(f"{line}\n" * 5, "x")
    assert time.process_time() - begun < 3


def test_a_flood_of_problems_is_limited() -> None:
    report = read_output("a.py:1: error: x\n" * (MOST_READ + 10), "x")
    assert len(report.problems["a.py"]) == MOST_READ
    assert report.is_cut
