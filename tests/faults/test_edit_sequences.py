"""The short form of ``edit_sequences.py``: each kind of editor a few times."""

from __future__ import annotations

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).with_name("edit_sequences.py")


def test_edt_05_no_keystroke_is_lost_and_no_stale_edit_applied_in_any_order(tmp_path) -> None:
    spec = importlib.util.spec_from_file_location("edit_sequences", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    edit_sequences = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(edit_sequences)
    tally = edit_sequences.run_sequences(40, seed=1, folder=tmp_path)
    assert tally["applied"] > 200
    assert tally["raced, applied"] >= 20
    assert tally["unanswered"] > 5
