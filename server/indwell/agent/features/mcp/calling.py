"""Makes a tool of an MCP server callable as a tool of the agent.

The arguments are only checked against safe parts of the schema, because a server's schema with
references to itself or slow patterns could take very long to check. The server checks the arguments
itself.
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
from indwell.tools.arguments import Given, of_schema, words_of
from indwell.tools.base import Outcome, Picture, Tool, ToolContext, ToolFacts

Run = Callable[[NamedTool, Given, ToolContext], Awaitable[CallResult]]

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MOST_PICTURES = 4  # the limit of pictures in one result
# the limit of base64 characters for a picture; endpoints refuse larger pictures
PICTURE_CHARS = 7_000_000
DESCRIPTION_CHARS = 4_000
MOST_PROBLEMS = 3  # the limit of reported problems with one call's arguments
_SUBJECT = 200  # the limit of characters for the arguments in a list of calls
_COMPLAINT = 300  # the limit of characters for the description of one problem
_HEAD_SHARE = 2 / 3  # A cut result keeps this share from its beginning and the rest from its end.
_UNCHECKED = (
    *("pattern", "patternProperties", "propertyNames", "uniqueItems", "format"),
    # The time to check these keywords doubles with each level of nesting.
    *("unevaluatedProperties", "unevaluatedItems"),
)
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def foreign_tool(named: NamedTool, foreign: ForeignTool, folder: str, run: Run) -> Tool[Given]:
    """Create the agent's tool for a tool of an MCP server.

    Args:
        named: The tool of the server.
        foreign: The server, the tool and the digest to which the user's permission applies.
        folder: The workspace folder; in a restricted folder, no tool of a server runs.
        run: Calls the tool at the server; raises ``ToolError``.
    """

    def facts(given: Given) -> ToolFacts:
        return ToolFacts(
            tool=named.name,
            effect="external",
            subject=short_line(words_of(given), _SUBJECT),
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
    """Return a tool's description for the model: the server's name, and the text without tags."""
    words = _plain(named.tool.description.strip()[:DESCRIPTION_CHARS])
    return f"[tool of the MCP server {named.server}] {words}".rstrip()


def _neutral(node: Any) -> Any:  # noqa: ANN401 - JSON
    """Escape the texts in a schema, so that no text can open or close a tag."""
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
    """Return a text with visible characters only, in which no tag can open or close."""
    return seen(neutralise(scalar_text(text))).text


def check_arguments(schema: Mapping[str, Any], given: Given) -> None:
    """Check the arguments of a call.

    Raises:
        ToolError: The arguments do not fit the schema; the message names the position.
    """
    try:
        found = _validator()(checkable(schema)).iter_errors(given)
        problems = [
            f"{_path(one.absolute_path)}{one.message}" for one in islice(found, MOST_PROBLEMS)
        ]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return  # The schema is invalid, so only the server can check the arguments.
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

    # An empty registry never fetches schemas from the network.
    return lambda schema: Draft202012Validator(schema, registry=Registry())


def checkable(node: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a schema without parts that could take very long to check, such as references."""
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
    """Return a call's result for the model; the full text of a long result goes to a file."""
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
