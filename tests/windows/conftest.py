"""Collects the tests of Windows' own functions, for scripts/test-windows only."""

from __future__ import annotations

import sys

collect_ignore_glob = [] if sys.platform == "win32" else ["test_*.py"]
