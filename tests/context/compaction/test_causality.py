"""A request depends only on earlier messages, never on later messages."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from indwell.context.compaction.presets import PRESETS
from indwell.errors import ConversationTooLarge
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.encoder import RequestEncoder
from support.recorded import played, recorded_sessions

WINDOW = 6_000
"""A small window, so that every preset compacts sessions of ten thousand tokens."""


@pytest.mark.parametrize("preset", sorted(PRESETS.keys() - {"none"}))
@pytest.mark.parametrize("name", ["sweagent", "tau"])
def test_any_prefix_of_a_session_gives_the_same_requests_as_the_whole_session(
    name: str, preset: str
) -> None:
    dice = Random(7)
    n_requests = n_compacted = 0
    for messages in recorded_sessions(name)[::3]:
        whole = _bodies(messages, preset)
        stop = dice.randrange(2, len(messages) + 1)
        beginning = _bodies(messages[:stop], preset)
        assert beginning == whole[: len(beginning)]
        n_requests += len(beginning)
        n_compacted += sum(
            not after.startswith(before[: before.rindex(b'],"max_tokens"')])
            for before, after in pairwise(whole)
        )
    assert n_requests > 20
    assert n_compacted > 0, "no request was compacted, so this says nothing"


def _bodies(messages, preset: str) -> list[bytes]:
    bodies = []
    try:
        for _, request in played(messages, PRESETS[preset], window=WINDOW):
            bodies.append(RequestEncoder().encode(request, Dialect()))
    except ConversationTooLarge:
        pass  # a recorded message does not fit into this small window
    return bodies


@pytest.mark.parametrize("preset", sorted(PRESETS.keys() - {"none"}))
def test_the_same_session_gives_the_same_bytes_again(preset: str) -> None:
    messages = recorded_sessions("sweagent")[3]
    assert _bodies(messages, preset) == _bodies(messages, preset)


def test_without_compaction_each_request_begins_with_the_previous_request() -> None:
    for messages in recorded_sessions("tau"):
        requests = [request for _, request in played(messages, PRESETS["none"], window=200_000)]
        for before, after in pairwise(requests):
            assert after.messages[: len(before.messages)] == before.messages
