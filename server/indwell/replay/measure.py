"""One recording under one preset, measured: the whole of a replay as one pure function."""

from __future__ import annotations

from indwell.context.compaction.facts import Rates
from indwell.context.compaction.preset import Preset
from indwell.context.compaction.presets import PRESETS
from indwell.context.pairing import problems
from indwell.messages import Text
from indwell.replay.cache import CACHES, CacheRules, PrefixCache
from indwell.replay.course import Point, Rules, points
from indwell.replay.figures import Figures
from indwell.replay.loss import Loss, LossMeter, Reading
from indwell.replay.traces import Reader
from indwell.sessions.foreign import Recorded


def replayed(
    session: Recorded,
    preset: Preset | str,
    window: int,
    *,
    ratio: float = 0.2,
    cache: CacheRules = CACHES["plain"],
    reading: Reading = "any",
    reader: Reader | None = None,
) -> Figures:
    """Run a recording again under a preset, and measure it.

    Args:
        session: From ``sessions.foreign``.
        preset: Itself or its name.
        window: Tokens a request may have.
        ratio: See ``course.Rules``.
        cache: The provider's rules.
        reading: Which sources make a pair; see ``loss``.
        reader: Shared by several replays of one recording, so that its texts are read once.
    """
    chosen = PRESETS[preset] if isinstance(preset, str) else preset
    rules = Rules(chosen, window, ratio)
    served = PrefixCache(cache)
    meter = LossMeter(reader or Reader(), reading)
    said: list[str] = []
    figures: list[Figures] = []
    for number, point in enumerate(points(session.messages, rules)):
        at_s = session.times_s[2 * number] if session.times_s else 0.0
        cached = served.served(point.request, at_s=at_s)
        said += (one.text for one in point.arrived if isinstance(one, Text) and is_users(one))
        figures.append(_figures(point, cached, meter.at(point), said, rules.facts.rates))
    return sum(figures, Figures())


def is_users(block: Text) -> bool:
    """Are these the user's own words?"""
    return block.meta.source == "user"


def _figures(point: Point, cached: int, loss: Loss, said: list[str], rates: Rates) -> Figures:
    tokens = point.tokens
    rereads = sum(tokens * rates.cached + piece * rates.cache_write for piece in loss.pieces)
    summaries = point.done.summary_price
    main = (tokens - cached) * rates.cache_write + cached * rates.cached
    messages = point.request.messages
    shown = {one.text for message in messages for one in message.blocks if isinstance(one, Text)}
    return Figures(
        requests=1,
        tokens=tokens,
        cached=cached,
        cost=main + rereads + summaries,
        reread_cost=rereads,
        summary_cost=summaries,
        rereads=len(loss.pieces),
        compactions=bool(point.done.layers),
        largest_request=tokens,
        unpaired=bool(problems(messages)),
        too_large=not point.fits,
        loops=point.done.is_loop,
        words_missing=any(text not in shown for text in said),
        sizes=(tokens,),
        **{name: getattr(loss, name) for name in _COUNTS},
    )


_COUNTS = ("pairs", "kept", "lines", "lines_kept", "recoverable")
