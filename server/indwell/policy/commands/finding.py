"""What is thought of a piece of a command, with the reason in words."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from indwell.policy.commands.shell_words import HOME, STAR, UNKNOWN
from indwell.policy.commands.verdict import Effect
from indwell.policy.widening import NOTHING_MORE, Widening

READ_ONLY = "read-only"
WORKSPACE_WRITE = "workspace-write"
HELD = "held read-only"


class Finding(msgspec.Struct, frozen=True):
    """What is thought of a piece.

    Attributes:
        effect: Allow, ask or deny.
        rule: Which rule won.
        reason: Why it is not allowed.
        widening: What it needs beyond the sandbox.
        reads_only: It changes nothing.
        is_held: It may do anything, and the sandbox keeps it from changing what lies outside
            ``/tmp``.
        by_user: A pattern of the user's allows it.
        texts: Shell texts that it runs, to be judged as well.
        hints: Texts that it may run, in which what the user denies is looked for.
    """

    effect: Effect
    rule: str
    reason: str = ""
    widening: Widening = NOTHING_MORE
    reads_only: bool = False
    is_held: bool = False
    by_user: bool = False
    texts: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


HELD_FINDING = Finding("allow", HELD, is_held=True)


def ask(rule: str, reason: str, widening: Widening = NOTHING_MORE) -> Finding:
    """A finding that asks."""
    return Finding("ask", rule, reason, widening)


def secret(text: str) -> Finding:
    """A finding that asks for a secret file."""
    return ask("secret", f"{shown(text)!r} is or holds a secret file", Widening(shows_secrets=True))


def forbidden(is_denied: bool, text: str) -> Finding:  # noqa: FBT001 - two kinds of one answer
    """A pattern of the user's denies it, or asks."""
    if is_denied:
        return Finding("deny", f"deny: {text}", f"your rule {text!r} denies it")
    return Finding("ask", f"ask: {text}", f"your rule {text!r} asks")


def joined(all_of_them: Sequence[Widening]) -> Widening:
    """All that several findings need."""
    if all(one == NOTHING_MORE for one in all_of_them):
        return NOTHING_MORE
    return Widening(
        hosts=tuple(dict.fromkeys(host for one in all_of_them for host in one.hosts)),
        shows_secrets=any(one.shows_secrets for one in all_of_them),
        writes_protected=any(one.writes_protected for one in all_of_them),
        unconfined=any(one.unconfined for one in all_of_them),
        installs=any(one.installs for one in all_of_them),
    )


def worst(found: Sequence[Finding]) -> Finding | None:
    """The strictest."""
    order = {"deny": 0, "ask": 1, "allow": 2}
    return min(found, key=lambda one: order[one.effect], default=None)


def shown(text: str) -> str:
    """A text of a word for people."""
    return text.replace(HOME, "~").replace(STAR, "*").replace(UNKNOWN, "…")
