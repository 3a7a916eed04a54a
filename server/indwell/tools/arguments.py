"""A tool's arguments: their schema for the model, and their decoding from the model's JSON. Pure.

The arguments of Indwell's tools are structs. The arguments of other tools are a JSON Schema with a
function that creates a value. Models also use argument names of other agents, such as
``file_path``; a tool lists the names that it understands.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from indwell.errors import ToolError
from indwell.prepared_types import prepared

_MAX_QUOTE = 60  # An error message repeats at most 60 characters of the arguments.
# A decoder's message may repeat the model's names, so it is cut to 300 characters.
_MAX_COMPLAINT = 300

Given: TypeAlias = dict[str, Any]
"""The arguments of one call as a JSON object."""

A = TypeVar("A")

PATHS = dict.fromkeys(("file_path", "filePath", "absolute_path", "target_file"), "path")
"""Names that other agents use for the path of a file."""


@dataclass(frozen=True, slots=True)
class Arguments(Generic[A]):
    """The arguments of a tool.

    Attributes:
        schema: The JSON Schema for the model, on one line.
        decode: Decodes the JSON text of a call. Raises ``msgspec.DecodeError`` or ``ToolError`` if
            the text does not fit.
        understood: A function that replaces other agents' names of arguments by Indwell's names.
            Raises ``ToolError`` if the meaning is unclear.
    """

    schema: str
    decode: Callable[[bytes], A]
    understood: Callable[[Given], Given] | None = None

    def read(self, tool: str, text: str) -> tuple[A, str]:
        """Return the value of a call's arguments, and the arguments as JSON under Indwell's names.

        Args:
            tool: The name of the tool, for error messages.
            text: The model's arguments; empty means no arguments.

        Raises:
            ToolError: The text is not JSON or does not fit. The message has the reason and the
                tool's arguments (H40).
        """
        takes = f"it takes {signature(self.schema)}"
        try:
            ours = self._in_our_names(text)
            value = self.decode(ours.encode() or b"{}")
            _check_names(text)
        except ToolError as error:
            raise ToolError(f"bad arguments for {tool}: {error}; {takes}") from error
        except RecursionError as error:
            raise ToolError(
                f"the arguments of {tool} are nested too deeply: {_short(text)!r}; {takes}"
            ) from error
        except msgspec.ValidationError as error:
            raise ToolError(
                f"bad arguments for {tool}: {_short(str(error), _MAX_COMPLAINT)}; {takes}"
            ) from error
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            if half := _half_of_pair(text):
                raise ToolError(
                    f"the arguments of {tool} contain {half}, which is half of a surrogate pair; "
                    "write both halves, or the character itself"
                ) from error
            raise ToolError(
                f"the arguments of {tool} are not JSON "
                f"({_short(str(error), _MAX_COMPLAINT)}): {_short(text)!r}"
            ) from error
        return value, ours

    def _in_our_names(self, text: str) -> str:
        if self.understood is None:
            return text
        given = msgspec.json.decode(text.encode() or b"{}")
        if not isinstance(given, dict):
            return text
        ours = self.understood(dict(given))
        return text if ours == given else msgspec.json.encode(ours).decode()


def of_struct(struct: type[A], understood: Callable[[Given], Given] | None = None) -> Arguments[A]:
    """Return the arguments that a frozen struct, which forbids unknown fields, describes."""
    decoder = msgspec.json.Decoder(prepared(struct))
    return Arguments(schema_of(struct), decoder.decode, understood)  # type: ignore[arg-type] # hashable


def of_schema(schema: Mapping[str, Any], read: Callable[[Given], A]) -> Arguments[A]:
    """Return the arguments of a tool from another program.

    Args:
        schema: A JSON Schema of an object. The model gets the whole schema, unchanged.
        read: Creates a value from the arguments; raises ``ToolError`` if the arguments do not fit.
    """

    def decode(text: bytes) -> A:
        return read(msgspec.json.decode(text, type=dict[str, Any]))

    return Arguments(msgspec.json.encode(schema).decode(), decode)


def renamed(given: Given, names: Mapping[str, str]) -> Given:
    """Return the arguments with other agents' names replaced by Indwell's names.

    Args:
        given: The model's arguments.
        names: Indwell's name for each name of other agents.

    Raises:
        ToolError: Two names mean the same argument, and their values differ.
    """
    ours: Given = {}
    for name, value in given.items():
        own = names.get(name, name)
        if own in ours and ours[own] != value:
            raise ToolError(f"{name!r} and another name for {own!r} have different values")
        ours[own] = value
    return ours


def renaming(**names: str) -> Callable[[Given], Given]:
    """Return a function for ``Arguments.understood`` that only renames: ``file_path="path"``."""
    return lambda given: renamed(given, names)


def _check_names(text: str) -> None:
    """Refuse a name that occurs twice in one object, because either value may be meant.

    Raises:
        DecodeError: A name occurs twice; the message contains the name.
    """

    def no_doubles(pairs: Sequence[tuple[str, object]]) -> None:
        names = [name for name, _ in pairs]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise msgspec.DecodeError(f"{twice!r} occurs in it twice")

    # Numbers stay text, because Python refuses to parse very long numbers.
    json.loads(text or "{}", object_pairs_hook=no_doubles, parse_int=str, parse_float=str)


def _half_of_pair(text: str) -> str:
    """Return the escape of the first surrogate without its partner, or an empty text."""
    # A text that is no JSON may contain a surrogate as a character.
    with contextlib.suppress(ValueError, RecursionError):
        text = json.dumps(json.loads(text), ensure_ascii=False)
    return next((f"\\u{ord(one):04x}" for one in text if "\ud800" <= one <= "\udfff"), "")


def _short(words: str, limit: int = _MAX_QUOTE) -> str:
    """Return the part of the model's own text that an error message repeats."""
    return words if len(words) <= limit else words[: limit - 1] + "…"


