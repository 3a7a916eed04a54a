"""Tells the model which of its changes the user rejected: each once, with its effect.

A verdict counts as told when the model has answered a request that carries it; a server that ends
before tells it again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from indwell.agent.core.session import Session
from indwell.agent.features.review_news.aftermath import (
    EDITED_DIFF,
    cut_to_lines,
    mark_of,
    stands_there,
)
from indwell.context.injections import inject
from indwell.messages import Text
from indwell.prompt.aftermath import beyond_verdict_words, verdict_words
from indwell.review.hunk import Hunk, Verdict
from indwell.review.records import digest
from indwell.workspace.base import Snapshot
from indwell.workspace.comparing.diff import compare, unified
from indwell.workspace.paths import display
from indwell.workspace.text import shown

MOST_FILES = 10  # files whose changes one request shows; others are only named


class _RejectedFile(NamedTuple):
    """What is said of one file, and whether the model then knows all of it."""

    words: str
    n_rejected: int
    knows_all: bool


class Rejections(NamedTuple):
    """What a request says of rejected changes, and what is known once it is told.

    Attributes:
        blocks: One for each file.
        verdicts: The verdicts that the blocks tell, and those that need no words.
        marks: The files that they are about, with the marks of their contents; see ``mark_of``.
        known: The contents that the model knows then.
    """

    blocks: tuple[Text, ...]
    verdicts: tuple[Verdict, ...]
    marks: Mapping[Path, str]
    known: tuple[tuple[Path, Snapshot], ...]


NO_REJECTIONS = Rejections((), (), {}, ())


async def rejections(
    session: Session, turn: int, hidden: Callable[[str], bool], waiting: Sequence[Verdict]
) -> Rejections:
    """Return a block for each file with newly rejected changes, in order.

    A file that reads as the model knows it but for these counts as read again. Rejected changes
    that the user has put back are not mentioned, because the file reads as the model left it.

    Args:
        session: The session that made the changes.
        turn: The turn of the blocks.
        hidden: Does a deny rule keep this displayed path from the model?
        waiting: Verdicts in requests that the model has not answered.
    """
    review = session.parts.changes.ledger
    if review is None:
        return NO_REJECTIONS
    await review.refresh()  # the verdict may have been given in a terminal
    ids = {one.id for one in waiting}
    news = tuple(one for one in review.untold(session.id) if one.id not in ids)
    blocks: list[Text] = []
    marks: dict[Path, str] = {}
    known: list[tuple[Path, Snapshot]] = []
    by_path: dict[Path, list[Verdict]] = {}
    for verdict in news:
        by_path.setdefault(verdict.path, []).append(verdict)
    for path, verdicts in by_path.items():
        name = display(path, session.parts.workspace.roots)
        if hidden(name):
            continue
        now = await stands_there(session.parts.workspace, path)
        seen = session.seen.text(path) if session.seen.digest(path) else None
        account = await asyncio.to_thread(_account, name, verdicts, now, seen)
        if account is None:
            continue
        words, n_rejected = account.words, account.n_rejected
        if len(blocks) >= MOST_FILES:
            words = f"The user rejected {n_rejected} of your changes of this file; read it again"
        else:
            marks[path] = mark_of(now)
            if isinstance(now, Snapshot) and session.seen.digest(path) and account.knows_all:
                known.append((path, now))
        words = await asyncio.to_thread(session.parts.secrets.hide, words)
        attributes = {"path": name, "rejected": str(n_rejected)}
        blocks.append(inject("changed_file", words, turn=turn, attributes=attributes))
    return Rejections(tuple(blocks), news, marks, tuple(known))


def _account(
    name: str, verdicts: Sequence[Verdict], now: Snapshot | str, known: str | None
) -> _RejectedFile | None:
    """Describe a file's rejections; None if the user has put back what was rejected."""
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
    """Return the verdicts, oldest first, that the user has not undone in an editor.

    Args:
        verdicts: Verdicts on one file.
        reads: The digest of its present text.

    Returns:
        None if the verdicts do not lead to this text, so that it cannot be told from them alone.
    """
    for n in range(len(verdicts), 0, -1):
        if verdicts[n - 1].became == reads:
            return tuple(verdicts[:n])
    return () if verdicts and verdicts[0].was == reads else None


def _is_gone(text: str, places: Collection[tuple[str | None, ...]], hunk: Hunk) -> bool:
    """Do the model's knowledge and the file's text show that the change was taken back?"""
    if hunk.kind == "opaque" or (*hunk.old, None, *hunk.new) in places:
        return True
    new = "".join(hunk.new)
    return bool(new) and new not in text


def _diff(hunk: Hunk) -> str:
    """Return what a hunk did, as in a diff, without line numbers, which have moved since."""
    if hunk.kind == "opaque":
        return f"[{hunk.note or 'no text'}]\n"
    lines = [f"-{line}" for line in hunk.old] + [f"+{line}" for line in hunk.new]
    ended = (line if line.endswith("\n") else f"{line}\n" for line in lines)
    return shown(f"@@ line {hunk.line} @@\n{''.join(ended)}")
