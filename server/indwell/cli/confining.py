"""From settings and a widening to the bounds of a command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from indwell.policy.widening import Widening
from indwell.sandbox.confinement import Confinement, Strength
from indwell.settings.model import Settings


def strength() -> Strength:
    """How well commands are held on this machine; looked at once."""
    return Strength("S1", "not built yet", "not sandboxed")


def confiner(
    roots: tuple[Path, ...], settings: Callable[[], Settings]
) -> Callable[[Widening], Confinement | None]:
    """What gives each command of a session its bounds."""
    del roots, settings
    return lambda _widening: None
