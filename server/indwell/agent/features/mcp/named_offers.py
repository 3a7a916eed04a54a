"""Attaches servers' resources (``@server:uri``) and prompts (``/server:prompt``).

The texts come from the server. A resource counts as data, and a prompt that the user calls counts
as instructions, like a project's skill. A server's text can never grant a permission.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from indwell.agent.core.feature import Moment
from indwell.agent.core.session import Session
from indwell.context.injections import inject
from indwell.context.untrusted_text import one_line, short_line
from indwell.errors import UserError
from indwell.lazy_pattern import lazy_pattern
from indwell.mcp.offers import (
    DataPiece,
    LinkPiece,
    McpError,
    OfferedPrompt,
    OfferedResource,
    Piece,
    PromptArgument,
    PromptMessage,
    TextPiece,
)
from indwell.mcp.servers import Lease
from indwell.messages import Text

if TYPE_CHECKING:
    from indwell.mcp.connection import Connection

Open: TypeAlias = "Callable[[str], Awaitable[Connection]]"
"""Returns the connection to the server with this name."""

AskArgument: TypeAlias = Callable[[str], Awaitable[str | None]]
"""Asks the user for a line; returns the line, or None if the user gives no answer."""

MOST_RESOURCES = 10  # the limit of resources that one prompt of the user may name
LIST_S = 2.0  # the time limit, in seconds, to list the resources and prompts of one server
MOST_LISTED = 500  # the limit of listed prompts and resources for one server
_WINDOW_SHARE = 8  # a resource may take at most 1/8 of the context window
_CHARACTERS = 3  # A token has at least 3 characters.
_WORDS = 300
_NAME = r"[a-z0-9][a-z0-9-]{0,31}"
_RESOURCE = lazy_pattern(
    rf"(?<![\w@/.`])@(?P<server>{_NAME}):(?P<uri>[^\s\"'`<>,;]{{1,400}})", re.ASCII
)
_PROMPT = lazy_pattern(
    rf"\s*/(?P<server>{_NAME}):(?P<name>[\w.-]{{1,100}})(?P<rest>\s.*)?\Z", re.DOTALL
)
_ARGUMENT = lazy_pattern(r"(?P<name>[\w-]+)=(?:\"(?P<quoted>[^\"]*)\"|(?P<bare>\S*))")
_ENDS = ".,:;!?…)"


class NamedResource(NamedTuple):
    """A resource that the user's text names."""

    server: str
    uri: str

    @property
    def label(self) -> str:
        """The resource's displayed name."""
        return one_line(f"@{self.server}:{self.uri}")


class CalledPrompt(NamedTuple):
    """A prompt that the user calls, and the user's text after the prompt's name."""

    server: str
    name: str
    rest: str

    @property
    def label(self) -> str:
        """The prompt's displayed name."""
        return one_line(f"/{self.server}:{self.name}")


class ServerOffers(NamedTuple):
    """The prompts and resources of one server, for lists in user interfaces."""

    prompts: tuple[OfferedPrompt, ...] = ()
    resources: tuple[OfferedResource, ...] = ()


async def offers_of(leases: Sequence[Lease]) -> Mapping[str, ServerOffers]:
    """Return the prompts and resources of running servers, by server, without slow servers."""
    found = await asyncio.gather(*map(_offers_of, leases))
    names = (one.definition.name for one in leases)
    return {name: one for name, one in zip(names, found, strict=True) if one is not None}


async def _offers_of(lease: Lease) -> ServerOffers | None:
    connection = lease.connection
    if connection is None or connection.state != "ready":
        return None
    try:
        async with asyncio.timeout(LIST_S):
            prompts = await connection.prompts()
            resources = await connection.resources()
    except (McpError, TimeoutError):
        return None
    plain = (one for one in resources if not one.is_template)
    return ServerOffers(prompts[:MOST_LISTED], tuple(islice(plain, MOST_LISTED)))


def labels_in(words: str, servers: Sequence[str]) -> tuple[str, ...]:
    """Return displayed names of the resources and the prompt that the text attaches."""
    prompt = called_prompt(words, servers)
    resources = named_resources(words, servers)[:MOST_RESOURCES]
    return (*([prompt.label] if prompt else ()), *(one.label for one in resources))


def named_resources(words: str, servers: Sequence[str]) -> tuple[NamedResource, ...]:
    """Return the resources of these servers that the text names, without duplicates."""
    found = (
        NamedResource(match["server"], match["uri"].rstrip(_ENDS))
        for match in _RESOURCE.finditer(words)
        if match["server"] in servers
    )
    return tuple(dict.fromkeys(one for one in found if one.uri))


