"""The user's commands for whole sessions: begin, switch, fork, rewind, rename and delete."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from indwell.agent.core.session import Resumed
from indwell.context.untrusted_text import short_line
from indwell.errors import UserError
from indwell.files.spelling import quoted
from indwell.installation import installation
from indwell.messages import Effort
from indwell.review.hunk import Hunk, Rejection
from indwell.review.ledger import ReviewLedger
from indwell.review.verdicts import VerdictOutcome, planned_rewind, rewind_files
from indwell.service.configuration import Configuration
from indwell.service.endpoint.first_run import ANSWER_S
from indwell.service.front_door import FrontDoor
from indwell.service.sessions.open_sessions import OpenSessions
from indwell.service.sessions.session_settings import SessionSettings
from indwell.service.sessions.stored_sessions import StoredSessions
from indwell.service.turns.turns import Turns
from indwell.sessions.overview import Overview, overview
from indwell.settings.model import Mode
from indwell.workspace.base import Workspace
from indwell.workspace.paths import display

OFFERED = 5  # A message has no room for more than 5 buttons.
LISTED_CHARACTERS = 48  # A title in the list of choices has at most 48 characters.
TITLE_CHARACTERS = 200  # A title is one line of a list.
# A turn that is about to begin may take 5 s, and then continues in another session.
OPENING_S = 5.0
NO = "No"
TAKE_BACK = "Restore them"
KEEP = "Keep mine"
RESTORE = "Restore"
NAMED = 3


class RewoundSession(msgspec.Struct, frozen=True):
    """A session that continues from the end of an earlier turn.

    Attributes:
        session: The session, opened again.
        draft: A draft of the user's next prompt, or an unanswered prompt.
        files: A sentence for each file on the outcome, or empty if no file was changed.
        notices: Further information for the user.
    """

    session: Resumed
    draft: str
    files: tuple[str, ...]
    notices: tuple[str, ...]


class SessionCommands:
    """Carries out the user's commands for sessions.

    Args:
        door: Asks the user.
        sessions: The open sessions.
        stored: All sessions.
        turns: The running turns, which a command may stop first.
    """

    def __init__(
        self,
        door: FrontDoor,
        sessions: OpenSessions,
        stored: StoredSessions,
        turns: Turns,
        configuration: Configuration,
    ) -> None:
        self._door = door
        self._configuration = configuration
        self._sessions = sessions
        self._stored = stored
        self._turns = turns

    def set_mode(self, mode: Mode, session: str | None = None) -> None:
        """Set the mode from the next call on, also for a running turn.

        Args:
            mode: The mode.
            session: The session, or None for the current session and later ones.

        Raises:
            UserError: The session is not open.
        """
        current = self._sessions.current
        if session in {None, self._sessions.id}:
            settings = None if current is None else self._sessions.settings_of(current)
            self._configuration.choose_mode(mode)
        else:
            hint = "send the mode along with the next prompt to it"
            settings = self._settings_of_open(session, hint)
            settings.keep(mode=mode)
        if settings is not None:
            # The mode of a running turn changes, too, even if its prompt requested another mode.
            settings.end_turn()

    def set_effort(self, effort: Effort, session: str | None = None) -> None:
        """Set the reasoning effort from the next turn on.

        Args:
            effort: The effort; if it is empty, the model decides.
            session: The session, or None for the current session and later ones.

        Raises:
            UserError: The session is not open.
        """
        if session in {None, self._sessions.id}:
            self._configuration.choose_effort(effort)
            return
        self._settings_of_open(session, "choose it while a turn of it runs").keep(effort=effort)

    def _settings_of_open(self, session: str | None, hint: str) -> SessionSettings:
        """Return the settings of an open session that is not the current one.

        Raises:
            UserError: The session is not open.
        """
        opened = self._sessions.find(session)
        settings = None if opened is None else self._sessions.settings_of(opened)
        if settings is None:
            raise UserError(f"session {session!r} is not open; {hint}")
        return settings

    async def begin(self, inherit: str = "", *, keep: bool = False) -> None:
        """Let the next prompt begin a new session; a running turn is stopped first.

        Waiting prompts are held for the session in which the user typed the prompts.

        Args:
            inherit: The session whose task continues, or empty for no task.
            keep: Whether the running turn continues while the new session is current.

        Raises:
            UserError: The session does not exist, and nothing was stopped.
        """
        if inherit:
            await self._sessions.check(inherit)
        await self._drain("a new session was begun", keep=keep)
        await self._sessions.leave(inherit=inherit)

    async def switch(
        self,
        session: str | None,
        model: str | None = None,
        *,
        keep: bool = False,
        is_beside: bool = False,
    ) -> Resumed | None:
        """Make another session the current one; a running turn is stopped first.

        Args:
            session: The session's id; None lets the user choose.
            model: The model that continues the session, or None for the session's own model.
            keep: Whether the running turn continues while the other session is current.
            is_beside: Whether the session only opens; the current session and its turn stay.

        Returns:
            The resumed session, or None if the user chose no session.

        Raises:
            UserError: The session cannot be continued.
        """
        wanted = session or await self._chosen()
        if wanted is None:
            return None
        await self._sessions.check(wanted)
        if wanted != self._sessions.id and not is_beside:
            await self._drain("another session was taken up", keep=keep)
        return await self._sessions.resume(wanted, model, is_beside=is_beside)

    async def fork_from(
        self,
        session: str | None,
        turn: int | None,
        model: str | None = None,
        *,
        keep: bool = False,
        is_beside: bool = False,
    ) -> tuple[Resumed, tuple[str, ...], str]:
        """Switch to a new session that begins with another session's state at the end of a turn.

        Args:
            session: The other session, or None for the current session.
            turn: The turn, or None for the newest turn.
            model: The model that continues the new session, or None for the model of the turn.
            keep: Whether the running turn continues while the new session is current.
            is_beside: Whether the current session stays the current one.

        Returns:
            The new session, notices about the copy, and the id of the other session.

        Raises:
            UserError: The session or turn does not exist, or the session cannot be written.
        """
        origin = self._sessions.id_of(session)
        opened = self._sessions.find(origin)
        if opened is not None:
            # The end of the other session's log must stay readable.
            await opened.parts.log.commit()
        fork = await self._stored.fork_session(origin, turn)
        taken = await self.switch(fork.session, model, keep=keep, is_beside=is_beside)
        assert taken is not None, "a session was named"
        return taken, fork.notices, origin

    async def rewind(
        self,
        session: str | None,
        turn: int,
        *,
        files: bool | None,
        model: str | None = None,
        is_beside: bool = False,
    ) -> RewoundSession:
        """Rewind a conversation to the end of a turn, and the files if requested.

        A running turn is stopped first. The conversation is rewound before the files. If the
        process is then killed, the same command can restore the files. A problem with one file is
        reported, and the other files are restored.

        Args:
            session: The session, or None for the current session.
            turn: The last turn that stays, or 0 if no turn stays.
            files: Whether to restore files; if None, the service asks the user, unless the client
                asks.
            model: The model that continues the session, or None for the session's own model.
            is_beside: Whether the current session stays the current one.

        Raises:
            UserError: The session or turn does not exist, or the session cannot be written. Nothing
                has changed.
        """
        named = self._sessions.id_of(session)
        is_current = named == self._sessions.id
        why = "the conversation was taken back"
        await self._turns.drain(why, named)
        back = await self._files_back(named, turn, files=files)
        await self._turns.drain(why, named)  # A question may stay open for a long time.
        if is_current:
            await self._sessions.leave()
        await self._sessions.release(named)
        try:
            made = await self._stored.rewind_session(named, turn)
        except UserError:
            if is_current:
                await self.switch(named, model)
            raise
        said: tuple[str, ...] = ()
        if back is not None:
            said = *await back.take(named, turn), *back.unrecorded(made.changed)
        said = (*said, *filter(None, [installation.news()]))
        taken = await self.switch(named, model, is_beside=is_beside and not is_current)
        assert taken is not None, "a session was named"
        notices = (*made.notices, *taken.notices)
        return RewoundSession(taken, taken.draft or made.draft, said, notices)

    async def retitle(self, session: str, title: str) -> str:
        """Give a session a title; an empty title restores the original.

        Returns:
            The session's current title.

        Raises:
            UserError: The session does not exist, is open in another process, or cannot be written.
        """
        title = short_line(title, TITLE_CHARACTERS)
        opened = self._sessions.find(session)
        if opened is not None:
            opened.retitle(title)
            await opened.parts.log.commit()
            return opened.title
        await self._stored.rename_session(session, title)
        return overview(session, await self._stored.session(session)).title

    async def delete(self, session: str) -> None:
        """Delete a session; if it is the current one, the next prompt begins a new session.

        Raises:
            UserError: The session has a running turn, does not exist, is open in another process,
                or cannot be deleted.
        """
        running = self._turns.running_in(session)
        if running is not None and not running.is_stopped:
            raise UserError("a turn is running in this session; stop it, then delete the session")
        if running is not None:
            await running.ended.wait()
        if session == self._sessions.id:
            await self._sessions.leave(for_good=True)
        await self._sessions.release(session)
        await self._stored.delete_session(session)
        self._turns.events.forget(session)

    async def _drain(self, reason: str, *, keep: bool) -> None:
        """Stop the turn of the current session; with ``keep``, only a turn that has not begun."""
        running = self._turns.running
        if keep and running is not None:
            with suppress(UserError):
                await running.begins(0 if self._sessions.is_asking else OPENING_S)
            if running.session is not None:
                self._turns.put_beside(running.session.id)
                return
        await self._turns.drain(reason)

    async def _chosen(self) -> str | None:
        """Let the user choose one of the newest sessions; return None if there is no choice.

        Raises:
            UserError: There is no session.
        """
        found, _ = await self._stored.sessions(limit=OFFERED, before=None)
        titles: dict[str, str] = {}
        for one in found:
            if one.id != self._sessions.id:
                title = _listed(one)
                titles[title if title not in titles else f"{title} {one.id}"] = one.id
        if not titles:
            raise UserError("this folder has no older session to resume")
        asked = "Indwell: which session should continue?"
        chosen = await self._door.choose(asked, tuple(titles), ANSWER_S)
        return titles.get(chosen) if chosen is not None else None

    async def _files_back(self, session: str, turn: int, *, files: bool | None) -> FilesBack | None:
        """Return the object that restores files, or None if the files stay unchanged.

        Raises:
            UserError: Files should be restored, but the ledger cannot be stored in any folder.
        """
        if self._sessions.workspace is None or files is False or turn < 0:
            return None
        try:
            place = await self._sessions.place_of(session)
        except UserError:
            if files:
                raise
            return None
        timeout_s = self._sessions.answer_timeout_s
        back = FilesBack(place.ledger, place.workspace, self._door, timeout_s=timeout_s)
        return back if await back.is_wanted(session, turn, files=files) else None


def _listed(one: Overview) -> str:
    """Return the line for a session in a list of choices."""
    turns = "1 turn" if one.turns == 1 else f"{one.turns} turns"
    day = one.at[:16].replace("T", " ")
    return f"{(one.title or one.preview)[:LISTED_CHARACTERS] or 'no words'} ({turns}, {day})"


class FilesBack:
    """Restores the files of later turns, after the conversation.

    Args:
        ledger: Knows the agent's changes.
        workspace: The user's files.
        door: Asks the user.
        timeout_s: The user's time limit for an answer, in seconds.
    """

    def __init__(
        self, ledger: ReviewLedger, workspace: Workspace, door: FrontDoor, *, timeout_s: float
    ) -> None:
        self._ledger = ledger
        self._workspace = workspace
        self._door = door
        self._timeout_s = timeout_s

    async def is_wanted(self, session: str, turn: int, *, files: bool | None) -> bool:
        """Decide whether to restore files.

        The user is asked if the command has no value and the client does not ask.

        Args:
            session: The session of the changes.
            turn: The last turn whose changes stay.
            files: The value from the command.
        """
        if files is not None or self._door.asks_about_files:
            return files is True
        plans = await planned_rewind(self._ledger, self._workspace, session, turn)
        if not plans:
            return False
        words = f"Indwell: {question(plans, self._workspace.roots)}"
        return await self._door.allow(words, (NO, TAKE_BACK), self._timeout_s) == TAKE_BACK

    async def take(self, session: str, turn: int) -> tuple[str, ...]:
        """Restore the files; return a sentence on each outcome.

        If the user's work would be lost, one question names all affected files.
        """
        async with self._door.changing(self._ledger.known()):
            done = await rewind_files(self._ledger, self._workspace, session, turn)
            if done.kept:
                plans = await planned_rewind(self._ledger, self._workspace, session, turn)
                words = f"Indwell: {conflict(done, self._workspace.roots)}"
                if await self._door.allow(words, (KEEP, RESTORE), self._timeout_s) == RESTORE:
                    more = await rewind_files(
                        self._ledger,
                        self._workspace,
                        session,
                        turn,
                        force=True,
                        agreed={one.path: one.before for one in plans if one.kept},
                    )
                    done = _both(done, more)
        return report(done, self._workspace.roots)

    def unrecorded(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return notices about files that the session changed and the ledger does not know."""
        words = unrecorded(names, self._ledger.known(), self._workspace.roots)
        return (words,) if words else ()


