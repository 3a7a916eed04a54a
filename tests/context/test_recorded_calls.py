"""Tool calls of nine agents are understood by their arguments, and shell commands by their parts.

``recorded_calls.json`` has one call of each form from public recordings, each with its source and
licence.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from indwell.context.compaction.digesting.lines import line_key, number_lead
from indwell.context.file_work import ParsedCall, call_of
from indwell.context.shell_calls import shell_work
from indwell.context.work_record import work_of
from indwell.messages import Message, Meta, ToolResult, ToolUse

RECORDED = json.loads((Path(__file__).parent / "recorded_calls.json").read_text("utf-8"))
META = Meta(tier=3, source="assistant", tokens=1, turn=1)


def parsed(name: str, **arguments: object) -> ParsedCall:
    return call_of(ToolUse("c", name, json.dumps(arguments), META))


def worked(*calls: tuple[str, dict[str, object], str]) -> tuple[Message, ...]:
    """Return a transcript of these calls with their results."""
    messages: list[Message] = []
    for number, (name, arguments, text) in enumerate(calls):
        use = ToolUse(f"c{number}", name, json.dumps(arguments), META)
        messages += [
            Message("assistant", (use,), 1),
            Message("user", (ToolResult(use.id, text, META),), 1),
        ]
    return tuple(messages)


def test_each_agents_calls_are_understood():
    for one in RECORDED:
        call = call_of(ToolUse("c", one["name"], one["arguments"], META))
        found = call.kind, list(call.paths), call.start, call.n_lines, list(call.old)
        told = one["kind"], one["paths"], one["start"], one["n_lines"], one["old"]
        assert found == told, (one["agent"], one["arguments"])
    assert {one["agent"] for one in RECORDED} == {
        *("entire", "packmind", "claude_misc", "codex", "opencode", "copilot", "pi"),
        *("sweagent", "tau"),
    }


@pytest.mark.parametrize(
    ("command", "kind", "paths", "lines"),
    [
        ("sed -n '1,200p' a.py", "read", ("a.py",), (1, 200)),
        ("cd lib && nl -ba ../b.py | sed -n '20,40p'", "read", ("b.py",), (20, 21)),
        ("head -n 5 a; echo ---; tail -3 b", "read", ("a", "b"), (0, 0)),
        ("cat 'my file.py' 2>/dev/null || true", "read", ("my file.py",), (0, 0)),
        ("awk 'NR>=3 && NR<=9 {print}' a.py", "read", ("a.py",), (3, 7)),
        ("tail -n +30 a.py | head -n 9", "read", ("a.py",), (0, 0)),
        ("git status --short && cat a.py", "read", ("a.py",), (0, 0)),
        ("grep -rn 'a$b' src | head -20", "search", (), (0, 0)),
        ("ls -la && rg --files", "search", (), (0, 0)),
        ("cat > a.py <<'EOF'\nx = $1 `y`\nEOF", "write", ("a.py",), (0, 0)),
        ("cd sub; echo x >> log.txt", "edit", ("sub/log.txt",), (0, 0)),
        ("sed -i 's/a/b/' a.py b.py", "edit", ("a.py", "b.py"), (0, 0)),
        # Each of these commands does something that is unknown, or names no certain file.
        ("sed -n '1,5p' a.py && pytest", "command", (), (0, 0)),
        ("cat $FILE", "command", (), (0, 0)),
        ("cat *.py", "command", (), (0, 0)),
        ("cat `ls`", "command", (), (0, 0)),
        ("cat <(ls)", "command", (), (0, 0)),
        ("cat a.py | python3 -", "command", (), (0, 0)),
        ("sed 's/a/b/' a.py", "command", (), (0, 0)),
        ("find . -name '*.py' -delete", "command", (), (0, 0)),
        ("ls | xargs -n1 wc -l | sort -n", "search", (), (0, 0)),
        ("ls | xargs rm -rf", "command", (), (0, 0)),
        ("ls | sort -o kept.txt", "command", (), (0, 0)),
        ("ls | awk '{ print | \"sh\" }'", "command", (), (0, 0)),
        ("ls | sed -n '1e rm x'", "command", (), (0, 0)),
        ("find . -fprint kept.txt", "command", (), (0, 0)),
        ("sed -n '/x/e rm /y/p' a.py", "command", (), (0, 0)),
        ("git status", "command", (), (0, 0)),
        ("cat 'open quote", "command", (), (0, 0)),
        ("python3 - <<'EOF' && cat a\nprint(1)\nEOF", "command", (), (0, 0)),
        ("", "command", (), (0, 0)),
    ],
)
def test_a_command_is_a_read_only_if_all_of_its_parts_are_known(command, kind, paths, lines):
    work = shell_work(command)
    assert (work.kind, work.paths, (work.start, work.n_lines)) == (kind, paths, lines)


def test_a_patch_in_a_shell_names_its_files_and_the_lines_that_must_match():
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@ def f():\n kept\n-gone\n+new\n\n"
        "*** Add File: b.py\n+all\n*** Update File: c.py\n*** Move to: d.py\n@@\n-last\n"
        "*** End Patch"
    )
    call = parsed("exec_command", cmd=f"apply_patch <<'EOF'\n{patch}\nEOF", workdir="/w")
    assert call.kind == "edit"
    assert call.paths == ("/w/a.py", "/w/b.py", "/w/c.py", "/w/d.py")
    assert call.old == ("kept\ngone\n", "last")
    assert parsed("apply_patch", patchText=patch).old == call.old
    assert parsed("apply_patch", input="*** Begin Patch\n*** Add File: n.py\n+x").kind == "write"


def test_the_old_texts_of_each_form_of_an_edit_are_found():
    for name in ("old", "old_string", "oldString", "old_str", "oldText"):
        assert parsed("edit", path="a", **{name: "x"}).old == ("x",)
        assert parsed("edit_file", path="a", edits=[{name: "x"}, {name: "y"}]).old == ("x", "y")
    assert parsed("grep", pattern="x", search="x").old == ()


def test_files_that_a_shell_changed_are_changed_files_and_read_files_are_not_new():
    transcript = worked(
        ("bash", {"command": "cat a.py"}, "x = 1"),
        ("bash", {"command": "cat > a.py <<'E'\nx = 2\nE"}, ""),
        ("bash", {"command": "cat > new.py <<'E'\nx = 2\nE"}, ""),
        ("bash", {"command": "sed -i 's/2/3/' a.py"}, ""),
        ("bash", {"command": "cat > bad.py <<'E'\nx\nE"}, "Error: disk full"),
    )
    assert [(one.path, one.n_edits, one.is_new) for one in work_of(transcript).changed()] == [
        ("new.py", 1, True),
        ("a.py", 2, False),
    ]


def test_a_read_of_a_file_is_no_failing_check():
    read = ("bash", {"command": "cat tests/check.sh"}, "[exit code 1]")
    run = ("bash", {"command": "sh tests/check.sh"}, "[exit code 1]")
    assert [one.command for one in work_of(worked(read, run)).failing()] == ["sh tests/check.sh"]


def test_line_numbers_of_each_agent_are_no_part_of_a_line():
    spaced = "<content>\n1: def f():\n2: \n3:     return 12\n4: # abc\n"
    assert number_lead(spaced) == ": "
    keys = [line_key(line, ": ") for line in spaced.splitlines()]
    assert keys == ["<content>", "def f():", "", "    return 12", "# abc"]
    found = "12:    a = call()\n13:    b = call()\n14:    c = call()\n"
    assert number_lead(found) == "", "a search writes no blank behind the colon"
    assert line_key("12:    a = call()") == "    a = call()"
    assert number_lead("5. one thing\n6. another\n7. a third\n8. a fourth\n") == ". "
    assert number_lead("1: one\nno number\n") == ""
    assert line_key("  Line 78: \tif (x) {") == "\tif (x) {"
    assert line_key("C:\\git\\a.go:12:\treturn nil") == "\treturn nil"
