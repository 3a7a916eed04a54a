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
from indwell.workspace.text import shown

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


def _named(diff: str) -> Iterator[DiffHunk]:
    heads = list(_HEADER.finditer(diff))
    stops = [*(head.start() for head in heads[1:]), len(diff)]
    n_alike: dict[str, int] = {}
    for head, stop in zip(heads, stops, strict=True):
        text = diff[head.end() : stop]
        n_alike[text] = number = n_alike.get(text, 0) + 1
        hashed = hashlib.blake2b(f"{number}\n{text}".encode(), digest_size=6)
        yield DiffHunk(hashed.hexdigest(), head[0].rstrip("\n"), text)
