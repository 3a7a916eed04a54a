"""The sessions of an ACP client; each session has its own service and its own questions.

Sessions in one folder share its review ledger and its log files, as separate processes do.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from acp import schema
from indwell.acp.client import AcpClient
from indwell.acp.client_files import ClientFiles
from indwell.acp.front_door import AcpDoor
from indwell.acp.prompts import Block, PromptReader
from indwell.acp.updates import Update
from indwell.agent.compaction.fit import COMPACT
from indwell.agent.core import events
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.features import tasks
from indwell.bounds.secrets import OtherNames
from indwell.context.untrusted_text import short_line
from indwell.errors import UserError
from indwell.messages import EFFORTS, Effort
from indwell.service.front_door import FrontDoor
from indwell.service.service import Service
from indwell.service.sessions.recorded_turns import events_of
from indwell.service.turns.queue import Ticket, never_started
from indwell.settings.model import Mode, Settings
from indwell.skills.skill import Ranked
from indwell.workspace.base import Workspace

MODES: Mapping[Mode, str] = {
    "ask": "Asks before each change and each command",
    "review": "Edits at once, for you to review; asks before commands that do more than read",
    "auto": "Works without questions, as far as the sandbox protects your files",
    "plan": "Reads and proposes a plan; changes nothing",
}
_STOPS: Mapping[str, schema.StopReason] = {
    "done": "end_turn",
    "cancelled": "cancelled",
    "interrupted": "cancelled",
    "limit": "max_turn_requests",
    "repeated": "max_turn_requests",
    "budget": "max_tokens",
}
Category: TypeAlias = Literal["model", "thought_level"]
# the time limit, in seconds, for the endpoint's list of models, which delays no session
MODELS_S = 10.0
_NOT_IN_NAME = re.compile(r"[^a-z0-9-]+")


class SessionMaker(Protocol):
    """Creates the parts of a session; the composition root implements it."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the environment variables of the process."""
        ...

    def service(self, door: FrontDoor, *, is_resident: bool = True) -> Service:
        """Create the service for a client interface."""
        ...

    def disk(self, roots: Sequence[Path]) -> Workspace:
        """Return the files on disk in these folders."""
        ...

    async def skills(self, roots: Sequence[Path], settings: Settings) -> Ranked:
        """Return the skills that a workspace has now."""
        ...


