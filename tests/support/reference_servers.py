"""Finds MCP's reference servers and conformance suite; skips tests where they are missing.

``npm ci --prefix tests/mcp/reference`` installs them, as CI does; they need Node 22.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "mcp" / "reference" / "node_modules"
LEAST_NODE = 22


@cache
def node() -> str:
    """Return the path of a Node that is new enough; empty if there is none."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    found = shutil.which("node", path=path)
    if found is None:
        return ""
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    major = said.strip().removeprefix("v").partition(".")[0]
    return found if major.isdigit() and int(major) >= LEAST_NODE else ""


def program(package: str, file: str = "dist/index.js") -> str:
    """Return the path of a package's program."""
    return str(FOLDER / "@modelcontextprotocol" / package / file)


needs_reference_servers = pytest.mark.skipif(
    not (os.environ.get("CI") or (FOLDER.is_dir() and node())),
    reason="issue 22: the reference servers are not installed; see support/reference_servers.py",
)
