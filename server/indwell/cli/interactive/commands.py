"""The slash commands of an interactive session: the commands of chats, and more for terminals."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress

from indwell.agent.core.events import TurnStarted, usage_words
from indwell.agent.features.worktrees import USAGE
from indwell.cli.interactive.door import InteractivePerson
from indwell.cli.interactive.terminal_talk import TerminalTalk, nothing
from indwell.cli.review.files import WantedFiles
from indwell.cli.review.session import TerminalReview, TerminalScreen
from indwell.cli.terminal.output import cost_words
from indwell.context.untrusted_text import short_line
from indwell.errors import ToolError, UserError
from indwell.lsp.chat.completion import COMMANDS, CompletionChoice, FileNames, command_of, completed
from indwell.messages import Effort
from indwell.service.sessions.recorded_turns import RecordedTurn, events_of
from indwell.sessions.overview import Overview
from indwell.sessions.storage.store import SessionStore
from indwell.settings.paths import state_folder
from indwell.skills.skill import Ranked

TERMINAL_COMMANDS: tuple[tuple[str, str], ...] = (
    ("/model", "choose the model"),
    ("/resume", "take up an earlier session"),
    ("/rewind", "go back to the end of an earlier turn"),
    ("/review", "accept or reject the pending changes"),
    ("/plan", "show the plan; /plan approve, /plan reject"),
    ("/share", "attach the output of the last !command to your next prompt"),
    ("/cost", "show the tokens and the cost of this session"),
    ("/trust", "ask again whether this folder is trusted"),
    ("/help", "show the commands and the keys"),
    ("/quit", "leave"),
)
"""The commands that only a terminal has; all other commands also work in a chat document."""

HELP = """\
Enter sends. Alt+Enter, Ctrl+J, or \\ before Enter, begin a new line.
While a turn works, what you send steers it. Esc stops it.
@ completes a file, / a command. !command runs a command as you, and only you see its output.
Ctrl+C stops the turn or clears the line; twice, it leaves. Ctrl+R searches earlier lines."""

LISTED = 10  # the limit of sessions or turns in a list to choose from


class SlashCommands:
    """Carries out the commands; implements ``Commands``.

    Args:
        conversation: The conversation.
        person: Asks the user.
        skills: The skills that the user can call like commands, by name.
    """

    def __init__(
        self, conversation: TerminalTalk, person: InteractivePerson, skills: Mapping[str, str]
    ) -> None:
        self._talk, self._person = conversation, person
        self._service, self._view = conversation.service, conversation.view
        self.skills = skills
        self.models: Sequence[str] = ()

    async def obey(self, words: str) -> bool:  # noqa: C901, PLR0912 - one flat table of commands
        """Carry out a slash command; return False if the text is a prompt instead.

        Raises:
            UserError: The command cannot be carried out; the message says why.
        """
        name, _, value = words.partition(" ")
        value = value.strip()
        match name:
            case "/help":
                self._help()
            case "/quit" | "/exit":
                self._talk.desk.leave()
            case "/model":
                await self._model(value)
            case "/resume":
                await self._resume(value)
            case "/rewind":
                await self._rewind(value)
            case "/review":
                await self._review()
            case "/plan":
                await self._plan(value)
            case "/share":
                self._view.say(self._talk.share(), "dim")
            case "/context":
                self._context()
            case "/cost":
                self._cost()
            case "/worktree":
                book, session = self._service.worktrees, self._service.sessions.id or ""
                self._view.say(await book.answer(value, session) or USAGE)
            case "/trust":
                await self._service.sessions.ask_about_trust()
            case "/compact" if not value:
                self._talk.watch(self._service.compact(nothing))
            case "/continue" if not value:
                self._talk.watch(self._service.go_on(nothing))
            case _:
                return await self._of_chat(words)
        return True

    async def _of_chat(self, words: str) -> bool:
        """Carry out a command that chats have, too."""
        name = words.split(maxsplit=1)[0]
        try:
            command = command_of(words, self.skills)
        except UserError as error:
            if name in {one.split()[0] for one, _ in COMMANDS}:
                raise
            raise UserError(f"unknown command {name!r}; /help lists the commands") from error
        if command is None:
            return False
        match command.name:
            case "stop":
                if not self._talk.stop():
                    self._view.say("nothing runs", "dim")
            case "new":
                await self._service.commands.begin()
                self._view.say("the next prompt begins a new session", "dim")
            case "mode":
                assert command.mode is not None
                self._service.commands.set_mode(command.mode)
                self._view.say(f"mode {command.mode}", "dim")
            case "effort":
                self._effort(command.effort)
        return True

    def _effort(self, effort: Effort | None) -> None:
        if effort is not None:
            self._service.commands.set_effort(effort)
        now = self._service.configuration.settings.effort or "auto"
        self._view.say(f"effort {now}, from the next turn on" if effort is not None else now, "dim")

    def _help(self) -> None:
        for name, said in (*COMMANDS, *TERMINAL_COMMANDS):
            self._view.say(f"{name:<16} {said}")
        for name, said in list(self.skills.items())[:LISTED]:
            self._view.say(f"/{name:<15} {short_line(said, 100)}")
        self._view.say(HELP, "dim")

    async def _model(self, name: str) -> None:
        if not name:
            users = self._service.configuration.users
            await self.look_for_models()
            known = tuple(dict.fromkeys(filter(None, (users.model, *users.models, *self.models))))
            if not known:
                raise UserError("no model is known; `indwell login` connects one")
            name = await self._person.chosen("Which model?", known[:50]) or ""
        if name:
            await self._service.configuration.want_model(name)
            self._view.say(f"model {name}, from the next turn on", "dim")

    async def look_for_models(self) -> None:
        """Ask the endpoint for its models, for completions of the input line."""
        with suppress(UserError, TimeoutError):
            offered = await self._service.configuration.offered(self._service.configuration.users)
            self.models = tuple(one.name for one in offered)

    async def _resume(self, wanted: str) -> None:
        found, _ = await self._service.stored.sessions(limit=LISTED + 1, before=None)
        here = self._service.sessions.id
        offered = [one for one in found if one.turns and one.id != here][:LISTED]
        if wanted:
            session = next((one.id for one in offered if one.id.startswith(wanted)), wanted)
        else:
            if not offered:
                raise UserError("this folder has no older session to resume")
            titles = {f"{_title(one)}": one.id for one in offered}
            session = titles.get(
                await self._person.chosen("Which session?", tuple(titles)) or "", ""
            )
        if session:
            await self.take_up(session)

    async def take_up(self, session: str) -> None:
        """Make a stored session the current one, and show the session's last turn."""
        resumed = await self._service.commands.switch(session)
        if resumed is None:
            return
        await self._talk.show_last_turn(session)
        self._service.warn(resumed.notices)
        if resumed.draft:
            self._talk.desk.put_draft(resumed.draft)

    async def _rewind(self, value: str) -> None:
        current = self._service.sessions.current
        if current is None or not current.turns:
            raise UserError("there is no turn to go back to")
        reading = await self._service.reading(current.id)
        turns = [one for one in events_of(reading.records) if not one.left]
        if value.isdecimal():
            turn = int(value)
        else:
            titles = {f"before: {_first_words(one)}": one.turn - 1 for one in turns[-LISTED:]}
            chosen = await self._person.chosen("Go back to which moment?", tuple(titles))
            if chosen is None:
                return
            turn = titles[chosen]
        made = await self._service.commands.rewind(None, turn, files=None)
        where = f"the end of turn {turn}" if turn else "the beginning"
        self._view.say(f"the conversation is back at {where}", "dim")
        for said in (*made.files, *made.notices):
            self._view.say(said, "yellow")
        if made.draft:
            self._talk.desk.put_draft(made.draft)

    async def _review(self) -> None:
        service, desk = self._service, self._talk.desk
        ledger = await service.review.ready()
        store = SessionStore(state_folder(os.environ), service.root)
        own = {one.id for one in service.sessions}

        def is_edited(sessions: object) -> bool:
            del sessions
            return any(store.is_open(one) for one in store.ids()[:LISTED] if one not in own)

        screen = TerminalScreen(desk.console, service.roots)
        doing = TerminalReview(
            ledger, service.workspace, WantedFiles(), is_edited, screen, typed=desk.typed
        )
        try:
            looked = await doing.look()
            doing.tell_aside(looked)
            if not looked.hunks:
                self._view.say("no change waits for review", "dim")
                return
            async with desk.asking():
                await doing.walk(looked)
        except ToolError as error:
            raise UserError(str(error)) from error

    async def _plan(self, value: str) -> None:
        action, _, words = value.partition(" ")
        plans = self._service.plans
        match action:
            case "":
                plan = await plans.shown(None)
                if not plan.text:
                    raise UserError("there is no plan; ask for one in mode `plan` (`/mode plan`)")
                self._view.say(f"plan ({plan.state})", "bold")
                self._view.show(plan.text)
            case "approve":
                await plans.approve(None, None, self._talk.begin_turn)
            case "reject":
                await plans.reject(None, words.strip() or None, self._talk.begin_turn)
            case _:
                raise UserError("use `/plan`, `/plan approve` or `/plan reject WHY`")

    def _context(self) -> None:
        current = self._service.sessions.current
        if current is None:
            raise UserError("there is no conversation yet")
        from indwell.context.request.explain import explain, ladder_words
        from indwell.context.request.window_parts import part_words, window_parts
        from indwell.settings.values import preset_of

        preset = preset_of(self._service.settings)
        told = explain(current.conversation, preset)
        window = current.conversation.config.window
        share = f" ({told.tokens / window:.0%} of {window:,})" if window else ""
        self._view.say(f"the next request has about {told.tokens:,} tokens{share}")
        for tokens, words in part_words(window_parts(current.conversation)):
            self._view.say(f"  {tokens:>9,}  {words}")
        sources = sorted(told.by_source.items(), key=lambda one: -one[1])
        listed = ", ".join(f"{source} {tokens:,}" for source, tokens in sources)
        self._view.say(f"by source: {listed}")
        for line in ladder_words(preset, told.headroom):
            self._view.say(line)

    def _cost(self) -> None:
        current = self._service.sessions.current
        if current is None:
            raise UserError("there is no conversation yet")
        spending = current.spending
        self._view.say(f"{usage_words(spending.usage)} · {cost_words(spending.cost)}")


