"""Edits, accepts, rejects and rewinds 1,000 files with odd encodings and line ends.

Each file is once closed and once open in an editor. Every byte outside the edit must stay.

python tests/faults/odd_files.py [N_FILES [SEED]]
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.ledgers import ledger_in
from support.odd_files import odd_files, through_review

N_FILES, SEED = 1_000, 7


async def main() -> int:
    """Try all files; return 0 if no byte was lost."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else N_FILES
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    n_refused, n_wrong = 0, 0
    for is_open in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve() / "work"
            root.mkdir()
            for at, file in enumerate(odd_files(number, seed)):
                # a new ledger, since few files of a real workspace are under review at once
                if at % 50 == 0:
                    ledger = await ledger_in(Path(folder) / f"state{at}", root)
                told = await through_review(file, root, ledger, is_open=is_open)
                n_refused += told.startswith("refused")
                n_wrong += bool(told) and not told.startswith("refused")
                if told:
                    print(told[:300])
    print(f"{2 * number} ways: {n_wrong} wrong, {n_refused} refused and untouched")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
