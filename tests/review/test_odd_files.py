"""Files with unusual encodings and line ends keep every byte outside of an edit."""

from __future__ import annotations

import pytest

from support.ledgers import ledger_in
from support.odd_files import odd_files, through_review
from support.platforms import posix_only

NUMBER = 40  # ``tests/faults/odd_files.py`` tests 1,000 files, open and closed


@posix_only("slow")
@pytest.mark.parametrize("is_open", [False, True])
async def test_bytes_outside_an_edit_stay_unchanged(tmp_path, *, is_open: bool) -> None:
    root = tmp_path.resolve() / "work"
    root.mkdir()
    ledger = await ledger_in(tmp_path, root)
    told = [await through_review(file, root, ledger, is_open=is_open) for file in odd_files(NUMBER)]
    assert [one for one in told if one] == []
