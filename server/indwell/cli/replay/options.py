"""Validates the command-line options of ``indwell replay``."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec

from indwell.context.compaction.presets import PRESETS
from indwell.errors import UserError
from indwell.replay.cache import CACHES, CacheRules
from indwell.replay.fitted_sessions import FOLDS, LeftOut
from indwell.replay.replayed_conversation import PREFIX_TOKENS

NO_MATPLOTLIB = (
    f"--plot: matplotlib draws the picture and is not installed; run `{sys.executable} -m pip "
    "install matplotlib`"
)
FORMATS = (".svg", ".png")
RATIO = 0.2  # the default ratio of a simulated summary's size to its text's size


class ReplayOptions(msgspec.Struct, frozen=True):
    """The validated options.

    Attributes:
        files: Recordings to read; ``-`` is stdin.
        presets: The names of presets.
        window: The context window, in tokens.
        ratio: The size of simulated summaries relative to their texts; 0 extracts parts instead.
        cache: The provider's rules of caching.
        pause_s: The time between two requests in seconds, if the recording has no times.
        model: The model that writes the summaries, or empty if summaries are simulated.
        prices: The model whose prices apply, or empty if costs are relative to the input price.
        json: Whether to print JSON.
        each: Whether to print a result for each session, too.
        plot: The file for a picture, or None if no picture is wanted.
        leave_out: The sessions that are not replayed.
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
    leave_out: LeftOut = LeftOut()


def wish_of(options: argparse.Namespace) -> ReplayOptions:
    """Validate the parsed options.

    Raises:
        UserError: An option is invalid.
    """
    if options.window < 1:
        raise UserError("--window: give a number of tokens, 1 or more")
    if options.window <= PREFIX_TOKENS:
        raise UserError(
            f"--window: {options.window:,} tokens are too few for the {PREFIX_TOKENS:,} of the "
            f"system prompt and the tools"
        )
    ratio = RATIO if options.summary_ratio is None else options.summary_ratio
    if not 0 <= ratio <= 1:
        raise UserError("--summary-ratio: give a number between 0 and 1")
    if options.model and options.summary_ratio is not None:
        raise UserError(
            "--summary-ratio: leave it out with --model, which decides on the length itself"
        )
    if not 0 <= options.pause < float("inf"):
        raise UserError("--pause: give seconds, 0 or more")
    if options.plot is not None and Path(options.plot).suffix.lower() not in FORMATS:
        raise UserError(f"--plot: the file name must end with {' or '.join(FORMATS)}")
    if options.plot is not None and not Path(options.plot).resolve().parent.is_dir():
        raise UserError(f"--plot: there is no folder {str(Path(options.plot).parent)!r}")
    if options.plot is not None and find_spec("matplotlib") is None:
        raise UserError(NO_MATPLOTLIB)
    return ReplayOptions(
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
        leave_out=LeftOut(
            options.leave_out,
            fold_numbers(options.leave_out_folds),
            _listed(options.leave_out_agents),
        ),
    )


def preset_names(given: str) -> tuple[str, ...]:
    """Return the preset names in a comma-separated list.

    Raises:
        UserError: A preset does not exist.
    """
    names = _listed(given)
    for name in names:
        if name not in PRESETS:
            raise UserError(f"--preset: there is no preset {name!r}; known: {', '.join(PRESETS)}")
    return names or tuple(PRESETS)


def fold_numbers(given: str) -> tuple[int, ...]:
    """Return the fold numbers in a comma-separated list.

    Raises:
        UserError: A fold does not exist.
    """
    known = {str(number): number for number in range(FOLDS)}
    for one in _listed(given):
        if one not in known:
            raise UserError(f"--leave-out-folds: there is no fold {one!r}; give 0 to {FOLDS - 1}")
    return tuple(known[one] for one in _listed(given))


def _listed(given: str) -> tuple[str, ...]:
    """Return the different texts in a comma-separated list."""
    return tuple(dict.fromkeys(one.strip() for one in given.split(",") if one.strip()))


def cache_rules(name: str, **given: float | None) -> CacheRules:
    """Return the cache rules called ``name``, with single rules replaced by ``given``."""
    if name not in CACHES:
        raise UserError(f"--cache: there are no rules {name!r}; known: {', '.join(CACHES)}")
    told = {key: value for key, value in given.items() if value is not None}
    for key, least in (("minimum", 0), ("block", 1), ("life_s", 0)):
        if not least <= told.get(key, least) < float("inf"):
            option = key.removesuffix("_s")
            raise UserError(f"--cache-{option}: {told[key]:g} is not {least} or more")
    return msgspec.structs.replace(CACHES[name], **told)
