from __future__ import annotations

import time

import msgspec
import pytest

from indwell.context.conversation import system_block, tool_result
from indwell.context.request.cache_health import (
    LIFE_S,
    CacheReading,
    Compactions,
    Health,
    UsageFigures,
    after_call,
    after_compaction,
    after_reply,
    excerpts,
    first_difference,
)
from indwell.context.tokens import request_tokens
from indwell.messages import (
    Image,
    Message,
    Meta,
    Request,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
    Usage,
)

TOOLS = (ToolSpec("read_file", "To read a file.", "{}"), ToolSpec("bash", "To run.", "{}"))
SYSTEM = (system_block("You are a test, and this never changes."),)
LONG = "line of a file\n" * 600  # this is about 2,500 tokens
HIT, MISS = Usage(input=4_000, cached=3_000, output=10), Usage(input=4_000, output=10)


def said(role: str, text: str, turn: int = 1) -> Message:
    source = "user" if role == "user" else "assistant"
    return Message(role, (Text(text, Meta(1, source, tokens=len(text) // 4, turn=turn)),), turn)


def use(number: int) -> ToolUse:
    return ToolUse(f"c{number}", "read_file", '{"path":"a.py"}', Meta(3, "assistant", 9, turn=1))


def result(number: int, text: str) -> Message:
    return Message("user", (tool_result(use(number), text, is_error=False),), 1)


def a_request(*messages: Message, model: str = "m", **more: object) -> Request:
    whole = {"system": SYSTEM, "tools": TOOLS, **more}
    request = Request(model=model, messages=messages, max_output=100, **whole)
    return msgspec.structs.replace(request, tokens=request_tokens(request))


def growing(n_rounds: int) -> list[Request]:
    """Return the requests of a session that never changes sent messages."""
    messages = [said("user", LONG)]
    requests = [a_request(*messages)]
    for number in range(1, n_rounds):
        messages += [Message("assistant", (use(number),), 1), result(number, f"found {number}")]
        requests.append(a_request(*messages))
    return requests


def told(
    requests: list[Request], usages: list[Usage], *, idle_s: float = 1.0, has_cache: bool = False
) -> list[str]:
    """Return the warnings, one per call."""
    health, warnings = Health(), []
    for request, usage in zip(requests, usages, strict=True):
        seen = after_reply(health, request, usage, idle_s=idle_s, has_cache=has_cache)
        health = seen.health
        warnings.append(seen.warning)
    return warnings


def test_a_working_cache_causes_no_warning() -> None:
    assert told(growing(6), [MISS, *[HIT] * 5]) == [""] * 6


def test_three_requests_without_the_cache_cause_one_warning() -> None:
    requests = growing(8)
    usages = [MISS, HIT, MISS, MISS, MISS, MISS, MISS, MISS]
    *quiet, warning, fifth, _, _ = told(requests, usages)
    assert (quiet, fifth) == ([""] * 4, "")
    assert warning == (
        "3 requests in a row got nothing from the prompt cache: the endpoint did not use its "
        f"cache, although the request begins with all {requests[3].tokens:,} tokens of the "
        "previous request"
    )


def test_a_cache_hit_restarts_the_count_of_misses() -> None:
    usages = [HIT, MISS, MISS, HIT, MISS, MISS, HIT, MISS]
    assert told(growing(8), usages) == [""] * 8
    again = told(growing(8), [HIT, MISS, MISS, MISS, HIT, MISS, MISS, MISS])
    assert [bool(warning) for warning in again] == [False] * 3 + [True] + [False] * 3 + [True]


def test_an_endpoint_without_a_cache_causes_no_warning() -> None:
    requests = growing(5)
    assert told(requests, [MISS] * 5) == [""] * 5
    assert "did not use it" in told(requests, [MISS] * 5, has_cache=True)[3]
    writes = msgspec.structs.replace(MISS, cache_write=2_000)
    assert "did not use it" in told(requests, [writes] * 5)[3]


@pytest.mark.parametrize("why", ["short", "late", "another model", "not counted"])
def test_a_call_that_could_not_use_the_cache_is_not_a_miss(why: str) -> None:
    requests, usage, idle_s = growing(7), MISS, 1.0
    match why:
        case "short":
            requests = [a_request(said("user", f"short {number}")) for number in range(7)]
        case "late":
            idle_s = LIFE_S + 1
        case "another model":
            requests = [
                msgspec.structs.replace(request, model=f"m{number}")
                for number, request in enumerate(requests)
            ]
        case _:
            usage = msgspec.structs.replace(MISS, reported=False)
    assert told(requests, [usage] * 7, idle_s=idle_s, has_cache=True) == [""] * 7


def test_the_block_that_changed_is_named_with_its_source_and_before_and_after() -> None:
    """The date at the very beginning changes, so no cache can serve the text after the date."""
    requests = [
        a_request(*request.messages, system=(system_block(f"You are a test. It is 9:0{number}."),))
        for number, request in enumerate(growing(5))
    ]
    warning = told(requests, [HIT, MISS, MISS, MISS, MISS])[3]
    assert warning == (
        "3 requests in a row got nothing from the prompt cache: block 1 of the system prompt "
        "(source: system) changed; it was '…re a test. It is 9:02.', and is "
        "'…re a test. It is 9:03.'"
    )


def test_a_change_after_a_long_common_beginning_is_not_named_as_the_cause() -> None:
    requests = [
        a_request(*growing(3)[2].messages, said("assistant", f"draft {number}"), said("user", "x"))
        for number in range(4)
    ]
    warning = told(requests, [HIT, MISS, MISS, MISS])[3]
    assert "the endpoint did not use its cache, although the first 2," in warning
    assert "comes after them, in message 6, block 1 (source: assistant of turn 1)" in warning


def test_the_place_of_a_compactions_cut_is_the_first_difference() -> None:
    before = growing(4)[3]
    cut = (before.messages[0], before.messages[1], result(1, "[cut]"), *before.messages[3:])
    difference = first_difference(before, a_request(*cut, said("assistant", "x")))
    assert difference is not None
    assert (difference.place, difference.source, difference.turn) == (
        "message 3, block 1", "tool", 1
    )  # fmt: skip
    assert (difference.before, difference.after) == ("found 1", "[cut]")
    behind = request_tokens(before) - difference.common
    fixed = request_tokens(a_request())
    assert behind == request_tokens(a_request(*before.messages[2:])) - fixed


def test_requests_that_only_grow_do_not_differ() -> None:
    for before, after in zip(growing(5), growing(5)[1:], strict=False):
        # The requests are equal, but consist of different objects.
        assert first_difference(before, after) is None
    first = a_request(said("user", "go"))
    joined = Message("user", (*first.messages[0].blocks, *said("user", "and this").blocks), 1)
    assert first_difference(first, a_request(joined)) is None


def test_bookkeeping_that_is_not_sent_is_not_a_difference() -> None:
    before = growing(3)[2]
    message = before.messages[2]
    (block,) = message.blocks
    meta = msgspec.structs.replace(block.meta, tokens=1, pinned=True)
    other = Message("user", (msgspec.structs.replace(block, meta=meta),), turn=9)
    after = a_request(*before.messages[:2], other, *before.messages[3:])
    assert first_difference(before, after) is None


def test_the_cache_report_names_changed_and_removed_blocks_of_every_kind() -> None:
    meta = Meta(3, "tool", 5)
    picture = Image("image/png", "AAAA", meta)
    blocks = (Thinking("hm", meta), use(1), ToolResult("c1", "x", meta), picture)
    for index, block in enumerate(blocks):
        full = Message("user", blocks[: index + 1], 1)
        less = Message("user", blocks[:index], 1)
        end = said("assistant", "end")
        gone = first_difference(a_request(full, end), a_request(less, end))
        assert gone is not None
        assert (gone.place, gone.after) == (f"message 1, block {index + 1}", "")
        come = first_difference(a_request(less, end), a_request(full, end))
        assert come is not None
        assert (come.before, bool(come.after), come.source) == ("", True, block.meta.source)
    shorter = first_difference(a_request(said("user", "a"), end), a_request(said("user", "a")))
    assert shorter is not None
    assert (shorter.place, shorter.before, shorter.after) == ("message 2, block 1", "end", "")


def test_the_cache_report_names_a_changed_tool_and_keeps_the_prefix_before_the_tool() -> None:
    other = (TOOLS[0], msgspec.structs.replace(TOOLS[1], description="To run a command."))
    request = growing(1)[0]
    difference = first_difference(request, msgspec.structs.replace(request, tools=other))
    assert difference is not None
    assert (difference.place, difference.source) == ("tool 2", "tools")
    assert (difference.before, difference.after) == (
        "bash: To run. {}",
        "bash: To run a command. {}",
    )
    assert 0 < difference.common < 20
    more = first_difference(request, msgspec.structs.replace(request, tools=(*TOOLS, TOOLS[0])))
    assert more is not None
    assert (more.place, more.before) == ("tool 3", "")


def test_an_excerpt_is_short_on_one_line_and_shows_the_change() -> None:
    before, after = excerpts("a\n" * 5_000 + "x" + "b" * 90, "a\n" * 5_000 + "y" + "b" * 90)
    assert before == "…" + "a " * 10 + "x" + "b" * 39 + "…"
    assert after == "…" + "a " * 10 + "y" + "b" * 39 + "…"
    assert excerpts("", "new") == ("", "new")


def test_the_expected_cache_share_is_scaled_to_the_endpoints_count() -> None:
    first, second = growing(2)
    health = after_reply(Health(), first, MISS).health
    usage = Usage(input=2 * second.tokens, cached=0)
    seen = after_reply(health, second, usage)
    assert seen.expected == 2 * first.tokens
    assert seen.health.last is second
    counted = after_call(seen.health, 1, usage, 0.1, expected=seen.expected)
    assert counted.session.expected == 2 * first.tokens


def test_sums_are_kept_for_the_turn_and_for_the_session() -> None:
    health = after_call(Health(), 1, HIT, 0.5)
    health = after_compaction(health, 1, "digest", 9_000, 4_000)
    health = after_call(health, 2, MISS, 0.25)
    health = after_compaction(health, 2, "digest", 8_000, 7_000)
    assert health.turn == UsageFigures(
        requests=1,
        usage=MISS,
        counted=4_000,
        known_cost=0.25,
        compactions={"digest": Compactions(1, 1_000)},
    )
    assert health.session == UsageFigures(
        requests=2,
        usage=HIT + MISS,
        counted=8_000,
        known_cost=0.75,
        compactions={"digest": Compactions(2, 6_000)},
    )
    assert (health.session.cost, health.session.hit_rate) == (0.75, 3_000 / 8_000)
    assert (health.session.saved, UsageFigures().hit_rate, UsageFigures().cost) == (
        6_000,
        None,
        0.0,
    )


def test_an_unknown_price_stays_unknown_and_an_estimate_is_not_a_count() -> None:
    guessed = msgspec.structs.replace(MISS, reported=False)
    health = after_call(after_call(Health(), 1, HIT, 0.5), 1, guessed, None)
    figures = health.session
    assert (figures.cost, figures.known_cost, figures.unpriced) == (None, 0.5, 1)
    assert (figures.estimated, figures.counted, figures.hit_rate) == (1, 4_000, 0.75)
    assert after_reply(health, growing(1)[0], guessed) == CacheReading(health)


def test_a_long_conversation_is_compared_fast() -> None:
    """Comparing identities of 20,000 messages (a megabyte) takes far less than a millisecond."""
    messages = tuple(
        said("user" if n % 2 == 0 else "assistant", "word " * 10) for n in range(20_000)
    )
    before, after = a_request(*messages), a_request(*messages, said("user", "and on"))
    best = 1.0
    for _ in range(5):
        began = time.process_time()
        assert first_difference(before, after) is None
        best = min(best, time.process_time() - began)
    assert best < 0.05
