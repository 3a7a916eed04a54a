"""A long request is sent in chunks, as one body of a known length, and again for a retry."""

from __future__ import annotations

import msgspec

from indwell.messages import Message
from indwell.providers.base import Sending, StreamEvent
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.encoder import SENT_B, digest_of
from support.asking import connected
from support.chat_bodies import chat_body
from support.fault_endpoint import refusal, streamed
from support.loopback_endpoint import chunk
from support.requests import assistant, request, result, use, user

SAID = streamed(chunk({"content": "hello"}, finish="stop"))


def exchange(number: int) -> tuple[Message, Message]:
    text = f"{number} schön\n" * 900
    return assistant(use(id_=f"c{number}")), user(result(text, id_=f"c{number}"))


LONG = request(user("go"), *(one for number in range(120) for one in exchange(number)))


def bodies_told(told: list[StreamEvent]) -> list[tuple[bytes, str]]:
    """Return the expected bodies of the attempts, with the reported digests."""
    sendings = [one for one in told if isinstance(one, Sending)]
    dialects = [msgspec.json.decode(one.dialect, type=Dialect) for one in sendings]
    bodies = [msgspec.json.encode(chat_body(LONG, dialect)) for dialect in dialects]
    return [(body, one.digest) for body, one in zip(bodies, sendings, strict=True)]


async def test_a_long_request_body_arrives_complete_with_the_reported_digest() -> None:
    told: list[StreamEvent] = []
    async with connected(SAID) as (provider, endpoint):
        assert (await provider.complete(LONG, told.append)).text == "hello"
    body, head = endpoint.bodies[0], endpoint.heads[0].lower()
    assert bodies_told(told) == [(body, digest_of(body))]
    assert len(body) > 10 * SENT_B
    assert b"content-length: %d" % len(body) in head
    assert b"transfer-encoding" not in head


async def test_a_long_body_is_sent_again_without_a_refused_parameter() -> None:
    told: list[StreamEvent] = []
    refused = refusal(400, "Unrecognized request argument supplied: stream_options")
    async with connected(refused, SAID) as (provider, endpoint):
        await provider.complete(LONG, told.append)
    first, second = endpoint.bodies
    assert bodies_told(told) == [(first, digest_of(first)), (second, digest_of(second))]
    assert b"stream_options" in first
    assert b"stream_options" not in second