def words_of_text(text: str) -> str:
    """Return the arguments of a call for people; the text itself if it is not a JSON object."""
    try:
        given = msgspec.json.decode(text.encode(), type=dict[str, Any])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return text
    return words_of(given)


def words_of(given: Given) -> str:
    """Return the arguments of a call for people: a single value alone, several with their names."""
    values = {name: one if isinstance(one, str) else _json(one) for name, one in given.items()}
    if len(values) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{name}: {value}" for name, value in values.items())


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def signature(parameters: str) -> str:
    """Return a short form of a JSON schema: ``{path: string, edits: [{old: string, …}]}``."""
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
    """Return the JSON Schema of a struct on one line, without parts that are useless for a model.

    The schema leaves out titles, docstrings of structs, defaults, lower bounds of 0 and 1, the
    alternative ``null`` of an optional argument, an empty list of required arguments, and the
    refusal of unknown arguments. ``decode`` still checks these rules, and its message names the
    expected form.
    """
    (schema,), components = msgspec.json.schema_components((arguments,))
    definitions = dict(components)
    return msgspec.json.encode(_plain(schema, definitions)).decode()


def _plain(node: object, definitions: Mapping[str, Any]) -> object:
    if isinstance(node, dict):
        if "$ref" in node:
            return _plain(definitions[str(node["$ref"]).rsplit("/", 1)[-1]], definitions)
        node = _required(node)
        return {
            key: _plain(value, definitions)
            for key, value in node.items()
            if not _says_nothing(node, key, value)
        }
    if isinstance(node, list):
        return [_plain(value, definitions) for value in node]
    return node


def _required(node: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an optional value without ``null``; a model omits such a value."""
    match node.get("anyOf"):
        case [{"type": "null"}, dict(other)] | [dict(other), {"type": "null"}]:
            return {key: value for key, value in node.items() if key != "anyOf"} | other
        case _:
            return node


def _says_nothing(node: Mapping[str, Any], key: str, value: object) -> bool:
    match key:
        # The key may name a struct, or an argument "title", which has a schema.
        case "title":
            return isinstance(value, str)
        # The description of a struct is its docstring, for readers of the code.
        case "description":
            return "properties" in node and isinstance(value, str)
        case "default":  # The model may omit an argument that is not required.
            return "type" in node or "enum" in node
        case "additionalProperties":
            return value is False
        case "minimum":
            return value in (0, 1) and not isinstance(value, dict)
        case "required":
            return value == []
        case _:
            return False
