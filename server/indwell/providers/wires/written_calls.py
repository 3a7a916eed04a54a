"""Reads tool calls that a model wrote as text instead of calling (weak and local models). Pure.

A model is trained to write calls in a text format, and its server turns the text into calls. If the
server does not know the format, or the model deviates from the format, the call arrives as text. A
reply that only consists of calls of existing tools is read as calls; any other reply stays text.
The formats are those of the chat templates that the makers publish: Hermes and Qwen
(``<tool_call>``), Qwen3-Coder and Llama (``<function=…>``), Llama (``<|python_tag|>``), Mistral
(``[TOOL_CALLS]``), GLM (``<arg_key>``), DeepSeek, Kimi, gpt-oss, MiniMax, and JSON alone or in a
fence.
"""

# ruff: noqa: RUF001 - DeepSeek and others write their marks with these signs
from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, NoReturn

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.messages import ToolSpec

CALL_LIMIT = 200_000  # Only a shorter reply, in characters, is read as calls.
MOST_CALLS = 64  # The dispatcher does not run more calls in one reply.
_CANDIDATES = 20  # At most 20 positions in a text are examined for the beginning of a call.

_FENCES = ("", "json", "tool", "tool_call", "tool_calls", "xml", "text")
_OPENERS = ("{", "[{", "[TOOL_CALLS]", "<tool", "<func", "<|", "<｜tool", "<invoke ", "<minimax:")
# These tags around calls say nothing, and are skipped.
_MARK = lazy_pattern(
    r"\s+|[;,]|```(?:json|tool|tool_calls?|xml|text)?(?!\w)"
    r"|</?(?:tool_calls?|function_calls?|minimax:tool_call|tools?)>|</(?:function|invoke|s)>"
    r"|<\|/?(?:tool_calls?|python_tag|tool_call_(?:start|end|begin)|eom_id|eot_id|im_end|end|call"
    r"|start|tool_calls_section_(?:begin|end))\|>"
    r"|\[/?TOOL_CALLS\]|<｜tool▁calls?▁(?:begin|end)｜>"
)
_NAME = r"(?:functions\.)?([A-Za-z_][\w-]{0,127})"
# The pattern matches a call with the name before the JSON of the arguments.
_NAMED = lazy_pattern(
    rf"(?:<function={_NAME}>"
    rf"|\[TOOL_CALLS\]{_NAME}(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?"
    rf"|{_NAME}(?:\[CALL_ID\]\w+)?\[ARGS\]"
    rf"|(?:function)?<｜tool▁sep｜>{_NAME}\s*(?:```json)?"
    rf"|{_NAME}<｜tool▁sep｜>"
    rf"|{_NAME}(?::\d+)?\s*<\|tool_call_argument_begin\|>"
    rf"|<\|channel\|>commentary to={_NAME}[^{{]{{0,60}}<\|message\|>"
    r")\s*(?=\{)"
)
# The pattern matches a call with the arguments in tags.
_TAGGED = lazy_pattern(rf'<function={_NAME}>|<invoke name="{_NAME}">|{_NAME}\s*(?=<arg_key>)')
_PARAMETER = lazy_pattern(
    r"\s*(?:<parameter=([^<>\s]{1,128})>\n?(.*?)\n?</parameter>"
    r'|<parameter name="([^"<>]{1,128})"[^<>]{0,40}>(.*?)</parameter>'
    r"|<arg_key>([^<>]{1,128})</arg_key>\s*<arg_value>(.*?)</arg_value>)",
    re.DOTALL,
)
# No answer contains these tags of a model's own format by accident.
_OWN_MARK = lazy_pattern(
    r"<tool_calls?>|<function=\w|<\|python_tag\|>|<\|tool_call|\[TOOL_CALLS\]|<｜tool▁call"
    r"|<invoke name=|<minimax:tool_call>|<\|channel\|>commentary to="
)
_LINE = lazy_pattern(r"^[ \t]*(?=[{\[<`])", re.MULTILINE)

