"""Keep docs/protocol.schema.json and the table of events in docs/protocol.md equal to the types."""

from __future__ import annotations

import enum
import inspect
import json
import sys
import types as builtin_types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import attrs
import msgspec
from lsprotocol.types import LSPObject  # noqa: F401 -- lsprotocol's own annotations name it

from indwell.agent.core.events import Event
from indwell.compatibility import PROTOCOL
from indwell.lsp.messages import context, documents, status, views
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.documents import ChatResult
from indwell.lsp.messages.features import TASK_COMMANDS
from indwell.lsp.messages.methods import MemoryResult
from indwell.lsp.messages.values import Value

SCHEMA = Path(__file__).resolve().parent.parent / "docs" / "protocol.schema.json"
PAGE = SCHEMA.with_name("protocol.md")
EVENTS_HEAD = "| type | fields |\n| --- | --- |\n"
STARTED = (protocol.StartedResult, protocol.TurnResult, None)
COMMAND_RESULTS: Mapping[str, tuple[type | None, ...]] = {
    **dict.fromkeys(TASK_COMMANDS, STARTED),
    "indwell.accept": (documents.VerdictResult, None),
    "indwell.reject": (documents.VerdictResult, None),
    "indwell.undoVerdict": (documents.UndoVerdictResult, None),
    "indwell.cancel": (bool,),
    "indwell.newSession": (None,),
    "indwell.compact": (protocol.StartedResult, None),
    "indwell.continue": (protocol.StartedResult, None),
    "indwell.commands": (None,),
    "indwell.explainRequest": (context.ContextResult,),
    "indwell.open": (documents.OpenResult, None),
    "indwell.showLog": (documents.OpenResult, None),
    "indwell.resume": (views.ResumeResult, None),
    "indwell.fork": (views.ResumeResult, None),
    "indwell.rewind": (views.ResumeResult, None),
    "indwell.plan": (views.PlanResult, None),
    "indwell.effort": (None,),
    "indwell.mode": (None,),
    "indwell.trust": (bool, None),
    "indwell.chat": (ChatResult, None),
    "indwell.send": (*STARTED, protocol.SteerResult),
    "indwell.memory": (MemoryResult, None),
    "indwell.mcp": (status.McpResult, None),
    "indwell.tasks": (status.TasksResult, None),
    "indwell.commitMessage": (protocol.CommitMessageResult, None),
}
"""What a command answers: any of these; which one, docs/protocol.md says."""
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


class Schema:
    """Collects definitions while the script visits types."""

    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}

    def of(self, type_: Any) -> dict[str, Any]:  # noqa: ANN401 -- any annotation
        """Return the schema of a type; classes become references."""
        if type_ in PLAIN:
            return {"type": PLAIN[type_]}
        if type_ in {Any, object}:
            return {}
        if isinstance(type_, typing.TypeAliasType if sys.version_info >= (3, 12) else ()):
            return self.of(type_.__value__)
        origin, arguments = get_origin(type_), get_args(type_)
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin in {Union, builtin_types.UnionType}:
            return self.any_of(arguments)
        if origin in {tuple, list} or (isinstance(origin, type) and issubclass(origin, Sequence)):
            return {"type": "array", "items": self.of(arguments[0])}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if isinstance(type_, type) and issubclass(type_, enum.Enum):
            return {"enum": [member.value for member in type_]}
        if isinstance(type_, type) and (issubclass(type_, Value) or attrs.has(type_)):
            return self._reference(type_)
        raise TypeError(f"{type_!r} has no schema yet; teach it to scripts/protocol_schema.py")

    def any_of(self, types_: Sequence[Any]) -> dict[str, Any]:
        """Return the schema of a choice of types; ``None`` becomes null."""
        found = [self.of(type(None) if one is None else one) for one in types_]
        plain = [one["type"] for one in found if set(one) == {"type"}]
        return {"type": plain} if len(plain) == len(found) else {"anyOf": found}

    def _reference(self, class_: type) -> dict[str, Any]:
        name = class_.__name__
        if name not in self.definitions:
            self.definitions[name] = {}  # A class may contain itself.
            self.definitions[name] = self._object(class_)
        return {"$ref": f"#/$defs/{name}"}

    def _object(self, class_: type) -> dict[str, Any]:
        if issubclass(class_, Value):
            ours = msgspec.structs.fields(class_)
            return {
                "description": inspect.cleandoc(class_.__doc__ or ""),
                "type": "object",
                "properties": {one.name: self.of(one.type) for one in ours},
                "required": [one.name for one in ours if one.required],
            }
        hints = typing.get_type_hints(class_, vars(sys.modules[class_.__module__]))
        theirs = attrs.fields(class_)
        return {
            "type": "object",
            "properties": {_camel(one.name): self.of(hints[one.name]) for one in theirs},
            "required": [_camel(one.name) for one in theirs if one.default is attrs.NOTHING],
        }