def called_prompt(words: str, servers: Sequence[str]) -> CalledPrompt | None:
    """Return the server's prompt with which the text begins, or None if there is no prompt."""
    match = _PROMPT.match(words)
    if match is None or match["server"] not in servers:
        return None
    return CalledPrompt(match["server"], match["name"], (match["rest"] or "").strip())


async def offer_blocks(
    moment: Moment[Session], words: str, servers: Sequence[str], open_: Open, ask: AskArgument
) -> tuple[Text, ...]:
    """Return the blocks for the resources and the prompt that the text names.

    Raises:
        UserError: A resource or the prompt cannot be read, or the prompt lacks an argument.
    """
    blocks = []
    prompt = called_prompt(words, servers)
    if prompt is not None:
        blocks.append(await _prompt_block(moment, prompt, open_, ask))
    for one in islice(named_resources(words, servers), MOST_RESOURCES):
        pieces = await (await open_(one.server)).read(one.uri)
        room = moment.session.conversation.config.window // _WINDOW_SHARE * _CHARACTERS
        text = _bounded("\n".join(map(_words, pieces)), room)
        attributes = {"server": one.server, "uri": one.uri}
        shown = await moment.session.hidden(text)
        blocks.append(inject("server_resource", shown, turn=moment.turn, attributes=attributes))
    return tuple(blocks)


async def _prompt_block(
    moment: Moment[Session], called: CalledPrompt, open_: Open, ask: AskArgument
) -> Text:
    connection = await open_(called.server)
    offered = {one.name: one for one in await connection.prompts()}
    prompt = offered.get(called.name)
    if prompt is None:
        names = ", ".join(f"/{called.server}:{one}" for one in islice(offered, MOST_RESOURCES))
        raise UserError(
            f"the MCP server {called.server!r} has no prompt {called.name!r}; it has "
            f"{one_line(names) or 'none'}"
        )
    arguments = await _complete(prompt, called, ask)
    messages = await connection.prompt(called.name, arguments)
    room = moment.session.conversation.config.window // _WINDOW_SHARE * _CHARACTERS
    text = await moment.session.hidden(_bounded("\n\n".join(map(_said, messages)), room))
    attributes = {"name": called.label.removeprefix("/"), "from": "mcp server"}
    return inject("skill", text, turn=moment.turn, attributes=attributes)


async def _complete(
    prompt: OfferedPrompt, called: CalledPrompt, ask: AskArgument
) -> Mapping[str, str]:
    """Return the arguments of a prompt; ask the user for missing arguments.

    Raises:
        UserError: A required argument is still missing.
    """
    known = [one.name for one in prompt.arguments]
    given = arguments_in(called.rest, known)
    for one in prompt.arguments:
        if not one.is_required or one.name in given:
            continue
        said = await ask(_question(called, one))
        if said is None or not said.strip():
            raise UserError(
                f"the prompt {called.label} needs {one.name!r}; write "
                f"`{called.label} {one.name}=…`, and nothing was sent"
            )
        given[one.name] = said.strip()
    return given


def arguments_in(rest: str, known: Sequence[str]) -> dict[str, str]:
    """Return the arguments in the text after a prompt's name.

    ``name=value`` gives an argument by its name. Other words are the value of the first argument
    that has no value yet.
    """
    given = {
        match["name"]: match["bare"] if match["quoted"] is None else match["quoted"]
        for match in _ARGUMENT.finditer(rest)
        if match["name"] in known
    }
    words = _ARGUMENT.sub(lambda match: "" if match["name"] in known else match[0], rest).strip()
    left = next((one for one in known if one not in given), None)
    if words and left is not None:
        given[left] = words
    return given


def _question(called: CalledPrompt, argument: PromptArgument) -> str:
    said = short_line(argument.description, _WORDS)
    words = f"The prompt {called.label} of an MCP server needs {one_line(argument.name)!r}"
    return f"{words}: {said}" if said else words


def _said(message: PromptMessage) -> str:
    words = _words(message.piece)
    return words if message.role == "user" else f"[an example of an answer]\n{words}"


def _words(piece: Piece) -> str:
    match piece:
        case TextPiece(text=text):
            return text
        case DataPiece(media_type=kind, data=data):
            return f"[{len(data) * 3 // 4:,} bytes of {short_line(kind, 60)}, not shown]"
        case LinkPiece(uri=uri, name=name):
            return f"[link {short_line(name, 100)} {short_line(uri, _WORDS)}]"


def _bounded(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[… {len(text) - most:,} characters left out]"
