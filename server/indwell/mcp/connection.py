"""Keeps the connection to one MCP server, and reconnects after a failure.

One task owns the connection from start to end, because the SDK requires a single task. After a
connection that worked breaks, Indwell reconnects with growing pauses. After a failed first
connection, Indwell tries again only when a caller needs the server.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from mcp.client import Client, IncomingMessage, Transport
from mcp.client._transport import TransportStreams
from mcp.shared.exceptions import MCPError
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt
from tenacity.wait import wait_exponential_jitter

from indwell import __version__
from indwell.context.untrusted_text import one_line, short_line
from indwell.errors import IndwellError
from indwell.mcp.client_side import ClientSide
from indwell.mcp.definition import START_S, HttpServer, ServerDefinition, StdioServer
from indwell.mcp.from_sdk import (
    call_result,
    offered_prompt,
    offered_resource,
    offered_tool,
    prompt_messages,
    resource_pieces,
)
from indwell.mcp.offers import (
    Caller,
    CallResult,
    McpError,
    NeedsLogin,
    OfferedPrompt,
    OfferedResource,
    OfferedTool,
    Piece,
    PromptMessage,
    State,
)
from indwell.mcp.requests import MOST_WORDS, Requests
from indwell.mcp.server_log import ServerLog
from indwell.mcp.streams import (
    BreakReason,
    http_streams,
    innermost,
    own_turn,
    stdio_streams,
)
from indwell.mcp.surrounding import Surrounding
from indwell.sandbox import Finished
from indwell.sandbox.spawn import spawn_server
from indwell.settings.credentials import redacted
from mcp import types

ATTEMPTS = 5  # the limit of attempts to reconnect, after which a server counts as failed
# the pauses, in seconds, before the first and before the last attempt
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 30.0
# A connection counts as stable after the first number of seconds. The second number is the pause
# before a new start.
SOUND_S, AGAIN_S = 60.0, 5.0
MOST_CALL_S = 3_600.0  # the longest time, in seconds, for a call that keeps reporting progress

_log = logging.getLogger(__name__)


class _Broke(Exception):
    """A connection that had worked is broken."""


class Connection:
    """A connection to one server, shared by all sessions with the same definition.

    Every request starts the server if necessary, and may raise ``McpError``.

    Args:
        definition: The server's definition as written, before variables are replaced.
        around: The parts of the machine that the server may see.

    Attributes:
        state: The state of the connection now.
        problem: The reason why the server does not run, or empty if there is no problem.
        version: The server's name and version as reported by the server, or empty before the start.
        instructions: The server's instructions for a model, which are untrusted text.
        on_change: Called when the state or the tools have changed.
        log: The server's own output, and what happened to the connection.
        known_tools: The tools in the server's last list.
        known_prompts: The prompts in the server's last list.
    """

    def __init__(self, definition: ServerDefinition, around: Surrounding) -> None:
        self.definition = definition
        self.state: State = "idle"
        self.problem = ""
        self.version = ""
        self.instructions = ""
        self.known_tools: tuple[OfferedTool, ...] = ()
        self.on_change: Callable[[], None] = lambda: None
        self._around = around
        self.log = ServerLog(definition.name, around.hide)
        self._side = ClientSide(definition, around.roots, self.log)
        self._requests: Requests | None = None
        self._fault = BreakReason()
        self._settled = asyncio.Event()
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._failed_at = 0.0
        self._inspected: str | None = None
        self.known_prompts: tuple[OfferedPrompt, ...] = ()
        self._refreshing: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Start the server if it is stopped; return at once."""
        if self._closing.is_set() or (self._task is not None and not self._task.done()):
            return
        if self._failed_at and time.monotonic() - self._failed_at < AGAIN_S:
            return
        self._settled.clear()
        self._tell("starting")
        self._task = asyncio.create_task(self._run(), name=f"MCP server {self.definition.name}")

    async def settle(self) -> None:
        """Start the server if necessary, and wait until it runs or has failed."""
        self.start()
        await self._settled.wait()

    async def close(self) -> None:
        """Stop the server; open calls fail."""
        self._closing.set()
        self._fault.set("it was stopped")
        if self._task is not None:
            await asyncio.wait({self._task})
        self._tell("closed")
        self._settled.set()

    async def restart(self) -> None:
        """Stop the server and start it again; open calls fail."""
        await self.close()
        self._closing, self._failed_at, self._inspected = asyncio.Event(), 0.0, None
        self.log.note("Indwell starts it again")
        self.start()

    def _tell(self, state: State, problem: str = "") -> None:
        self.state, self.problem = state, problem
        if problem or state == "closed":
            self.log.note(f"{state}: {problem}" if problem else "Indwell stopped it")
        if problem:  # Log a pause, because only failures are reported to the sessions.
            level = logging.WARNING if state == "waiting" else logging.INFO
            _log.log(level, "MCP server %s: %s", self.definition.name, problem)
        self.on_change()

    async def _run(self) -> None:
        """Keep the connection until it is closed or has failed."""
        try:
            retrying = AsyncRetrying(
                stop=stop_after_attempt(ATTEMPTS),
                wait=wait_exponential_jitter(multiplier=FIRST_WAIT_S, max=LONGEST_WAIT_S),
                retry=retry_if_exception_type(_Broke),
                sleep=self._pause,
                reraise=True,
            )
            while not self._closing.is_set():
                await retrying(self._live)
        except (_Broke, McpError) as error:
            if not self._closing.is_set():
                self._failed_at = time.monotonic()
                self._tell("needs login" if self._fault.wants_login else "failed", str(error))
        finally:
            self._settled.set()

    async def _pause(self, seconds: float) -> None:
        self._settled.clear()
        self._tell("waiting", f"{self._fault.words}; Indwell starts it again")
        try:
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        except TimeoutError:
            self._tell("starting")

    async def _live(self) -> None:
        """Start the server; return when the connection is closed, or breaks after it was stable.

        Raises:
            _Broke: The connection broke soon after it had started.
            McpError: The connection never worked.
        """
        if self._closing.is_set():
            return
        self._fault, began = BreakReason(), 0.0
        try:
            async with (
                asyncio.timeout(START_S) as limit,
                self._opened() as client,
                self._listening(client),
            ):
                live = Requests(client, self.definition, self._fault)
                if client.server_capabilities.tools is not None:
                    self.known_tools = await live.listed("tools", offered_tool)
                limit.reschedule(None)
                began = time.monotonic()
                self._became_ready(live)
                await live.ask_for_log()
                await self._fault.happened.wait()
        except TimeoutError as error:
            if not began:
                raise self._not_started(
                    McpError(f"it did not answer within {START_S:.0f} s of its start")
                ) from error
        except Exception as error:  # The server's side can cause any error.
            if not began or isinstance(innermost(error), NeedsLogin):
                raise self._not_started(error) from error
            _log.debug("the connection to an MCP server ended with an error", exc_info=error)
        finally:
            self._requests = None
        if not self._closing.is_set() and time.monotonic() - began < SOUND_S:
            raise _Broke(self._fault.words or "the connection broke")

    def _became_ready(self, live: Requests) -> None:
        info = live.client.server_info
        self.version = short_line(f"{info.name} {info.version}", MOST_WORDS) if info else ""
        self.instructions = live.client.instructions or ""
        n_tools = len(self.known_tools)
        self.log.note(
            f"ready: {self.version or 'a server without a name'} uses version "
            f"{live.client.protocol_version} of the protocol, and has "
            f"{'1 tool' if n_tools == 1 else f'{n_tools} tools'}"
        )
        self._requests, self._failed_at = live, 0.0
        self._tell("ready")
        self._settled.set()

    @asynccontextmanager
    async def _listening(self, client: Client) -> AsyncIterator[None]:
        listening = asyncio.create_task(self._listen(client))
        try:
            yield
        finally:
            tasks = {listening, *self._refreshing}
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Client]:
        await self._inspect()
        definition = self.definition.expanded(self._around.variables())
        self.log.also_hide(definition.secrets())
        await own_turn()
        async with Client(
            self._transport(definition),
            cache=None,
            client_info=types.Implementation(name="indwell", version=__version__),
            log_level="info",
            logging_callback=self._side.log,
            message_handler=self._hear,
            list_roots_callback=self._side.roots,
            elicitation_callback=self._side.ask_user,
            sampling_callback=self._side.sample if definition.may_sample else None,
        ) as client:
            yield client

    async def _inspect(self) -> None:
        """Check that the program's files have not changed since the first start.

        Raises:
            McpError: The files have changed, so the user must approve them first.
        """
        found = await asyncio.to_thread(self._around.inspect, self.definition)
        if self._inspected not in {None, found}:
            raise McpError(
                "a file that its command line names has changed since it was first started; look "
                "at the change, then start it in the list of MCP servers (`indwell.mcp`), or in a "
                "new session"
            )
        self._inspected = found

    def _transport(self, definition: ServerDefinition) -> Transport:
        match definition.transport:
            case HttpServer() as server:
                self.log.note(f"connecting to {self._shown()}")
                auth = self._around.auth(definition)
                return http_streams(server, auth, self._fault)
            case StdioServer() as server:
                where = "in the sandbox" if definition.is_confined else "outside of the sandbox"
                self.log.note(f"starting {where}: {self._shown()}")
                return self._program(definition, server)

    @asynccontextmanager
    async def _program(
        self, definition: ServerDefinition, server: StdioServer
    ) -> AsyncIterator[TransportStreams]:
        folder = self._around.folder(server.cwd)

        def note(words: str) -> None:
            self.log.note(words)
            _log.warning("MCP server %s: %s", definition.name, words)

        async def start(**streams: Any) -> Finished:  # noqa: ANN401 - as ``StartServer`` has them
            await own_turn()
            return await spawn_server(
                [server.command, *server.args],
                cwd=folder,
                env={name: value for name, value in server.env if value is not None},
                confinement=held,
                never_in=self._around.roots,
                on_note=note,
                **streams,
            )

        async with (
            self._around.bounds(definition) as held,
            stdio_streams(self.log, start, self._fault) as streams,
        ):
            yield streams

    def _shown(self) -> str:
        return one_line(redacted(self.definition.shown()))

    def _not_started(self, error: BaseException) -> McpError:
        error = innermost(error)
        self._fault.wants_login |= isinstance(error, NeedsLogin)
        if self._fault.wants_login and not isinstance(error, NeedsLogin):
            return NeedsLogin(f"it wants a login: run `indwell mcp login {self.definition.name}`")
        if self._fault.words:
            return McpError(self._fault.words)
        if isinstance(error, IndwellError):
            return error if isinstance(error, McpError) else McpError(str(error))
        _log.info("an MCP server could not be started", exc_info=error)
        return McpError(f"it could not be started: {short_line(str(error), MOST_WORDS)}")

    async def tools(self) -> tuple[OfferedTool, ...]:
        """Return the server's tools; cached until the server reports a change.

        Raises:
            McpError: The server does not run, refuses the request, or does not answer in time.
        """
        await self._ready()
        return self.known_tools

    async def call(
        self, tool: str, arguments: Mapping[str, Any], caller: Caller | None = None
    ) -> CallResult:
        """Call a tool for ``caller``; after a cancellation, notify the server."""
        live = await self._ready()
        loop, limit_s = asyncio.get_running_loop(), self.definition.timeout_s
        began = loop.time()
        if caller is not None:
            self._side.callers.append(caller)
        try:
            with self._noting(f"tools/call {tool}", live):
                async with asyncio.timeout(limit_s) as limit:

                    async def heed(
                        progress: float, total: float | None, message: str | None
                    ) -> None:
                        if not limit.expired():
                            limit.reschedule(min(loop.time() + limit_s, began + MOST_CALL_S))
                        if caller is not None:
                            caller.progress(_progress_words(progress, total, message))

                    request = live.client.call_tool(tool, dict(arguments), progress_callback=heed)
                    return await live.asked(live.unless_broken(request), call_result)
        finally:
            if caller is not None:
                self._side.callers.remove(caller)

    async def resources(self) -> tuple[OfferedResource, ...]:
        """Return the server's resources and templates; cached until the server reports a change."""
        live = await self._ready()
        if live.client.server_capabilities.resources is None:
            return ()
        if "resources" not in live.kept:
            with self._noting("resources/list", live):
                found = await live.limited(live.listed("resources", offered_resource))
                templates = await live.limited(live.listed("templates", offered_resource))
            live.kept["resources"] = (*found, *templates)
        return live.kept["resources"]

    async def read(self, uri: str) -> tuple[Piece, ...]:
        """Return the content of a resource."""
        live = await self._ready()
        request = live.asked(live.client.read_resource(uri), lambda found: found.contents)
        with self._noting(f"resources/read {uri}", live):
            return resource_pieces(await live.limited(request))

    async def prompts(self) -> tuple[OfferedPrompt, ...]:
        """Return the server's prompts; cached until the server reports a change."""
        live = await self._ready()
        if live.client.server_capabilities.prompts is None:
            return ()
        if "prompts" not in live.kept:
            listed = live.listed("prompts", offered_prompt)
            with self._noting("prompts/list", live):
                self.known_prompts = live.kept["prompts"] = await live.limited(listed)
        return live.kept["prompts"]

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> tuple[PromptMessage, ...]:
        """Return a prompt with its arguments filled in."""
        live = await self._ready()
        request = live.client.get_prompt(name, dict(arguments))
        with self._noting(f"prompts/get {name}", live):
            return await live.limited(live.asked(request, prompt_messages))

    async def complete(
        self, of: OfferedPrompt | OfferedResource, argument: str, value: str
    ) -> tuple[str, ...]:
        """Return the server's completions of an argument's value."""
        live = await self._ready()
        if live.client.server_capabilities.completions is None:
            return ()
        reference: types.PromptReference | types.ResourceTemplateReference
        if isinstance(of, OfferedPrompt):
            reference = types.PromptReference(name=of.name)
        else:
            reference = types.ResourceTemplateReference(uri=of.uri)
        request = live.client.complete(reference, {"name": argument, "value": value})
        asked = live.asked(request, lambda found: tuple(found.completion.values))
        with self._noting("completion/complete", live):
            return await live.limited(asked)

    @contextmanager
    def _noting(self, request: str, live: Requests) -> Iterator[None]:
        """Add a failure of a request to the log; a time-out becomes an ``McpError``."""
        try:
            try:
                yield
            except TimeoutError as error:
                raise live.silent() from error
        except McpError as error:
            self.log.note(f"{request}: {error}")
            raise

    async def _ready(self) -> Requests:
        if self._requests is not None and self._requests.is_broken:
            self._requests = None
            self._settled.clear()  # Callers wait until the task has started the server again.
        await self.settle()
        if self._requests is None:
            kind = NeedsLogin if self.state == "needs login" else McpError
            name, why = self.definition.name, self.problem or "it was stopped"
            raise kind(f"the MCP server {name!r} does not run: {why}")
        return self._requests

    async def _listen(self, client: Client) -> None:
        """Receive reports of changed lists from a server of the newest protocol version."""
        if client.session.discover_result is None:
            return  # An older server sends notifications instead.
        try:
            async with client.listen(
                tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
            ) as events:
                # The lists may have changed before the subscription began.
                if self._requests is not None:
                    self._changed("ToolsListChanged")
                async for event in events:
                    self._changed(type(event).__name__)
        except (MCPError, RuntimeError, TimeoutError) as error:
            _log.debug("an MCP server does not report changes", exc_info=error)

    async def _hear(self, message: IncomingMessage) -> None:
        self._changed(type(message).__name__)

    def _changed(self, event: str) -> None:
        """Drop a changed list from the cache; if the tools have changed, read them again soon."""
        if event.startswith(("ToolList", "ToolsList")):
            if self._requests is not None and not self._refreshing:
                task = asyncio.create_task(self._list_again(self._requests))
                self._refreshing.add(task)
                task.add_done_callback(self._refreshing.discard)
        elif event.startswith(("Prompt", "Resource")) and self._requests is not None:
            self._requests.kept.pop("prompts" if event.startswith("Prompt") else "resources", None)

    async def _list_again(self, live: Requests) -> None:
        await asyncio.sleep(FIRST_WAIT_S)  # A server may report many changes in a short time.
        try:
            self.known_tools = await live.limited(live.listed("tools", offered_tool))
        except McpError as error:
            self.log.note(f"tools/list: {error}")
            _log.info("MCP server %s: %s", self.definition.name, error)
        self.on_change()


def _progress_words(progress: float, total: float | None, message: str | None) -> str:
    """Return the progress of a call as text, such as ``3 of 10: reading``."""
    part = f"{progress:g} of {total:g}" if total else f"{progress:g}"
    return f"{part}: {short_line(message, MOST_WORDS)}" if message else part
