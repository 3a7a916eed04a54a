"""Decides whether a folder is trusted, and writes the question to the user. Pure.

An answer covers the files that were executable or obeyed when the user gave the answer (TRU-05).
The answer for the nearest parent folder applies (TRU-06), but only to files that were there.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal, TypeAlias

import msgspec

from indwell.context.untrusted_text import one_line, short_line
from indwell.files.spelling import exact_parts
from indwell.settings.credentials import redacted
from indwell.settings.trusted_files import FolderAnswer, TrustedFile, line_digest
from indwell.workspace.executable_places import FILES, FOLDERS, Executable, Kind

State: TypeAlias = Literal["trusted", "restricted", "open"]

STAY = "Stay restricted"
TRUST = "Trust this folder"
LEAVE = "Leave them out"
USE = "Use them"

MOST_NAMES = 12  # A list has at most 12 files of each kind; for more, the list names their folders.
# A list has at most 150 entries of each kind, which is more than all well-known names.
MOST_SHOWN = 150
MANY = 3  # A long list names a folder in place of 3 or more files.
MOST_COMPARED = 200  # A longer text is not compared; only its new lines are listed.
MOST_LINES = 30  # A diff in a question has at most 30 lines, about as many as fit in a dialog.
LINE_CHARACTERS = 160

_KINDS: Mapping[Kind, str] = {
    "programs": "Run or loaded by git, editors, shells and tools on their own",
    "servers": "Servers that agents start",
    "settings": "Settings of Indwell, which may tighten yours and name commands to run as hooks",
    "instructions": "Instructions that would go to the model",
}
"""The kinds in the order of the question: the most dangerous kind comes first."""

_LOOKED_FOR = frozenset(name for _, name in FILES)

_OPENING = (
    "It is restricted now: Indwell reads and answers, but does not edit files or run commands. "
    "If you trust it, Indwell does both, as your mode and rules allow"
)
_AGAIN = "You are asked again when one of these files changes."


class TrustStanding(msgspec.Struct, frozen=True):
    """The trust status of a folder.

    Attributes:
        folder: The folder's real path.
        state: ``open`` means that no answer covers the current files, so the folder is restricted.
        by: The reason for ``state``, as a clause.
        items: The folder's executable or obeyed files, or empty if Indwell did not search for them.
        before: The files that were trusted before, or None if no file was trusted.
        is_whole: Whether the folder is trusted with any content, now and later.
        remedy: A remedy for the user if the folder is restricted, in words.
        is_bare: Whether only the editor's user trusts the folder: it may be changed, and commands
            may run, but its own ``items`` have no effect.
        is_settled: Whether the user has decided to leave out exactly these ``items`` and ``met``.
        met: The instruction files of subfolders that the agent met in this process and left out.
    """

    folder: str
    state: State
    by: str
    items: tuple[Executable, ...] = ()
    before: Mapping[str, TrustedFile] | None = None
    is_whole: bool = False
    remedy: str = "to trust it, run `indwell trust` in it"
    is_bare: bool = False
    is_settled: bool = False
    met: tuple[Executable, ...] = ()

    @property
    def question(self) -> str:
        """The trust question to the user."""
        if self.is_bare:
            return left_out_question(self.folder, self.items, self.before)
        return question_words(self.folder, self.items, self.before)

    @property
    def titles(self) -> tuple[str, str]:
        """The answers to the question; the first one changes nothing."""
        return (LEAVE, USE) if self.is_bare else (STAY, TRUST)

    @property
    def undecided(self) -> str:
        """A phrase that counts files that wait for the user's decision, or empty if none waits."""
        if self.state != "trusted" or self.is_settled:
            return ""
        return left_out_words((*(self.items if self.is_bare else ()), *self.met))

    @property
    def git_is_unknown(self) -> bool:
        """Whether git would run or obey files of a bare folder."""
        return self.is_bare and any(map(_is_of_git, self.items))


def nearest(folder: str, answers: Mapping[str, FolderAnswer]) -> str | None:
    """Return this folder or its nearest parent for which the user has answered, or None."""
    parts = exact_parts(folder)
    above = [one for one in answers if parts[: len(exact_parts(one))] == exact_parts(one)]
    return max(above, key=lambda one: len(exact_parts(one)), default=None)


def is_unchanged(before: Mapping[str, TrustedFile], now: Sequence[Executable]) -> bool:
    """Return whether each current file was trusted with the same content; files may be missing."""
    return all(
        one.seen.digest and one.name in before and before[one.name].digest == one.seen.digest
        for one in now
    )


def question_words(
    folder: str, items: Sequence[Executable], before: Mapping[str, TrustedFile] | None
) -> str:
    """Write the question, with the files that trust would enable."""
    if before is not None:
        opening = (
            f"Indwell: files of {one_line(folder)!r} that you trusted have changed. Trust the "
            "folder as it is now? Until then nothing in it is changed or run."
        )
        return "\n".join([opening, *_shown_difference(before, items)])
    lines = [
        f"Indwell: do you trust the files in {one_line(folder)!r}?",
        f"{_OPENING}, and these files take effect:"
        if items
        else f"{_OPENING}. The folder has no files so far that trust would enable.",
    ]
    lines += _by_kind(items)
    lines.append(_AGAIN if items else "Indwell asks again when one appears.")
    return "\n".join(lines)


def left_out_question(
    folder: str, items: Sequence[Executable], before: Mapping[str, TrustedFile] | None
) -> str:
    """Word the question about the files of a folder that the editor's user trusts.

    Files that changed since an earlier yes are shown with the difference.
    """
    listed = _by_kind(items) if before is None else _shown_difference(before, items)
    opening = (
        f"Indwell: use the files that {one_line(folder)!r} brings for tools and agents?\n"
        "You trust the folder in the editor, so Indwell edits files and runs commands as your "
        "mode and rules allow. Until you answer, these files have no effect on Indwell, Indwell "
        "asks before git runs their programs, and starts no check or server by itself:"
    )
    closing = _AGAIN
    if before is not None:
        closing += f" “{LEAVE}” also leaves out the files that you used before."
    return "\n".join([opening, *listed, closing])


