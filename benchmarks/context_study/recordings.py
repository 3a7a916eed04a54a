"""Reads the recorded sessions of each agent."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

from indwell.sessions.imports import Recorded, recorded_sessions

SHARED = Path(os.environ.get("INDWELL_SHARED", Path(__file__).resolve().parents[4] / "shared/data"))
AGENTS = ("entire", "packmind", "codex", "opencode", "claude_misc", "copilot", "pi")


def sessions(agent: str) -> list[Recorded]:
    """Return an agent's recorded sessions."""
    with gzip.open(SHARED / "sessions" / f"{agent}.jsonl.gz") as lines:
        return list(recorded_sessions(lines, name=agent))
