"""Programs of the workspace that run by a bare name, because PATH leads there (S-H6)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from indwell.errors import ToolError
from indwell.files import read_bytes
from indwell.policy.call_facts import NO_FILE
from indwell.policy.commands.verdict import Part
from indwell.sandbox.environment import program_within

MOST_LOOKED_UP = 100  # bare words of one command; each costs a look into every folder of PATH
PROGRAM_LIMIT_B = 1 << 24  # of a program that an answer is bound to


def planted(parts: Iterable[Part], roots: Sequence[Path]) -> tuple[tuple[str, str], ...]:
    """The files behind a command's bare words, with digests of what they hold; blocks.

    An activated environment is what PATH is for, but what a sandboxed command wrote there as
    ``git`` would run with all that the user can do.
    """
    words = dict.fromkeys(word for part in parts for word in part.words if _is_bare(word))
    found = (program_within(word, roots) for word in tuple(words)[:MOST_LOOKED_UP])
    return tuple((str(path), _digest(path, roots)) for path in found if path is not None)


def _is_bare(word: str) -> bool:
    return bool(word) and "/" not in word and not word.startswith("-") and word.isprintable()


def _digest(path: Path, roots: Sequence[Path]) -> str:
    """Of what it holds or, where links lead out of the workspace, of where they lead."""
    end = os.path.realpath(path)
    try:
        data = read_bytes(Path(end), roots, PROGRAM_LIMIT_B)
    except ToolError:
        if any(map(Path(end).is_relative_to, roots)):
            return NO_FILE
        data = os.fsencode(end)
    return hashlib.blake2b(data, digest_size=16).hexdigest()
