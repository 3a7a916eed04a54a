"""Plays random faults of a model's endpoint: cut, damaged, repeated and slow answers.

    python tests/faults/model_faults.py 20000 --seed 7

Each round plays one broken answer to a real provider. The provider must end in time, with a reply
or one of Indwell's errors. Calls must come from a complete reply and have unique ids. No message
may show the key, and no task may remain.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from indwell.errors import ProviderError
from indwell.messages import Reply
from indwell.providers.client import EndpointClient
from indwell.providers.quirks import NAMES, dialect_for
from support.fault_endpoint import (
    DONE,
    END,
    FIN,
    HEAD,
    RST,
    FaultEndpoint,
    Script,
    Step,
    answer,
    broken,
    chunked,
    data,
    refusal,
)
from support.loopback_endpoint import chunk
from support.requests import READ, request, user

KEY = "sk-very-secret"
STALL_S = 0.3
PATIENCE_S = 60  # seconds for tasks to end
SLOW_S = 3.0  # seconds after which a round counts as hung
Dice = random.Random


def events(dice: Dice) -> list[bytes]:
    """Return a complete stream: text, reasoning, calls, an end and usage, in a random dialect."""
    made = [chunk({"role": "assistant", "content": ""})]
    made += [
        chunk({dice.choice(["content", "reasoning"]): word})
        for word in ["a", "é", "😀", "<think>", "b"]
    ]
    for index in range(dice.randrange(3)):
        arguments = json.dumps({"path": "x" * dice.randrange(40)})
        half = dice.randrange(len(arguments))
        place = dice.choice([{"index": index}, {"index": 0}, {}, {"index": str(index)}])
        name = {"id": dice.choice(["", f"c{index}", "c0"]), **place}
        first = {"name": "read_file", "arguments": arguments[:half]}
        made.append(chunk({"tool_calls": [{**name, "function": first}]}))
        made.append(chunk({"tool_calls": [{**place, "function": {"arguments": arguments[half:]}}]}))
    made.append(chunk({}, finish=dice.choice(["stop", "tool_calls", "length", None, "error"])))
    made.append({"choices": [], "usage": {"prompt_tokens": dice.choice([1, None, "x"])}})
    return [data(event) for event in made] + [DONE]


def framed(parts: list[bytes], dice: Dice) -> list[Step]:
    """Return the parts as HTTP chunks, cut at random positions."""
    body = b"".join(parts)
    steps: list[Step] = [HEAD]
    while body:
        size = dice.choice([1, 3, 50, 300])
        steps.append(chunked(body[:size]))
        body = body[size:]
    return [*steps, END]


def whole(dice: Dice) -> Script:
    return broken(*framed(events(dice), dice))


def cut(dice: Dice) -> Script:
    steps = framed(events(dice), dice)
    return broken(*steps[: dice.randrange(len(steps))], 0.002, dice.choice([RST, FIN]))


def ended_early(dice: Dice) -> Script:
    parts = events(dice)
    return broken(*framed(parts[: dice.randrange(len(parts))], dice))


def damaged(dice: Dice) -> Script:
    body = bytearray(b"".join(events(dice)))
    for _ in range(dice.randrange(1, 5)):
        body[dice.randrange(len(body))] = dice.randrange(256)
    return broken(*framed([bytes(body)], dice))


def shuffled(dice: Dice) -> Script:
    parts = events(dice)
    parts += dice.choices(parts, k=3)
    dice.shuffle(parts)
    return broken(*framed(parts, dice))


def noisy(dice: Dice) -> Script:
    noise = [b": ping\n\n", b"data:\n\n", b"event: x\n\n", b"\r\n", b'data: {"error": "no"}\n\n']
    parts = [
        part
        for event in events(dice)
        for part in (dice.choice(noise[: dice.choice([4, 5])]), event)
    ]
    return broken(*framed(parts, dice))


def stalled(dice: Dice) -> Script:
    steps = framed(events(dice), dice)[:-1]
    return broken(*steps[: dice.randrange(1, len(steps))], "hang")


def refused(dice: Dice) -> Script:
    words = dice.choice([f"key {KEY}", "stream_options", "max_tokens unsupported", "too long", ""])
    status = dice.choice([400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 529, 307])
    return refusal(
        status, words, headers=dice.choice(["", "Retry-After: x\r\n", "Location: /\r\n"])
    )


def odd_body(dice: Dice) -> Script:
    body = dice.choice(
        ['{"error": {"message": "no"}}', "[]", "<html>", "{", "", "\x00", '{"choices": []}']
    )
    return answer(200, body, kind=dice.choice(["application/json", "text/html", "x", ""]))


def bad_http(dice: Dice) -> Script:
    junk = [
        b"\x16\x03\x01",
        b"HTTP/1.1 200\r\n\r\n",
        b"HTTP/9 x\r\n\r\n",
        b"\r\n" * 9,
        HEAD + b"zz\r\n",
    ]
    return broken(dice.choice(junk), FIN)


FAULTS: Mapping[str, Callable[[Dice], Script]] = {
    made.__name__: made
    for made in (
        whole, cut, ended_early, damaged, shuffled, noisy, stalled, refused, odd_body, bad_http,
    )
}  # fmt: skip


def check(reply: Reply) -> None:
    """Check the rules for every reply.

    Raises:
        AssertionError: The reply breaks a rule.
    """
    ids = [call.id for call in reply.calls]
    assert len(set(ids)) == len(ids), ids
    assert not reply.calls or reply.finish == "tool_calls", reply
    assert (reply.finish == "incomplete") <= bool(reply.problem), reply
    assert KEY not in reply.problem
    assert all(call.id and call.name and call.arguments for call in reply.calls), reply


def check_sentence(said: str) -> None:
    """Check the rules for every error message.

    Raises:
        AssertionError: The message breaks a rule.
    """
    assert said, "an error without words"
    assert KEY not in said, said


async def play(name: str, dice: Dice) -> str:
    """Run one round; return its outcome."""
    tasks = asyncio.all_tasks()
    script = FAULTS[name](dice)
    began = time.monotonic()
    async with FaultEndpoint([script] * 6) as endpoint:
        dialect = dialect_for(None, name=dice.choice(NAMES))
        provider = EndpointClient(
            base_url=endpoint.base_url, api_key=KEY, timeout_s=STALL_S, dialect=dialect
        )
        try:
            asked = request(user("hello"), tools=(READ,))
            reply = await provider.complete(asked, lambda _: None)
            check(reply)
            ended: str = reply.finish
        except ProviderError as error:
            ended = type(error).__name__
            check_sentence(str(error))
        finally:
            await provider.aclose()
    assert time.monotonic() - began < SLOW_S, f"{name} took too long"
    # The loop closes the HTTP library's generators in separate tasks, some iterations later.
    left = asyncio.all_tasks() - tasks
    if left:
        _, left = await asyncio.wait(left, timeout=PATIENCE_S)
    assert not left, f"a task is left: {left}"
    return f"{name}: {ended}"


async def run(n_rounds: int, seed: int) -> Counter[str]:
    """Play ``n_rounds`` faults, all kinds in turn; count the outcomes."""
    kinds = list(FAULTS)
    ends: Counter[str] = Counter()
    for number in range(n_rounds):
        dice = Dice(f"{seed}/{number}")
        try:
            ends[await play(kinds[number % len(kinds)], dice)] += 1
        except AssertionError as error:
            error.add_note(f"round {number} of seed {seed}")
            raise
    return ends


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int, nargs="?", default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    for ended, count in sorted(asyncio.run(run(chosen.rounds, chosen.seed)).items()):
        print(f"{count:6}  {ended}")


if __name__ == "__main__":
    main()
