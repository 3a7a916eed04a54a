"""Knows the recorded sessions that numbers of compaction were fitted or chosen on. Pure.

A figure is honest only for other sessions. ``fitted_sessions.json`` lists the sessions by id and by
a fingerprint of their content, so a renamed recording is recognised, too. The file also has a
fingerprint of the numbers themselves. A test fails if a number changes and the list does not.
``benchmarks/context_study/fitted.py`` writes the file.
"""

from __future__ import annotations

import ast
import hashlib
import pkgutil
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from indwell.context.compaction.presets import DEFAULT
from indwell.prepared_types import prepared
from indwell.replay.loss import words_of
from indwell.sessions.imports import Recorded

FOLDS = 5
_FIRST = 8  # the messages at the beginning of a session that its fingerprint covers
_DIGITS = 12


class FittedSessions(msgspec.Struct, frozen=True):
    """The list of sessions.

    Attributes:
        numbers: The fingerprint of the numbers (``numbers_print``).
        sessions: The fingerprint of each session, by id.
    """

    numbers: str
    sessions: Mapping[str, str]

    def has(self, session: Recorded) -> bool:
        """Return whether a number was fitted or chosen on this session."""
        return session.id in self.sessions or fingerprint(session) in set(self.sessions.values())


class LeftOut(msgspec.Struct, frozen=True):
    """The sessions that a replay leaves out.

    Attributes:
        fitted: Whether to leave out the sessions that numbers were fitted or chosen on.
        folds: The numbers of folds to leave out.
        agents: The agents to leave out; the id of an agent's session begins with its name and "-".
    """

    fitted: bool = False
    folds: tuple[int, ...] = ()
    agents: tuple[str, ...] = ()

    def kept(self, sessions: Sequence[Recorded], fitted: FittedSessions) -> list[Recorded]:
        """Return the sessions that are not left out."""
        return [
            one
            for one in sessions
            if fold(one.id) not in self.folds
            and not one.id.startswith(tuple(f"{agent}-" for agent in self.agents))
            and not (self.fitted and fitted.has(one))
        ]


@lru_cache(maxsize=1)
def fitted_sessions() -> FittedSessions:
    """Return the list of this version."""
    data = pkgutil.get_data(__package__, "fitted_sessions.json") or b""
    return msgspec.json.decode(data, type=prepared(FittedSessions))


def fold(session: str) -> int:
    """Return the fold of a session, 0 to 4, by a hash of its id."""
    return int(hashlib.sha256(session.encode()).hexdigest(), 16) % FOLDS


def fingerprint(session: Recorded) -> str:
    """Return a short hash of the first messages of a session."""
    texts = [words_of(block) for one in session.messages[:_FIRST] for block in one.blocks]
    return _short("\0".join(texts))


def numbers_print(sources: Sequence[str]) -> str:
    """Return a hash of the numbers in modules, and of the preset ``default``.

    The numbers are those of the modules' constants, and those in the functions of chances.

    Args:
        sources: The sources of ``line_choice``, which has the fitted chances and their thresholds,
            and of ``digest``.
    """
    parts = [
        one
        for source in sources
        for one in ast.parse(source).body
        if isinstance(one, (ast.Assign, ast.AnnAssign))
        or (isinstance(one, ast.FunctionDef) and one.name.endswith("_chance"))
    ]
    found = [one.value for part in parts for one in ast.walk(part) if isinstance(one, ast.Constant)]
    return _short(repr([*(one for one in found if isinstance(one, (int, float))), DEFAULT]))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