class AcpSession:
    """One session of a client.

    Args:
        client: The client.
        maker: Creates the service and the files.
        roots: The folders of the session, resolved and as the client writes each; commands start in
            the first.
        servers: The MCP servers that the client defines.

    Attributes:
        service: The service, whose current session is this one.
    """

    def __init__(
        self,
        client: AcpClient,
        maker: SessionMaker,
        roots: Mapping[Path, str],
        servers: Sequence[Any] = (),
    ) -> None:
        tables, self._problems = server_tables(servers)
        self._client = client
        self._maker = maker
        self.roots = tuple(roots)
        self._door = AcpDoor(client, Path(next(iter(roots.values()))))
        self.service = maker.service(self._door, is_resident=False)
        self.service.start(self.roots, {})
        self.service.configuration.override(mcp=tables)
        files = ClientFiles(
            client,
            lambda: self._door.session,
            maker.disk(self.roots),
            partial(named_by_client, roots),
        )
        self.service.sessions.workspace = files
        self._reader = PromptReader(files, OtherNames(lambda: self.service.roots))
        self._was_asked = False
        self._preparing: asyncio.Task[Ticket] | None = None
        self._ticket: Ticket | None = None
        self._mode: Mode | None = None
        self._models: tuple[str, ...] = ()
        self._ended = ""  # how the last turn ended

    @property
    def id(self) -> str:
        """The id of the session, or empty until the session is open."""
        return self.service.sessions.id or ""

    @property
    def state(self) -> str:
        """What the session does: ``asking``, ``running``, ``done``, ``failed``, or nothing yet."""
        if self._door.n_open:
            return "asking"
        is_running = self._preparing is not None or self._ticket is not None
        return "running" if is_running else self._ended

    async def begin(self) -> None:
        """Open the session as a new session.

        Raises:
            UserError: No session can be opened; ``SettingsError`` if no model can be called.
        """
        await self._settle()
        self._opened(await self.service.sessions.get("new"))

    async def resume(self, session: str) -> None:
        """Open a stored session.

        Raises:
            UserError: The session cannot be resumed.
        """
        await self._settle()
        resumed = await self.service.sessions.resume(session)
        self._opened(resumed.session)
        self.service.warn(resumed.notices)

    async def _settle(self) -> None:
        """Read the settings; the question about trust is asked with the first prompt."""
        await self.service.settle()
        self._door.forget_remarks()
        self.service.warn((*self._problems, *self.service.configuration.notices))

    def _opened(self, session: Session) -> None:
        self._door.updates.window = session.conversation.config.window
        self._mode = self.service.settings.mode
        self.service.configuration.followers.add(self)

    def show(self) -> None:
        """Send the client the remarks, commands and models, once the client knows the id."""
        self._door.open(self.id)
        self._door.show_remarks()
        self.service.chores.begin(self._tell_commands())
        self.service.chores.begin(self.service.worktrees.sweep())
        self.service.chores.begin(self._tell_models())

    async def replay(self) -> None:
        """Send the client the turns of the stored session, oldest first."""
        self._door.open(self.id)
        reading = await self.service.reading(self.id)
        stored = self._door.updates.of_log()
        for turn in events_of(reading.records):
            if turn.left:
                continue
            for event in turn.events:
                for update in stored.of_event(event):
                    self._client.update(self.id, update)
            await asyncio.sleep(0)
        await self._client.flush()

    async def prompt(
        self, blocks: Sequence[Block]
    ) -> tuple[schema.StopReason, events.TurnFinished]:
        """Run a turn; return the reason why the turn stopped, and the turn's last event.

        Raises:
            UserError: The turn cannot begin, or failed; the message is in plain words.
        """
        if self._preparing is not None or self._ticket is not None:
            return await self._answered_at_once(blocks)
        self._preparing = asyncio.create_task(self._begun(blocks))
        try:
            self._ticket = await self._preparing
        except asyncio.CancelledError:
            own = asyncio.current_task()
            if own is not None and own.cancelling():
                self._preparing.cancel()
                raise
            return "cancelled", never_started(Prompt(""))
        finally:
            self._preparing = None
        try:
            finished = await self._ticket.wait()
        except asyncio.CancelledError:
            self.service.turns.abandon(self._ticket)
            raise
        finally:
            self._ticket = None
        return await self._shown_end(finished)

    async def _answered_at_once(
        self, blocks: Sequence[Block]
    ) -> tuple[schema.StopReason, events.TurnFinished]:
        """Answer a command that needs no turn while a turn runs.

        Raises:
            UserError: The prompt is no such command, or the command cannot be carried out.
        """
        words = "\n".join(one.text for one in blocks if isinstance(one, schema.TextContentBlock))
        session = self._ticket.session if self._ticket is not None else None
        answer = await session.parts.features.answer_words(words) if session is not None else None
        if answer is None:
            raise UserError("a turn is running in this session; wait for its end, or cancel it")
        self._door.tell(answer)
        await self._client.flush()
        return "end_turn", never_started(Prompt(""))

    async def _begun(self, blocks: Sequence[Block]) -> Ticket:
        """Read the prompt and submit it; return the ticket of the turn."""
        await self._ask_about_trust()
        prompt, problems = await self._reader.prompt(blocks, self.service.settings)
        for words in problems:
            self._door.warn(words)
        await self.service.check_prompt(prompt.words, None)
        return await self.service.prompt(prompt, None, None, _nothing)

    async def _shown_end(
        self, finished: events.TurnFinished
    ) -> tuple[schema.StopReason, events.TurnFinished]:
        self._ended = "failed" if finished.ending == "failed" else "done"
        if finished.ending == "failed":
            await self._client.flush()
            raise UserError(finished.message)
        if finished.message and finished.ending not in {"cancelled", "interrupted"}:
            self._door.warn(finished.message)
        if finished.verified:
            self._door.tell(f"changes: {finished.verified}")
        await self._client.flush()
        return _STOPS[finished.ending], finished

    def cancel(self) -> None:
        """Cancel the turn, even if it has not begun yet."""
        if self._preparing is not None and self._preparing.cancel():
            return
        ticket = self._ticket
        done = self._preparing
        if done is not None and not done.cancelled() and done.exception() is None:
            # The turn was submitted, but ``prompt`` has not received the ticket yet.
            ticket = done.result()
        if ticket is not None:
            self.service.turns.abandon(ticket)

    async def close(self) -> None:
        """Stop the turn, and close the session."""
        await self.service.stop()

    def set_mode(self, mode: str) -> None:
        """Set the mode.

        Raises:
            UserError: There is no such mode.
        """
        known = next((one for one in MODES if one == mode), None)
        if known is None:
            raise UserError(f"there is no mode {mode!r}; choose one of {', '.join(MODES)}")
        self._mode = known  # the client already knows the mode that it has set
        self.service.commands.set_mode(known)

    async def choose(self, option: str, value: str) -> None:
        """Set the value of an option.

        Raises:
            UserError: There is no such option or value.
        """
        match option:
            case "mode":
                self.set_mode(value)
            case "model":
                await self.service.configuration.want_model(value)
            case "effort":
                effort: Effort | None = next(
                    (one for one in EFFORTS if one == value), "" if value == "default" else None
                )
                if effort is None:
                    raise UserError(f"there is no effort {value!r}")
                self.service.commands.set_effort(effort)
            case _:
                raise UserError(f"there is no option {option!r}")

    def update(self) -> None:
        """Tell the client that the mode has changed; implements ``Follower``."""
        mode = self.service.settings.mode
        if mode != self._mode and self._door.session:
            self._mode = mode
            told = schema.CurrentModeUpdate(
                session_update="current_mode_update", current_mode_id=mode
            )
            self._client.update(self.id, told)

    def modes(self) -> schema.SessionModeState:
        """Return the available modes and the present mode."""
        available = [
            schema.SessionMode(id=name, name=name.capitalize(), description=words)
            for name, words in MODES.items()
        ]
        return schema.SessionModeState(
            current_mode_id=self.service.settings.mode, available_modes=available
        )

    def options(self) -> list[schema.SessionConfigOptionSelect]:
        """Return the session's options: the model, and the effort of the model's reasoning."""
        settings, users = self.service.settings, self.service.configuration.users
        current = self.service.sessions.current
        model = settings.model or (current.conversation.config.model if current else "")
        names = dict.fromkeys(filter(None, (model, users.model, *users.models)))
        names |= dict.fromkeys(self._models)
        found = []
        if names:
            found.append(_select("model", "Model", "model", model, tuple(names)))
        efforts = ("default", *EFFORTS)
        chosen = settings.effort or "default"
        found.append(_select("effort", "Thinking", "thought_level", chosen, efforts))
        return found

    async def _ask_about_trust(self) -> None:
        """Ask the user once to trust the folders, when the client can show the question."""
        if self._was_asked:
            return
        self.service.mcp.ask_anew()
        standings = await self.service.trust.look(self.roots)
        if any(one.state != "trusted" for one in standings):
            await self.service.sessions.ask_about_trust()
        self._was_asked = True  # after a cancellation, the question is asked again

    async def _tell_commands(self) -> None:
        ranked = await self._maker.skills(self.roots, self.service.settings)
        commands = [
            schema.AvailableCommand(
                name=COMPACT.removeprefix("/"), description="Shorten the conversation"
            ),
            schema.AvailableCommand(
                name=tasks.NAME, description="List the tasks of this folder; also while a turn runs"
            ),
        ]
        commands.append(
            schema.AvailableCommand(name="worktree", description="List, merge or remove worktrees")
        )
        commands += [
            schema.AvailableCommand(name=name, description=short_line(one.description, 200))
            for name, one in ranked.by_name.items()
        ]
        self._tell(
            schema.AvailableCommandsUpdate(
                session_update="available_commands_update", available_commands=commands
            )
        )

    async def _tell_models(self) -> None:
        """Ask the endpoint for its models, and send the client the new models."""
        with contextlib.suppress(UserError, TimeoutError):
            async with asyncio.timeout(MODELS_S):
                offered = await self.service.configuration.offered(self.service.configuration.users)
            self._models = tuple(one.name for one in offered)
            self._tell(
                schema.ConfigOptionUpdate(
                    session_update="config_option_update", config_options=list(self.options())
                )
            )

    def _tell(self, update: Update) -> None:
        self._client.update(self.id, update)


