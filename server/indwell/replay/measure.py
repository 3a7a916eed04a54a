"""One recording under one preset, measured: the whole of a replay as one function."""

from __future__ import annotations

from indwell.context.compaction.presets import PRESETS, Preset
from indwell.context.compaction.step import Facts, Rates
from indwell.context.pairing import problems
from indwell.replay.cache import PrefixCache, Served
from indwell.replay.cache_rules import CACHES, CacheRules
from indwell.replay.course import SPILL_FOLDER, Point, Rules, points
from indwell.replay.figures import Figures
from indwell.replay.loss import Loss, LossMeter, Reading
from indwell.replay.promises import Broken, Promises
from indwell.replay.summaries import Summarise
from indwell.replay.traces import Reader
from indwell.sessions.foreign import Recorded

RATIOS = Rates()
"""Prices as most lists have them, beside that of an input token."""


def replayed(
    session: Recorded,
    preset: Preset | str,
    window: int,
    *,
    ratio: float = 0.2,
    cache: CacheRules = CACHES["plain"],
    rates: Rates = RATIOS,
    pause_s: float = 0.0,
    reading: Reading = "any",
    reader: Reader | None = None,
    summarise: Summarise | None = None,
) -> Figures:
    """Run a recording again under a preset, and measure it.

    Args:
        session: From ``sessions.foreign``.
        preset: Itself or its name.
        window: Tokens a request may have.
        ratio: See ``course.Rules``.
        cache: The provider's rules.
        rates: Prices for a million tokens.
        pause_s: Between two requests, where the recording has no times.
        reading: Which sources make a pair; see ``loss``.
        reader: Shared by several replays of one recording, so that its texts are read once.
        summarise: See ``course.Rules``.
    """
    chosen = PRESETS[preset] if isinstance(preset, str) else preset
    facts = Facts(rates=rates, spill_folder=SPILL_FOLDER)
    rules = Rules(chosen, window, ratio, facts=facts, cache=cache, summarise=summarise)
    moments_s = request_moments(session, pause_s)
    served, promises = PrefixCache(cache), Promises()
    meter = LossMeter(reader or Reader(), reading)
    total = Figures()
    for point, at_s in zip(points(session.messages, rules, moments_s), moments_s, strict=True):
        here = served.served(point.request, at_s=at_s)
        total += _figures(point, here, meter.at(point), promises.at(point), rules)
    return total


def request_moments(session: Recorded, pause_s: float) -> tuple[float, ...]:
    """When each request was made, in seconds; as recorded, else one ``pause_s`` after the other."""
    n_requests = len(session.messages) // 2
    if session.times_s:
        return session.times_s[: 2 * n_requests : 2]
    return tuple(number * pause_s for number in range(n_requests))


def _figures(point: Point, served: Served, loss: Loss, broken: Broken, rules: Rules) -> Figures:
    tokens, rates = point.tokens, rules.facts.rates
    rereads = sum(reread_cost(tokens, piece, rules.cache, rates) for piece in loss.pieces)
    summaries = point.done.summary_price
    main = (
        served.read * rates.cached
        + served.written * rates.cache_write
        + (tokens - served.read - served.written) * rates.input
    )
    return Figures(
        requests=1,
        tokens=tokens,
        cached=served.read,
        cost=main + rereads + summaries,
        reread_cost=rereads,
        summary_cost=summaries,
        rereads=len(loss.pieces),
        compactions=bool(point.done.layers),
        largest_request=tokens,
        unpaired=bool(problems(point.request.messages, start=point.conversation.tally.n)),
        too_large=not point.fits,
        loops=point.done.is_loop,
        words_missing=broken.words,
        task_missing=broken.task,
        unfinished=broken.finished,
        sizes=(tokens,),
        troubles=point.done.troubles,
        **{name: getattr(loss, name) for name in _COUNTS},
    )


def reread_cost(prompt: int, piece: int, cache: CacheRules, rates: Rates) -> float:
    """Price of reading something again: one more request, and the piece at its end."""
    if not cache.exists:
        return (prompt + piece) * rates.input
    new = rates.cache_write if cache.charges_writes else rates.input
    return prompt * rates.cached + piece * new


_COUNTS = ("pairs", "kept", "lines", "lines_kept", "recoverable")
