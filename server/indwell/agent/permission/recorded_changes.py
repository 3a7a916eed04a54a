"""Records changes by commands and servers for review, and asks about risky changes in git.

If the ledger cannot record a command's change, the user is told. New entries in git are also
reported to the model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from pathlib import Path

import msgspec

from indwell.agent.core.events import Listener, Notice
from indwell.agent.core.session import Session
from indwell.agent.permission.call_facts import display
from indwell.agent.permission.decision import Permit, put_question
from indwell.agent.permission.recorded_workspace import is_accepted
from indwell.bounds.git.known_state import GitEntry
from indwell.context.untrusted_text import one_line
from indwell.files.listing import file_mark
from indwell.messages import ToolUse
from indwell.policy.approvals import Question, Reply
from indwell.policy.rules import Widening
from indwell.review.checkpoints.coverage import apart as apart_from
from indwell.review.hunk import Actor
from indwell.tools.base import Call, Marks, Outcome

NAMED = 3  # the limit of files that a notice about a check's changes names


def covered(
    session: Session, use: ToolUse, permit: Permit, emit: Listener
) -> Callable[[], AbstractAsyncContextManager[None]]:
    """Return a context that records the changes by a call's command or server."""
    coverage, turn = session.parts.changes.coverage, use.meta.turn
    if coverage is None or not _may_write(permit):
        return nullcontext

    def tell(words: str) -> None:
        emit(Notice(turn, "info", words))

    actor = Actor(session.id, turn)
    accepted = partial(is_accepted, session, was_reviewed=permit.was_reviewed)
    return lambda: coverage.around(actor, use.id, accepted=accepted, tell=tell)


def command_turn(
    session: Session, turn: int, permit: Permit, emit: Listener
) -> AbstractAsyncContextManager[None]:
    """Return the context in which a command or a server's tool may write.

    Only one session at a time runs a call that may write, so that each change has one author.

    The wait may be long, so check the permit again with ``still_allowed``.

    Args:
        session: The session of the command.
        turn: The session's turn.
        permit: The command's permit.
        emit: Receives the event that the command waits.
    """
    coverage = session.parts.changes.coverage
    if coverage is None or not _may_write(permit):
        return nullcontext()

    def tell(words: str) -> None:
        emit(Notice(turn, "info", words))

    return coverage.turn(session.id, tell)


def _may_write(permit: Permit) -> bool:
    """Return whether a command or a server's tool may change files by itself."""
    facts = permit.requester.facts
    if facts.effect == "external":
        return facts.foreign is None or facts.foreign.is_near
    return facts.effect == "run" and not permit.surely_reads


def apart(session: Session, call: Call) -> AbstractAsyncContextManager[None]:
    """Return the context of an edit, whose changes do not count as a command's changes."""
    coverage, review = session.parts.changes.coverage, session.parts.changes.ledger
    if coverage is None or review is None or call.effect != "edit":
        return nullcontext()
    return apart_from({coverage.beside.aside, *review.beside})


async def cover_beside(session: Session, turn: int, emit: Listener, tool_use_id: str) -> None:
    """Record changes of background commands, as changes of the call ``tool_use_id``."""
    coverage = session.parts.changes.coverage
    if coverage is None:
        return

    def tell(words: str) -> None:
        emit(Notice(turn, "info", words))

    if session.parts.changes.ledger is not None:
        session.parts.changes.ledger.beside.add(coverage.beside.aside)
    actor, accepted = Actor(session.id, turn), partial(is_accepted, session)
    await coverage.begin_beside(actor, tool_use_id, accepted=accepted, tell=tell)


async def uncover_beside(session: Session, *, runs_on: bool = False) -> None:
    """Record the changes that background commands have made, and stop recording.

    Args:
        session: The session of the commands.
        runs_on: Whether a background command still runs, so that commands of other sessions keep
            waiting.
    """
    coverage, review = session.parts.changes.coverage, session.parts.changes.ledger
    if coverage is None:
        return
    if review is not None:
        review.beside.discard(coverage.beside.aside)
    await coverage.end_beside(runs_on=runs_on)


def covered_check(
    session: Session, turn: int, name: str, emit: Listener, tool_use_id: str
) -> AbstractAsyncContextManager[None]:
    """Return the context of a check, which tells the user about changes that the check makes."""
    coverage = session.parts.changes.coverage
    if coverage is None:
        return nullcontext()

    def tell(words: str) -> None:
        emit(Notice(turn, "info", words))

    def hear(paths: Sequence[Path]) -> None:
        named = ", ".join(repr(display(session, str(path))) for path in paths[:NAMED])
        more = f" and {len(paths) - NAMED:,} more" if len(paths) > NAMED else ""
        tell(f"the check {name} changed {named}{more}; rewind the turn to undo the change")

    actor, accepted = Actor(session.id, turn), partial(is_accepted, session)
    return coverage.around(actor, tool_use_id, accepted=accepted, tell=tell, hear=hear)


def changed_marks(session: Session, turn: int) -> Marks:
    """Return stat values, such as size and time, of the files that a turn has changed; blocks."""
    review = session.parts.changes.ledger
    known = () if review is None else review.known()
    paths = {*session.parts.features.changed(turn), *known}
    return {path: file_mark(path) for path in paths}


MOST_NAMED = 20  # the limit of entries that a question or a result lists


UNCOVERED = "it is about protected files"


_UNTIL = "until then nothing is sent anywhere without a question"


class _ChangeWords(msgspec.Struct, frozen=True):
    """The texts about one kind of change in git.

    Attributes:
        title: The title of the question.
        reason: The reason in the question.
        told: The text before the names in the report for the model.
        refused: Advice for the model after a no.
    """

    title: str
    reason: str
    told: str
    refused: str