_NAMES = ("name", "tool", "tool_name", "function", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input", "tool_input")
_BESIDE = frozenset({"id", "type", "call_id", "tool_call_id"})


class WrittenCall(NamedTuple):
    """A call found in the text; ``arguments`` is the JSON text of an object."""

    name: str
    arguments: str


class _NoCall(Exception):
    """The text is not a call."""


def may_be_call(text: str) -> bool:
    """Return whether a reply that begins with ``text`` may consist only of a call."""
    begun = text.lstrip()
    if begun.startswith("```"):
        fence, newline, _ = begun[3:].partition("\n")
        word = fence.strip()
        return word in _FENCES if newline else any(one.startswith(word) for one in _FENCES)
    return any(begun.startswith(one) or one.startswith(begun) for one in (*_OPENERS, "```"))


def written_calls(text: str, tools: Sequence[ToolSpec]) -> tuple[WrittenCall, ...]:
    """Return the calls of a reply that consists only of calls of these tools, or an empty tuple."""
    if not tools or len(text) > CALL_LIMIT or not may_be_call(text):
        return ()
    try:
        calls = tuple(islice(_Reader(text, tools).calls(), MOST_CALLS + 1))
    except (_NoCall, ValueError, RecursionError):
        return ()
    return calls if len(calls) <= MOST_CALLS else ()


def is_attempt(text: str, tools: Sequence[ToolSpec]) -> bool:
    """Return whether a reply that cannot be read as a call is probably meant as a call.

    Such a reply begins with a tag of a model's own format, calls a tool that does not exist, breaks
    off in a call, or ends with a call after other words.
    """
    if not tools or len(text) > CALL_LIMIT:
        return False
    whole = text.strip()
    if _OWN_MARK.match(whole):
        return True
    if may_be_call(whole) and _is_odd_json(whole, tools):
        return True
    places = [found.end() for found in _LINE.finditer(text)][-_CANDIDATES:]
    return any(
        text.count("```", 0, place) % 2 == 0 and written_calls(text[place:], tools)
        for place in places
    )


def _is_odd_json(text: str, tools: Sequence[ToolSpec]) -> bool:
    body = text.removeprefix("```").removeprefix("json").rstrip("`\n ").strip()
    try:
        value = _DECODER.decode(body)
    except (ValueError, RecursionError):
        names = "|".join(re.escape(tool.name) for tool in tools)
        begins = rf'[\[{{\s]*"(?:{"|".join(_NAMES)})"\s*:\s*"(?:{names})"\s*,\s*"'
        return re.match(rf'{begins}(?:{"|".join(_ARGUMENTS)})"\s*:', body) is not None
    first = value[0] if isinstance(value, list) and value else value
    try:
        name, arguments = _parts(first)
    except _NoCall:
        return False
    return isinstance(arguments, Mapping) and not _is_schema(arguments) and bool(name)


class _Reader:
    """Reads a text from its beginning to its end, call by call."""

    def __init__(self, text: str, tools: Sequence[ToolSpec]) -> None:
        self._text = text
        self._tools = {tool.name: tool for tool in tools}
        self._at = 0

    def calls(self) -> Iterator[WrittenCall]:
        """Yield each call.

        Raises:
            _NoCall: The text contains something other than calls.
            ValueError: JSON in the text is invalid.
        """
        while self._at < len(self._text):
            if named := self._taken(_NAMED):
                yield self._call(_name_in(named), self._json())
            elif tagged := self._taken(_TAGGED):
                name = _name_in(tagged)
                yield self._call(name, dict(self._parameters(name)))
            elif self._taken(_MARK):
                continue
            elif self._text[self._at] in "{[":
                yield from self._calls_in(self._json())
            else:
                raise _NoCall

    def _taken(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
        return found

    def _json(self) -> object:
        value, self._at = _DECODER.raw_decode(self._text, self._at)
        return value

    def _calls_in(self, value: object) -> Iterator[WrittenCall]:
        """Yield the calls in a JSON value: a call, a list of calls, or an object with calls."""
        if isinstance(value, Mapping) and len(value) == 1:
            ((key, inner),) = value.items()
            if key in {"tool_calls", "function_call", "tool_call"}:
                value = inner
            # The form is {"read_file": {…}}.
            elif key in self._tools and isinstance(inner, Mapping):
                yield self._call(key, inner)
                return
        for one in value if isinstance(value, list) else (value,):
            yield self._call(*_parts(one))

    def _parameters(self, name: str) -> Iterator[tuple[str, object]]:
        """Yield the arguments in tags, each converted to the type that the tool expects."""
        types = _types(self._tools.get(name))
        while found := self._taken(_PARAMETER):
            key, value = [group for group in found.groups() if group is not None]
            yield key, _typed(value, types.get(key, "string"))

    def _call(self, name: str, arguments: object) -> WrittenCall:
        tool = self._tools.get(name.removeprefix("functions."))
        # The arguments are JSON text inside JSON, as in chat completions.
        if isinstance(arguments, str):
            arguments = _DECODER.decode(arguments) if arguments.strip() else {}
        if tool is None or not isinstance(arguments, Mapping) or _is_schema(arguments):
            raise _NoCall
        return WrittenCall(tool.name, msgspec.json.encode(arguments).decode())


def _name_in(found: re.Match[str]) -> str:
    return next(group for group in found.groups() if group)


def _parts(value: object) -> tuple[str, object]:
    """Return the name and the arguments of a call in JSON without further fields."""
    if not isinstance(value, Mapping):
        raise _NoCall
    inner = value.get("function")
    if isinstance(inner, Mapping) and value.keys() <= {"function", *_BESIDE}:
        value = inner
    keys = value.keys() - _BESIDE
    name = next((key for key in _NAMES if isinstance(value.get(key), str)), None)
    arguments = next((key for key in _ARGUMENTS if key in value), None)
    if name is None or arguments is None or keys != {name, arguments}:
        raise _NoCall
    return value[name], value[arguments]


def _is_schema(arguments: Mapping[str, Any]) -> bool:
    """Return whether the value is a schema of arguments, not the arguments themselves."""
    return arguments.get("type") == "object" and isinstance(arguments.get("properties"), Mapping)


def _types(tool: ToolSpec | None) -> dict[str, str]:
    if tool is None:
        return {}
    schema = msgspec.json.decode(tool.parameters)
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return {}
    return {key: _type_of(one) for key, one in properties.items()}


def _type_of(schema: object) -> str:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    return kind if isinstance(kind, str) else "any"


def _typed(text: str, kind: str) -> object:
    """Return the value of a tag; a value that is not JSON stays text."""
    if kind == "string":
        return text
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return text


def _refused(constant: str) -> NoReturn:
    raise ValueError(constant)


# Small models put unescaped line breaks into strings, which JSON forbids.
_DECODER = json.JSONDecoder(strict=False, parse_constant=_refused)
