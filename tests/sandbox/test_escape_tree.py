"""The short form of ``tests/faults/escape_tree.py``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from faults.escape_tree import rounds
from indwell.sandbox.confine.landlock import why_not
from indwell.sandbox.confine.strength import strength

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds escaped children in /proc")


@pytest.mark.parametrize("kind", ["cancelled", "beside another"])
async def test_prc_02_a_cancel_ends_every_process_without_waiting(
    tmp_path: Path, kind: str
) -> None:
    done = await rounds(kind, 5, tmp_path)
    assert [one.survivors for one in done] == [0] * 5
    assert sorted(one.seconds for one in done)[2] < 20


@pytest.mark.skipif(not strength().holds_writers, reason=strength().reason)
async def test_prc_02_a_cancel_ends_every_process_in_a_sandbox(tmp_path: Path) -> None:
    done = await rounds("cancelled in a sandbox", 3, tmp_path)
    assert [one.survivors for one in done] == [0] * 3
    assert sorted(one.seconds for one in done)[1] < 20


@pytest.mark.skipif(bool(why_not()), reason=why_not())
async def test_prc_02_a_cancel_ends_every_process_under_landlock(tmp_path: Path) -> None:
    done = await rounds("cancelled by Landlock", 3, tmp_path)
    assert [one.survivors for one in done] == [0] * 3
    assert sorted(one.seconds for one in done)[1] < 20


async def test_prc_01_a_time_out_ends_every_process(tmp_path: Path) -> None:
    assert [one.survivors for one in await rounds("timed out", 2, tmp_path)] == [0, 0]
