"""A prefix of a recording gives the same requests: no step depends on later messages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from indwell.context.compaction.presets import PRESETS
from indwell.context.compaction.step import SpilledText
from indwell.messages import Message
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.encoder import RequestEncoder
from indwell.replay.replayed_conversation import ReplayRules, points
from indwell.sessions.imports import Recorded
from support.recorded import foreign_sessions
from support.replay_sessions import session

WINDOWS = (9_000, 16_000, 32_000)


def sent(
    messages: tuple[Message, ...], rules: ReplayRules
) -> Iterator[tuple[bytes, tuple[str, ...], tuple[SpilledText, ...]]]:
    """Yield each request as sent, the compaction before it, and the kept text."""
    encoder = RequestEncoder()
    for point in points(messages, rules):
        yield encoder.encode(point.request, Dialect()), point.done.layers, point.done.spills


def check(one: Recorded, preset: str, window: int, ratio: float, parts: tuple[int, ...]) -> int:
    """Compare replays; return the number of requests with a compaction."""
    rules = ReplayRules(PRESETS[preset], window, ratio)
    whole = list(sent(one.messages, rules))
    for n in parts:
        part = list(sent(one.messages[:n], rules))
        assert len(part) == n // 2
        assert part == whole[: len(part)], f"{preset} at {window}: other requests up to {n // 2}"
    return sum(bool(layers) for _, layers, _ in whole)


@pytest.mark.parametrize("ratio", [0.2, 0.0])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_part_of_a_recording_gives_the_requests_of_the_whole_byte_for_byte(
    preset: str, window: int, ratio: float
) -> None:
    n_compacted = check(session(), preset, window, ratio, (2, 21, 40, 61, 86))
    assert bool(n_compacted) == (preset != "none")


@pytest.mark.parametrize("preset", PRESETS)
def test_a_prefix_of_a_recorded_session_replays_to_equal_requests(preset: str) -> None:
    (one,) = list(foreign_sessions("entire", first=23, every=1_000))
    n = len(one.messages)
    n_compacted = check(one, preset, 24_000, 0.2, (n // 3, n // 2, n - 2))
    assert bool(n_compacted) == (preset != "none")
