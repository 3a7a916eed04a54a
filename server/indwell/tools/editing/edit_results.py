"""Reports a change: one sentence, the diff, the figures; records the text that the model knows.

The report says so if an edited JSON or TOML file no longer parses.
"""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath

import msgspec

from indwell.tools.base import Outcome, ToolContext
from indwell.tools.editing.rebase import Proposal, cut_others
from indwell.tools.truncate import cut_diff
from indwell.workspace.base import AppliedChange, digest
from indwell.workspace.comparing.diff import compare, unified
from indwell.workspace.paths import display
from indwell.workspace.text import shown

LIMIT = 1_000_000  # characters; parsing them takes about 20 ms
_READERS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    ".json": ("JSON", json.loads),
    ".ipynb": ("JSON", json.loads),
    ".toml": ("TOML", tomllib.loads),
    ".lock": ("TOML", tomllib.loads),
}


class _ChangeAccount(msgspec.Struct, frozen=True):
    """The report of a change, and the text that the model knows after reading it."""

    outcome: Outcome
    known: str
    digest: str


async def told(
    change: AppliedChange, proposal: Proposal, context: ToolContext, did: str
) -> Outcome:
    """Return the result of an edit; ``did`` describes the edit."""
    account = await asyncio.to_thread(_account, change, proposal, context.workspace.roots, did)
    context.seen.record(change.path, account.digest, account.known)
    return account.outcome


def _account(
    change: AppliedChange, proposal: Proposal, roots: tuple[Path, ...], did: str
) -> _ChangeAccount:
    name = display(change.path, roots)
    difference = compare(change.before, change.after)
    n_added, n_removed = difference.n_added, difference.n_removed
    figure = f"+{n_added} \N{MINUS SIGN}{n_removed}"
    diff = shown(unified(difference, name))
    words = [f"{did}: {figure}", *proposal.notes]
    known, late, is_known = proposal.known, "", change.verified
    if change.after != proposal.text:
        # The model knows its proposal, and the shown part of the result.
        late, is_known = cut_others(proposal.text, change.after, name)
        # Both include earlier text of others, of which it may have seen only a part.
        if is_known and proposal.known == proposal.text:
            known = change.after
    if change.note:
        words.append(change.note)
    if not is_known:
        words.append("it could not be verified; read_file it")
    spoilt = parse_damage(name, change.before, change.after)
    if spoilt:
        words.append(spoilt)
    pieces = ["; ".join(words)]
    if change.before is not None:  # the model has just written all of a new file
        pieces.append(cut_diff(diff))
    if proposal.others:
        pieces += [
            f"{name} had changed since it was read, and the edit was merged with that change:",
            proposal.others,
        ]
    if late:
        pieces += ["right after the edit, this was changed:", late]
    outcome = Outcome(
        text="\n".join(piece.rstrip("\n") for piece in pieces),
        figure=figure,
        diff=diff,
        counts=(n_added, n_removed),
        changes=(change,),
    )
    mark = change.stamp.digest if known == change.after == proposal.text else digest(known)
    return _ChangeAccount(outcome, known, mark)


def parse_damage(name: str, before: str | None, after: str) -> str:
    """Say so if the file could be parsed before and cannot be now; else empty (ENC-15).

    A file that could not be parsed before, such as JSON with comments, or a new file, is not
    checked.
    """
    suffix = PurePath(name).suffix.lower()
    if before is None or suffix not in _READERS or max(len(before), len(after)) > LIMIT:
        return ""
    kind, read = _READERS[suffix]
    problem = _problem(read, after)
    if not problem or _problem(read, before):
        return ""
    return f"{name} was valid {kind} before and is not now ({problem})"


def _problem(read: Callable[[str], object], text: str) -> str:
    try:
        read(text)
    except (ValueError, RecursionError) as error:
        return str(error)[:200]
    return ""
