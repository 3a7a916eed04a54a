"""Tests that vscode-extension/src/protocol.ts agrees with docs/protocol.schema.json."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import msgspec

from indwell.agent.core import events
from indwell.lsp.messages import methods as protocol

ROOT = Path(__file__).resolve().parents[2]
SCHEMA: dict[str, Any] = json.loads((ROOT / "docs" / "protocol.schema.json").read_text("utf-8"))
MIRROR = (ROOT / "vscode-extension" / "src" / "protocol.ts").read_text("utf-8")


def block(begins: str) -> str:
    return MIRROR.split(f"\n{begins}")[1].split("\n\n")[0]


def fields(name: str) -> set[str]:
    if f"export type {name} = Readonly<Record<string, never>>;" in MIRROR:
        return set()
    return set(
        re.findall(r"^  readonly (\w+)\??: ", block(f"export interface {name} {{"), re.MULTILINE)
    )


def test_the_generated_typescript_protocol_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "protocol_typescript.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_every_class_is_mirrored_with_all_its_fields() -> None:
    classes = {name.removeprefix("event."): one for name, one in SCHEMA["$defs"].items()}
    union = classes.pop("Event")
    assert len(classes) + 1 == len(SCHEMA["$defs"])  # no event has the name of another message
    assert {name: fields(name) for name in classes} == {
        name: set(one["properties"]) for name, one in classes.items()
    }
    assert len(union["anyOf"]) == len(get_args(events.Event))


def test_the_union_of_events_holds_each_with_its_tag() -> None:
    told = re.findall(r"^  \| (\w+);?$", block("export type Event ="), re.MULTILINE)
    tags = {
        name: re.findall(r'readonly type: "(\w+)"', block(f"export interface {name} {{"))
        for name in told
    }
    kinds = [msgspec.inspect.type_info(event) for event in get_args(events.Event)]
    assert tags == {kind.cls.__name__: [kind.tag] for kind in kinds}


def test_the_typescript_tables_contain_every_method_and_command() -> None:
    listed = dict(re.findall(r'"(indwell/\w+)": \{ to: "(\w+)"', block("export const METHODS = {")))
    told = {"in": "server", "out": "editor"}
    assert listed == {name: told[row.direction] for name, row in protocol.METHODS.items()}
    typed = [
        name
        for table in (
            "ServerRequests",
            "ServerNotifications",
            "EditorRequests",
            "EditorNotifications",
        )
        for name in re.findall(r'readonly "(.+?)"', block(f"export interface {table} {{"))
    ]
    assert sorted(typed) == sorted(protocol.METHODS)
    commands = re.findall(r'readonly "(.+?)"', block("export interface Commands {"))
    assert commands == re.findall(r'"(indwell\..+?)"', block("export const COMMANDS = ["))
    assert sorted(commands) == sorted(protocol.COMMANDS)
