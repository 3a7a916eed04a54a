"""Manages the MCP servers of one session: starts them, and offers their tools to the model.

A tool that the model has found, or that the user pinned, is a deferred tool of the session. The
model gets the tool's schema at the end of the conversation, so the prompt cache stays valid.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from indwell.agent.core.events import Notice
from indwell.agent.core.feature import DurableState, Feature, Moment, Reminder
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session, save_state, saved_state
from indwell.agent.features.mcp.asking import AskUser, ToolCaller
from indwell.agent.features.mcp.calling import foreign_tool
from indwell.agent.features.mcp.catalogue import (
    ListedServer,
    NamedTool,
    catalogue,
    instructions_line,
    named_tools,
    search,
)
from indwell.agent.features.mcp.named_offers import (
    ServerOffers,
    labels_in,
    offer_blocks,
    offers_of,
)
from indwell.agent.features.mcp.sampling import Samples
from indwell.context.injections import inject
from indwell.context.untrusted_text import short_line
from indwell.errors import ToolError, UserError
from indwell.mcp.definition import ServerDefinition
from indwell.mcp.offers import CallResult, McpError, NeedsLogin, OfferedTool
from indwell.mcp.servers import Lease
from indwell.messages import Text
from indwell.policy.call_facts import ForeignTool
from indwell.tools.arguments import Given
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts

if TYPE_CHECKING:
    from indwell.mcp.connection import Connection

NAME = "find_tools"
MOST_LOADED = 40  # the limit of found tools that the model can call; the oldest are dropped first
PINNED_WAIT_S = 10.0  # the longest wait, in seconds, of a first turn for the pinned tools
SETTLE_S = 30.0  # the longest wait, in seconds, of a search for servers that are starting
MOST_NAMED = 8  # the limit of servers that the description of the search tool names
_LINE = 200  # the limit of characters for a description in a search result
_PROBLEM = 300


class FoundTool(msgspec.Struct, frozen=True):
    """A tool that the model has found, as stored in the log."""

    server: str
    name: str
    description: str
    schema: msgspec.Raw

    def offered(self) -> OfferedTool:
        """Return the tool as described by its server."""
        return OfferedTool(self.name, self.description, msgspec.json.decode(self.schema))


class McpState(msgspec.Struct, frozen=True):
    """The stored state: the tools that were found, and digests of known tools."""

    loaded: tuple[FoundTool, ...] = ()
    seen: dict[str, str] = {}


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of the tool that searches for MCP servers' tools."""

    query: Annotated[str, Meta(description="words, or exact names of tools")]


AskLine: TypeAlias = Callable[[str, Moment[Session]], Awaitable[str | None]]
"""Asks the user for a line at the beginning of a turn; returns None without an answer."""


async def nobody_answers(_words: str, _moment: Moment[Session]) -> str | None:
    """Return None, because there is no user to ask."""
    return None


class McpInputs(NamedTuple):
    """The parts of the workspace and the session that the feature uses.

    Attributes:
        definitions: Returns the servers that may run now.
        lease: Starts to use a server, and calls the given function each time that the server
            changes.
        folder: The workspace folder.
        ask_user: Asks the user on behalf of a server.
        ask_line: Asks the user for an argument of a prompt.
    """

    definitions: Callable[[], Awaitable[Sequence[ServerDefinition]]]
    lease: Callable[[ServerDefinition, Callable[[], None]], Lease]
    folder: str
    ask_user: AskUser
    ask_line: AskLine = nobody_answers


