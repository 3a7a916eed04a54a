"""Tests of Windows' own doors, for scripts/test-windows; other systems do not collect them."""

from __future__ import annotations

import sys

collect_ignore_glob = [] if sys.platform == "win32" else ["test_*.py"]
