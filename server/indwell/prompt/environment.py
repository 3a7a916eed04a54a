"""The environment reminder at the end of a request: date, folder, branch, model (H13)."""

from __future__ import annotations

import re

import msgspec

_BRANCH = re.compile(r"[\w./+@#-]{1,120}")  # a name of the repository's may not become a sentence


class Surroundings(msgspec.Struct, frozen=True):
    """Facts of this moment; ``date`` is ISO 8601, ``branch`` empty outside a repository."""

    date: str
    folder: str
    branch: str
    model: str


def surroundings_words(now: Surroundings) -> str:
    """The body of the reminder; the same facts give the same bytes, so it is sent only once."""
    parts = [f"Today is {now.date}.", f"The workspace is {now.folder!r}."]
    if _BRANCH.fullmatch(now.branch):
        parts.append(f"The git branch is {now.branch!r}.")
    elif now.branch:
        parts.append("The git branch has an odd name.")
    parts.append(f"The model is {now.model}.")
    return " ".join(parts)


def round_limit_words(limit: int) -> str:
    """Asks for a closing word when a turn has used all its rounds (H64)."""
    return (
        f"This turn has used its {limit} rounds, so no tool can be called now. Say in a few "
        "sentences what is done, what is left, and what to do next; the user can let you go on."
    )


def repetition_words(name: str, times: int) -> str:
    """The hint after the same call was made ``times`` times in a row (H64).

    ``name`` is a tool's that exists; empty for any other, which may be any prose of the model's.
    """
    what = f"{name} was called" if name else "This call was made"
    return (
        f"{what} {times} times in a row with the same arguments, with the same outcome "
        "to expect. Try something else, or say what stands in the way."
    )
