"""The hunks of a unified diff, each with an id of its own, to apply some without others.

An id depends on the lines alone, not on their position: it still names the same change after
someone typed above it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from indwell.lazy_pattern import lazy_pattern
from indwell.workspace.comparing.diff import TextEdit, apply_edits, compare, grouped, unified
from indwell.workspace.text import shown, split_lines

_HEADER = lazy_pattern(r"^@@ .*\n", re.MULTILINE)  # no text line begins like this in a diff


class DiffHunk(NamedTuple):
    """A hunk of a unified diff.

    Attributes:
        id: Unique in its diff: a hash of its lines, and a counter for equal ones.
        header: Its first line, such as ``@@ -1,4 +1,5 @@``.
        text: Its other lines.
    """

    id: str
    header: str
    text: str


class Taken(NamedTuple):
    """The result of applying some hunks of a change.

    Attributes:
        text: The old text with these hunks applied.
        left: The hunks that were not applied.
    """

    text: str
    left: tuple[DiffHunk, ...]


class OtherHunks(ValueError):
    """The change no longer consists of those hunks."""


def diff_hunks(diff: str) -> tuple[DiffHunk, ...]:
    """Split a unified diff of one file into hunks, in order."""
    return tuple(_named(diff))


def take_hunks(
    before: str, after: str, name: str, *, of: Collection[str], ids: Collection[str]
) -> Taken:
    """Apply only some hunks of the change from ``before`` to ``after``.

    Args:
        before: The old text.
        after: The new text.
        name: The file's path as shown.
        of: The ids of all hunks when somebody chose from them.
        ids: The chosen ids.

    Raises:
        OtherHunks: The change has other hunks now.
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
    """Tell whether a change is the one that was shown, although others edited the text since.

    Someone may type above the lines that were shown, which moves the change. The user allowed these
    lines and their context, not their position. If such lines occur more than once in the text,
    they are ambiguous.

    Args:
        was: The diff that was shown.
        of: The text that it would have changed; None if missing or too large.
        now: The present diff.
        of_now: The present text.
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
