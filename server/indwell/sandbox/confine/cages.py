"""What confines commands on Windows, and how well: the decisions, from trials. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from indwell.sandbox.confine.trial import ALL_HELD, Held, Proof
from indwell.sandbox.confinement import Strength

Cage: TypeAlias = Literal["restricted", "low"]
"""Which checks apply: both, or that of the integrity level alone.

Git's bash creates pipes that only the user may write to, so with a restricting SID it cannot start.
"""
CAGES: tuple[Cage, ...] = ("restricted", "low")
_MEANS: Mapping[Cage, str] = {
    "restricted": "a restricted token with low integrity",
    "low": "low integrity",
}

NEEDED: frozenset[Held] = frozenset(["writes", "processes"])
"""Who reaches other processes lets them write. Reading and the network are never held here."""


def strength_of(tried: Sequence[tuple[Cage, Proof]]) -> tuple[Strength, Cage | None]:
    """Return the strength of this Windows, and its best cage; from trials, best first. Pure."""
    reasons: list[str] = []
    for cage, proof in tried:
        if proof.held >= NEEDED:
            return Strength("S2w", _limits(proof), f"partly sandboxed ({_MEANS[cage]})"), cage
        lacks = " and ".join(one for one in ALL_HELD if one in NEEDED - proof.held)
        reasons.append(f"{_MEANS[cage]}: {proof.reason or f'it does not hold {lacks}'}")
    reason = "; ".join(reasons) or "no confinement could be tried"
    return Strength("S0", f"Windows confines no command here ({reason})", "not sandboxed"), None


def _limits(proof: Proof) -> str:
    held = ", ".join(one for one in ALL_HELD if one in proof.held)
    lacks = " and ".join(one for one in ALL_HELD if one not in proof.held)
    return (
        f"Windows holds of a command that only reads: {held}; not {lacks}, for which it needs "
        "administrator rights or other access lists on your files; every other command runs with "
        "your rights once you have allowed it"
    )


def scratch_descriptor(user: str, sid: str) -> str:
    """Return the security of the folder for temporary files, in Windows' own notation (SDDL). Pure.

    The user and the system have all rights, the restricting SID those of a writer; the label is low
    integrity. All is inherited by what is created in the folder.
    """
    return f"D:P(A;OICI;FA;;;{user})(A;OICI;FA;;;SY)(A;OICI;0x1301bf;;;{sid})S:(ML;OICI;NW;;;LW)"


def environment_block(environment: Mapping[str, str]) -> str:
    """Return an environment as Windows takes it: sorted, each name once in any case. Pure.

    Raises:
        ValueError: A name or value contains a NUL character, or a name is empty or contains ``=``.
    """
    named: dict[str, tuple[str, str]] = {}
    for name, value in environment.items():
        if not name or "=" in name or "\0" in name + value:
            raise ValueError(f"the variable {name!r} cannot be passed on")
        named[name.upper()] = (name, value)
    lines = [f"{name}={value}\0" for _, (name, value) in sorted(named.items())]
    return "".join(lines) + "\0"
