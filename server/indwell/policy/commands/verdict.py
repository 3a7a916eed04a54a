"""What is thought of a command, as a whole and part by part."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from indwell.policy.widening import NOTHING_MORE, Widening

Effect: TypeAlias = Literal["allow", "ask", "deny"]


class Part(msgspec.Struct, frozen=True):
    """One simple command, redirect, assignment or construct of a shell text.

    Attributes:
        text: As it stands in the source.
        start: Where it begins in the source, in characters; 0-based.
        end: Where it ends, exclusive.
        words: Its words as bash would see them; ``shell_words.UNKNOWN`` for what only a run can
            tell.
        decision: What is thought of it by itself.
        rule: Which rule won: ``read-only``, ``workspace-write``, ``allow: git *``, …
        reason: Half a sentence for people; empty if it is allowed.
        folders: Where it may run, seen from where the whole text runs; empty if that is unknown.
    """

    text: str
    start: int
    end: int
    words: tuple[str, ...]
    decision: Effect
    rule: str
    reason: str = ""
    folders: tuple[str, ...] = ("",)


class Verdict(msgspec.Struct, frozen=True):
    """What is thought of a whole command.

    Attributes:
        decision: The strictest of its parts'.
        rule: The rule that won.
        reason: Why it is asked or denied, in half a sentence for people.
        parts: All of its parts, in the order of the source.
        reads_only: It changes nothing, as far as it is understood.
        is_held: It is allowed in ``plan`` only as the sandbox lets it write nowhere but ``/tmp``.
        widening: What it needs beyond the sandbox to do its work, such as network for ``git push``.
        by_user: A pattern of the user's allows each part that does more than read.
    """

    decision: Effect
    rule: str
    reason: str = ""
    parts: tuple[Part, ...] = ()
    reads_only: bool = False
    is_held: bool = False
    widening: Widening = NOTHING_MORE
    by_user: bool = False