_FILES = _ChangeWords(
    "Keep these protected files in git?",
    "a checkout puts them where tools run or obey them, though no file of these names was written",
    "protected files came into git",
    "take it out again (`git rm --cached`, `git reset`, `git replace -d`)",
)


_UNREAD = _ChangeWords(
    "Continue although git's data could not be checked?",
    "Indwell cannot tell whether a command brought protected files into git; run `git status` and "
    "`git fsck` to see what is wrong",
    "git's data could not be checked",
    "the user can run `git status` and `git fsck`, and repair the repository",
)


_STORE = _ChangeWords(
    "Keep these changed files of git's store?",
    "git trusts these files, so a checkout can write content that no commit lists; run `git fsck` "
    "to check all objects",
    "git's store of objects changed in a way that git does not notice",
    "the user can run `git fsck`, delete these files, and fetch the objects again",
)


_NOTE = _ChangeWords(
    "Forget what you did not agree to before?",
    "the damaged note may have named protected files that you refused; look at `git status` and "
    "`git log` before you agree, or delete the note to be rid of this question",
    "a record of Indwell is damaged",
    "the user can look at `git status` and `git log`, then delete the note",
)


_WORDS = {
    "file": _FILES,
    "replacement": _FILES,
    "unread": _UNREAD,
    "store": _STORE,
    "note": _NOTE,
}


async def before_command(session: Session, use: ToolUse, call: Call, emit: Listener) -> str:
    """Ask about entries that checks, hooks and background commands have added to git.

    Call this function before the permission of the next command. Returns the report for the model.
    """
    git = session.parts.changes.git
    if git is None or call.effect != "run":
        return ""
    return await _ask_about(session, use, await git.news(), emit)


async def command_begins(session: Session, call: Call, permit: Permit) -> None:
    """Record the state of git right before the command runs."""
    git = session.parts.changes.git
    if git is not None and call.effect == "run" and not permit.surely_reads:
        await git.begin()


async def command_ended(session: Session, call: Call, permit: Permit) -> tuple[GitEntry, ...]:
    """Return the entries that the command added to git without the user's consent."""
    git, widening = session.parts.changes.git, permit.widening
    if git is None or call.effect != "run" or permit.surely_reads:
        return ()
    new = await git.look(
        fetches=bool(widening.hosts or widening.unconfined),
        is_quick=widening.keeps_git and permit.rules.policy.writes_confined,
    )
    agreed = [one for one in new if _was_asked(one, widening)]
    await git.agree(agreed)  # The question about the command named these entries.
    return tuple(one for one in new if one not in agreed)


async def report(
    session: Session, use: ToolUse, new: Sequence[GitEntry], outcome: Outcome, emit: Listener
) -> Outcome:
    """Ask about the git entries that a command added, and add the report to its outcome."""
    told = await _ask_about(session, use, new, emit)
    return msgspec.structs.replace(outcome, text=f"{outcome.text}{told}") if told else outcome


def around(session: Session, *, reads_only: bool) -> AbstractAsyncContextManager[None]:
    """Return the context of a check or hook; its changes in git are asked about later."""
    git = session.parts.changes.git
    return nullcontext() if git is None or reads_only else git.around()


def _was_asked(entry: GitEntry, widening: Widening) -> bool:
    """Return whether the user's yes to the command also allowed this entry."""
    if entry.kind == "store":
        # Without the sandbox, the command could write any file of the user.
        return widening.unconfined
    return widening.writes_protected and entry.kind in {"file", "replacement"}


async def _ask_about(
    session: Session, use: ToolUse, new: Sequence[GitEntry], emit: Listener
) -> str:
    """Ask about each kind of entry separately; return the lines for the model."""
    lines = []
    for words in dict.fromkeys(_WORDS[one.kind] for one in new):
        these = [one for one in new if _WORDS[one.kind] is words]
        if await _asked(session, use, words, these, emit) == "once":
            assert session.parts.changes.git is not None
            await session.parts.changes.git.agree(these)
            said = "the user allowed that"
        else:
            said = f"the user did not allow that: {words.refused}; {_UNTIL}"
        named = ", ".join(one.words for one in these[:MOST_NAMED])
        more = f" and {len(these) - MOST_NAMED:,} more" if len(these) > MOST_NAMED else ""
        told = f"{words.told}: {named}{more}; {said}"
        emit(Notice(use.meta.turn, "warning", told))
        lines.append(f"\n[{told}]")
    return "".join(lines)


async def _asked(
    session: Session, use: ToolUse, words: _ChangeWords, new: Sequence[GitEntry], emit: Listener
) -> Reply:
    turn = use.meta.turn
    question = _question(use, words, new)

    def understood(reply: Reply) -> Reply:
        # Only a yes to this question counts, because stored answers do not apply.
        return reply if reply in {"once", "no", "uncovered"} else "no"

    async with session.asked.lock:
        return await put_question(session, turn, use.id, question, emit, understood)


def _question(use: ToolUse, words: _ChangeWords, new: Sequence[GitEntry]) -> Question:
    lines = [one_line(one.words) for one in new]
    detail = "\n".join(lines[:MOST_NAMED])
    if len(lines) > MOST_NAMED:
        detail += f"\nand {len(lines) - MOST_NAMED:,} more"
    bound = repr((use.id, new)).encode("utf-8", "backslashreplace")
    return Question(
        id=hashlib.blake2b(bound, digest_size=16).hexdigest(),
        title=words.title,
        detail=detail,
        reason=words.reason,
        rule="",
        uncovered=UNCOVERED,
    )
