"""Tests that docs/protocol.md and docs/protocol.schema.json agree with the code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import jsonschema
import msgspec

from indwell.agent.core import events
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.features import FIX_ALL, TASK_OFFERS
from indwell.lsp.prompts import code_actions

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "protocol.md").read_text("utf-8")
SCHEMA_TEXT = (ROOT / "docs" / "protocol.schema.json").read_text("utf-8")
SCHEMA = json.loads(SCHEMA_TEXT)


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading, without the table's head."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def fields(cls: type[msgspec.Struct]) -> set[str]:
    return set(cls.__struct_fields__)


def words(cell: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", cell))


def test_every_method_is_on_the_page_with_its_fields() -> None:
    told = {
        method.strip("`"): (
            {"to the server": "in", "to the editor": "out"}[direction],
            words(params),
            None if result == "notification" else words(result),
        )
        for method, direction, params, result in rows("Methods")
    }
    assert told == {
        name: (row.direction, fields(row.params), fields(row.result) if row.result else None)
        for name, row in protocol.METHODS.items()
    }


def test_every_command_is_on_the_page_with_its_argument() -> None:
    told = {command.strip("`"): argument for command, argument, _ in rows("Commands")}
    assert told == {
        name: cls.__name__ if cls else "none" for name, cls in protocol.COMMANDS.items()
    }


def test_every_code_action_is_on_the_page() -> None:
    offered = (*TASK_OFFERS, FIX_ALL, code_actions._CANCEL)
    told = [
        [title, command.strip("`"), kind.strip("`")]
        for title, command, kind in rows("Code actions")
    ]
    assert told == [[one.title, one.command, one.kind] for one in offered]


def test_every_event_is_on_the_page_with_its_fields() -> None:
    told = {kind.strip("`"): words(cell) for kind, cell in rows("Events")}
    kinds = [msgspec.inspect.type_info(event) for event in get_args(events.Event)]
    assert told == {
        kind.tag: {field.encode_name for field in kind.fields} - {"turn", "agent"} for kind in kinds
    }


def test_the_schema_equals_the_schema_of_the_code() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "protocol_schema.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_protocol_schema_is_valid_and_defines_every_referenced_name() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    named = set(re.findall(r'"\$ref": "#/\$defs/([^"]+)"', SCHEMA_TEXT))
    assert named <= set(SCHEMA["$defs"])
    assert set(SCHEMA["methods"]) == set(protocol.METHODS)
    assert set(SCHEMA["commands"]) == set(protocol.COMMANDS)


def test_the_schema_has_all_fields_of_all_messages() -> None:
    for name, row in protocol.METHODS.items():
        for part, class_ in (("params", row.params), ("result", row.result)):
            if class_ is not None:
                defined = SCHEMA["$defs"][class_.__name__]
                assert set(defined["properties"]) == fields(class_), (name, part)
    kinds = [msgspec.inspect.type_info(event) for event in get_args(events.Event)]
    assert {one["$ref"].rpartition(".")[2] for one in SCHEMA["$defs"]["Event"]["anyOf"]} == {
        kind.cls.__name__ for kind in kinds
    }