class ServerTools:
    """The servers of one session, and the servers' tools that the model can call."""

    def __init__(self, inputs: McpInputs) -> None:
        self._inputs = inputs
        self._samples = Samples()
        self._leases: dict[str, Lease] = {}
        self._loaded: dict[tuple[str, str], OfferedTool] = {}
        self._seen: dict[str, str] = {}
        self._saved = McpState()
        self._told = ""
        self._problems: dict[str, str] = {}
        self._told_problems: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._has_changed = True
        self._late: tuple[Tool[Any], ...] = ()
        self._made: dict[str, tuple[ForeignTool, NamedTool, Tool[Any]]] = {}
        self._find: tuple[str, Tool[Query]] | None = None

    def feature(self) -> Feature[Session]:
        """Return the servers as a feature of their session."""
        return Feature(
            name="mcp",
            door=self,
            late_tools=self.late_tools,
            commands=self._prompts_known,
            labels=self._labels,
            begin=self._begin,
            prompt_blocks=self._named_in,
            remind=self._remind,
            tell=self._tell,
            compacted=self._forget_told,
            state=DurableState(
                read=lambda branch, _: saved_state(branch, "mcp", McpState()),
                now=self._state,
                restore=self._restore,
                inherit=self._restore,
            ),
            for_child=lambda: Feature(name="mcp", late_tools=self.late_tools),
            close=self._close,
        )

    @property
    def leases(self) -> tuple[Lease, ...]:
        """The session's servers, for user interfaces that list resources and prompts."""
        return tuple(self._leases.values())

    async def offers(self) -> Mapping[str, ServerOffers]:
        """Return the prompts and resources of running servers, by server, after a short wait."""
        return await offers_of(self.leases)

    def _prompts_known(self) -> tuple[str, ...]:
        connections = filter(None, (one.connection for one in self.leases))
        return tuple(
            f"{one.definition.name}:{prompt.name}"
            for one in connections
            for prompt in one.known_prompts
        )

    def _labels(self, words: str) -> tuple[str, ...]:
        return labels_in(words, tuple(self._leases))

    async def _named_in(self, moment: Moment[Session], prompt: Prompt) -> tuple[Text, ...]:
        """Return blocks for the resources and the prompt that the user's text names.

        Raises:
            UserError: A resource or the prompt cannot be read.
        """

        async def opened(name: str) -> Connection:
            return await self._leases[name].opened()

        async def ask(words: str) -> str | None:
            return await self._inputs.ask_line(words, moment)

        return await offer_blocks(moment, prompt.words, tuple(self._leases), opened, ask)

    def late_tools(self) -> tuple[Tool[Any], ...]:
        """Return the deferred tools, as the same objects until a tool changes."""
        if self._has_changed:
            self._has_changed = False
            self._late = self._tools_now()
        return self._late

    async def _begin(self, moment: Moment[Session]) -> None:
        """Begin to use the servers of the current settings, without waiting for their start."""
        self._samples.begin(moment.session, moment.turn, moment.emit)
        wanted = {one.name: one for one in await self._inputs.definitions()}
        for name, lease in tuple(self._leases.items()):
            if wanted.get(name) != lease.definition:
                del self._leases[name]
                self._loaded = {key: one for key, one in self._loaded.items() if key[0] != name}
                self._changed()
                await lease.release()
        is_first = False
        for name, definition in wanted.items():
            if name not in self._leases:
                self._leases[name] = self._inputs.lease(definition, self._changed)
                is_first = True
                self._changed()
        for lease in self._leases.values():
            self._start(lease)
        if is_first and any(one.definition.pinned for one in self._leases.values()):
            await self._settled(
                PINNED_WAIT_S, [one for one in self._leases.values() if one.definition.pinned]
            )
        await self._tell(moment)

    def _start(self, lease: Lease) -> None:
        async def start() -> None:
            try:
                await (await lease.opened()).settle()
            except UserError as error:
                self._problems[lease.definition.name] = str(error)
            self._changed()

        task = asyncio.create_task(start())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _settled(self, limit_s: float, leases: Sequence[Lease]) -> None:
        """Wait until these servers run or have failed, up to a time limit."""
        try:
            async with asyncio.timeout(limit_s):
                while any(_is_starting(one) for one in leases) and self._tasks:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            return

    def _changed(self) -> None:
        self._has_changed = True
        self._news.set()

    def _servers(self) -> list[ListedServer]:
        return [_listed(one, self._problems) for one in self._leases.values()]

    def _named(self) -> tuple[NamedTool, ...]:
        """Return the tools of all servers; a stopped server only has the tools that were found."""
        offered = []
        for one in self._servers():
            found = [tool for (server, _), tool in self._loaded.items() if server == one.name]
            offered.append((one.name, one.tools if not one.state else found))
        return named_tools(offered)

    def _tools_now(self) -> tuple[Tool[Any], ...]:
        if not self._leases:
            return ()
        pinned = {
            (one.definition.name, name) for one in self.leases for name in one.definition.pinned
        }
        wanted = pinned | self._loaded.keys()
        named = {(one.server, one.tool.name): one for one in self._named()}
        order = [
            *(key for key in named if key in pinned),
            *(k for k in self._loaded if k not in pinned),
        ]
        made = [self._made_tool(named[key]) for key in order if key in named and key in wanted]
        return (self._find_tool(), *made)

    def _made_tool(self, named: NamedTool) -> Tool[Any]:
        definition = self._leases[named.server].definition
        digest = named.digest(definition.fingerprint())
        first = self._seen.setdefault(named.name, digest)
        foreign = ForeignTool(
            named.server,
            named.tool.name,
            digest,
            named.tool.claims,
            is_changed=first != digest,
            is_near=definition.is_near,
        )
        known = self._made.get(named.name)
        if known is None or known[:2] != (foreign, named):
            tool = foreign_tool(named, foreign, self._inputs.folder, self._call)
            self._made[named.name] = known = foreign, named, tool
        return known[2]

    async def _call(self, named: NamedTool, given: Given, context: ToolContext) -> CallResult:
        lease = self._leases.get(named.server)
        if lease is None:
            raise ToolError(f"the MCP server {named.server!r} is not used any more")
        try:
            connection = await lease.opened()
            present = {one.name: one for one in await connection.tools()}.get(named.tool.name)
            if present is None:
                raise ToolError(f"the MCP server has no tool {named.tool.name!r} any more")
            if present != named.tool and _differ(present, named.tool):
                self._changed()
                raise ToolError("the server has changed this tool meanwhile; look it up again")
            caller = ToolCaller(context, self._inputs.ask_user, self._samples.answer)
            async with context.covered():
                return await connection.call(named.tool.name, given, caller)
        except McpError as error:
            if isinstance(error, NeedsLogin):
                context.tell(Notice(context.turn, "warning", str(error)))
            raise ToolError(str(error)) from error

    def _find_tool(self) -> Tool[Query]:
        names = list(self._leases)
        shown = ", ".join(names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
        if self._find is None or self._find[0] != shown:
            self._find = (
                shown,
                Tool(
                    name=NAME,
                    description=f"Look up tools of MCP servers ({shown}); then they can be called.",
                    arguments=Query,
                    effect="read",
                    facts=lambda given: ToolFacts(
                        tool=NAME, effect="read", subject=short_line(given.query, _LINE)
                    ),
                    run=self._search,
                ),
            )
        return self._find[1]

    async def _search(self, arguments: Query, _context: ToolContext) -> Outcome:
        await self._settled(SETTLE_S, self.leases)
        tools = named_tools((one.name, one.tools) for one in self._servers())
        found = search(tools, arguments.query)
        if not found:
            raise ToolError(f"no tool fits. {catalogue(self._servers())}")
        for one in found:
            self._loaded.pop((one.server, one.tool.name), None)
            self._loaded[one.server, one.tool.name] = one.tool
        for key in list(self._loaded)[:-MOST_LOADED]:
            del self._loaded[key]
        self._changed()
        lines = [f"- {one.name}: {short_line(one.line, _LINE)}" for one in found]
        words = "You can call these tools now; their arguments are told next:"
        said = [self._said_by(one) for one in dict.fromkeys(one.server for one in found)]
        text = "\n".join((words, *lines, *filter(None, said)))
        return Outcome(text, figure=f"{len(found)} found")

    def _said_by(self, server: str) -> str:
        connection = self._leases[server].connection
        return instructions_line(server, connection.instructions) if connection else ""

    async def _remind(self, moment: Moment[Session]) -> Reminder:
        if any(_is_starting(one) for one in self.leases) and self._tasks:
            return Reminder(())
        text = catalogue(self._servers())
        if text == self._told or not text:
            return Reminder(())

        def told() -> None:
            self._told = text

        return Reminder((inject("server_tools", text, turn=moment.turn),), told)

    def _forget_told(self) -> None:
        self._told = ""

    async def _tell(self, moment: Moment[Session]) -> None:
        """Tell the user once about each problem of a server, and save the feature's state."""
        for lease in self.leases:
            name, connection = lease.definition.name, lease.connection
            problem = connection.problem if connection else self._problems.get(name, "")
            is_over = connection is None or connection.state in {"failed", "needs login"}
            if problem and is_over and self._told_problems.get(name) != problem:
                self._told_problems[name] = problem
                words = f"the MCP server {name!r} is not available: {short_line(problem, _PROBLEM)}"
                moment.emit(Notice(moment.turn, "warning", words))
        state = self._state()
        if state != self._saved:
            self._saved = state
            save_state(moment, "mcp", state)

    def _state(self) -> McpState:
        loaded = tuple(
            FoundTool(
                server, one.name, one.description, msgspec.Raw(msgspec.json.encode(one.schema))
            )
            for (server, _), one in self._loaded.items()
        )
        return McpState(loaded, dict(self._seen))

    def _restore(self, state: McpState) -> None:
        self._loaded = {(one.server, one.name): one.offered() for one in state.loaded}
        self._seen = dict(state.seen)
        self._saved, self._told = state, ""
        self._changed()

    async def _close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(one.release() for one in self.leases))
        self._leases.clear()


def _is_starting(lease: Lease) -> bool:
    connection = lease.connection
    return connection is None or connection.state in {"idle", "starting"}


def _listed(lease: Lease, problems: dict[str, str]) -> ListedServer:
    connection, name = lease.connection, lease.definition.name
    if connection is None:
        return ListedServer(name, (), problems.get(name, "not started yet"))
    if connection.state == "ready":
        return ListedServer(name, connection.known_tools)
    return ListedServer(name, (), connection.problem or "not started yet")


def _differ(one: OfferedTool, other: OfferedTool) -> bool:
    """Return whether two tools differ in the description or schema, which the log contains."""
    return (one.description, one.schema) != (other.description, other.schema)
