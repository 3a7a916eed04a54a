"""Replays the recorded sessions of each agent, and keeps the figures of each session in a file.

A later run with the same file measures only what is missing: other presets, windows or agents, or
the same with another engine. ``oracle`` is the preset ``default`` with an engine that knows the
future (``future.py``).
"""

from __future__ import annotations

import gc
import hashlib
import json
import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from future import Later, choosing
from recordings import AGENTS, sessions

import indwell
from indwell.context.compaction.presets import PRESETS as ENGINE_PRESETS
from indwell.replay.fitted_sessions import FOLDS, fitted_sessions, fold
from indwell.replay.loss import Reader
from indwell.replay.measure import RequestSums, replayed
from indwell.sessions.imports import Recorded

PRESETS = ("default", "slide", "ladder-a", "oracle")
WINDOWS = (32_000, 64_000, 128_000)
LEAST_TOKENS = 8_000  # A shorter session never fills a window.
SUMS = (
    "requests", "cost", "reread_cost", "summary_cost", "pairs", "kept", "lines", "lines_kept",
    "compactions", "unpaired", "too_large", "loops", "words_missing", "task_missing", "unfinished",
)  # fmt: skip
_ENGINE = ("replay", "context/file_work.py", "context/compaction/ladder.py")
_OWN = ("context/compaction/digesting", "context/compaction/step.py")
"""The parts of the engine that only ``default`` and ``oracle`` use."""


class Row(NamedTuple):
    """The figures of one session in one window with one preset.

    Attributes:
        engine: A hash of the source of the engine that was measured.
        is_fitted: Whether numbers of the engine were fitted or chosen on the session.
        figures: The sums of ``RequestSums`` by name.
    """

    agent: str
    session: str
    fold: int
    is_fitted: bool
    window: int
    preset: str
    engine: str
    figures: Mapping[str, float]

    def sums(self) -> RequestSums:
        """Return the figures as sums that can be added."""
        return RequestSums(**self.figures)


def engine_print(preset: str) -> str:
    """Return a hash of the preset, and of the source that most decides on its figures."""
    is_own = preset in {"default", "oracle"}
    digest = hashlib.sha256(repr(ENGINE_PRESETS["default" if is_own else preset]).encode())
    root = Path(indwell.__file__).parent
    for part in (*_ENGINE, *_OWN) if is_own else _ENGINE:
        path = root / part
        for one in [path] if path.is_file() else sorted(path.rglob("*.py")):
            digest.update(one.read_bytes())
    return digest.hexdigest()[:12]


def measured(
    path: Path,
    *,
    agents: Sequence[str] = AGENTS,
    windows: Sequence[int] = WINDOWS,
    presets: Sequence[str] = PRESETS,
    folds: Sequence[int] = tuple(range(FOLDS)),
    processes: int = 2,
) -> list[Row]:
    """Return the rows of the sessions; measure the missing ones, and add them to the file."""
    engines = {preset: engine_print(preset) for preset in presets}
    known = {
        (row.session, row.window, row.preset): row
        for row in _read(path)
        if row.engine == engines.get(row.preset)
    }
    found: list[Row] = []
    for agent in agents:
        for session in filter(_is_long, sessions(agent)):
            if fold(session.id) not in folds:
                continue
            wanted = [
                (window, preset)
                for window in windows
                for preset in presets
                if (session.id, window, preset) not in known
            ]
            if wanted:
                _JOBS.append((agent, session, wanted))
    gc.freeze()
    with multiprocessing.Pool(processes) as pool, path.open("a") as file:
        for n, rows in enumerate(pool.imap_unordered(_rows, range(len(_JOBS))), 1):
            file.writelines(json.dumps(row) + "\n" for row in rows)
            file.flush()
            known |= {(row.session, row.window, row.preset): row for row in rows}
            print(f"\r{n} of {len(_JOBS)} sessions", end="", flush=True)
    print()
    fitted = fitted_sessions()
    found = [
        row
        for row in known.values()
        if row.agent in agents and row.window in windows and row.fold in folds
    ]
    return [row._replace(is_fitted=row.session in fitted.sessions) for row in found]


_JOBS: list[tuple[str, Recorded, list[tuple[int, str]]]] = []
"""The missing measurements, which the worker processes inherit."""


def _rows(number: int) -> list[Row]:
    agent, session, wanted = _JOBS[number]
    reader = Reader()
    is_fitted = fitted_sessions().has(session)
    rows = []
    for window, preset in wanted:
        if preset == "oracle":
            choose = choosing(Later(session.messages))
            sums = replayed(session, "default", window, reader=reader, choose=choose)
        else:
            sums = replayed(session, preset, window, reader=reader)
        figures = {name: getattr(sums, name) for name in SUMS}
        engine = engine_print(preset)
        rows.append(
            Row(agent, session.id, fold(session.id), is_fitted, window, preset, engine, figures)
        )
    return rows


def _is_long(session: Recorded) -> bool:
    blocks = (block for message in session.messages for block in message.blocks)
    return sum(block.meta.tokens for block in blocks) >= LEAST_TOKENS


def _read(path: Path) -> Iterator[Row]:
    if path.exists():
        for line in path.read_text().splitlines():
            yield Row(*json.loads(line))