def _both(first: VerdictOutcome, then: VerdictOutcome) -> VerdictOutcome:
    """Combine the results of two steps; drop conflicts that the second step solved."""
    return msgspec.structs.replace(
        then,
        hunks=(*first.hunks, *then.hunks),
        failed=(*first.failed, *then.failed),
        copies=(*first.copies, *then.copies),
    )


def question(plans: Sequence[Rejection], roots: Sequence[Path]) -> str:
    """Return the question whether to rewind these files, too."""
    return f"Restore the files too? ({_files([one.path for one in plans], roots)})"


def conflict(done: VerdictOutcome, roots: Sequence[Path]) -> str:
    """Return the question whether to undo changes that conflict with later work."""
    paths = dict.fromkeys(hunk.path for hunk, _ in done.kept)
    reasons = dict.fromkeys(why for _, why in done.kept)
    return (
        f"Some changes cannot be reverted without losing later work: "
        f"{_files(list(paths), roots)} ({'; '.join(list(reasons)[:NAMED])}). Keep the present "
        "text, or restore the earlier text?"
    )


def report(done: VerdictOutcome, roots: Sequence[Path]) -> tuple[str, ...]:
    """Report each outcome in a sentence; return an empty tuple if nothing was done."""
    sentences = []
    paths = list(dict.fromkeys(one.path for one in done.hunks))
    if paths:
        sentences.append(f"restored {_files(paths, roots)}")
    if done.kept:
        kept = list(dict.fromkeys(hunk.path for hunk, _ in done.kept))
        sentences.append(f"kept later work in {_files(kept, roots)}: {_reasons(done.kept)}")
    sentences += [f"{display(path, roots)!r} was not restored: {why}" for path, why in done.failed]
    if done.copies:
        folder = done.copies[0][1].parent
        sentences.append(
            f"what the files held before is kept in {quoted(folder)} ("
            + ", ".join(copy.name for _, copy in done.copies[:NAMED])
            + (", …" if len(done.copies) > NAMED else "")
            + "); in the editor, undo brings it back file by file"
        )
    return tuple(sentences)


def unrecorded(names: Sequence[str], known: Iterable[Path], roots: Sequence[Path]) -> str:
    """Name the changed files that have no record and stay unchanged, or return an empty text."""
    recorded = {display(path, roots) for path in known}
    missing = [name for name in names if name not in recorded]
    if not missing:
        return ""
    shown = ", ".join(missing[:NAMED])
    more = f" and {len(missing) - NAMED:,} more" if len(missing) > NAMED else ""
    number = "1 file stays" if len(missing) == 1 else f"{len(missing):,} files stay"
    return (
        f"{number} as now: {shown}{more}. Indwell has no record of what this session changed "
        "there; take the changes back with git, or with undo in the editor"
    )


def _reasons(kept: Iterable[tuple[Hunk, str]]) -> str:
    return "; ".join(list(dict.fromkeys(why for _, why in kept))[:NAMED])


def _files(paths: Sequence[Path], roots: Sequence[Path]) -> str:
    names = ", ".join(display(path, roots) for path in paths[:NAMED])
    more = f" and {len(paths) - NAMED:,} more" if len(paths) > NAMED else ""
    number = "1 file" if len(paths) == 1 else f"{len(paths):,} files"
    return f"{number}: {names}{more}"
