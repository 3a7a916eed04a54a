"""The project and the commands behind a release's kept files, and the shapes of their outputs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

HERE = Path(__file__).parent
ROOT = "/home/user"
"""Stands in the kept files for the folder that has project, state and settings."""

PROJECT: Mapping[str, str] = {
    "invoice.py": '''\
def invoice_total(items):
    """Return the sum of price times quantity over all items."""
    total = 0
    for item in items:
        total = item["price"] * item["quantity"]
    return total
''',
    "test_invoice.py": """\
import unittest

from invoice import invoice_total


class TestInvoice(unittest.TestCase):
    def test_total(self):
        self.assertEqual(invoice_total([{"price": 5, "quantity": 3}] * 2), 30)
""",
    ".mcp.json": '{"mcpServers": {"notes": {"command": "notes-server"}}}\n',
}

TASKS = """\
defaults = {check = "python3 -m unittest", mode = "auto"}

[[task]]
id = "fix"
repository = "project"
file = "invoice.py:L1-6"
prompt = "Fix the bug"
"""

FIX = ("--scripted", "--trust", "--allow-commands", "--file", "invoice.py:L1-6", "Fix the bug")
MEASURE = ("--trust", "--allow-commands")

EVALUATION = ("eval", "--json", *MEASURE, "--to", "../eval", "../tasks.toml")

READING: tuple[tuple[str, ...], ...] = (
    ("sessions", "--json"),
    ("sessions", "show", "SESSION", "--json"),
    ("stats", "--days", "36500", "--json"),
    ("audit", "SESSION", "--json"),
    ("review", "--json"),
    ("tasks", "--json"),
    ("tasks", "--json", "show", "t1"),
    ("memory", "--json"),
    ("trust", "--list", "--json"),
    ("permissions", "--json"),
    ("permissions", "--json", "explain", "--", "git status"),
    ("worktrees", "--json"),
    ("mcp", "--json"),
    ("models", "--json"),
    ("doctor", "--offline", "--json"),
    ("purge", "--json"),
    ("memory", "--json", "path"),
    ("setup", "vim", "--json"),
    ("batch", "--json", "--dry-run", "--to", "../dry", "../tasks.toml"),
)
"""Commands that only read what is stored; ``SESSION`` stands for the newest session."""

WORKING: tuple[tuple[str, ...], ...] = (
    ("run", "--json", *FIX),
    ("batch", "--json", "--scripted", *MEASURE, "--to", "../batch", "../tasks.toml"),
    ("tasks", "--json", "add", "Write a page of help"),
    ("memory", "--json", "add", "The tests run with unittest"),
    ("sessions", "export", "--jsonl", "../tables", "--json"),
    ("permissions", "--json", "revoke", "--all"),
    ("sessions", "delete", "SESSION", "--json"),
)
"""Commands that work in the project, in this order."""

_NAME = re.compile(r"[A-Za-z_]\w*")


def write_project(root: Path) -> Path:
    """Write the project and the tasks below ``root``; return the project's folder."""
    project = root / "project"
    project.mkdir()
    for name, text in PROJECT.items():
        (project / name).write_bytes(text.encode())
    (root / "tasks.toml").write_bytes(TASKS.encode())
    return project


def title(command: Iterable[str]) -> str:
    """Return the name of a command in the schema."""
    return " ".join(command)


def values(output: str) -> list[Any]:
    """Return the values of JSON lines."""
    return [json.loads(line) for line in output.splitlines() if line]


def schema_of(output: str) -> Schema:
    """Return the shape of an output: a schema for each type of event, or one for all lines."""
    found: Schema = {}
    for value in values(output):
        kind = str(value.get("type", "")) if isinstance(value, dict) else ""
        found[kind] = _merged(found.get(kind, {}), _shape(value))
    return found


def breaks(old: Schema, new: Schema, place: str = "") -> list[str]:
    """Return a sentence for each removed field and each changed type.

    A field that is null now depends on the machine, as a sandbox does, and is no break.
    """
    found: list[str] = []
    strange = set(new.get("type", ())) - set(old.get("type", ())) - {"null"}
    if strange and old.get("type"):
        found.append(f"{place} was {_words(old)} and is {_words(new)} now")
    if "object" in new.get("type", ()):
        was, now = old.get("properties", {}), new.get("properties", {})
        found += [f"{place}.{name} went away" for name in was if name not in now]
        for name in was.keys() & now.keys():
            found += breaks(was[name], now[name], f"{place}.{name}")
    for inner in ("items", "additionalProperties"):
        if old.get(inner) and new.get(inner):
            found += breaks(old[inner], new[inner], f"{place}[]")
    return found


def without_words(schema: Any) -> Any:
    """Return a JSON schema without its descriptions and defaults."""
    if isinstance(schema, list):
        return [without_words(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: without_words(one)
        for name, one in schema.items()
        if name not in {"description", "default"} or isinstance(one, dict)
    }


def schema_breaks(old: Schema, new: Schema) -> list[str]:
    """Return a sentence for each break between two schemas of the protocol.

    A break is a method, a command or a field that went away, a changed type, and a new field that
    a request must have. A new choice of a text is none.
    """
    old, new = without_words(old), without_words(new)
    found = []
    for part in ("methods", "commands"):
        found += _changes(old.get(part, {}), new.get(part, {}), part)
    now = new.get("$defs", {})
    for name, was in old.get("$defs", {}).items():
        if name in now:
            found += _changes(was.get("properties", {}), now[name].get("properties", {}), name)
            needed = set(now[name].get("required", ())) - set(was.get("properties", {}))
            if name.endswith(("Params", "Arguments")):
                found += [f"{name}.{one} is new and required" for one in sorted(needed)]
    return found


def _changes(old: Schema, new: Schema, place: str) -> list[str]:
    gone = [f"{place}.{name} went away" for name in old if name not in new]
    both = [name for name in old if name in new]
    return gone + [f"{place}.{name} changed" for name in both if not _fits(old[name], new[name])]


def _fits(old: Any, new: Any) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(
            set(one) <= set(new[name]) if name == "enum" else _fits(one, new[name])
            for name, one in old.items()
        )
    return bool(old == new)


def _words(schema: Schema) -> str:
    return " or ".join(schema["type"])


def _shape(value: object) -> Schema:
    match value:
        case None:
            return {"type": ["null"]}
        case bool():
            return {"type": ["boolean"]}
        case int() | float():
            return {"type": ["number"]}
        case str():
            return {"type": ["string"]}
        case list():
            items: Schema = {}
            for one in value:
                items = _merged(items, _shape(one))
            return {"type": ["array"], "items": items}
        case dict():
            own = {name: _shape(one) for name, one in value.items() if _NAME.fullmatch(name)}
            rest: Schema = {}
            for name, one in value.items():  # Paths and names of models are no fields.
                rest = rest if name in own else _merged(rest, _shape(one))
            more = {"additionalProperties": rest} if rest else {}
            return {"type": ["object"], "properties": own, **more}
        case _:
            raise AssertionError(value)


def _merged(one: Schema, other: Schema) -> Schema:
    """Return a schema that both values fit."""
    if not one or not other:
        return one or other
    merged: Schema = {"type": sorted({*one["type"], *other["type"]})}
    for inner in ("items", "additionalProperties"):
        if inner in one or inner in other:
            merged[inner] = _merged(one.get(inner, {}), other.get(inner, {}))
    if "properties" in one or "properties" in other:
        first, second = one.get("properties", {}), other.get("properties", {})
        merged["properties"] = {
            name: _merged(first.get(name, {}), second.get(name, {}))
            for name in dict.fromkeys((*first, *second))
        }
    return merged
