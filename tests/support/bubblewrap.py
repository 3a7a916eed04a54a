"""Skips tests that need bubblewrap where bubblewrap is missing, except in CI."""

from __future__ import annotations

import os
import sys

import pytest

from indwell.sandbox.confine.strength import find_bwrap, why_no_bubblewrap

_WHY = why_no_bubblewrap(find_bwrap()) if sys.platform == "linux" else "bubblewrap needs Linux"
_IS_LEFT_OUT = bool(_WHY) and not (os.environ.get("CI") and sys.platform == "linux")

needs_bubblewrap = pytest.mark.skipif(_IS_LEFT_OUT, reason=_WHY)
