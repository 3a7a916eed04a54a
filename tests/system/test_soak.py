"""Tests SYS-01 with the events of ``tests/faults/soak.py`` for seconds instead of an hour."""

from __future__ import annotations

import os
import sys

import pytest

from faults.soak import soak

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

SECONDS = 6.0
AT_LEAST = 301  # a slow machine runs so many events, too
# The limit of threads: asyncio's full pool and Indwell's own threads.
POOLS = min(32, (os.cpu_count() or 1) + 4) + 8
# bytes of caches and arenas that fill in the first seconds; an hour shows the slope
WARM_B = 12 << 20


async def test_many_events_and_faults_do_not_grow_the_servers_memory(tmp_path) -> None:
    soaked = await soak(tmp_path, SECONDS, seed=5, at_least=AT_LEAST)
    first, last = soaked.samples[8], soaked.samples[-1]
    assert soaked.events.total() >= AT_LEAST, soaked.events
    assert soaked.events["done"] > 5, soaked.events
    assert last.rss_b - first.rss_b < WARM_B
    assert last.n_fds <= first.n_fds + 2
    assert last.n_threads <= POOLS
