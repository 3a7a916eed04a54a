"""Keeps all commands from running while a planted file could not be removed."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import json
import logging
import os
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from indwell.errors import ToolError
from indwell.files.append_log import list_names, make_private_folder
from indwell.files.aside import NotRemoved, Quarantine, named, why
from indwell.files.private import read_own, remove_own, write_durable

MOST_NOTES = 20  # a command can make thousands of such files, and a person reads few
_MOST_LOGGED = 5


def few(notes: Sequence[str], where: str = "") -> tuple[str, ...]:
    """The first of these sentences, and how many more there are.

    Args:
        notes: All of them.
        where: The folder that holds what was moved away.
    """
    if len(notes) <= MOST_NOTES:
        return tuple(notes)
    more = f"and {len(notes) - MOST_NOTES:,} more of this kind"
    if where:
        more += f"; what was moved away is in {where!r}"
    return (*notes[:MOST_NOTES], more)


class Meanwhile:
    """One command that runs on, and what was said of it.

    Args:
        look: Puts aside what it made so far, and says so, a sentence each; blocks.
        hear: Hears each sentence, once.
    """

    def __init__(self, look: Callable[[], Sequence[str]], hear: Callable[[str], None]) -> None:
        self._look = look
        self._hear = hear
        self._looking = asyncio.Lock()
        self._said: dict[str, None] = {}

    async def look(self) -> None:
        """Put aside what is there by now."""
        async with self._looking:
            notes = await asyncio.to_thread(self._look)
        self.heard(notes)

    def heard(self, notes: Sequence[str]) -> None:
        """Say what was put aside already."""
        for note in notes:
            if note in self._said:
                continue
            self._said[note] = None
            if len(self._said) <= MOST_NOTES:
                self._hear(note)
            if len(self._said) <= _MOST_LOGGED:
                log.warning("%s", note)

    def said_with(self, notes: Sequence[str]) -> tuple[str, ...]:
        """All that was said of it, what is said at its end first; it is logged, too."""
        every = tuple(dict.fromkeys((*notes, *self._said)))
        n_logged = min(len(self._said), _MOST_LOGGED)
        new = [one for one in notes if one not in self._said][: _MOST_LOGGED - n_logged]
        for one in new:
            log.warning("%s", one)
        if n_more := len(every) - n_logged - len(new):
            log.warning("and %s more of this kind", f"{n_more:,}")
        return every


_running: list[Meanwhile] = []


@contextmanager
def looked_at(one: Meanwhile) -> Iterator[None]:
    """While it runs, ``look_again`` looks at it."""
    _running.append(one)
    try:
        yield
    finally:
        _running.remove(one)


def any_runs_on() -> bool:
    """Does a command run that began before now?"""
    return bool(_running)


async def look_again() -> None:
    """Put aside what commands that run on have made, before anything could obey it."""
    for one in tuple(_running):
        await one.look()


log = logging.getLogger(__name__)

_RECORD_LIMIT_B = 1 << 16
_MOST_NAMED = 5
_RECORDS, _ENDING = "standing", ".json"


class StandingPlant(msgspec.Struct, frozen=True):
    """A plant that could not be taken away.

    Attributes:
        root: The folder of the workspace.
        at: From there on.
        safe_name: Its name once it is moved away; empty for a folder that cannot be looked into.
        why: Why it could not be moved.
        mark: What tells whether the thing at this path is still the same one.
        record: The file of the state folder that was to say all that, and cannot be read; or the
            one that says that nobody has looked.
        is_unseen: It is what a command of another process made in ``root``, which nobody has looked
            at, so that nobody knows what is there.
    """

    root: str
    at: str
    safe_name: str
    why: str
    mark: tuple[int, ...] = ()
    record: str = ""
    is_unseen: bool = False

    @property
    def path(self) -> str:
        """The whole path."""
        return f"{self.root}/{self.at}" if self.at else self.root

    @property
    def words(self) -> str:
        """What and where, a clause."""
        if self.is_unseen:
            return (
                f"what a command made in {self.root!r} could not be looked at ({self.why}), and "
                "the Indwell that ran it has not looked since; look for new files there that "
                "programs obey (`git status --ignored` names new files), then delete the note "
                f"{self.record!r}"
            )
        if self.record:
            return (
                f"the note {self.record!r} says what it is and where, but cannot be read "
                f"({self.why}); look into that file, remove what it names, then delete the file"
            )
        if not self.safe_name:
            return f"{named(self.path)} cannot be looked into ({self.why})"
        return f"{named(self.path)} could not be moved away ({self.why})"


class _Unsettled(msgspec.Struct, frozen=True):
    """A command after which nobody could look at what it made.

    Attributes:
        folders: Those that it could write to.
        settle: Looks, and moves away what it planted.
        records: The files of the state folder that say so to other processes.
    """

    folders: tuple[str, ...]
    settle: Callable[[], Sequence[str]]
    records: tuple[str, ...] = ()


class Gate:
    """All that is in the way, of this process and of those before it."""

    def __init__(self) -> None:
        self._quarantines: dict[Path | None, Quarantine] = {}
        self._standing: dict[str, tuple[StandingPlant, Quarantine]] = {}
        self._untold: list[tuple[Path, str]] = []
        self._unsettled: list[_Unsettled] = []
        self._trying = threading.RLock()

    def heed(self, quarantine: Quarantine) -> None:
        """Heed what earlier processes wrote down there; reads nothing yet."""
        self._quarantines.setdefault(quarantine.folder, quarantine)

    def close(self, standing: StandingPlant, quarantine: Quarantine) -> None:
        """Let no command run until this is gone; blocks."""
        marked = msgspec.structs.replace(standing, mark=_mark(standing.path) or ())
        self._standing[marked.path] = (marked, quarantine)
        self.heed(quarantine)
        if quarantine.folder is not None:
            _write(_record(quarantine.folder, marked.path), marked)

    def close_until_settled(
        self,
        folders: Sequence[str],
        settle: Callable[[], Sequence[str]],
        reason: str,
        quarantine: Quarantine | None = None,
    ) -> str:
        """Let no command run before somebody could look at what one made; blocks.

        Args:
            folders: Those that it could write to.
            settle: Looks, and moves away what it planted.
            reason: Why nobody could look.
            quarantine: Where that is written down, for processes that start later.

        Returns:
            The sentence.
        """
        records: list[str] = []
        if quarantine is not None and quarantine.folder is not None:
            self.heed(quarantine)
            for root in folders:
                # A name of its own: several commands in this folder may wait for a look.
                record = _record(quarantine.folder, f"{root}\0{secrets.token_hex()}")
                records.append(str(record))
                _write(record, StandingPlant(root, "", "", reason, is_unseen=True))
        self._unsettled.append(_Unsettled(tuple(folders), settle, tuple(records)))
        return (
            f"what the command made could not be looked at ({reason}); no command runs here until "
            "that is done, which is tried again each time; tell the user"
        )

    def open_again(self, folders: Sequence[Path]) -> tuple[StandingPlant, ...]:
        """Try again to take everything away; gives what is in the way in ``folders``; blocks."""
        with self._trying:
            return (*self._settled(folders), *self._taken(folders))

    def _settled(self, folders: Sequence[Path]) -> list[StandingPlant]:
        found: list[StandingPlant] = []
        for one in tuple(self._unsettled):
            waiting = [StandingPlant(root, "", "", "") for root in one.folders]
            concerned = [each for each in waiting if _concerns(each, folders)]
            if not concerned:
                continue
            try:
                notes = one.settle()
            except Exception as error:  # whatever it was, nobody has looked
                log.warning("the look after a command failed again", exc_info=error)
                found.append(msgspec.structs.replace(concerned[0], why=why(error)))
                continue
            self._unsettled.remove(one)
            for record in one.records:
                with contextlib.suppress(OSError):
                    remove_own(Path(record))
            self.keep_untold(Path(concerned[0].root), few(notes))
        return found

    def _taken(self, folders: Sequence[Path]) -> tuple[StandingPlant, ...]:
        unread = self._read(folders)
        moved: dict[str, list[str]] = {}
        for standing, quarantine in tuple(self._standing.values()):
            if not _concerns(standing, folders):
                continue
            now = _tried(standing, quarantine)
            if now == standing:
                continue
            del self._standing[standing.path]
            self._forget(standing)
            match now:
                case StandingPlant():
                    self.close(now, quarantine)
                case Path():
                    said = f"{named(standing.path)} was moved out of the workspace, to {str(now)!r}"
                    moved.setdefault(standing.root, []).append(said)
        for root, notes in moved.items():
            self.keep_untold(Path(root), few(notes))
        left = (one for one, _ in self._standing.values() if _concerns(one, folders))
        return (*left, *unread)

    def keep_untold(self, folder: Path, notes: Sequence[str]) -> None:
        """Keep what was to be said of a command whose caller was stopped."""
        self._untold += [(folder, note) for note in notes]

    def take_untold(self, folders: Sequence[Path]) -> tuple[str, ...]:
        """What nobody has said yet of commands that ran in these folders, once."""
        told = [one for one in self._untold if any(map(one[0].is_relative_to, folders))]
        self._untold = [one for one in self._untold if one not in told]
        return tuple(note for _, note in told)

    def _read(self, folders: Sequence[Path]) -> list[StandingPlant]:
        """Read what is written down; gives what cannot be taken away, as nobody knows what it is.

        What cannot be read may be of any folder.
        """
        own = {record for one in self._unsettled for record in one.records}
        unknown: list[StandingPlant] = []
        for folder, quarantine in self._quarantines.items():
            for one in _written(folder) if folder is not None else ():
                if one.is_unseen:
                    if one.record not in own and _concerns(one, folders):
                        unknown.append(one)
                elif one.record:
                    unknown.append(one)
                else:
                    self._standing.setdefault(one.path, (one, quarantine))
        return unknown

    def _forget(self, standing: StandingPlant) -> None:
        for folder in self._quarantines:
            if folder is not None:
                with contextlib.suppress(OSError):
                    remove_own(_record(folder, standing.path))


_gate = Gate()
heed = _gate.heed
close = _gate.close
close_until_settled = _gate.close_until_settled
keep_untold = _gate.keep_untold
take_untold = _gate.take_untold


async def still_in_the_way(folders: Iterable[Path]) -> tuple[StandingPlant, ...]:
    """What is in the way of commands in these folders, once all was tried again."""
    given = tuple(folders)
    return await asyncio.to_thread(_gate.open_again, given)


async def pass_gate(folders: Iterable[Path]) -> None:
    """Return if a command may run that has to do with these folders.

    Raises:
        ToolError: Something that a command planted is still there.
    """
    if standing := await still_in_the_way(folders):
        raise ToolError(f"nothing was run: {gate_words(standing)}")


def gate_words(standing: Sequence[StandingPlant]) -> str:
    """What is in the way, and what the user can do."""
    named = "; ".join(one.words for one in standing[:_MOST_NAMED])
    more = f"; and {len(standing) - _MOST_NAMED} more" if len(standing) > _MOST_NAMED else ""
    return (
        "an earlier command made files that other programs load on their own, or may have: "
        f"{named}{more}. No command runs here until that is over. Tell the user, who can look at "
        "it and remove it, or move it out of the workspace"
    )


def _concerns(standing: StandingPlant, folders: Sequence[Path]) -> bool:
    root = Path(standing.root)
    return any(one.is_relative_to(root) or root.is_relative_to(one) for one in folders)


def _tried(standing: StandingPlant, quarantine: Quarantine) -> StandingPlant | Path | None:
    """What is left of it, or where it is now; None if it was gone. What nobody can tell is left."""
    if not standing.safe_name:
        is_over = os.access(standing.path, os.R_OK | os.X_OK) or _is_gone(standing.path)
        return None if is_over else standing
    now = _mark(standing.path)
    if now is None:
        return standing
    if not now or (standing.mark and now != standing.mark and not any_runs_on()):
        return None  # gone; or the user has put something else there, as no command runs
    try:
        where = quarantine.take(Path(standing.root), standing.at, standing.safe_name)
    except Exception as error:  # whatever it was, the thing is still there
        log.info("%r could not be moved", standing.path, exc_info=error)  # the gate's words say so
        return standing
    if isinstance(where, NotRemoved):
        if where.at == standing.at:
            return standing
        return msgspec.structs.replace(standing, at=where.at, why=where.why)
    return where


def _is_gone(path: str) -> bool:
    return _mark(path) == ()


def _mark(path: str) -> tuple[int, ...] | None:
    """What tells one thing from another; empty if nothing is there, None if nobody can tell."""
    try:
        now = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - may hold any character
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError:
        return None
    return (now.st_dev, now.st_ino)


def _record(folder: Path, name: str) -> Path:
    digest = hashlib.blake2b(os.fsencode(name), digest_size=16).hexdigest()
    return folder / _RECORDS / f"{digest}{_ENDING}"


def _write(record: Path, standing: StandingPlant) -> None:
    """Write it down. Not by msgspec: names in the workspace need not be UTF-8."""
    try:
        make_private_folder(record.parent)
        with contextlib.suppress(FileExistsError):
            write_durable(record, json.dumps(msgspec.to_builtins(standing)).encode())
    except OSError:  # it holds as long as this process runs
        _say_unwritten(str(record.parent))


@functools.cache
def _say_unwritten(folder: str) -> None:
    log.warning(
        "nothing could be written to %r; that no command runs is forgotten when Indwell ends",
        folder,
    )


def _written(folder: Path) -> Iterator[StandingPlant]:
    """All that is written down there; a note that cannot be read stands for itself."""
    records = folder / _RECORDS
    try:
        names = list_names(records)
    except NotADirectoryError:  # the state folder cannot be one: nothing was ever written there
        return
    except OSError as error:
        yield _unread(records, error)
        return
    for name in names:
        if not name.endswith(_ENDING):  # another process is about to write it
            continue
        try:
            data = json.loads(read_own(records / name, _RECORD_LIMIT_B))
            one = msgspec.convert(data, StandingPlant)
            record = str(records / name) if one.is_unseen else ""
            yield msgspec.structs.replace(one, record=record)
        except FileNotFoundError:  # another process has just seen that it is over
            continue
        except Exception as error:  # noqa: BLE001 - whatever it was, nobody knows what it named
            yield _unread(records / name, error)


def _unread(record: Path, error: Exception) -> StandingPlant:
    is_damaged = isinstance(error, msgspec.MsgspecError | ValueError | RecursionError)
    reason = "it is damaged" if is_damaged else why(error)
    return StandingPlant("", "", "", reason, record=str(record))
