"""Asks about protected files that commands bring into git, and reports them to the model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext

import msgspec

from indwell.agent.core.events import Listener, Notice
from indwell.agent.core.session import Session
from indwell.agent.git.note import GitEntry
from indwell.agent.permission.decision import Permit, put_question
from indwell.messages import ToolUse
from indwell.policy.approvals import Question, Reply, one_line
from indwell.policy.widening import Widening
from indwell.tools.base import Call, Outcome

MOST_NAMED = 20  # entries that a question or a result lists
UNCOVERED = "it is about protected files"
_UNTIL = "until then nothing is sent anywhere without a question"


class _ChangeWords(msgspec.Struct, frozen=True):
    """The words for one kind of entry.

    Attributes:
        title: The title of the question.
        reason: The reason in the question.
        told: What happened; the names follow.
        refused: What to do after a no.
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
    "Go on although git's data could not be checked?",
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
    "a note of Indwell's is damaged",
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
    """Ask about what checks, hooks and background commands have brought into git.

    Call this before the next command is decided on. Returns the report for the model.
    """
    git = session.parts.changes.git
    if git is None or call.effect != "run":
        return ""
    return await _ask_about(session, use, await git.news(), emit)


async def command_begins(session: Session, call: Call, permit: Permit) -> None:
    """Note the state of git right before the command runs."""
    git = session.parts.changes.git
    if git is not None and call.effect == "run" and not permit.surely_reads:
        await git.begin()


async def command_ended(session: Session, call: Call, permit: Permit) -> tuple[GitEntry, ...]:
    """What the command brought into git, and nobody has agreed to."""
    git, widening = session.parts.changes.git, permit.widening
    if git is None or call.effect != "run" or permit.surely_reads:
        return ()
    new = await git.look(
        fetches=bool(widening.hosts or widening.unconfined),
        is_quick=widening.keeps_git and permit.rules.policy.writes_confined,
    )
    agreed = [one for one in new if _was_asked(one, widening)]
    await git.agree(agreed)  # the question before the command named this
    return tuple(one for one in new if one not in agreed)


async def report(
    session: Session, use: ToolUse, new: Sequence[GitEntry], outcome: Outcome, emit: Listener
) -> Outcome:
    """Ask about what a command brought into git, and add the report to its outcome."""
    told = await _ask_about(session, use, new, emit)
    return msgspec.structs.replace(outcome, text=f"{outcome.text}{told}") if told else outcome


def around(session: Session, *, reads_only: bool) -> AbstractAsyncContextManager[None]:
    """The context of a check or hook: what it brings into git is asked before the next command."""
    git = session.parts.changes.git
    return nullcontext() if git is None or reads_only else git.around()


def _was_asked(entry: GitEntry, widening: Widening) -> bool:
    """Did the user's yes to the command cover this?"""
    if entry.kind == "store":
        return widening.unconfined  # it could have written anything of the user's
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
        # Only a yes to this very question counts, not a standing one.
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
