"""Tells the model which of its changes the user rejected: each once, with its effect.

A verdict counts as told when the model has answered a request that carries it; a server that ends
before tells it again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from indwell.agent.core.aftermath import EDITED_DIFF, cut_to_lines, stands_there
from indwell.agent.core.session import Session
from indwell.context.injections import inject
from indwell.messages import Text
from indwell.prompt.aftermath import beyond_verdict_words, verdict_words
from indwell.review.hunk import Hunk, Verdict
from indwell.review.records import digest
from indwell.workspace.base import Snapshot
from indwell.workspace.comparing.diff import compare, unified
from indwell.workspace.paths import display
from indwell.workspace.text import shown

MOST_FILES = 10  # of which the changes are shown in one request; of others only their names


class _RejectedFile(NamedTuple):
    """What is said of one file, and whether the model knows all of it then."""

    words: str
    n_rejected: int
    knows_all: bool


async def verdict_blocks(
    session: Session, turn: int, *, peek: dict[Path, str] | None = None
) -> tuple[Text, ...]:
    """A block for each file of which changes were rejected since; in order.

    A file that reads as the model knows it but for these counts as read again. Of what the user
    has put back since nothing is said: it stands there as the model left it.

    Args:
        session: Whose changes they are.
        turn: That the blocks come with.
        peek: If given, nothing is taken for told; the files that would be are put in, each with
            what ``Aftermath`` knows it by.
    """
    review = session.parts.review
    if review is None:
        return ()
    await review.refresh()  # somebody may have said it in a terminal
    waiting = {one.id for one in session.verdicts}
    news = [one for one in review.untold(session.id) if one.id not in waiting]
    blocks: list[Text] = []
    hidden = session.parts.rules().hidden
    by_path: dict[Path, list[Verdict]] = {}
    for verdict in news:
        by_path.setdefault(verdict.path, []).append(verdict)
    for path, verdicts in by_path.items():
        name = display(path, session.parts.workspace.roots)
        if hidden(name):
            continue
        is_long = len(blocks) >= MOST_FILES
        told = await _told(session, path, name, verdicts, is_long=is_long, peek=peek)
        if told is None:
            continue
        words, n_rejected = told.words, told.n_rejected
        words = await asyncio.to_thread(session.parts.hide, words)
        attributes = {"path": name, "rejected": str(n_rejected)}
        blocks.append(inject("changed_file", words, turn=turn, attributes=attributes))
    if peek is None:  # only now: a turn that was stopped before carries none of them
        session.verdicts = (*session.verdicts, *news)
    return tuple(blocks)


async def verdicts_heard(session: Session) -> None:
    """The model has answered a request that carries them: nobody tells it again."""
    review = session.parts.review
    if review is not None and session.verdicts:
        verdicts, session.verdicts = session.verdicts, ()
        await review.told(session.id, verdicts)


async def _told(
    session: Session,
    path: Path,
    name: str,
    verdicts: Sequence[Verdict],
    *,
    is_long: bool,
    peek: dict[Path, str] | None,
) -> _RejectedFile | None:
    """What is said of a file, if anything is; ``is_long``: only that there is something."""
    now = await stands_there(session.parts.workspace, path)
    known = session.seen.text(path) if session.seen.digest(path) else None
    account = await asyncio.to_thread(_account, name, verdicts, now, known)
    if account is None:
        return None
    if is_long:
        n_rejected = account.n_rejected
        words = f"The user rejected {n_rejected} of your changes of this file; read it again"
        return _RejectedFile(words, n_rejected, knows_all=False)
    if peek is not None:
        peek[path] = now.stamp.digest if isinstance(now, Snapshot) else now
        return account
    if isinstance(now, Snapshot) and session.seen.digest(path) and account.knows_all:
        session.seen.record(path, now.stamp.digest, now.text)
    session.aftermath.is_told(path, now)
    return account


def _account(
    name: str, verdicts: Sequence[Verdict], now: Snapshot | str, known: str | None
) -> _RejectedFile | None:
    """None: the user has put back what was rejected, so it is as if nothing had been."""
    text = now.text if isinstance(now, Snapshot) else None
    holding = in_force(verdicts, digest(text)) if text is not None or now == "" else None
    is_sure = holding is not None
    verdicts = verdicts if holding is None else holding
    rejected = tuple(hunk for one in verdicts for hunk in one.rejected)
    if not rejected:
        return None
    n_accepted = sum(len(one.accepted) for one in verdicts)
    difference = None if text is None or known is None else compare(known, text)
    places = [] if difference is None else [(*one.new, None, *one.old) for one in difference.places]
    undone = [(*one.old, None, *one.new) for one in rejected]
    is_sure = is_sure or text is None or all(map(partial(_is_gone, text, places), rejected))
    diff = cut_to_lines("".join(map(_diff, rejected)), EDITED_DIFF)
    words = verdict_words(
        diff,
        n_rejected=len(rejected),
        n_accepted=n_accepted,
        is_gone=now == "",
        is_sure=is_sure,
    )
    n_rejected = len(rejected)
    if difference is None or not difference.places:
        return _RejectedFile(words, n_rejected, knows_all=False)
    is_chain = holding is not None and verdicts[0].was == digest(known)
    if is_chain or Counter(places) == Counter(undone):
        return _RejectedFile(words, n_rejected, knows_all=True)
    more = shown(unified(difference, name))
    is_whole = len(more) <= EDITED_DIFF
    beyond = beyond_verdict_words(cut_to_lines(more, EDITED_DIFF), is_whole=is_whole)
    return _RejectedFile(f"{words}\n{beyond}", n_rejected, knows_all=is_whole)


def in_force(verdicts: Sequence[Verdict], reads: str) -> tuple[Verdict, ...] | None:
    """Those of some verdicts, oldest first, that the user has not undone in an editor.

    Args:
        verdicts: On one file.
        reads: Digest of what it reads now.

    Returns:
        None if the text is none that the verdicts led to, so it cannot be told from them alone.
    """
    for n in range(len(verdicts), 0, -1):
        if verdicts[n - 1].became == reads:
            return tuple(verdicts[:n])
    return () if verdicts and verdicts[0].was == reads else None


def _is_gone(text: str, places: Collection[tuple[str | None, ...]], hunk: Hunk) -> bool:
    """Can it be seen, from what the model knew and what the file reads, that it is taken back?"""
    if hunk.kind == "opaque" or (*hunk.old, None, *hunk.new) in places:
        return True
    new = "".join(hunk.new)
    return bool(new) and new not in text


def _diff(hunk: Hunk) -> str:
    """What a hunk did, as in a diff; without numbers of lines that have moved since."""
    if hunk.kind == "opaque":
        return f"[{hunk.note or 'no text'}]\n"
    lines = [f"-{line}" for line in hunk.old] + [f"+{line}" for line in hunk.new]
    ended = (line if line.endswith("\n") else f"{line}\n" for line in lines)
    return shown(f"@@ line {hunk.line} @@\n{''.join(ended)}")