class Completions:
    """Finds completions for the input line.

    Args:
        conversation: The conversation.
        names: The files of the folder.
        commands: The slash commands.
    """

    def __init__(
        self, conversation: TerminalTalk, names: FileNames, commands: SlashCommands
    ) -> None:
        self._talk, self._names, self._commands = conversation, names, commands

    def begin(self) -> None:
        """List the files of the folder in the background."""
        self._names.known(self._talk.service.roots)

    def __call__(self, line: str, is_first: bool) -> Sequence[CompletionChoice]:  # noqa: FBT001
        """Return the completions at the end of a line."""
        commands = self._commands
        more = [*TERMINAL_COMMANDS, *((f"/model {one}", "") for one in commands.models)]
        more += [(f"/{name}", short_line(said, 80)) for name, said in commands.skills.items()]
        roots = self._talk.service.roots
        return completed(
            line,
            is_draft_start=is_first,
            names=lambda: self._names.known(roots),
            lines_of=lambda _path: (),
            skills=more,
        )


def skills_of(ranked: Ranked) -> Mapping[str, str]:
    """Return the skills by name, each with its description."""
    return {name: one.description for name, one in ranked.by_name.items()}


def _title(one: Overview) -> str:
    turns = "1 turn" if one.turns == 1 else f"{one.turns} turns"
    words = short_line(one.title or one.preview or "no words", 48)
    return f"{words} ({turns}, {one.at[:16].replace('T', ' ')}) {one.id[-4:]}"


def _first_words(turn: RecordedTurn) -> str:
    begun = turn.events[0]
    words = begun.words if isinstance(begun, TurnStarted) else ""
    return f"{turn.turn} {short_line(words, 60)}"
