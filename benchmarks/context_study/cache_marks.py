"""Compares positions of the newest cache mark, for each provider's rules, by replay.

    .venv/bin/python benchmarks/context_study/cache_marks.py --sessions 8

``newest`` is the engine's own request, with a mark after the newest message (the newest
results). ``before`` moves that mark to the message before, and ``none`` marks nothing. Costs are
input, cache reads and cache writes, relative to ``newest``.
"""

from __future__ import annotations

import argparse
from collections import Counter

import msgspec
from recordings import sessions

from indwell.context.compaction.presets import PRESETS
from indwell.context.compaction.step import TokenRates
from indwell.messages import Anchors, Request
from indwell.replay.cache import CACHES, PrefixCache
from indwell.replay.measure import request_moments
from indwell.replay.replayed_conversation import ReplayRules, points
from indwell.sessions.imports import Recorded

HOUR = 1.6
LEAST, MOST = 40, 600  # messages of a session that is replayed
POLICIES = ("newest", "before", "none")


def placed(request: Request, policy: str) -> Request:
    tail = len(request.messages) - 1
    marks = request.anchors
    if policy == "none":
        marks = Anchors()
    elif policy == "before" and tail in marks.messages:
        others = {one for one in marks.messages if one != tail}
        marks = msgspec.structs.replace(marks, messages=tuple(sorted(others | {max(0, tail - 1)})))
    return msgspec.structs.replace(request, anchors=marks)


def taken(agent: str, n: int) -> list[Recorded]:
    """Return ``n`` sessions of at least 40 messages, evenly spread over the file."""
    found = [one for one in sessions(agent) if LEAST <= len(one.messages) <= MOST]
    return found[:: max(1, len(found) // n)][:n]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--window", type=int, default=64_000)
    parser.add_argument("--agent", default="entire")
    given = parser.parse_args()
    rates = TokenRates()
    costs: Counter[tuple[str, str]] = Counter()
    n_calls = 0
    chosen = taken(given.agent, given.sessions)
    for session in chosen:
        moments_s = request_moments(session, 20.0)
        caches = {(name, one): PrefixCache(CACHES[name]) for name in CACHES for one in POLICIES}
        rules = ReplayRules(PRESETS["default"], given.window)
        for point, at_s in zip(points(session.messages, rules, moments_s), moments_s, strict=True):
            n_calls += 1
            for (name, policy), cache in caches.items():
                served = cache.served(placed(point.request, policy), at_s=at_s)
                write = rates.cache_write * (HOUR if CACHES[name].for_an_hour else 1)
                plain = max(0, point.tokens - served.read - served.written)
                costs[name, policy] += (
                    plain * rates.input + served.read * rates.cached + served.written * write
                )
    print(f"{len(chosen)} sessions of {given.agent}, {n_calls:,} calls, window {given.window:,}")
    for name in CACHES:
        shown = (f"{one} {costs[name, one] / costs[name, 'newest']:.3f}" for one in POLICIES)
        print(f"{name:13}{', '.join(shown)}")


if __name__ == "__main__":
    main()
