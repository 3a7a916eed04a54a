"""The one door to processes: nothing else starts one."""

from __future__ import annotations

from indwell.sandbox.spawn import Finished, find_program, run_program, spawn

__all__ = ["Finished", "find_program", "run_program", "spawn"]
