"""Reads shared test cases, which are not part of the project."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

BESIDE = Path(__file__).parents[3] / "shared" / "data"


def shared_cases(name: str) -> list[dict[str, Any]]:
    """Return the records of a file of cases; skip the test if the file is not installed."""
    path = Path(os.environ.get("INDWELL_SHARED", BESIDE)) / "cases" / name
    if not path.exists():
        pytest.skip(f"no {name} beside the project or under INDWELL_SHARED")
    if name.endswith(".json"):
        return json.loads(path.read_text("utf-8"))
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
