"""Runs an interactive session: the user's lines become prompts, messages or commands."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol

from indwell.agent.core import events
from indwell.agent.core.prompt import Prompt, taken_words
from indwell.agent.core.session import Session
from indwell.bounds.secrets import OtherNames
from indwell.cli.interactive.desk import Desk, Line, Status
from indwell.cli.interactive.view import InteractiveView
from indwell.context.attachments import STATE_MENTIONS, PastedText
from indwell.context.untrusted_text import short_line, visible
from indwell.errors import ToolError, UserError
from indwell.sandbox.spawn import spawn
from indwell.service.attached import check_texts, checked_text
from indwell.service.mentions import Mention, attachments, mentions_in
from indwell.service.service import Service
from indwell.service.sessions.recorded_turns import events_of
from indwell.service.turns.queue import Ticket, title_of

# the limit of characters for an output that /share attaches; the end is kept
SHARED_CHARACTERS = 50_000
# the limits of what the screen shows of a command's output; the last lines are shown at the end
SHOWN_LINES = 1_000
SHOWN_CHARACTERS = 100_000
LAST_LINES = 20
_HELD_CHARACTERS = 10_000  # the limit of characters that wait for the end of their line
_NO_RUN, _RUN = "No", "Run it"


class Commands(Protocol):
    """Carries out lines that begin with ``/``."""

    async def obey(self, words: str) -> bool:
        """Carry out a command; return False if the words are a prompt."""
        ...


class UserCommandOutput:
    """Limits what is shown and kept of the output of the user's own command. Pure.

    Attributes:
        tail: The end of the output.
    """

    def __init__(self) -> None:
        self.tail = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""  # The beginning of a line whose end has not arrived yet.
        self._n_lines, self._n_characters = SHOWN_LINES, SHOWN_CHARACTERS
        self._is_cut = False

    def add(self, data: bytes) -> str:
        """Add output; return the lines to show now."""
        text = self._decoder.decode(data).replace("\r\n", "\n")
        self.tail = (self.tail + text)[-SHARED_CHARACTERS:]
        if self._is_cut:
            return ""
        whole, end, self._rest = (self._rest + text).rpartition("\n")
        if not end and len(self._rest) > _HELD_CHARACTERS:
            whole, end, self._rest = self._rest, "\n", ""
        if not end:
            return ""
        lines = whole[: self._n_characters].split("\n")[: self._n_lines]
        shown = "\n".join(lines)
        self._n_lines -= len(lines)
        self._n_characters -= len(shown)
        self._is_cut = len(shown) < len(whole)
        return f"{shown}\n… the rest is not shown; Esc stops it\n" if self._is_cut else f"{shown}\n"

    def end(self) -> str:
        """Return what is left to show: the last line, or the last lines of a long output."""
        if not self._is_cut:
            return f"{self._rest}\n" if self._rest else ""
        last = self.tail.rstrip("\n")[-_HELD_CHARACTERS:].split("\n")[-LAST_LINES:]
        return "\n".join(("… the last lines:", *last, ""))


class TerminalTalk:
    """The conversation of one terminal.

    Args:
        service: The service, whose current session is shown.
        desk: The place at which the user types.
        view: Shows events.
        choose: Lets the user choose one of some titles; returns None without a choice.

    Attributes:
        commands: Carries out slash commands.
    """

    def __init__(
        self,
        service: Service,
        desk: Desk,
        view: InteractiveView,
        choose: Callable[[str, Sequence[str]], Awaitable[str | None]],
    ) -> None:
        self.service, self.desk, self.view = service, desk, view
        self._choose = choose
        self.commands: Commands | None = None
        self._used = 0
        self._shell: asyncio.Task[None] | None = None
        self._output: PastedText | None = None
        self._shared: list[PastedText] = []
        self._began: float = 0.0

    def hear(self, event: events.Event) -> None:
        """Show an event, and remember what the status line needs."""
        match event:
            case events.TurnStarted(agent=""):
                self._began = asyncio.get_running_loop().time()
            case events.UsageReported(agent="", usage=usage):
                self._used = usage.input + usage.output
            case events.TurnFinished(draft=draft, turn=turn) if draft.strip() and turn:
                self.desk.put_draft(draft)
                self.view(event)
                self.view.say("your unsent words are in the line again", "dim")
                return
        self.view(event)
        self.desk.refresh()

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs in the current session."""
        return self.service.turns.running_number is not None

    def status(self) -> Status:
        """Return what the status line says now."""
        settings, current = self.service.settings, self.service.sessions.current
        doing = ""
        if self._shell is not None:
            doing = "! runs (Esc stops)"
        elif self.is_busy:
            seconds = asyncio.get_running_loop().time() - self._began if self._began else 0
            doing = f"working {seconds:.0f} s (Esc stops)"
        model = current.conversation.config.model if current else settings.model
        return Status(
            model=visible(model),
            mode=settings.mode,
            used=self._used,
            window=current.conversation.config.window if current else 0,
            cost=current.spending.spent if current else 0.0,
            doing=doing,
        )

    def stop(self) -> bool:
        """Stop the running shell command or turn; return whether one was running."""
        if self._shell is not None:
            self._shell.cancel()
            return True
        return self.is_busy and self.service.turns.cancel()

    async def take(self, line: Line) -> None:
        """Handle a submitted line; after an error, show the error, and put a prompt back."""
        words = line.words
        try:
            if words.startswith("!"):
                await self._run(words[1:].strip(), is_alone=line.is_alone)
                return
            if words.startswith("/") and self.commands is not None:
                self.view.words(words)
                if await self.commands.obey(words):
                    return
            else:
                self.view.words(words)
            if self.is_busy:
                await self._steer(line)
                return
            await self._send(line)
        except UserError as error:
            self.view.say(str(error), "red")
            if not words.startswith(("/", "!")):
                self.desk.put_draft(words)

    async def _steer(self, line: Line) -> None:
        running, words = self.service.turns.running, line.words
        if running is not None:
            await running.begun.wait()
        for label, text in line.pasted:  # A message to a running turn has no attachments.
            words = words.replace(f"[{label}]", text)
        try:
            await self.service.steer(words, None, numbered=True)
        except UserError:
            if self.is_busy:
                raise
            await self._send(line)  # the turn has just ended

    async def _send(self, line: Line) -> None:
        await self.service.check_prompt(line.words, None)
        prompt = await self._prompt(line)
        self._shared.clear()
        self.watch(await self.service.prompt(prompt, None, None, nothing))

    async def _prompt(self, line: Line) -> Prompt:
        words, settings = taken_words(line.words), self.service.settings
        names = OtherNames(lambda: self.service.roots)
        wanted = await self._mentioned(words)
        found = await attachments(self.service.workspace, settings, wanted, names)
        for problem in found.problems:
            named = problem.removeprefix("@").partition(" ")[0]
            # Any other word after an @ may be the name of a person.
            if {".", "/", "#"} & set(named):
                self.view.say(problem, "yellow")
        texts = [checked_text(label, text) for label, text in line.pasted] + self._shared
        check_texts(texts)
        return Prompt(
            words,
            title=title_of(words),
            mentioned=found.files,
            folders=found.folders,
            texts=tuple(texts),
        )

    async def _mentioned(self, words: str) -> list[Mention]:
        """Return the files that the text mentions; other mentions are left to the service."""
        found = [one.mention for one in mentions_in(words)]
        found = [one for one in found if one.written not in dict(STATE_MENTIONS)]
        if any(":" in one.path for one in found):  # These mentions may be resources of MCP servers.
            servers = {one.name for one in (await self.service.mcp.look()).servers}
            found = [one for one in found if one.path.partition(":")[0] not in servers]
        return list(dict.fromkeys(found))

    def watch(self, ticket: Ticket) -> None:
        """Show why a turn could not begin, and put the prompt back into the input line."""
        self.service.chores.begin(self._ended(ticket))

    async def _ended(self, ticket: Ticket) -> None:
        await ticket.ended.wait()
        self.desk.refresh()
        if ticket.error is not None:
            self.view.say(str(ticket.error), "red")
            self.desk.put_draft(ticket.prompt.words)
            return
        finished = ticket.finished
        if finished is not None and not finished.turn and finished.draft:
            self.desk.put_draft(finished.draft)

    def begin_turn(self, session: Session, words: str, mode: Any) -> None:  # noqa: ANN401 - a Mode
        """Begin a turn that a command asked for."""
        prompt = Prompt(words, title=title_of(words))
        self.watch(self.service.begin(prompt, session.id, nothing, mode))

    async def _run(self, command: str, *, is_alone: bool) -> None:
        """Run the user's shell command without a sandbox; the model does not see the command."""
        if not command:
            raise UserError("write the command after `!`, such as `!git status`")
        if not is_alone:
            question = f"More text came with this line, as in a paste. Run it?\n│ !{command}"
            if await self._choose(question, (_NO_RUN, _RUN)) != _RUN:
                self.view.say("the command did not run", "dim")
                return
        if self._shell is not None:
            raise UserError("a command runs already; Esc stops it")
        self.view.end_text()
        self.view.words(f"!{command}")
        self._shell = asyncio.create_task(self._shell_command(command))
        try:
            await self._shell
        except asyncio.CancelledError:
            own = asyncio.current_task()
            if own is not None and own.cancelling():
                raise
            self.view.say("stopped", "yellow")
        finally:
            self._shell = None
            self.desk.refresh()

    async def _shell_command(self, command: str) -> None:
        output = UserCommandOutput()

        def take(data: bytes) -> None:
            self.view.output(output.add(data))

        try:
            done = await spawn(command, cwd=self.service.root, timeout_s=None, on_chunk=take)
        except ToolError as error:
            raise UserError(str(error)) from error
        self.view.output(output.end())
        if done.exit_code:
            self.view.say(f"exit code {done.exit_code}", "yellow")
        label = short_line(f"output of {command}", 80)
        self._output = PastedText(label, f"$ {command}\n{output.tail}")
        self.view.say("only you see this; /share attaches it to your next prompt", "dim")

    def share(self) -> str:
        """Attach the output of the last command to the next prompt; return a sentence.

        Raises:
            UserError: No command has run.
        """
        if self._output is None:
            raise UserError("no command has run; `!git status` runs one")
        self._shared.append(checked_text(self._output.label, self._output.text))
        self._output = None
        return "the output goes with your next prompt"

    async def show_last_turn(self, session: str) -> None:
        """Show the last turn of a resumed session."""
        reading = await self.service.reading(session)
        turns = [one for one in events_of(reading.records) if not one.left]
        for one in turns[-1:]:
            for event in one.events:
                if isinstance(event, events.TurnStarted):
                    self.view.words(event.words)
                elif not isinstance(event, events.Attached):
                    self.view(event)
        self.view.end_text()

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work that nobody waits for."""
        self.service.chores.begin(work)


async def nothing(session: Session, finished: events.TurnFinished) -> None:
    """Do nothing, because an event has shown the end."""
    del session, finished
