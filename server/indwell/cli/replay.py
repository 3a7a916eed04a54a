"""``indwell replay``: recorded conversations run again; what each preset costs and loses."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

import msgspec

from indwell.cli.replay_report import Report, print_json, print_table, progress
from indwell.context.compaction.presets import PRESETS
from indwell.errors import ToolError, UserError
from indwell.files import write_atomic
from indwell.files.pieces import pieces_of
from indwell.replay.figures import Figures, total
from indwell.replay.measure import replayed
from indwell.replay.plot import plot
from indwell.replay.traces import Reader
from indwell.sandbox.workers import mapped
from indwell.sessions.foreign import Recorded, recorded_sessions

_GZIP = b"\x1f\x8b"


class Wish(msgspec.Struct, frozen=True):
    """What the command line asks for.

    Attributes:
        files: To read.
        presets: Names, checked.
        window: Tokens.
        ratio: Of simulated summaries; 0: extraction by code.
        json: Print JSON.
        each: And a line for each session.
        plot: File for a picture; None: no picture.
    """

    files: tuple[str, ...]
    presets: tuple[str, ...]
    window: int
    ratio: float
    json: bool = False
    each: bool = False
    plot: str | None = None


def preset_names(given: str) -> tuple[str, ...]:
    """The presets of a comma-separated list.

    Raises:
        UserError: One of them does not exist.
    """
    names = tuple(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))
    for name in names:
        if name not in PRESETS:
            raise UserError(f"--preset: there is no preset {name!r}; known: {', '.join(PRESETS)}")
    return names or tuple(PRESETS)


def replay(wish: Wish) -> int:
    """Replay, and print.

    Raises:
        UserError: A file cannot be read, or holds no conversation.
    """
    sessions = [one for file in wish.files for one in read_sessions(Path(file))]
    if not sessions:
        raise UserError(f"no conversation in {', '.join(wish.files)}")
    job = partial(_measured, wish.presets, wish.window, wish.ratio)
    measured = tuple(progress(mapped(job, sessions), len(sessions)))
    report = Report(
        window=wish.window,
        names=tuple(one.id for one in sessions),
        notes=tuple(f"{one.id}: {note}" for one in sessions for note in one.notes),
        presets=wish.presets,
        each=measured,
        totals=tuple(total(column) for column in zip(*measured, strict=True)),
    )
    (print_json if wish.json else print_table)(report, each=wish.each)
    if wish.plot is not None:
        _write(Path(wish.plot).resolve(), plot(report.series(), wish.window))
    return 0


def _write(path: Path, picture: str) -> None:
    try:
        write_atomic(path, picture.encode(), [path.parent])
    except ToolError as error:
        raise UserError(f"the picture was not written: {error}") from error


def read_sessions(path: Path) -> Iterator[Recorded]:
    """The conversations of a ``.jsonl`` or ``.jsonl.gz`` file.

    Raises:
        UserError: It cannot be read.
    """
    try:
        yield from recorded_sessions(_lines(path.resolve()), name=path.name.split(".")[0])
    except (OSError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{str(path)!r} cannot be read: {reason}") from error


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, unpacked if it is packed."""
    rest, unpack = b"", None
    for number, piece in enumerate(pieces_of(path)):
        if number == 0 and piece.startswith(_GZIP):
            unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
        data = rest + (unpack.decompress(piece) if unpack else piece)
        *lines, rest = data.split(b"\n")
        yield from lines
    yield rest


def _measured(
    presets: Sequence[str], window: int, ratio: float, session: Recorded
) -> tuple[Figures, ...]:
    """One recording under each preset; the texts are read once."""
    reader = Reader()
    figures: list[Figures] = []
    for name in presets:
        began_s = perf_counter()
        one = replayed(session, name, window, ratio=ratio, reader=reader)
        figures.append(msgspec.structs.replace(one, seconds=perf_counter() - began_s))
    return tuple(figures)
