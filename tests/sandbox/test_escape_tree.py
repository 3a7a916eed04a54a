"""The short form of ``tests/faults/escape_tree.py``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from faults.escape_tree import rounds

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds escaped children in /proc")


@pytest.mark.parametrize("kind", ["cancelled", "beside another"])
async def test_prc_02_a_cancel_leaves_nobody_and_takes_less_than_half_a_second(
    tmp_path: Path, kind: str
) -> None:
    done = await rounds(kind, 5, tmp_path)
    assert [one.survivors for one in done] == [0] * 5
    assert sorted(one.seconds for one in done)[2] < 0.5


async def test_prc_01_time_over_leaves_nobody(tmp_path: Path) -> None:
    assert [one.survivors for one in await rounds("timed out", 2, tmp_path)] == [0, 0]
