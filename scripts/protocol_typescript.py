"""Keep vscode-extension/src/protocol.ts equal to docs/protocol.schema.json.

Interfaces have the names of the Python classes. Messages from the server have all fields:
the server leaves none out. Messages to the server may omit fields with a default.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "docs" / "protocol.schema.json"
MIRROR = ROOT / "vscode-extension" / "src" / "protocol.ts"
PLAIN = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}
HEAD = """\
/**
 * The messages of Indwell's own, as `docs/protocol.md` explains them.
 * Written by scripts/protocol_typescript.py from docs/protocol.schema.json (`scripts/fix`).
 */
"""
TABLES = {
    ("to the server", "request"): ("ServerRequests", "Requests that the server answers."),
    ("to the server", "notification"): ("ServerNotifications", "What the server is told."),
    ("to the editor", "request"): ("EditorRequests", "Requests that the editor answers."),
    ("to the editor", "notification"): ("EditorNotifications", "What the editor is told."),
}
FINDS_ATTRIBUTE = re.compile(r"^ {4}(\w+): ")


class Mirror:
    """Creates the text of protocol.ts from one schema."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self.definitions: Mapping[str, Any] = schema["$defs"]
        methods = schema["methods"].values()
        commands = schema["commands"].values()
        said = [one for row in methods for one in _parts(row, "to the server")]
        self.sent = self._reached([*said, *(row["argument"] or {} for row in commands)])

    def text(self) -> str:
        """Return the text of protocol.ts."""
        interfaces = [
            self._events() if name == "Event" else self._interface(name)
            for name in sorted(self.definitions, key=_name)
        ]
        return "\n".join([HEAD, *interfaces, *self._tables(), self._commands()])

    def _reached(self, roots: Iterable[Mapping[str, Any]]) -> frozenset[str]:
        found: set[str] = set()
        waiting = list(roots)
        while waiting:
            for name in _references(waiting.pop()):
                if name not in found:
                    found.add(name)
                    waiting.append(self.definitions[name])
        return frozenset(found)

    def _interface(self, name: str) -> str:
        one = self.definitions[name]
        is_lsp = "description" not in one
        summary, told = _docstring(one.get("description", "As in LSP."), one["properties"])
        if not one["properties"]:
            return (
                f"{_comment(summary)}export type {_name(name)} = Readonly<Record<string, never>>;\n"
            )
        lines = [f"{_comment(summary)}export interface {_name(name)} {{"]
        for field, schema in one["properties"].items():
            if field in told:
                lines.append(_comment(told[field], "  ").rstrip("\n"))
            may_miss = (is_lsp or name in self.sent) and field not in one["required"]
            mark = "?" if may_miss else ""
            # LSP types come from foreign objects, whose fields may be undefined.
            type_ = f"{_type(schema)} | undefined" if is_lsp and may_miss else _type(schema)
            lines.append(f"  readonly {field}{mark}: {type_};")
        return "\n".join([*lines, "}\n"])

    def _events(self) -> str:
        names = sorted(_type(one) for one in self.definitions["Event"]["anyOf"])
        union = "".join(f"\n  | {name}" for name in names)
        return f"/** What happens in a turn; `type` tells which. */\nexport type Event ={union};\n"

    def _tables(self) -> Iterator[str]:
        yield "/** The version of the protocol; the server announces its own. */"
        yield f"export const PROTOCOL: number = {self.schema['protocol']};\n"
        rows = self.schema["methods"]
        for (direction, kind), (table, summary) in TABLES.items():
            yield f"/** {summary} */\nexport interface {table} {{"
            for name, row in rows.items():
                if (row["direction"], row["kind"]) == (direction, kind):
                    parts = [("params", row["params"])]
                    if "result" in row:
                        parts.append(("result", row["result"]))
                    yield _row(name, parts)
            yield "}\n"
        yield "/** Every method, with who receives it and whether it is answered. */"
        yield "export const METHODS = {"
        for name, row in rows.items():
            to = "server" if row["direction"] == "to the server" else "editor"
            yield f'  "{name}": {{ to: "{to}", kind: "{row["kind"]}" }},'
        yield "} as const;\n"

    def _commands(self) -> str:
        rows = self.schema["commands"]
        lines = [
            "/** Commands: the one argument of each (null: it has none), and its answer. */",
            "export interface Commands {",
        ]
        for name, row in rows.items():
            parts = [("argument", row["argument"] or {"type": "null"}), ("result", row["result"])]
            lines.append(_row(name, parts))
        task = {"$ref": "#/$defs/TaskArguments"}
        tasks = [name for name, row in rows.items() if row["argument"] == task]
        return "\n".join(
            [
                *lines,
                "}\n",
                "/** Every command of the server. */",
                f"export const COMMANDS = [\n{_listed(rows)},",
                "] as const satisfies readonly (keyof Commands)[];\n",
                "/** The commands that begin a task about a range or a document. */",
                f"export const TASK_COMMANDS = [\n{_listed(tasks)},",
                "] as const satisfies readonly (keyof Commands)[];\n",
            ]
        )


