"""From one hunk to the next at a terminal: what each key means. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from indwell.review.hunk import Hunk

Verdict: TypeAlias = Literal["accept", "reject"]

KEYS = "[a]ccept, [r]eject, [n]ext, [b]ack, [A]/[R] rest of the file, [q]uit, [?]"
HELP = """\
a  accept: the change counts as yours, the file stays as it is
r  reject: take the change back, your own lines stay
A  accept this and all that follow in this file
R  reject this and all that follow in this file
n  leave it pending, go to the next (Enter does the same)
b  back to the one before
q  quit; what was answered stays done
?  this help"""


class Judge(msgspec.Struct, frozen=True):
    """Carry out a verdict on these, which were shown or are the rest of the file."""

    verdict: Verdict
    hunks: tuple[Hunk, ...]


class Move(msgspec.Struct, frozen=True):
    """Show the hunk with this index; one behind the last ends it."""

    at: int


class Quit(msgspec.Struct, frozen=True):
    """End it."""


class Tell(msgspec.Struct, frozen=True):
    """Say something, and ask again."""

    words: str


Step: TypeAlias = Judge | Move | Quit | Tell


def step(hunks: Sequence[Hunk], at: int, typed: str) -> Step:
    """What a typed line means while ``hunks[at]`` is shown; capital letters mean more."""
    current = hunks[at]
    match typed.strip():
        case "a" | "r" as key:
            return Judge("accept" if key == "a" else "reject", (current,))
        case "A" | "R" as key:
            rest = tuple(one for one in hunks[at:] if one.path == current.path)
            return Judge("accept" if key == "A" else "reject", rest)
        case "n" | "":
            return Move(at + 1)
        case "b" if at == 0:
            return Tell("this is the first one")
        case "b":
            return Move(at - 1)
        case "q":
            return Quit()
        case "?":
            return Tell(HELP)
        case other:
            return Tell(f"{other[:20]!r} is none of the letters; ? explains them")


def place_of(hunks: Sequence[Hunk], shown: Hunk, at: int) -> int:
    """Where a hunk stands now that the list is another: itself, else what came to its place."""
    found = (index for index, one in enumerate(hunks) if one.id == shown.id)
    return min(next(found, at), len(hunks))
