"""The exact rule that a standing answer stores: this very call, never a pattern."""

from __future__ import annotations

from shlex import quote

from indwell.policy.asked import Asked
from indwell.policy.widening import ANY_HOST, NOTHING_MORE, Widening

BY_ANSWER = "your answer: "  # what a decision by a standing answer begins with
NO_FILE = "nothing"  # in the place of a digest
_SHOWN = 16  # characters of a digest: 64 bits, more than anybody can search for a twin


def rule_of(asked: Asked, *, confined: bool = False, widening: Widening = NOTHING_MORE) -> str:
    """The rule in words; odd names stand in quotes, so that none can pass for part of a command.

    Args:
        asked: The call.
        confined: The answer was given for a command in the sandbox, and counts only there.
        widening: What it may do beyond the sandbox.
    """
    if asked.effect == "run":
        how = [", sandboxed"] if confined else []
        how += [f" {widening.words}"] if widening.words else []
        how += [f", {quote(name)} as of {digest[:_SHOWN]}" for name, digest in asked.scripts]
        return f"{asked.tool} in {quote(asked.cwd or '.')}{''.join(how)}: {asked.command}"
    return f"{asked.tool}: {', '.join(quote(path) for path in sorted(set(asked.paths)))}"


def may_stand(asked: Asked, widening: Widening) -> bool:
    """Can an answer to this be for more than one call?

    Not for what a program may change between two calls and then does with all that the user can
    do, and never for what the model asked for by itself (POL-16, SBX-21).
    """
    is_bounded = not (widening.unconfined or widening.shows_secrets or widening.writes_protected)
    if any(digest == NO_FILE for _, digest in asked.scripts):
        return False
    return is_bounded and ANY_HOST not in widening.hosts and asked.wants == NOTHING_MORE


def is_granted(asked: Asked, granted: frozenset[str], widening: Widening, *, confined: bool) -> str:
    """The standing rule that allows this call; empty if there is none.

    One given without a sandbox holds inside of one, not the other way round.
    """
    if not may_stand(asked, widening):
        return ""
    ways = (False, True) if confined else (False,)
    rules = (rule_of(asked, confined=one, widening=widening) for one in ways)
    return next((rule for rule in rules if rule in granted), "")
