"""Ends or pauses a program with everything it started: one half for POSIX, one for Windows."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from indwell.sandbox.leftovers.jobs import (
        LeftoverRun,
        Pause,
        Run,
        adopt,
        ask_to_end,
        end_descendants,
        end_wrapped,
        ended,
        is_alive,
        kill,
        prepare,
        running,
        signal_group,
        waited_for,
    )
else:
    from indwell.sandbox.leftovers.posix import (
        LeftoverRun,
        Pause,
        Run,
        adopt,
        ask_to_end,
        end_descendants,
        end_wrapped,
        ended,
        is_alive,
        kill,
        prepare,
        running,
        signal_group,
        waited_for,
    )

__all__ = [
    "LeftoverRun",
    "Pause",
    "Run",
    "adopt",
    "ask_to_end",
    "end_descendants",
    "end_wrapped",
    "ended",
    "is_alive",
    "kill",
    "prepare",
    "running",
    "signal_group",
    "waited_for",
]
