"""Applies edits to a text that may have changed since the model read the file.

The edits are made on the text that the model knows, then merged with later changes by others. If
both changed the same lines, nothing is written, and the model sees these lines. If the user allowed
only some of the shown hunks, the other hunks are left out. If the edit would now have different
hunks, nothing is written (POL-22).

The report of an edit has one sentence, the diff and the counts of lines. The report also says if an
edited JSON or TOML file is no longer valid.
"""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath

import msgspec

from indwell.errors import EditRefused, ToolError
from indwell.files.spelling import quoted
from indwell.policy.approvals import Chosen
from indwell.tools.base import Outcome, ToolContext
from indwell.tools.editing.replace import Replacement, replaced
from indwell.tools.truncate import cut_diff
from indwell.workspace.base import AppliedChange, Snapshot, digest
from indwell.workspace.comparing.diff import DiffHunk, OtherHunks, compare, take_hunks, unified
from indwell.workspace.comparing.merge import Conflict, merge
from indwell.workspace.paths import display
from indwell.workspace.text import shown, split_lines

OTHERS_LIMIT = 1_500  # The model sees at most 1,500 characters of others' changes.
MAX_CONFLICTS = 5  # One message to the model has at most 5 conflicts.
CONFLICT_LINES = 40  # The model sees at most 40 lines of each side of a conflict.
LINE_CHARS = 1_000  # The model sees at most 1,000 characters of each line.
SIDE_CHARS = 4_000  # The model sees at most 4,000 characters of all lines.
CHANGED = "has changed since it was read (by the user, a sub-agent, a formatter or a command)"

MOVED = "what it would do changed while the user was asked; nothing was done"


class Proposal(msgspec.Struct, frozen=True):
    """The text that a file should get.

    Attributes:
        text: The whole text.
        known: The text that the model knows once the file is written: ``text``, or a part of it.
        notes: Notes for the model about how the old texts were found.
        others: Later changes by others, for the model, as a unified diff that may be cut.
    """

    text: str
    known: str
    notes: tuple[str, ...] = ()
    others: str = ""


class Collision(msgspec.Struct, frozen=True):
    """The edit failed, because others changed the same lines, or had already made the changes.

    Attributes:
        known: The text that the model knows after reading ``words``: the text that the model had
            read, with the current state of the shown lines. Other new lines are not included,
            because the model could otherwise remove lines without having seen them.
        words: The message for the model.
    """

    known: str
    words: str


def propose(known: str, now: str, edits: Sequence[Replacement], path: str) -> Proposal | Collision:
    """Apply ``edits`` to the ``known`` text, and merge the result with the current text (``now``).

    Raises:
    ToolError: The edits cannot be made, and the text has not changed.
    """
    if known == now:
        made = replaced(now, edits, path)
        return Proposal(made.text, made.text, made.notes)
    others, is_whole = cut_others(known, now, path)
    try:
        made = replaced(known, edits, path)
    except ToolError:
        return _unread(known, now, edits, path, (others, is_whole))
    merged = merge(known, made.text, now)
    if merged.conflicts:
        return _collision(merged.base, merged.conflicts, path)
    return Proposal(merged.text, merged.text if is_whole else made.text, made.notes, others)


def cut_others(known: str, now: str, path: str) -> tuple[str, bool]:
    """Return the shortened diff from the known to the current text, and whether it is complete."""
    diff = shown(unified(compare(known, now), path))
    if len(diff) <= OTHERS_LIMIT:
        return diff, True
    stop = diff.rfind("\n", 0, OTHERS_LIMIT) + 1 or OTHERS_LIMIT
    return f"{diff[:stop]}[… {diff.count(chr(10), stop):,} more lines of diff …]\n", False


def _unread(
    known: str, now: str, edits: Sequence[Replacement], path: str, others: tuple[str, bool]
) -> Collision:
    """Show text that the model has not read, because the edits do not fit the known text."""
    diff, is_whole = others
    words = f"{quoted(path)} {CHANGED}; nothing was edited. "
    try:
        replaced(now, edits, path, exactly=True)
    except ToolError as error:
        words += f"In the current text, {error}\n"
        words += "What was changed since:" if is_whole else "read_file it. The difference begins:"
    else:
        words += "The edit fits the current text; repeat it if it is still right. "
        words += "What was changed:" if is_whole else "read_file it first. The difference begins:"
    return Collision(now if is_whole else known, f"{words}\n{diff}".rstrip("\n"))


def _collision(base: str, conflicts: Sequence[Conflict], path: str) -> Collision:
    """Show the conflicting lines, and record only these lines as known."""
    head = f"{quoted(path)} {CHANGED}, in lines that this edit changes too; nothing was edited. "
    words = [f"{head}Repeat the edit on the current text"]
    pieces, at = [], 0
    for conflict in conflicts[:MAX_CONFLICTS]:
        place, is_whole = _place(conflict)
        words.append(place)
        if is_whole:
            start = conflict.base.start
            pieces += [base[at:start], conflict.theirs.text]
            at = start + len(conflict.base.text)
    n_more = len(conflicts) - MAX_CONFLICTS
    if n_more > 0:
        words.append(f"and {n_more} more such places; read_file it")
    return Collision("".join([*pieces, base[at:]]), "\n".join(words))


