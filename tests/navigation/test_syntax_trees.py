"""Outlines, names and syntax errors from the syntax trees of eleven languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from indwell.navigation.syntax import occurrences, outline, syntax_errors

OUTLINES = {
    "a.py": (
        (
            "X = 1\nclass A:\n    y: int = 2\n\n    @property\n    def f(self):\n        z = 3\n"
            "        def g():\n            return z\n        return g\n\nasync def h(): ...\n"
        ),
        (
            "1 variable X|2-10 class A|3 variable y in A|6-10 method f in A|8-9 function g in f"
            "|12 function h"
        ),
    ),
    "a.ts": (
        (
            "export const a = () => 1;\nexport class B {\n x = 1;\n"
            " m(): void { const q = 1; }\n}\n"
            "interface I { p: string }\ntype T = string;\nenum E { A }\n"
            "namespace N { function f() {} }\n"
        ),
        (
            "1 variable a|2-5 class B|3 field x in B|4 method m in B|6 interface I|6 field p in I"
            "|7 type T|8 enum E|9 namespace N|9 function f in N"
        ),
    ),
    "a.tsx": ("const C = () => <div/>;\nfunction D() {}\n", "1 variable C|2 function D"),
    "a.js": (
        "const {a} = require('x');\nclass B { s() {} }\nasync function g() {}\n",
        "2 class B|2 method s in B|3 function g",
    ),
    "a.go": (
        (
            "package x\ntype S struct { A int }\nfunc (s *S) M() {}\nfunc F() { var v = 1 }\n"
            "var V int\n"
        ),
        "2 type S|2 field A in S|3 method M|4 function F|5 variable V",
    ),
    "a.rs": (
        "struct S { a: i32 }\nimpl S {\n  fn m(&self) {}\n}\ntrait T { fn x(); }\nenum E { A }\n",
        (
            "1 struct S|1 field a in S|2-4 implementation S|3 method m in S|5 trait T"
            "|5 method x in T|6 enum E|6 constant A in E"
        ),
    ),
    "A.java": (
        "class A {\n  int x = 1;\n  A() {}\n  void m() { int y; }\n}\nrecord R(int a) {}\n",
        "1-5 class A|2 field x in A|3 constructor A in A|4 method m in A|6 record R",
    ),
    "a.c": (
        "#define M 1\nstruct s { int a; };\nstruct s *f(int a) { struct s v; }\ntypedef int T;\n",
        "1 macro M|2 struct s|3 function f|4 type T",
    ),
    "a.cpp": (
        "namespace n { class A { void m() {} }; }\nvoid n::A::q() {}\nusing U = int;\n",
        "1 namespace n|1 class A in n|1 method m in A|2 function q|3 type U",
    ),
    "a.cs": (
        "namespace N { class A { int x; public int P { get; set; } void M() {} } }\n",
        "1 namespace N|1 class A in N|1 variable x in A|1 property P in A|1 method M in A",
    ),
    "a.rb": (
        "module M\n class A\n  X = 1\n  def self.s; end\n end\nend\n",
        "1-6 module M|2-5 class A in M|3 variable X in A|4 method s in A",
    ),
    "a.php": (
        "<?php\nclass A { const C = 1; private $x; function m() {} }\nfunction f() {}\n",
        "2 class A|2 constant C in A|2 field $x in A|2 method m in A|3 function f",
    ),
}


@pytest.mark.parametrize("name", OUTLINES)
def test_an_outline_lists_the_definitions_of_a_file_without_local_variables(name: str) -> None:
    text, expected = OUTLINES[name]
    found = (
        f"{one.line}{f'-{one.end_line}' if one.end_line > one.line else ''} {one.kind} {one.name}"
        f"{f' in {one.inside}' if one.inside else ''}"
        for one in outline(Path(name), text)
    )
    assert "|".join(found) == expected
    assert syntax_errors(Path(name), text) == ()


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_with_any_line_ending_count_as_in_an_editor(ending: str) -> None:
    text = ending.join(("# é 𝄞", "", "def f():", "    pass", ""))
    assert [(one.name, one.line) for one in outline(Path("a.py"), text)] == [("f", 3)]


def test_occurrences_leave_out_strings_comments_and_longer_names() -> None:
    text = "def f():\n    '''f'''\n    # f\n    return ff\nf.f(f)\n"
    found = occurrences(Path("a.py"), text, "f")
    assert [(one.line, one.is_definition) for one in found] == [(1, True), (5, False)]


def test_a_syntax_error_is_reported_with_its_line() -> None:
    (problem,) = syntax_errors(Path("a.py"), "x = 1\ndef f(:\n    return\n")
    assert problem.label == "line 2: error: ')' is missing [syntax tree]"
