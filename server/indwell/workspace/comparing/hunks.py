"""The hunks of a unified diff, one by one: named by what they do, and taken without the others.

A name hangs on the lines alone, not on where they stand: it means the same change after somebody
has typed above it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from indwell.workspace.comparing.diff import TextEdit, apply_edits, compare, grouped, unified
from indwell.workspace.text import shown, split_lines

_HEADER = re.compile(r"^@@ .*\n", re.MULTILINE)  # no line of a text begins so in a diff


class DiffHunk(NamedTuple):
    """A hunk of a unified diff.

    Attributes:
        id: Names it among those of its diff: a hash of its lines, and which of several alike.
        header: Its first line, such as ``@@ -1,4 +1,5 @@``.
        text: Its other lines.
    """

    id: str
    header: str
    text: str


class Taken(NamedTuple):
    """Some hunks of a change.

    Attributes:
        text: What they make of the old text.
        left: Those that were not taken.
    """

    text: str
    left: tuple[DiffHunk, ...]


class OtherHunks(ValueError):
    """The change is not made of those hunks any more."""


def diff_hunks(diff: str) -> tuple[DiffHunk, ...]:
    """The hunks of a unified diff of one file, in order."""
    return tuple(_named(diff))


def take_hunks(
    before: str, after: str, name: str, *, of: Collection[str], ids: Collection[str]
) -> Taken:
    """Take only some hunks of what makes ``after`` of ``before``.

    Args:
        before: The old text.
        after: The new one.
        name: The file's path as shown.
        of: The names of all hunks that the change had when somebody chose from them.
        ids: Those that are wanted.

    Raises:
        OtherHunks: It has others by now.
    """
    difference = compare(before, after)
    hunks = diff_hunks(shown(unified(difference, name)))
    if {hunk.id for hunk in hunks} != set(of):
        raise OtherHunks
    groups = grouped(before, difference.places)
    edits = [
        TextEdit(place.start, place.stop, "".join(place.new))
        for hunk, group in zip(hunks, groups, strict=True)
        if hunk.id in ids
        for place in group
    ]
    return Taken(apply_edits(before, edits), tuple(one for one in hunks if one.id not in ids))


def is_same_change(was: str, of: str | None, now: str, of_now: str | None) -> bool:
    """Is a change what was shown, though others have changed the text since?

    Somebody may type above the lines that were shown. That moves the same change by some lines;
    the lines themselves, and those around them, are what was allowed. Where such lines stand in
    the text more than once, they do not say any more which of them it was.

    Args:
        was: The diff that was shown.
        of: The text that it would have changed; None: there was none, or it is too large.
        now: The diff of now.
        of_now: The text of now.
    """
    if _HEADER.sub("@@\n", was) != _HEADER.sub("@@\n", now):
        return False
    if of == of_now:
        return True
    texts = shown(of or ""), shown(of_now or "")
    return not any(_stands_twice(hunk, text) for hunk in diff_hunks(was) for text in texts)


def _stands_twice(hunk: DiffHunk, text: str) -> bool:
    old = "".join(line[1:] for line in split_lines(hunk.text) if line[0] in " -").rstrip("\r\n")
    at, n_found = text.find(old) if old else -1, 0
    while at >= 0:
        n_found += at == 0 or text[at - 1] in "\r\n"
        if n_found > 1:
            return True
        at = text.find(old, at + 1)
    return False


def _named(diff: str) -> Iterator[DiffHunk]:
    heads = list(_HEADER.finditer(diff))
    stops = [*(head.start() for head in heads[1:]), len(diff)]
    n_alike: dict[str, int] = {}
    for head, stop in zip(heads, stops, strict=True):
        text = diff[head.end() : stop]
        n_alike[text] = number = n_alike.get(text, 0) + 1
        hashed = hashlib.blake2b(f"{number}\n{text}".encode(), digest_size=6)
        yield DiffHunk(hashed.hexdigest(), head[0].rstrip("\n"), text)