def _listed(names: Iterable[str]) -> str:
    listed = ", ".join(f'"{name}"' for name in names)
    return "\n".join(textwrap.wrap(listed, 96, initial_indent="  ", subsequent_indent="  "))


def _parts(row: Mapping[str, Any], direction: str) -> Iterator[Mapping[str, Any]]:
    """Yield the parts of a method in one direction: params, or the answer to the other side."""
    if row["direction"] == direction:
        yield row["params"]
    elif "result" in row:
        yield row["result"]


def _row(name: str, parts: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    types = "; ".join(f"readonly {part}: {_type(schema)}" for part, schema in parts)
    return f'  readonly "{name}": {{ {types} }};'


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].removeprefix("#/$defs/")
        for one in schema.values():
            yield from _references(one)
    elif isinstance(schema, list):
        for one in schema:
            yield from _references(one)


def _name(name: str) -> str:
    return name.removeprefix("event.")


def _type(schema: Mapping[str, Any]) -> str:
    """Return the TypeScript of a schema."""
    if "$ref" in schema:
        return _name(schema["$ref"].removeprefix("#/$defs/"))
    if "enum" in schema:
        return " | ".join(json.dumps(one) for one in schema["enum"])
    if "anyOf" in schema:
        found = list(dict.fromkeys(_type(one) for one in schema["anyOf"]))
        return "unknown" if "unknown" in found else " | ".join(found)
    kind = schema.get("type")
    if kind is None:
        return "unknown"
    if isinstance(kind, list):
        return " | ".join(PLAIN[one] for one in kind)
    if kind == "array":
        item = _type(schema["items"])
        return f"readonly ({item})[]" if " " in item else f"readonly {item}[]"
    if kind == "object":
        return f"Readonly<Record<string, {_type(schema.get('additionalProperties', {}))}>>"
    return PLAIN[kind]


def _docstring(text: str, fields: Iterable[str]) -> tuple[str, dict[str, str]]:
    """Return a Google-style docstring as a summary and a text for each field."""
    summary, _, listed = text.partition("\nAttributes:\n")
    known, told, field = {_flat(one): one for one in fields}, dict[str, str](), ""
    for line in listed.splitlines():
        if begun := FINDS_ATTRIBUTE.match(line):
            field = known[_flat(begun[1])]
            told[field] = line[begun.end() :].strip()
        elif field and line.strip():
            told[field] += " " + line.strip()
    return summary.strip(), told


def _flat(name: str) -> str:
    return name.replace("_", "").lower()


def _comment(text: str, indent: str = "") -> str:
    """Return a JSDoc comment; backticks are as in Markdown."""
    text = text.replace("``", "`").replace("*/", "* /")
    width = 110 - len(indent)
    lines = [line for part in text.split("\n\n") for line in [*textwrap.wrap(part, width), ""]][:-1]
    if len(lines) == 1 and len(lines[0]) <= width - 4:
        return f"{indent}/** {lines[0]} */\n"
    middle = "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines)
    return f"{indent}/**\n{middle}{indent} */\n"


def main() -> int:
    """Write protocol.ts; with --check, report whether the file is out of date."""
    fresh = Mirror(json.loads(SCHEMA.read_text("utf-8"))).text()
    if MIRROR.exists() and MIRROR.read_text("utf-8") == fresh:
        return 0
    if "--check" in sys.argv:
        print("vscode-extension/src/protocol.ts is old; run scripts/fix", file=sys.stderr)
        return 1
    MIRROR.write_text(fresh, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
