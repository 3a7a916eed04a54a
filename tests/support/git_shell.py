"""Runs shell text with git commands, under a neutral identity."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

AS_NOBODY = {
    "GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "n@example.org", "GIT_COMMITTER_NAME": "n",
    "GIT_COMMITTER_EMAIL": "n@example.org", "GIT_CONFIG_GLOBAL": os.devnull,
}  # fmt: skip


def run(folder: Path, text: str) -> str:
    """Run shell text in a folder and return the output."""
    ended = subprocess.run(
        ["/bin/bash", "-euc", text],
        cwd=folder,
        env={**os.environ, **AS_NOBODY},
        check=True,
        capture_output=True,
        text=True,
    )
    return ended.stdout
