"""Tells the model what the user rejected of its changes: each once, with what it does to the file.

A verdict counts as told when the model has answered a request that carries it; a server that ends
before tells it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from indwell.agent.aftermath import EDITED_DIFF, cut_to_lines, stands_there
from indwell.agent.session import Session
from indwell.context.injections import inject
from indwell.messages import Text
from indwell.prompt.aftermath import beyond_verdict_words, verdict_words
from indwell.review.hunk import Hunk, Verdict
from indwell.workspace.base import Snapshot
from indwell.workspace.comparing.diff import compare, unified
from indwell.workspace.paths import display
from indwell.workspace.text import shown

MOST_FILES = 10  # of which the changes are shown in one request; of others only their names


class _Account(NamedTuple):
    """What is said of one file, and whether the model knows all of it then."""

    words: str
    knows_all: bool


async def verdict_blocks(session: Session, turn: int) -> tuple[Text, ...]:
    """A block for each file of which changes were rejected since; in order.

    A file that reads as the model knows it but for these counts as read again.
    """
    review = session.parts.review
    if review is None:
        return ()
    await review.refresh()  # somebody may have said it in a terminal
    waiting = {one.id for one in session.verdicts}
    news = [one for one in review.untold(session.id) if one.id not in waiting]
    session.verdicts = (*session.verdicts, *news)
    blocks: list[Text] = []
    by_path: dict[Path, list[Verdict]] = {}
    for verdict in news:
        by_path.setdefault(verdict.path, []).append(verdict)
    for path, verdicts in by_path.items():
        rejected = tuple(hunk for one in verdicts for hunk in one.rejected)
        n_accepted = sum(len(one.accepted) for one in verdicts)
        name = display(path, session.parts.workspace.roots)
        if not rejected or session.parts.hidden(name):
            continue
        if len(blocks) >= MOST_FILES:
            words = f"The user rejected {len(rejected)} of your changes of this file; read it again"
        else:
            words = await _words(session, path, name, rejected, n_accepted)
        words = await asyncio.to_thread(session.parts.hide, words)
        attributes = {"path": name, "rejected": str(len(rejected))}
        blocks.append(inject("changed_file", words, turn=turn, attributes=attributes))
    return tuple(blocks)


async def verdicts_heard(session: Session) -> None:
    """The model has answered a request that carries them: nobody tells it again."""
    review = session.parts.review
    if review is not None and session.verdicts:
        verdicts, session.verdicts = session.verdicts, ()
        await review.told(session.id, verdicts)


async def _words(
    session: Session, path: Path, name: str, rejected: Sequence[Hunk], n_accepted: int
) -> str:
    now = await stands_there(session.parts.workspace, path)
    known, digest = session.seen.text(path), session.seen.digest(path)
    account = await asyncio.to_thread(
        _account, name, rejected, n_accepted, now, known if digest else None
    )
    if isinstance(now, Snapshot) and digest and account.knows_all:
        session.seen.record(path, now.stamp.digest, now.text)
    session.aftermath.is_told(path, now)
    return account.words


def _account(
    name: str,
    rejected: Sequence[Hunk],
    n_accepted: int,
    now: Snapshot | str,
    known: str | None,
) -> _Account:
    diff = cut_to_lines("".join(map(_diff, rejected)), EDITED_DIFF)
    words = verdict_words(diff, n_rejected=len(rejected), n_accepted=n_accepted, is_gone=now == "")
    if not isinstance(now, Snapshot) or known is None or known == now.text:
        return _Account(words, knows_all=False)
    difference = compare(known, now.text)
    undone = sorted((one.new, one.old) for one in rejected)
    is_all = sorted((tuple(one.old), tuple(one.new)) for one in difference.places) == undone
    if is_all:
        return _Account(words, knows_all=True)
    more = shown(unified(difference, name))
    is_whole = len(more) <= EDITED_DIFF
    beyond = beyond_verdict_words(cut_to_lines(more, EDITED_DIFF), is_whole=is_whole)
    return _Account(f"{words}\n{beyond}", knows_all=is_whole)


def _diff(hunk: Hunk) -> str:
    """What a hunk did, as in a diff; without numbers of lines that have moved since."""
    if hunk.kind == "opaque":
        return f"[{hunk.note or 'no text'}]\n"
    lines = [f"-{line}" for line in hunk.old] + [f"+{line}" for line in hunk.new]
    ended = (line if line.endswith("\n") else f"{line}\n" for line in lines)
    return shown(f"@@ line {hunk.line} @@\n{''.join(ended)}")
