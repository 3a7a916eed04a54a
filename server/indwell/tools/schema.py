"""The arguments of a tool as a JSON schema, for the model and in few words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec


def signature(parameters: str) -> str:
    """A JSON schema in few words, such as ``{path: string, edits: [{old: string, …}]}``."""
    return _signed(msgspec.json.decode(parameters))


def _signed(node: Mapping[str, Any]) -> str:
    if "properties" in node:
        required = set(node.get("required", ()))
        fields = (
            f"{name}{'' if name in required else '?'}: {_signed(field)}"
            for name, field in node["properties"].items()
        )
        return "{" + ", ".join(fields) + "}"
    if node.get("type") == "array":
        return f"[{_signed(node.get('items', {}))}, …]"
    if "enum" in node:
        return " | ".join(map(repr, node["enum"]))
    if "anyOf" in node:
        return " | ".join(_signed(one) for one in node["anyOf"] if one.get("type") != "null")
    return str(node.get("type", "any"))


@cache
def schema_of(arguments: type) -> str:
    """The JSON schema of a struct as one line, without the noise that costs tokens."""
    (schema,), components = msgspec.json.schema_components((arguments,))
    definitions = dict(components)
    return msgspec.json.encode(_plain(schema, definitions)).decode()


def _plain(node: object, definitions: Mapping[str, Any]) -> object:
    if isinstance(node, dict):
        if "$ref" in node:
            return _plain(definitions[str(node["$ref"]).rsplit("/", 1)[-1]], definitions)
        # A title that is text is the struct's name; a property called title is a schema.
        # So is the docstring of a struct a line for readers of the code; a field's own stays.
        is_struct = "properties" in node
        return {
            key: _plain(value, definitions)
            for key, value in node.items()
            if not (key == "title" and isinstance(value, str))
            and not (key == "description" and is_struct and isinstance(value, str))
        }
    if isinstance(node, list):
        return [_plain(value, definitions) for value in node]
    return node