def named_by_client(roots: Mapping[Path, str], path: Path) -> str:
    """Return the client's spelling of a path, in which the folder may be a link."""
    for root, written in roots.items():
        if path.is_relative_to(root):
            return str(Path(written) / path.relative_to(root))
    return str(path)


def server_tables(
    servers: Sequence[Any],
) -> tuple[Mapping[str, Mapping[str, Any]], tuple[str, ...]]:
    """Convert the client's MCP servers to settings tables; return a sentence for each failure."""
    tables: dict[str, Mapping[str, Any]] = {}
    problems: list[str] = []
    for one in servers:
        name = _NOT_IN_NAME.sub("-", one.name.lower()).strip("-") or "server"
        if name in tables:
            problems.append(f"the MCP server {one.name!r} is not used: {name!r} is another one")
            continue
        match one:
            case schema.McpServerStdio(command=command, args=args, env=env):
                values = {variable.name: variable.value for variable in env}
                tables[name] = {"command": command, "args": args, "env": values}
            case schema.HttpMcpServer(url=url, headers=headers):
                sent = {header.name: header.value for header in headers}
                tables[name] = {"url": url, "headers": sent}
            case _:
                problems.append(
                    f"the MCP server {one.name!r} is not used: Indwell speaks stdio and HTTP"
                )
    return tables, tuple(problems)


def _select(
    identifier: str, name: str, category: Category, value: str, values: Sequence[str]
) -> schema.SessionConfigOptionSelect:
    options = [schema.SessionConfigSelectOption(value=one, name=one) for one in values]
    return schema.SessionConfigOptionSelect(
        id=identifier,
        name=name,
        category=category,
        type="select",
        current_value=value,
        options=options,
    )


async def _nothing(session: Session, finished: events.TurnFinished) -> None:
    """Do nothing, because an event has already shown the end of the turn."""
    del session, finished
