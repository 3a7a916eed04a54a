"""Opens the service for an interactive session, and resumes the session of a killed terminal."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from indwell.cli.interactive.commands import Completions, SlashCommands, skills_of
from indwell.cli.interactive.desk import Desk
from indwell.cli.interactive.door import InteractiveDoor, InteractivePerson
from indwell.cli.interactive.terminal_talk import TerminalTalk
from indwell.cli.interactive.view import InteractiveView
from indwell.cli.run.grammar import NEWEST
from indwell.cli.stored.sessions import whole_id
from indwell.context.untrusted_text import visible
from indwell.errors import ToolError, UserError
from indwell.files.append_log import make_private_folder
from indwell.files.private import read_own, remove_own, write_private
from indwell.lsp.chat.completion import FileNames
from indwell.own_path import own_path
from indwell.sandbox.environment import own_environment
from indwell.sessions.ids import is_id
from indwell.sessions.storage.store import SessionStore, folder_name
from indwell.settings.paths import state_folder
from indwell.wiring.service import Composition

_ID_B = 200


class OpenMark:
    """Stores which session a terminal has open in a folder, even if the terminal is killed.

    Args:
        folder: The workspace.
    """

    def __init__(self, folder: Path) -> None:
        state = state_folder(os.environ)
        self._path = state / "terminal" / folder_name(folder)

    def left(self) -> str:
        """Return the session that a killed terminal had open, or an empty text."""
        try:
            text = read_own(self._path, _ID_B).decode("ascii", "replace").strip()
        except (OSError, ToolError):
            return ""
        return text if is_id(text) else ""

    def put(self, session: str) -> None:
        """Store the id of the session that is open now; without a state folder, do nothing."""
        with suppress(OSError):
            make_private_folder(self._path.parent)
            remove_own(self._path)
            write_private(self._path, session.encode())

    def clear(self) -> None:
        """Forget the session, because the user has left."""
        with suppress(OSError):
            remove_own(self._path)


class Opened:
    """The parts of an interactive session that are loaded after the input line is shown.

    Args:
        desk: Where the user types.
        session: The session to resume: its id, the beginning of the id, ``NEWEST``, or empty.
        scripted: Whether the scripted model answers.
        is_plain: Whether the terminal shows no moving parts and no colours.
        is_apart: Whether each new session works in a worktree.

    Attributes:
        talk: The conversation.
        completions: Completes the line.
    """

    def __init__(
        self, desk: Desk, *, session: str, scripted: bool, is_plain: bool, is_apart: bool = False
    ) -> None:
        self._wanted = session
        self._folder = Path.cwd().resolve()
        own_path.keep_out([self._folder])
        self._composition = Composition(own_environment(), scripted=scripted, in_worktrees=is_apart)
        view = InteractiveView(desk, is_plain=is_plain)
        person = InteractivePerson(desk)
        door = InteractiveDoor(view, person, desk)
        service = self._composition.service(door)
        self.talk = TerminalTalk(service, desk, view, person.chosen)
        door.view = self.talk.hear
        self._commands = SlashCommands(self.talk, person, {})
        self.talk.commands = self._commands
        names = FileNames(service.chores.begin, time.monotonic)
        self.completions = Completions(self.talk, names, self._commands)
        self._mark = OpenMark(self._folder)
        service.start((self._folder,), {})
        service.sessions.workspace = self._composition.disk((self._folder,))
        service.on_session.append(lambda session: self._mark.put(session.id))

    async def begin(self) -> None:
        """Ask about trust; resume the session from the options, or of a killed terminal."""
        service, view = self.talk.service, self.talk.view
        service.greet()
        try:
            await service.settle()
            await self._take_up()
        except UserError as error:
            view.say(str(error), "red")
        self.completions.begin()
        self.talk.in_background(self._look())

    async def _look(self) -> None:
        """Learn the skills and the models, for commands and completion."""
        service = self.talk.service
        ranked = await self._composition.skills(service.roots, service.settings)
        self._commands.skills = skills_of(ranked)
        await self._commands.look_for_models()

    async def _take_up(self) -> None:
        store = SessionStore(state_folder(os.environ), self._folder)
        known, left = store.ids(), self._mark.left()
        session = ""
        if self._wanted == NEWEST:
            session = next(iter(known), "")
        elif self._wanted:
            session = whole_id(self._wanted, known)
            store.check(session)
        elif left in known and not store.is_open(left):
            session = left
        view = self.talk.view
        if not session:
            where = visible(self._folder.name)
            view.say(f"Indwell in {where}. /help lists commands, /resume earlier sessions.", "dim")
            return
        await self._commands.take_up(session)
        self._mark.put(session)
        view.say("The session goes on. /new begins another one.", "dim")

    async def close(self) -> None:
        """End the service; the session can be resumed later."""
        session = self.talk.service.sessions.id
        await self.talk.service.stop()
        self._mark.clear()
        if session:
            self.talk.view.say(f"Go on later: indwell --continue, or --resume {session}", "dim")
