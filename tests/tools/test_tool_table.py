from __future__ import annotations

import json
from pathlib import Path

import pytest

from indwell.context.tokens import estimate_tokens
from indwell.errors import ToolError
from indwell.tools.commands.bash import Shell
from indwell.wiring.features import standard_tools

TOOLS = standard_tools(Shell(Path("/w")))


def test_the_table_of_tools_has_a_stable_order() -> None:
    assert [spec.name for spec in TOOLS.specs] == [
        "read_file",
        "edit_file",
        "write_file",
        "glob",
        "grep",
        "bash",
    ]


def test_the_tool_table_knows_its_tool_names() -> None:
    assert TOOLS.has("bash")
    assert not TOOLS.has("bas")


def test_all_schemas_together_take_few_tokens() -> None:
    text = [f"{spec.name}{spec.description}{spec.parameters}" for spec in TOOLS.specs]
    assert sum(map(estimate_tokens, text)) < 760


def test_every_schema_names_required_arguments_and_refuses_unknown_arguments() -> None:
    schemas = {spec.name: json.loads(spec.parameters) for spec in TOOLS.specs}
    assert {name: schema["required"] for name, schema in schemas.items()} == {
        "read_file": ["path"],
        "edit_file": ["path", "edits"],
        "write_file": ["path", "content"],
        "glob": ["pattern"],
        "grep": ["pattern"],
        "bash": ["command"],
    }
    values = {"edits": [{"old": "a", "new": "b"}]}
    for name, schema in schemas.items():
        given = {one: values.get(one, "x") for one in schema["required"]}
        assert TOOLS.bind(name, json.dumps(given))
        with pytest.raises(ToolError, match="unknown field `no`"):
            TOOLS.bind(name, json.dumps(given | {"no": 1}))


def test_a_schema_has_no_keyword_that_a_model_does_not_need() -> None:
    text = "".join(spec.parameters for spec in TOOLS.specs)
    needless = ("title", "default", "null", "additionalProperties", "minimum", 'required":[]')
    assert not [one for one in needless if one in text]


def test_tools_that_only_read_may_run_in_parallel() -> None:
    arguments = {
        "bash": '{"command": "ls"}',
        "grep": '{"pattern": "x"}',
        "glob": '{"pattern": "x"}',
    }
    assert {name: TOOLS.bind(name, text).effect for name, text in arguments.items()} == {
        "bash": "run",
        "grep": "read",
        "glob": "read",
    }


def test_an_unknown_tool_and_bad_arguments_give_different_errors() -> None:
    with pytest.raises(ToolError, match="there is no tool 'read'"):
        TOOLS.bind("read", "{}")
    with pytest.raises(ToolError, match="bad arguments for read_file"):
        TOOLS.bind("read_file", "{}")
    with pytest.raises(ToolError, match="are not JSON"):
        TOOLS.bind("read_file", '{"path": ')
