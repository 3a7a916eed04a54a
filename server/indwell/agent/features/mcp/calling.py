"""One tool of a server as a tool of the agent: its arguments, its effect, its result.

The arguments are checked as far as that is safe: a server may write a schema that takes for ever to
check, with references to itself or patterns that never end. The server checks them anyway.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any

import msgspec

from indwell.agent.features.mcp.catalogue import NamedTool
from indwell.context.untrusted_text import neutralise, scalar_text, seen, short_line
from indwell.errors import ToolError
from indwell.mcp.offers import CallResult, DataPiece, LinkPiece, Piece, TextPiece
from indwell.policy.call_facts import ForeignTool
from indwell.tools.arguments import Given, of_schema
from indwell.tools.base import Outcome, Picture, Tool, ToolContext, ToolFacts

Run = Callable[[NamedTool, Given, ToolContext], Awaitable[CallResult]]

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MOST_PICTURES = 4  # of one result
PICTURE_CHARS = 7_000_000  # of a picture in base64; endpoints refuse larger ones
DESCRIPTION_CHARS = 4_000
MOST_PROBLEMS = 3  # of the arguments of one call
_SUBJECT = 200  # characters of the arguments in a list of calls
_COMPLAINT = 300  # characters of what does not fit
_HEAD_SHARE = 2 / 3  # of a long result; the rest is its end
_UNCHECKED = (
    *("pattern", "patternProperties", "propertyNames", "uniqueItems", "format"),
    *("unevaluatedProperties", "unevaluatedItems"),  # the time doubles with each level
)
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def foreign_tool(named: NamedTool, foreign: ForeignTool, folder: str, run: Run) -> Tool[Given]:
    """Make the tool.

    Args:
        named: The tool of the server.
        foreign: The facts on which a yes to the call depends.
        folder: The workspace folder; where it is restricted, no tool of a server runs.
        run: Calls the tool at the server; raises ``ToolError``.
    """

    def facts(given: Given) -> ToolFacts:
        return ToolFacts(
            tool=named.name,
            effect="external",
            subject=short_line(msgspec.json.encode(given).decode(), _SUBJECT),
            cwd=folder,
            foreign=foreign,
        )

    async def call(given: Given, context: ToolContext) -> Outcome:
        return await outcome_of(await run(named, given, context), named, context)

    def read(given: Given) -> Given:
        check_arguments(named.tool.schema, given)
        return given

    return Tool(
        name=named.name,
        description=described(named),
        arguments=of_schema(_neutral(named.tool.schema), read),
        effect="external",
        facts=facts,
        run=call,
    )


def described(named: NamedTool) -> str:
    """Return the description for the model: whose it is, and the server's words, neutralised."""
    words = _plain(named.tool.description.strip()[:DESCRIPTION_CHARS])
    return f"[tool of the MCP server {named.server}] {words}".rstrip()


def _neutral(node: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a schema in which no text can open or close a tag."""
    match node:
        case dict():
            return {_plain(str(key)): _neutral(value) for key, value in node.items()}
        case list():
            return [_neutral(one) for one in node]
        case str():
            return _plain(node)
        case _:
            return node


def _plain(text: str) -> str:
    """Return a text in which nothing is hidden, and that can open or close no tag."""
    return seen(neutralise(scalar_text(text))).text


def check_arguments(schema: Mapping[str, Any], given: Given) -> None:
    """Check the arguments of a call.

    Raises:
        ToolError: The arguments do not fit the schema; the message says where.
    """
    try:
        found = _validator()(checkable(schema)).iter_errors(given)
        problems = [
            f"{_path(one.absolute_path)}{one.message}" for one in islice(found, MOST_PROBLEMS)
        ]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return  # the schema is not valid; the server has to check
    except Exception as error:
        if type(error).__module__.split(".")[0] not in {"jsonschema", "referencing"}:
            raise
        return
    if problems:
        raise ToolError("; ".join(short_line(one, _COMPLAINT) for one in problems))


def _path(parts: Sequence[object]) -> str:
    path = ".".join(map(str, parts))
    return f"{path}: " if path else ""


@cache
def _validator() -> Callable[[object], Any]:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - only for calls of foreign tools
    from referencing import Registry  # noqa: PLC0415 - as above

    return lambda schema: Draft202012Validator(schema, registry=Registry())  # fetches nothing


def checkable(node: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a schema without the parts, such as references, that could take for ever to check."""
    match node:
        case dict() if any(one in node for one in _REFERENCES):
            return True
        case dict():
            return {key: checkable(value) for key, value in node.items() if key not in _UNCHECKED}
        case list():
            return [checkable(one) for one in node]
        case _:
            return node


async def outcome_of(result: CallResult, named: NamedTool, context: ToolContext) -> Outcome:
    """Return the result for the model: bounded, with the full text in a file if it is long."""
    pictures = _pictures(result.pieces) if context.takes_pictures else []
    shown = {id(piece) for piece, _ in pictures}
    words = [_words(one, is_shown=id(one) in shown) for one in result.pieces]
    if result.structured is not None and not any(
        isinstance(one, TextPiece) for one in result.pieces
    ):
        words.append(msgspec.json.format(msgspec.json.encode(result.structured), indent=1).decode())
    text = context.hide("\n".join(words)) or "(no content)"
    if len(text) > context.most_chars:
        path = await context.spill(named.name, text)
        text = _cut(text, context.most_chars, str(path))
    return Outcome(
        text,
        is_error=result.is_error,
        figure="failed" if result.is_error else "",
        pictures=tuple(picture for _, picture in pictures),
    )


def _pictures(pieces: Sequence[Piece]) -> list[tuple[DataPiece, Picture]]:
    fit = [
        (one, Picture(one.media_type, one.data))
        for one in pieces
        if isinstance(one, DataPiece)
        and one.media_type in PICTURES
        and len(one.data) <= PICTURE_CHARS
    ]
    return fit[:MOST_PICTURES]


def _words(piece: Piece, *, is_shown: bool) -> str:
    match piece:
        case TextPiece(text=text, uri=uri):
            return f"[{short_line(uri, _COMPLAINT)}]\n{text}" if uri else text
        case DataPiece(media_type=kind, data=data):
            size = f"{len(data) * 3 // 4:,} bytes of {short_line(kind, 60)}"
            return f"[{size}]" if is_shown else f"[{size}, not shown]"
        case LinkPiece(uri=uri, name=name, description=said):
            about = f": {short_line(said, _COMPLAINT)}" if said else ""
            return f"[link {short_line(name, 100)} {short_line(uri, _COMPLAINT)}{about}]"


def _cut(text: str, most: int, path: str) -> str:
    n_head = int(most * _HEAD_SHARE)
    n_tail = most - n_head
    return (
        f"{text[:n_head]}\n[… {len(text) - most:,} characters left out; all of it is in {path}, "
        f"and read_file reads it in pieces …]\n{text[-n_tail:]}"
    )
