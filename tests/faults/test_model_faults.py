"""The short form of ``model_faults.py``: every kind of fault a few times."""

from __future__ import annotations

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).with_name("model_faults.py")


async def test_every_kind_of_model_fault_ends_as_specified() -> None:
    spec = importlib.util.spec_from_file_location("model_faults", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    model_faults = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model_faults)
    ends = await model_faults.run(60, seed=1)
    assert sum(ends.values()) == 60
    assert {ended.partition(":")[0] for ended in ends} == set(model_faults.FAULTS)