_COUNTED: Mapping[Kind, tuple[str, str]] = {
    "settings": ("1 file of settings", "{} files of settings"),
    "instructions": ("1 file of instructions", "{} files of instructions"),
    "servers": ("1 file of servers", "{} files of servers"),
    "programs": ("1 file that tools run", "{} files that tools run"),
}


def left_out_words(items: Sequence[Executable]) -> str:
    """Count the files that have no effect, by kind; return an empty text if there are no files."""
    counts = Counter(one.kind for one in items)
    words = [
        one if counts[kind] == 1 else many.format(counts[kind])
        for kind, (one, many) in _COUNTED.items()
        if counts[kind]
    ]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _is_of_git(item: Executable) -> bool:
    """Return whether git runs or obeys a file, and no list of names contains the file."""
    name = item.name
    is_named = name in _LOOKED_FOR or any(name.startswith(f"{one}/") for _, one in FOLDERS)
    return item.kind == "programs" and not is_named


def restricted_words(standing: TrustStanding, n_instructions: int) -> str:
    """Write the notice about a restricted folder, which is shown once with a prompt."""
    ignored = (
        f" {n_instructions} instruction {'file' if n_instructions == 1 else 'files'} ignored "
        "(untrusted)."
        if n_instructions
        else ""
    )
    return (
        f"{one_line(standing.folder)!r} is restricted ({standing.by}): reading and answering "
        f"works, edits and commands do not.{ignored} What to do: {standing.remedy}."
    )


def _by_kind(items: Sequence[Executable]) -> Iterator[str]:
    for kind, words in _KINDS.items():
        names = [one.name for one in items if one.kind == kind]
        if names:
            yield f"- {words}: {_listed(names)}"


def _listed(names: Sequence[str]) -> str:
    """List the names; in a long list, one entry replaces the many files of a folder."""
    counts = Counter(map(_front, names))
    is_long = len(names) > MOST_NAMES
    shown = list(
        dict.fromkeys(
            f"{_front(name)}/ ({counts[_front(name)]} files)"
            if is_long and counts[_front(name)] > MANY and name not in _LOOKED_FOR
            else name
            for name in sorted(names, key=_rank)
        )
    )
    words = ", ".join(short_line(name, LINE_CHARACTERS) for name in shown[:MOST_SHOWN])
    left = len(shown) - MOST_SHOWN
    return f"{words} and {left} more" if left > 0 else words


def _rank(name: str) -> tuple[bool, bool, str]:
    """Return a sort key: well-known names first, files of nested repositories last."""
    is_own = name.startswith(".git/") or any(name.startswith(f"{one}/") for _, one in FOLDERS)
    return name not in _LOOKED_FOR, not is_own, name


def _front(name: str) -> str:
    """Return the folder that replaces a file in a long list."""
    known = (folder for _, folder in FOLDERS if name.startswith(f"{folder}/"))
    return next(known, name.rpartition("/")[0] or ".")


def _shown_difference(before: Mapping[str, TrustedFile], now: Sequence[Executable]) -> list[str]:
    lines = list(islice(_difference(before, now), MOST_LINES + 1))
    if len(lines) > MOST_LINES:
        lines[MOST_LINES] = "… and more"
    return lines


def _difference(before: Mapping[str, TrustedFile], now: Sequence[Executable]) -> Iterator[str]:
    """Yield each file that differs, with its new lines and the number of removed lines.

    All names come first, so that a long diff of one file cannot hide another file.
    """
    changed = [one for one in now if not is_unchanged(before, (one,))]
    new = [one.name for one in changed if one.name not in before]
    if new:
        yield f"New: {_listed(new)}"
    altered = [one.name for one in changed if one.name in before]
    if altered:
        yield f"Changed: {_listed(altered)}"
    present = {one.name for one in now}
    gone = [name for name in before if name not in present]
    if gone:
        yield f"Gone: {_listed(gone)}"
    for one in changed:
        yield f"{short_line(one.name, LINE_CHARACTERS)}:"
        yield from _line_difference(before.get(one.name, TrustedFile("")).lines, one)


def _line_difference(before: Sequence[str], now: Executable) -> Iterator[str]:
    if not now.lines:
        yield "  (its text is not shown: long, no text, or likely to hold keys)"
        return
    digests = [line_digest(line) for line in now.lines]
    if max(len(before), len(digests)) > MOST_COMPARED:
        yield from _new_lines(before, digests, now.lines)
        return
    matcher = difflib.SequenceMatcher(None, before, digests, autojunk=False)
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag == "equal":
            continue
        if last > first:
            yield f"− {last - first} {'line' if last - first == 1 else 'lines'}"
        for line in now.lines[start:end]:
            yield f"+ {short_line(redacted(line), LINE_CHARACTERS)}"


def _new_lines(
    before: Sequence[str], digests: Sequence[str], lines: Sequence[str]
) -> Iterator[str]:
    """Yield the new lines and the number of removed lines, in linear time."""
    gone = Counter(before) - Counter(digests)
    new = Counter(digests) - Counter(before)
    if not gone and not new:
        yield "  (its lines are in another order)"
    if gone:
        yield f"− {gone.total()} {'line' if gone.total() == 1 else 'lines'}"
    for digest, line in zip(digests, lines, strict=True):
        if new[digest] > 0:
            new[digest] -= 1
            yield f"+ {short_line(redacted(line), LINE_CHARACTERS)}"