def _place(conflict: Conflict) -> tuple[str, bool]:
    """Return the current and the wanted lines, shortened, and whether the current are complete."""
    first, lines = conflict.theirs.line, split_lines(conflict.theirs.text)
    now = f"lines {first} to {first + len(lines) - 1} now:" if len(lines) > 1 else f"line {first}:"
    if not lines:
        now = f"before line {first}, where lines were deleted:"
    there, is_whole = _bounded(lines)
    numbered = [f"{number}\t{line}" for number, line in enumerate(there, first)]
    wanted = split_lines(conflict.mine.text)
    mine, _ = _bounded(wanted)
    words = [
        *(now, *numbered, *_more(len(lines) - len(there))),
        *("the edit wanted there:", *(mine or ["(nothing)"]), *_more(len(wanted) - len(mine))),
    ]
    return "\n".join(words), is_whole


def _bounded(lines: Sequence[str]) -> tuple[list[str], bool]:
    """Return the first lines, shortened, without line breaks, and whether all text is included."""
    told: list[str] = []
    room, is_whole = SIDE_CHARS, True
    for line in lines[:CONFLICT_LINES]:
        plain = line.rstrip("\r\n")
        part = plain[: min(LINE_CHARS, room)]
        if len(part) < len(plain):
            is_whole = False
            told.append(f"{shown(part)}[… {len(plain) - len(part):,} more characters]")
        else:
            told.append(shown(part))
        room -= len(part)
        if not room:
            break
    return told, is_whole and len(told) == len(lines)


def _more(n_lines: int) -> list[str]:
    return [f"[… {n_lines} more lines; read_file them …]"] if n_lines else []


class RefusedHunks(msgspec.Struct, frozen=True):
    """The hunks that the user did not allow, and the number of all hunks."""

    hunks: tuple[DiffHunk, ...] = ()
    of: int = 0


async def allowed_part(
    snapshot: Snapshot, proposal: Proposal, context: ToolContext, name: str
) -> tuple[Proposal, RefusedHunks]:
    """Return the part of a proposal that may be written, and the refused hunks.

    Raises:
        EditRefused: The hunks differ from the hunks that the user saw.
    """
    if context.chosen is None:
        return proposal, RefusedHunks()
    known = context.seen.text(snapshot.path)
    try:
        return await asyncio.to_thread(_part, snapshot, proposal, context.chosen, name, known)
    except OtherHunks:
        raise EditRefused(MOVED) from None


def check_whole(path: str, context: ToolContext) -> None:
    """Check a change without hunks, because it is written whole or in place.

    Raises:
    EditRefused: Hunks were shown, so the file has changed since the question.
    """
    if context.chosen is not None:
        raise EditRefused(f"{quoted(path)}: {MOVED}")


def with_refused(outcome: Outcome, refused: RefusedHunks) -> Outcome:
    """Return the outcome of an edit, with the hunks that the user did not allow."""
    n_refused = len(refused.hunks)
    if not n_refused:
        return outcome
    were = "1 was" if n_refused == 1 else f"{n_refused} were"
    diff = cut_diff("".join(f"{hunk.header}\n{hunk.text}" for hunk in refused.hunks))
    words = (
        f"{outcome.text}\nThe user was asked hunk by hunk: {refused.of - n_refused} of "
        f"{refused.of} hunks of this edit were allowed, and the diff above is all that was "
        f"applied. {were} refused and not applied; do not repeat them unless the user asks:\n"
        f"{diff.rstrip(chr(10))}"
    )
    figure = f"{outcome.figure}, {refused.of - n_refused} of {refused.of} hunks"
    return msgspec.structs.replace(outcome, text=words, figure=figure)


def _part(
    snapshot: Snapshot, proposal: Proposal, chosen: Chosen, name: str, known: str | None
) -> tuple[Proposal, RefusedHunks]:
    taken = take_hunks(snapshot.text, proposal.text, name, of=chosen.of, ids=chosen.hunks)
    now_known = taken.text
    if proposal.known != proposal.text:  # Others wrote text that the model has not seen.
        before = snapshot.text if known is None else known
        merged = merge(snapshot.text, taken.text, before)
        now_known = before if merged.conflicts else merged.text
    part = msgspec.structs.replace(proposal, text=taken.text, known=now_known)
    return part, RefusedHunks(taken.left, len(chosen.of))


LIMIT = 1_000_000  # Parsing this many characters takes about 20 ms.
_READERS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    ".json": ("JSON", json.loads),
    ".ipynb": ("JSON", json.loads),
    ".toml": ("TOML", tomllib.loads),
    ".lock": ("TOML", tomllib.loads),
}


class _ChangeAccount(msgspec.Struct, frozen=True):
    """The report of a change, and the text that the model knows after reading the report."""

    outcome: Outcome
    known: str
    digest: str


async def edit_result(
    change: AppliedChange, proposal: Proposal, context: ToolContext, did: str
) -> Outcome:
    """Return the result of an edit, and record the text that the model then knows.

    Args:
        change: The written change.
        proposal: The change as the model proposed it.
        context: The context of the call.
        did: A phrase about what the edit did.
    """
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
        # The model knows its own proposal, and the shown part of later changes.
        late, is_known = cut_others(proposal.text, change.after, name)
        # Both texts include earlier changes by others, of which the model may have seen only a
        # part.
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
    if change.before is not None:  # The model has just written all of a new file.
        pieces.append(cut_diff(diff))
    if proposal.others:
        pieces += [
            f"{name} had changed since it was read, and the edit was merged with that change:",
            proposal.others,
        ]
    if late and change.n_left_out:
        pieces += ["what the user left out, as a diff of the wanted text to the present one:", late]
    elif late:
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
    """Report that a file was valid before and is invalid now, or return no text (ENC-15).

    New files, and files that were invalid before, such as JSON with comments, are not checked.
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
