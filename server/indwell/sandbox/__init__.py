"""Starts all processes; no other package starts a process."""

from __future__ import annotations

from indwell.sandbox.environment import find_program
from indwell.sandbox.limits import CommandLimits
from indwell.sandbox.program import BACKGROUND, Finished, run_program
from indwell.sandbox.spawn import spawn

__all__ = ["BACKGROUND", "CommandLimits", "Finished", "find_program", "run_program", "spawn"]
