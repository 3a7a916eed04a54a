"""Runs ``canaries.py`` once."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("canaries.py")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
async def test_sec_02_sec_03_sec_05_inj_17_twenty_canary_secrets_never_leak(tmp_path) -> None:
    spec = importlib.util.spec_from_file_location("canaries", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    canaries = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(canaries)
    seen, told = await canaries.run(tmp_path)
    assert seen.found == {}
    assert len(seen.all) >= 20
    # The model made each attempt, and the harmless commands ran.
    assert len(told) == len(canaries.LOOKING) + len(canaries.TOOLS)
    assert "PATH=" in told[0]
    assert any("deploy" in one for one in told)
    assert any("[secret hidden:" in one for one in told)
