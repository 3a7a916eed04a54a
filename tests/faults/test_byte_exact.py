from __future__ import annotations

from faults.byte_exact import run


async def test_an_edit_changes_no_other_byte_in_files_of_odd_encodings() -> None:
    counted = await run(150, seed=7)
    edited = {kind for kind, outcome in counted if outcome == "edited"}
    assert {"utf-8", "utf-8+mark", "utf-16-le+mark", "cp1252", "gb18030"} <= edited
    n_refused = sum(times for (_, outcome), times in counted.items() if outcome == "refused")
    assert n_refused < 15
