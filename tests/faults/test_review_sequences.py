"""The short form of ``review_sequences.py``: each kind of editor a few times."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("review_sequences.py")


def test_random_sequences_of_edits_typing_verdicts_and_rewinds_lose_no_text(tmp_path) -> None:
    spec = importlib.util.spec_from_file_location("review_sequences", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    review_sequences = importlib.util.module_from_spec(spec)
    sys.modules["review_sequences"] = review_sequences
    spec.loader.exec_module(review_sequences)
    tally = review_sequences.run_sequences(40, seed=1, folder=tmp_path)
    assert tally["rejected"] > 20
    assert tally["accepted"] > 20
    assert tally["rewound"] > 10
    assert tally["started again"] > 40
