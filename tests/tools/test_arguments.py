"""Arguments of tools, with the names of other agents, and with a JSON Schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from indwell.agent.features.todo import TodoList, make_todo
from indwell.errors import ToolError
from indwell.tools.arguments import Given, of_schema, words_of_text
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts
from indwell.tools.commands.bash import Shell, make_bash
from indwell.tools.editing.edit import make_edit_file
from indwell.tools.editing.write import make_write_file
from indwell.tools.read import make_read_file
from indwell.tools.searching.glob import make_glob
from indwell.tools.searching.grep import make_grep

TOOLS = {
    tool.spec.name: tool
    for tool in (
        make_read_file(),
        make_write_file(),
        make_edit_file(),
        make_grep(),
        make_glob(),
        make_todo(TodoList()),
    )
}
EDIT = {"old": "a", "new": "b"}


def ours(tool: Tool[Any], given: object) -> object:
    """Return the arguments that permission, audit and people see."""
    return json.loads(tool.bind(json.dumps(given)).arguments)


@pytest.mark.parametrize(
    ("tool", "given", "expected"),
    [
        ("read_file", {"file_path": "a.py"}, {"path": "a.py"}),
        ("read_file", {"filePath": "a.py", "path": "a.py"}, {"path": "a.py"}),
        ("write_file", {"file_path": "a", "contents": "x"}, {"path": "a", "content": "x"}),
        (
            "edit_file",
            {"file_path": "a", "old_string": "a", "new_string": "b", "replace_all": True},
            {"path": "a", "edits": [{**EDIT, "all": True}]},
        ),
        (
            "edit_file",
            {"filePath": "a", "oldString": "a", "newString": "b"},
            {"path": "a", "edits": [EDIT]},
        ),
        (
            "edit_file",
            {"path": "a", "edits": [{"old_string": "a", "new_string": "b"}, EDIT]},
            {"path": "a", "edits": [EDIT, EDIT]},
        ),
        (
            "grep",
            {"pattern": "x", "-i": True, "-n": True, "-A": 2, "-B": 1, "output_mode": "content"},
            {"pattern": "x", "ignore_case": True, "mode": "lines", "context": 2},
        ),
        ("grep", {"pattern": "x", "include": "*.py"}, {"pattern": "x", "glob": "*.py"}),
        ("glob", {"pattern": "*", "directory": "src"}, {"pattern": "*", "path": "src"}),
        (
            "todo",
            {"todos": [{"content": "Look", "status": "in_progress", "activeForm": "Looking"}]},
            {"items": [{"text": "Look", "state": "doing"}]},
        ),
        (
            "todo",
            {"plan": [{"step": "Look", "status": "completed"}], "explanation": "so"},
            {"items": [{"text": "Look", "state": "done"}]},
        ),
    ],
)
def test_argument_names_of_other_agents_are_accepted(
    tool: str, given: Given, expected: Given
) -> None:
    assert ours(TOOLS[tool], given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"cmd": "ls"}, {"command": "ls"}),
        ({"command": "ls", "description": "List"}, {"command": "ls"}),
        ({"command": ["bash", "-lc", "ls | wc"]}, {"command": "ls | wc"}),
        ({"command": ["rg", "a b"]}, {"command": "rg 'a b'"}),
        ({"command": "ls", "timeout": 120_000}, {"command": "ls", "timeout_s": 120}),
        ({"command": "ls", "timeout": 90}, {"command": "ls", "timeout_s": 90}),
        ({"command": "ls", "timeout_ms": 500}, {"command": "ls", "timeout_s": 1}),
        ({"command": "x", "run_in_background": True}, {"command": "x", "background": True}),
        ({"command": "ls", "workdir": "."}, {"command": "ls"}),
    ],
)
def test_a_command_with_argument_names_of_other_agents_is_accepted(
    tmp_path, given: Given, expected: Given
) -> None:
    call = make_bash(Shell(tmp_path)).bind(json.dumps(given))
    assert json.loads(call.arguments) == expected
    assert call.facts.command == expected["command"]


def test_a_workdir_argument_of_bash_is_refused_with_advice(tmp_path) -> None:
    with pytest.raises(ToolError, match="begin the command with `cd FOLDER &&`"):
        make_bash(Shell(tmp_path)).bind('{"cmd": "ls", "workdir": "src"}')


@pytest.mark.parametrize(
    ("tool", "given", "complaint"),
    [
        (
            "read_file",
            {"path": "a", "file_path": "b"},
            "'file_path' and another name for 'path' have different values",
        ),
        (
            "edit_file",
            {"path": "a", "edits": [EDIT], "old_string": "a", "new_string": "b"},
            "'old_string' beside 'edits'",
        ),
        ("edit_file", {"path": "a", "old_string": "a"}, "missing required field `new`"),
        ("read_file", {"path": "a", "colour": "red"}, "unknown field `colour`"),
        ("grep", {"pattern": "x", "-A": 9}, "<= 5"),
    ],
)
def test_invalid_arguments_are_refused_without_guessing(
    tool: str, given: Given, complaint: str
) -> None:
    with pytest.raises(ToolError, match=f"bad arguments for {tool}: .*{complaint}.*; it takes"):
        TOOLS[tool].bind(json.dumps(given))


@pytest.mark.parametrize("text", ['{"path": "a"}', ' {"path":"a", "limit": 3}'])
def test_arguments_with_indwells_own_names_stay_unchanged(text: str) -> None:
    assert TOOLS["read_file"].bind(text).arguments == text


def test_a_repeated_argument_is_refused_also_under_another_agents_name() -> None:
    with pytest.raises(ToolError, match="'file_path' occurs in it twice"):
        TOOLS["read_file"].bind('{"file_path": "a", "file_path": "a"}')


def test_a_tool_may_provide_its_own_json_schema() -> None:
    schema = {
        "type": "object",
        "properties": {"issue": {"type": "integer", "title": "Issue", "minimum": 1}},
        "required": ["issue"],
        "$defs": {},
    }

    def read(given: Given) -> Given:
        if not isinstance(given.get("issue"), int):
            raise ToolError("'issue' must be an integer")
        return given

    async def run(_given: Given, _context: ToolContext) -> Outcome:
        raise AssertionError

    tool = Tool(
        name="close_issue",
        description="Close an issue.",
        arguments=of_schema(schema, read),
        effect="run",
        facts=lambda given: ToolFacts("close_issue", "run", subject=str(given["issue"])),
        run=run,
    )
    assert json.loads(tool.spec.parameters) == schema
    call = tool.bind('{"issue": 7}')
    assert call.facts.subject == "7"
    for text, complaint in (
        ('{"issue": "x"}', r"'issue' must be an integer; it takes {issue: integer}"),
        ("[]", "Expected `object`"),
        ("{", "are not JSON"),
        (r'{"issue": "\ud83d"}', r"contain \\ud83d, which is half of a surrogate pair"),
        ('{"issue": "\ud83d"}', r"contain \\ud83d, which is half of a surrogate pair"),
        (r'{"issue": "\ud83d\ude00"}', "must be an integer"),
    ):
        with pytest.raises(ToolError, match=complaint):
            tool.bind(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"query": "add"}', "add"),
        ('{"a": 2, "b": "three"}', "a: 2, b: three"),
        ('{"names": ["x", "y"]}', '["x","y"]'),
        ("{}", ""),
        ('{"query": "ad', '{"query": "ad'),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_arguments_are_told_to_people_by_their_values(text, words) -> None:
    assert words_of_text(text) == words
