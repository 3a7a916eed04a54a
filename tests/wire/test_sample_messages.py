"""The 1,674 sample messages of every kind in LSP, valid or not, are sent to a real server."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from faults.fuzz_frames import CODES, SLOW_S, fuzz_live, fuzz_pure
from faults.mutations import seeds
from support.platforms import posix_only
from support.process_facts import facts
from support.raw_wire import error_of, frame

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENDS_IT = {"exit", "shutdown"}
N_PURE, N_LIVE = 20_000, 3_000  # tests/faults/fuzz_frames.py has the long forms
GROWTH_B = 16 << 20


def is_usable(id_: object) -> bool:
    return isinstance(id_, int | str) and not isinstance(id_, bool)


def must_be_answered(message: Any) -> bool:
    return isinstance(message, dict) and "method" in message and "id" in message


async def test_every_sample_request_is_answered_exactly_once_with_a_fitting_code(shared) -> None:
    """The messages have their own, odd ids; an invalid id is answered with null."""
    wanted: Counter[str] = Counter()
    before = len(shared.messages)
    for message in seeds():
        if isinstance(message, dict) and message.get("method") in ENDS_IT:
            continue
        shared.write(frame(message))
        if must_be_answered(message):
            id_ = message["id"]
            wanted[repr(id_ if is_usable(id_) else None)] += 1
        await shared.heard()  # one message at a time, because its id could still be in flight
    news = [one for one in shared.messages[before:] if "method" not in one]
    answers = [one for one in news if not str(one["id"]).startswith("raw-")]
    got = Counter(repr(one["id"]) for one in answers)
    # A message that is neither a request nor a response may also be refused, with its id or null.
    refused = Counter(repr(one["id"]) for one in answers if error_of(one)[1] == -32600)
    assert {id_: n for id_, n in (wanted - got).items() if n} == {}
    assert {id_: n for id_, n in (got - wanted - refused).items() if n} == {}
    assert {error_of(one)[1] for one in answers} <= {*CODES, None}


async def test_lsp_28_the_pure_parser_accepts_any_mutated_message(shared) -> None:
    tally = fuzz_pure(N_PURE, seed=28)
    assert tally.slowest_s < SLOW_S
    # The fuzz test reaches all intended outcomes.
    for kind in (
        "Invalid Refuse",
        "RpcRequest Take",
        "Notification Take",
        "Response Take",
        "broken",
    ):
        assert tally.kinds[kind] > N_PURE / 200, tally


@posix_only("kernel")
async def test_lsp_28_a_server_answers_every_mutated_request_once_and_stays_small(shared) -> None:
    await fuzz_live(shared, 1_000, seed=1)
    before = facts(shared.pid)
    tally = await fuzz_live(shared, N_LIVE, seed=2)
    after = facts(shared.pid)
    assert tally.slowest_s < SLOW_S
    # The fuzz test reaches all intended outcomes.
    for kind in ("result", "-32600", "-32601", "-32602"):
        assert tally.kinds[kind] > N_LIVE / 200, tally
    assert after.rss_b - before.rss_b < GROWTH_B
    # A pool of threads grows with parallel work, so only growth with the number of messages counts.
    assert after.n_fds - before.n_fds < N_LIVE / 100, (before, after)
    assert after.n_threads < N_LIVE / 50, (before, after)
