"""``indwell replay``: recorded conversations run again; what each preset costs and loses."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from time import perf_counter

import msgspec

from indwell.cli.replay_files import read_sessions
from indwell.cli.replay_report import Report, print_json, print_table, progress
from indwell.context.compaction.presets import PRESETS
from indwell.context.compaction.step import Rates
from indwell.errors import ToolError, UserError
from indwell.files import write_atomic
from indwell.replay.cache_rules import CACHES, CacheRules
from indwell.replay.course import PREFIX_TOKENS
from indwell.replay.figures import Figures, total
from indwell.replay.measure import replayed
from indwell.replay.plot import FORMATS, plot
from indwell.replay.summaries import Summarise
from indwell.replay.traces import Reader
from indwell.sandbox.workers import mapped
from indwell.sessions.foreign import Recorded

RATIO = 0.2  # of simulated summaries, if nothing else is asked for


class Wish(msgspec.Struct, frozen=True):
    """What the command line asks for, checked.

    Attributes:
        files: To read; ``-`` is stdin.
        presets: Names.
        window: Tokens.
        ratio: Of simulated summaries; 0: extraction by code.
        cache: The provider's rules.
        pause_s: Between two requests, where the recording has no times.
        model: That writes the summaries; empty: they are simulated.
        prices: Whose price list costs are shown by; empty: in prices of input tokens.
        json: Print JSON.
        each: And a line for each session.
        plot: File for a picture; None: no picture.
    """

    files: tuple[str, ...]
    presets: tuple[str, ...] = tuple(PRESETS)
    window: int = 64_000
    ratio: float = RATIO
    cache: CacheRules = CACHES["plain"]
    pause_s: float = 0.0
    model: str = ""
    prices: str = ""
    json: bool = False
    each: bool = False
    plot: str | None = None


class _Job(msgspec.Struct, frozen=True):
    """What is done with each recording; it travels to the workers."""

    presets: Sequence[str]
    window: int
    ratio: float
    cache: CacheRules
    pause_s: float
    rates: Rates


def wish_of(options: argparse.Namespace) -> Wish:
    """The wish of parsed options.

    Raises:
        UserError: One of them cannot be.
    """
    if options.window < 1:
        raise UserError("--window: a number of tokens, 1 or more")
    if options.window <= PREFIX_TOKENS:
        raise UserError(
            f"--window: {options.window:,} tokens do not even take the {PREFIX_TOKENS:,} that "
            "stand for the system prompt and the tools"
        )
    ratio = RATIO if options.summary_ratio is None else options.summary_ratio
    if not 0 <= ratio <= 1:
        raise UserError("--summary-ratio: between 0 and 1")
    if options.model and options.summary_ratio is not None:
        raise UserError("--summary-ratio: the summaries of --model are as long as it writes them")
    if not 0 <= options.pause < float("inf"):
        raise UserError("--pause: seconds, 0 or more")
    if options.plot is not None and Path(options.plot).suffix.lower() not in FORMATS:
        raise UserError(f"--plot: the file's name ends with {' or '.join(FORMATS)}")
    if options.plot is not None and not Path(options.plot).resolve().parent.is_dir():
        raise UserError(f"--plot: there is no folder {str(Path(options.plot).parent)!r}")
    return Wish(
        files=tuple(options.files),
        presets=preset_names(options.preset),
        window=options.window,
        ratio=ratio,
        cache=cache_rules(
            options.cache,
            minimum=options.cache_minimum,
            block=options.cache_block,
            life_s=options.cache_life,
            anchors=options.cache_anchors,
        ),
        pause_s=options.pause,
        model=options.model,
        prices=options.prices,
        json=options.json,
        each=options.each,
        plot=options.plot,
    )


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


def cache_rules(name: str, **given: float | None) -> CacheRules:
    """The rules called ``name``, with single ones of them as they are given.

    Raises:
        UserError: There is no such name, or a number cannot be.
    """
    if name not in CACHES:
        raise UserError(f"--cache: there are no rules {name!r}; known: {', '.join(CACHES)}")
    told = {key: value for key, value in given.items() if value is not None}
    for key, least in (("minimum", 0), ("block", 1), ("life_s", 0)):
        if not least <= told.get(key, least) < float("inf"):
            option = key.removesuffix("_s")
            raise UserError(f"--cache-{option}: {told[key]:g} is not {least} or more")
    return msgspec.structs.replace(CACHES[name], **told)


def replay(wish: Wish) -> int:
    """Replay, and print.

    Raises:
        UserError: A file cannot be read, or holds no conversation.
        NobodyThere: The model that should write summaries cannot be asked.
    """
    read = [read_sessions(file) for file in wish.files]
    sessions = [one for found, _ in read for one in found]
    notes = [note for _, mended in read for note in mended]
    if not sessions:
        why = "".join(f"; {note}" for note in notes[:3])
        raise UserError(f"no conversation in {', '.join(wish.files)}{why}")
    listed = _rates(wish)
    measured = tuple(_all(wish, sessions, listed[0] if listed else Rates()))
    troubles = dict.fromkeys(why for row in measured for one in row for why in one.troubles)
    report = Report(
        window=wish.window,
        names=tuple(one.id for one in sessions),
        notes=(*notes, *(f"summaries were extracted by code: {why}" for why in troubles)),
        presets=wish.presets,
        each=measured,
        totals=tuple(total(column) for column in zip(*measured, strict=True)),
        prices=listed[1] if listed else "",
    )
    (print_json if wish.json else print_table)(report, each=wish.each)
    if wish.plot is not None:
        path = Path(wish.plot).resolve()
        longest, series = report.series()
        _write(path, plot(series, wish.window, path.suffix.lower(), title=longest))
    return 0


def _rates(wish: Wish) -> tuple[Rates, str] | None:
    """The price list to go by, and in words whose it is; None: none is known, so ratios count.

    Raises:
        UserError: One is asked for that nobody knows.
    """
    if not (wish.prices or wish.model):
        return None
    from indwell.cli.replay_model import listed_rates

    listed = listed_rates(wish.prices or wish.model, anywhere=bool(wish.prices))
    if listed is None and wish.prices:
        raise UserError(
            f"--prices: the price of {wish.prices!r} is not known: not in your settings, not at "
            "your endpoint, and in no list; name another"
        )
    return listed


def _all(wish: Wish, sessions: Sequence[Recorded], rates: Rates) -> Iterator[tuple[Figures, ...]]:
    """The figures of each session under each preset."""
    job = _Job(wish.presets, wish.window, wish.ratio, wish.cache, wish.pause_s, rates)
    if wish.model:
        from indwell.cli.replay_model import model_summaries

        with model_summaries(wish.model) as summarise:
            asked = (measured(job, one, summarise) for one in sessions)
            yield from progress(asked, len(sessions))
        return
    with closing(mapped(partial(measured, job), sessions)) as results:
        yield from progress(results, len(sessions))


def measured(
    job: _Job, session: Recorded, summarise: Summarise | None = None
) -> tuple[Figures, ...]:
    """One recording under each preset; the texts are read once."""
    reader = Reader()
    figures: list[Figures] = []
    for name in job.presets:
        began_s = perf_counter()
        one = replayed(
            session,
            name,
            job.window,
            ratio=job.ratio,
            cache=job.cache,
            rates=job.rates,
            pause_s=job.pause_s,
            reader=reader,
            summarise=summarise,
        )
        figures.append(msgspec.structs.replace(one, seconds=perf_counter() - began_s))
    return tuple(figures)


def _write(path: Path, picture: bytes) -> None:
    try:
        write_atomic(path, picture, [path.parent])
    except ToolError as error:
        raise UserError(f"the picture was not written: {error}") from error