def make_schema() -> dict[str, Any]:
    """Return params, results, commands and events as a JSON Schema (draft 2020-12)."""
    schema = Schema()
    methods = {
        name: {
            "direction": {"in": "to the server", "out": "to the editor"}[row.direction],
            "kind": "request" if row.result else "notification",
            "params": schema.of(row.params),
            **({"result": schema.of(row.result)} if row.result else {}),
        }
        for name, row in protocol.METHODS.items()
    }
    commands = {
        name: {
            "argument": schema.of(class_) if class_ else None,
            "result": schema.any_of(COMMAND_RESULTS[name]),
        }
        for name, class_ in protocol.COMMANDS.items()
    }
    (event,), definitions = msgspec.json.schema_components(
        [Event], ref_template="#/$defs/event.{name}"
    )
    schema.definitions["Event"] = event
    for name, one in definitions.items():
        schema.definitions[f"event.{name}"] = {
            **one,
            "description": inspect.cleandoc(one["description"]),
        }
    schema.definitions["EventParams"]["properties"]["event"] = {"$ref": "#/$defs/Event"}
    schema.definitions["NumberedEvent"]["properties"]["event"] = {"$ref": "#/$defs/Event"}
    schema.definitions["TurnRow"]["properties"]["events"]["items"] = {"$ref": "#/$defs/Event"}
    commands_told = schema.definitions["CommandsResult"]["properties"]["commands"]
    commands_told["items"] = {"$ref": "#/$defs/event.BackgroundCommand"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Messages of Indwell",
        "description": "Written by scripts/protocol_schema.py; docs/protocol.md explains them.",
        "protocol": PROTOCOL,
        "methods": methods,
        "commands": commands,
        "$defs": dict(sorted(schema.definitions.items())),
    }


def _camel(name: str) -> str:
    head, *rest = name.strip("_").split("_")
    return head + "".join(word.capitalize() for word in rest)


def with_events(page: str) -> str:
    """Return the page with the table of events of the types."""
    before, head, rest = page.partition(EVENTS_HEAD)
    assert head, "the page has a table of events"
    _, end, after = rest.partition("\n\n")
    common = {"turn", "agent"}
    rows: list[str] = []
    for event in get_args(Event):
        info = msgspec.inspect.type_info(event)
        assert isinstance(info, msgspec.inspect.StructType)
        fields = (f"`{one.encode_name}`" for one in info.fields if one.name not in common)
        rows.append(f"| `{info.tag}` | {', '.join(fields)} |")
    return "".join((before, head, "\n".join(rows), end, after))


def main() -> int:
    """Write the schema and the table of events; with --check, report outdated files."""
    schema = json.dumps(make_schema(), indent=1, ensure_ascii=False) + "\n"
    for path, fresh in ((SCHEMA, schema), (PAGE, with_events(PAGE.read_text("utf-8")))):
        if path.exists() and path.read_text("utf-8") == fresh:
            continue
        if "--check" in sys.argv:
            print(f"docs/{path.name} is old; run scripts/fix", file=sys.stderr)
            return 1
        path.write_text(fresh, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
