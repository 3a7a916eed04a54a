"""Decides, from the results of trials, how Windows can confine commands. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from indwell.files.system.access import Ace
from indwell.sandbox.confine.trial import ALL_HELD, Held, Proof
from indwell.sandbox.confinement import Strength

Cage: TypeAlias = Literal["container", "restricted", "low"]
"""The confinement of a command.

An AppContainer, a token with both checks of writes, or a token with the integrity level alone.

Git's bash cannot start with a restricting SID, because it creates pipes that only the user may
write to. An AppContainer also cuts the network and hides the home folder. It can read a folder only
if the folder's access list allows this, and Indwell never changes access lists.
"""
CAGES: tuple[Cage, ...] = ("restricted", "low")
"""The cages to try at the start, best first; these cages do not depend on a folder."""
ALL_PACKAGES = "S-1-15-2-1"  # The group "ALL APPLICATION PACKAGES" contains every AppContainer.
_MEANS: Mapping[Cage, str] = {
    "container": "an AppContainer",
    "restricted": "a restricted token with low integrity",
    "low": "low integrity",
}

NEEDED: frozenset[Held] = frozenset(["writes", "processes"])
"""What a trial must show to be blocked; other processes could write for a command.

These cages never restrict reading or the network.
"""


def strength_of(tried: Sequence[tuple[Cage, Proof]]) -> tuple[Strength, Cage | None]:
    """Return how strongly this machine confines commands, and the best cage, from trials.

    A cage is a restricted token or an AppContainer. Pure.
    """
    reasons: list[str] = []
    for cage, proof in tried:
        if proof.held >= NEEDED:
            return Strength("S2w", _limits(proof), f"partly sandboxed ({_MEANS[cage]})"), cage
        lacks = " and ".join(one for one in ALL_HELD if one in NEEDED - proof.held)
        reasons.append(f"{_MEANS[cage]}: {proof.reason or f'it does not block {lacks}'}")
    reason = "; ".join(reasons) or "no confinement could be tried"
    return Strength("S0", f"Windows confines no command here ({reason})", "not sandboxed"), None


def _limits(proof: Proof) -> str:
    held = ", ".join(one for one in ALL_HELD if one in proof.held)
    lacks = " and ".join(one for one in ALL_HELD if one not in proof.held)
    return (
        f"for a command that only reads, Windows blocks: {held}; it does not block: {lacks}, "
        "which needs administrator rights or other access lists on your files; every other "
        "command runs with your rights once you have allowed it"
    )


_READ_AND_RUN = 0x1200A9  # The value is FILE_GENERIC_READ and FILE_GENERIC_EXECUTE.
_ALL_RIGHTS, _GENERIC_READ_AND_RUN = 0x10000000, 0xA0000000
_INHERIT_ONLY = 0x8


def is_open_to_containers(aces: Iterable[Ace] | None) -> bool:
    """Return whether every AppContainer may read and run files with this access list. Pure.

    An AppContainer ignores deny entries, and a missing list gives it no access.
    """
    return any(
        one.kind == 0
        and one.sid == ALL_PACKAGES
        and not one.flags & _INHERIT_ONLY
        and (
            one.rights & _READ_AND_RUN == _READ_AND_RUN
            or one.rights & _GENERIC_READ_AND_RUN == _GENERIC_READ_AND_RUN
            or bool(one.rights & _ALL_RIGHTS)
        )
        for one in aces or ()
    )


def scratch_descriptor(user: str, sid: str) -> str:
    """Return the security of the folder for temporary files, in Windows' own notation (SDDL). Pure.

    The user and the system have all permissions. ``sid`` (the restricting SID or that of the
    AppContainer) may write. The label is low integrity. New files inherit the permissions and the
    label.
    """
    return f"D:P(A;OICI;FA;;;{user})(A;OICI;FA;;;SY)(A;OICI;0x1301bf;;;{sid})S:(ML;OICI;NW;;;LW)"


def environment_block(environment: Mapping[str, str]) -> str:
    """Return an environment as Windows expects it: sorted, with each name only once. Pure.

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
