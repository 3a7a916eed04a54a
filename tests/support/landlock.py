"""Tests that need Landlock, which a kernel has or not: skipped where it is missing."""

from __future__ import annotations

import pytest

from indwell.sandbox.confine import landlock

needs_landlock = pytest.mark.skipif(bool(landlock.why_not()), reason=landlock.why_not())
