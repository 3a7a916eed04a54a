"""Worker processes: order, failures, and their end with the work."""

from __future__ import annotations

import math
import operator
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing import active_children
from pathlib import Path
from types import FrameType

import pytest

import indwell
from indwell.errors import UserError
from indwell.sandbox.worker_processes import FEW, mapped

IN_THE_WORKSPACE = f"""
import sys
from math import sqrt
from indwell.own_path import own_path
from indwell.sandbox.worker_processes import mapped
own_path.keep_out(sys.argv[1:])
path = list(sys.path)
print(len(list(mapped(sqrt, [4.0] * {FEW}, n_workers=2))), sys.path == path)
"""


def test_results_come_in_the_order_of_the_items_from_other_processes() -> None:
    assert list(mapped(math.sqrt, [4.0] * FEW + [9.0], n_workers=2)) == [2.0] * FEW + [3.0]
    pids = set(mapped(operator.call, [os.getpid] * FEW, n_workers=2))
    assert os.getpid() not in pids
    assert 1 <= len(pids) <= 2
    assert active_children() == []


def test_a_few_items_are_processed_without_worker_processes() -> None:
    assert set(mapped(operator.call, [os.getpid] * (FEW - 1), n_workers=2)) == {os.getpid()}
    assert list(mapped(math.sqrt, [], n_workers=2)) == []


def test_workers_start_even_if_indwell_is_installed_in_the_workspace() -> None:
    source = Path(indwell.__file__).parents[1]
    ended = subprocess.run(
        [sys.executable, "-c", IN_THE_WORKSPACE, source],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"{FEW} True\n", "")


def test_an_error_in_a_worker_is_raised_by_the_caller_and_ends_the_other_workers() -> None:
    began_s = time.monotonic()
    with pytest.raises(ValueError, match="non-negative"):
        list(mapped(time.sleep, [-1.0] + [600.0] * FEW, n_workers=2))
    assert time.monotonic() - began_s < 60
    assert active_children() == []


def test_a_worker_that_is_killed_is_reported() -> None:
    with pytest.raises(UserError, match="a worker process ended"):
        list(mapped(os._exit, [1] * FEW, n_workers=2))
    assert active_children() == []


@pytest.fixture
def slow_to_shut_down() -> Iterator[None]:
    """Delay the pool's own thread, so that it notices the end of its workers first."""

    def linger(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == "shutdown":
            time.sleep(0.3)

    sys.setprofile(linger)
    yield
    sys.setprofile(None)


@pytest.mark.usefixtures("slow_to_shut_down")
def test_a_caller_that_stops_early_ends_the_working_processes() -> None:
    results = mapped(time.sleep, [0.0] + [600.0] * FEW, n_workers=2)
    assert next(results) is None
    began_s = time.monotonic()
    results.close()
    assert time.monotonic() - began_s < 60
    assert active_children() == []
