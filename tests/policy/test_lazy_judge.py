"""Imports that must not delay the start and the first code action."""

from __future__ import annotations

import subprocess
import sys


def test_loading_the_policy_does_not_load_the_judge_of_commands() -> None:
    """The judge's tables and patterns take 10 ms, and ten times as long on a busy machine."""
    code = (
        "import sys, indwell.agent.permission.permit\n"
        "late = ('indwell.policy.commands.judge', 'indwell.policy.commands.readers', 'wcmatch')\n"
        "print([name for name in late if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"
