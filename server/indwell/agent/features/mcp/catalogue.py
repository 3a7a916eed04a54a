"""Names, lists and finds the tools of MCP servers for the model. Pure.

The size of the list has a limit, so 200 tools cost no more than ten. Descriptions and schemas go to
the model only when the model searches for a tool.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import msgspec

from indwell.context.tokens import estimate_tokens
from indwell.context.untrusted_text import neutralise, short_line
from indwell.lazy_pattern import lazy_pattern
from indwell.mcp.offers import OfferedTool

BUDGET = 350  # the limit of estimated tokens for the catalogue's text; with its tag, below 400
MOST_FOUND = 8  # the limit of tools that one search loads
INSTRUCTIONS = 100  # the limit of estimated tokens for a server's instructions in a search result
_NAME_CHARS = 64  # the limit of characters for a tool's name at OpenAI's and Anthropic's endpoints
# the limit of characters for a description, in layouts of decreasing size
_LINES = (100, 60, 30, 0)
# the limit of tool names for each server, in layouts of decreasing size
_NAMES = (40, 20, 10, 5, 2, 0)
_STEM = 4  # the least number of first letters that two words of one stem have in common
_OTHER = lazy_pattern(r"[^a-zA-Z0-9_-]")
_WORD = lazy_pattern(r"[a-z0-9]+|[^\W\d_]+")
_CAMEL = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])")
HEAD = (
    "Tools of MCP servers, as the servers describe them. find_tools loads a tool by its name or by "
    "words; only then it can be called."
)


class NamedTool(NamedTuple):
    """A tool of a server, with the name that the model uses.

    Attributes:
        name: The name for the model, such as ``github__create_issue``.
        server: The server's name.
        tool: The tool as the server describes it.
    """

    name: str
    server: str
    tool: OfferedTool

    @property
    def line(self) -> str:
        """The first line of the tool's description."""
        return next(iter(self.tool.description.strip().splitlines()), "")

    def digest(self, fingerprint: str) -> str:
        """Return a digest of the tool's definition; the user's approval applies only to it."""
        schema = msgspec.json.encode(self.tool.schema, order="sorted").decode()
        parts = (fingerprint, self.tool.name, self.tool.description, schema)
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


class ListedServer(NamedTuple):
    """A server in the catalogue; ``state`` says why the server is not running, or is empty."""

    name: str
    tools: Sequence[OfferedTool]
    state: str = ""


def named_tools(servers: Iterable[tuple[str, Sequence[OfferedTool]]]) -> tuple[NamedTool, ...]:
    """Give each tool a unique name that endpoints accept.

    A name that endpoints do not accept is changed. A changed name ends with a digest of the
    original name, so that two names never become equal.
    """
    named: list[NamedTool] = []
    taken: set[str] = set()
    for server, tools in servers:
        for tool in tools:
            name = _name_of(server, tool.name)
            # A server may list a name twice; only the first tool of that name is used.
            if name not in taken:
                taken.add(name)
                named.append(NamedTool(name, server, tool))
    return tuple(named)


def _name_of(server: str, tool: str) -> str:
    plain = f"{server}__{_OTHER.sub('_', tool)}"
    if plain == f"{server}__{tool}" and len(plain) <= _NAME_CHARS:
        return plain
    mark = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{plain[: _NAME_CHARS - len(mark) - 1]}_{mark}"


def catalogue(servers: Sequence[ListedServer]) -> str:
    """Return the catalogue in the most generous layout that fits, or empty if no server exists."""
    if not servers:
        return ""
    layouts = [(n_chars, None) for n_chars in _LINES] + [(0, n_names) for n_names in _NAMES]
    for n_chars, n_names in layouts:
        text = "\n".join((HEAD, *(_server_line(one, n_chars, n_names) for one in servers)))
        if estimate_tokens(text) <= BUDGET:
            return text
    names = [one.name for one in servers]
    while names and estimate_tokens(f"{HEAD}\n{', '.join(names)} and 999 more") > BUDGET:
        names = names[: len(names) * 9 // 10]
    return f"{HEAD}\n{', '.join(names)} and {len(servers) - len(names)} more"


def _server_line(server: ListedServer, n_chars: int, n_names: int | None) -> str:
    if server.state:
        return f"{server.name}: {short_line(server.state, n_chars or _LINES[-2])}"
    if n_names == 0:
        n_tools = len(server.tools)
        return f"{server.name}: 1 tool" if n_tools == 1 else f"{server.name}: {n_tools} tools"
    shown = [
        short_line(tool.name, _NAME_CHARS) + _line(NamedTool("", "", tool).line, n_chars)
        for tool in server.tools[:n_names]
    ]
    more = len(server.tools) - len(shown)
    if n_chars:
        return "\n- ".join((f"{server.name}:", *shown))
    words = ", ".join(shown) or "no tools"
    return f"{server.name}: {words} and {more} more" if more else f"{server.name}: {words}"


def _line(description: str, n_chars: int) -> str:
    shown = short_line(description, n_chars) if n_chars and description else ""
    return f": {shown}" if shown else ""


def search(tools: Sequence[NamedTool], query: str) -> tuple[NamedTool, ...]:
    """Return the tools that a query names, or the tools that match the query's words best.

    A query names a tool by its name for the model, or by its name at the server.
    """
    asked = [one for one in query.replace(",", " ").split() if one]
    by_name = [one for one in tools if one.name in asked or one.tool.name in asked]
    if by_name:
        return tuple(by_name[:MOST_FOUND])
    words = set(_words(query))
    scored = [(_score(one, words), one) for one in tools]
    best = sorted((pair for pair in scored if pair[0]), key=lambda pair: -pair[0])
    return tuple(one for _, one in best[:MOST_FOUND])


def _score(tool: NamedTool, words: set[str]) -> int:
    """Score a tool: 3 points for a word in its name, 2 in the server's name, 1 elsewhere."""
    parts: Mapping[int, set[str]] = {
        3: set(_words(tool.tool.name)),
        2: set(_words(tool.server)),
        1: set(_words(tool.tool.description[:1_000])),
    }
    return sum(
        max((n for n, found in parts.items() if _has(found, word)), default=0) for word in words
    )


def _has(found: set[str], word: str) -> bool:
    """Return whether the words contain this word, or a word of the same stem such as a plural."""
    if word in found:
        return True
    long = (one for one in found if len(one) >= _STEM)
    return len(word) >= _STEM and any(one.startswith(word) or word.startswith(one) for one in long)


def _words(text: str) -> list[str]:
    return _WORD.findall(_CAMEL.sub(" ", text).lower())


def instructions_line(server: str, instructions: str) -> str:
    """Return a server's instructions on one line, shortened; may be empty."""
    most = 4 * INSTRUCTIONS  # the limit of characters; plain English has four characters per token
    shown = neutralise(short_line(instructions, most))
    while estimate_tokens(shown) > INSTRUCTIONS:
        most = most * 4 // 5
        shown = neutralise(short_line(instructions, most))
    return f"The server {server} says of its tools: {shown}" if shown else ""


def by_server(tools: Iterable[NamedTool]) -> dict[str, list[NamedTool]]:
    """Group tools by their servers, in order."""
    return {server: list(group) for server, group in groupby(tools, lambda one: one.server)}
