"""Measures how well the prompt cache works, and sums up model calls. Pure.

A sent message never changes, so the cache should serve all of the last request in the next request.
Idle times are arguments, because this module does not read a clock.

Messages are frozen and shared between requests, so an unchanged message is the same object.
Comparing identities finds the first message that may differ. Only fields that a provider gets are
compared, not other metadata of a block.

Calls and compactions are summed up for a turn, a session or a day. If the price of a call is
unknown, the cost of the sum is unknown; the sum still has the known part of the cost, and the
number of calls without a price.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress, count
from operator import is_not
from typing import NamedTuple, TypeAlias, TypeVar, assert_never

import msgspec

from indwell.context.tokens import BLOCK_OVERHEAD, message_tokens, request_tokens, tools_tokens
from indwell.messages import (
    Block,
    CacheLife,
    Image,
    Message,
    Request,
    Source,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
    Usage,
)


class Compactions(msgspec.Struct, frozen=True):
    """The effect of one layer of compaction: the number of runs, and the removed tokens."""

    count: int = 0
    saved: int = 0


class UsageFigures(msgspec.Struct, frozen=True):
    """The usage of some model calls, and the compactions between the calls.

    Attributes:
        requests: Number of calls.
        estimated: Number of calls whose tokens are estimated, because the endpoint sent no usage.
        unpriced: Number of calls of unknown cost.
        usage: The tokens of all calls.
        counted: The prompt tokens of the calls that the endpoint counted.
        expected: The prompt tokens that a cache should have served, by the endpoint's count.
        known_cost: The cost of the calls with a known cost, in US dollars.
        compactions: The compactions, by layer.
    """

    requests: int = 0
    estimated: int = 0
    unpriced: int = 0
    usage: Usage = Usage()
    counted: int = 0
    expected: int = 0
    known_cost: float = 0.0
    compactions: Mapping[str, Compactions] = {}

    @property
    def cost(self) -> float | None:
        """The cost of all calls in US dollars, or None if the cost of a call is unknown."""
        return None if self.unpriced else self.known_cost

    @property
    def hit_rate(self) -> float | None:
        """The share of the counted prompt tokens that came from a cache, or None without counts."""
        return self.usage.cached / self.counted if self.counted else None

    @property
    def saved(self) -> int:
        """The number of tokens that all layers of compaction removed."""
        return sum(one.saved for one in self.compactions.values())

    def __add__(self, other: UsageFigures) -> UsageFigures:
        compactions = dict(self.compactions)
        for layer, more in other.compactions.items():
            known = compactions.get(layer, Compactions())
            compactions[layer] = Compactions(known.count + more.count, known.saved + more.saved)
        return UsageFigures(
            requests=self.requests + other.requests,
            estimated=self.estimated + other.estimated,
            unpriced=self.unpriced + other.unpriced,
            usage=self.usage + other.usage,
            counted=self.counted + other.counted,
            expected=self.expected + other.expected,
            known_cost=self.known_cost + other.known_cost,
            compactions=compactions,
        )


def of_call(usage: Usage, cost: float | None, *, expected: int = 0) -> UsageFigures:
    """Return the figures of one model call; ``expected`` is explained in ``UsageFigures``."""
    return UsageFigures(
        requests=1,
        estimated=0 if usage.reported else 1,
        unpriced=1 if cost is None else 0,
        usage=usage,
        counted=usage.input if usage.reported else 0,
        expected=expected,
        known_cost=cost or 0.0,
    )


def of_compaction(layer: str, before: int, after: int) -> UsageFigures:
    """Return the figures of one compaction step; ``before`` and ``after`` are prompt tokens."""
    return UsageFigures(compactions={layer: Compactions(1, before - after)})


LIFE_S = 300.0  # the shortest time, in seconds, for which a cache keeps an unused prefix
HOUR_S = 3_600.0  # the time in seconds if the request asks for a cache of one hour
LEAST_PREFIX = 1_024  # no endpoint caches a prefix with fewer tokens
THRASH_AT = 3  # After 3 consecutive calls without a cache hit, the user is warned.


def life_s(life: CacheLife) -> float:
    """Return the time, in seconds, for which a cache keeps an unused prefix."""
    return HOUR_S if life == "1h" else LIFE_S


class Health(msgspec.Struct, frozen=True):
    """Statistics of the cache and sums after some model calls.

    Attributes:
        last: The last request that got a reply.
        has_cache: Whether the endpoint of the last request has ever reported a cache.
        misses: The number of consecutive calls that read no cached token, although a prefix should
            have been cached.
        turn_number: The number of the turn whose sums are in ``turn``.
        turn: The sums of the turn ``turn_number``.
        session: The sums of all turns.
    """

    last: Request | None = None
    has_cache: bool = False
    misses: int = 0
    turn_number: int = 0
    turn: UsageFigures = UsageFigures()
    session: UsageFigures = UsageFigures()


def of_turn(health: Health, turn: int) -> UsageFigures:
    """Return the sums of turn ``turn``; empty sums if another turn made the last call."""
    return health.turn if health.turn_number == turn else UsageFigures()


def after_call(
    health: Health, turn: int, usage: Usage, cost: float | None, *, expected: int = 0
) -> Health:
    """Add the usage of a call of any model.

    Args:
        health: The statistics before the call.
        turn: The number of the turn, 1-based.
        usage: The usage of the call.
        cost: The cost in US dollars, or None if unknown.
        expected: The tokens that a cache should have served; see ``UsageFigures``.
    """
    return added(health, turn, of_call(usage, cost, expected=expected))


class CacheReading(NamedTuple):
    """What the reply to a request shows about the cache.

    Attributes:
        health: The statistics, including this request.
        expected: The prompt tokens that the cache should have served, as the endpoint counts.
        warning: A warning if the cache has failed for the third time in a row, otherwise empty. No
            further warning is given until the cache serves tokens again.
    """

    health: Health
    expected: int = 0
    warning: str = ""


def after_reply(
    health: Health,
    request: Request,
    usage: Usage,
    *,
    idle_s: float = 0.0,
    has_cache: bool = False,
) -> CacheReading:
    """Update the statistics with the reply to a request of the conversation.

    Args:
        health: The statistics before the reply.
        request: The sent request.
        usage: The tokens as counted by the endpoint; an estimate is ignored.
        idle_s: The seconds since the reply to the request before.
        has_cache: Whether the endpoint is known to have a cache.
    """
    if not usage.reported:
        return CacheReading(health)
    before = health.last
    is_same = before is not None and before.model == request.model
    known = (health.has_cache and is_same) or usage.cached > 0 or usage.cache_write > 0
    difference = None
    prefix = common = 0
    if before is not None and is_same and idle_s <= life_s(before.cache_life):
        difference = first_difference(before, request)
        prefix = total_tokens(before)
        common = prefix if difference is None else difference.common
    misses = health.misses if is_same and not usage.cached else 0
    if prefix >= LEAST_PREFIX and (known or has_cache) and not usage.cached:
        misses += 1  # Only calls that could have read the cache are counted.
    is_thrash = misses == THRASH_AT > health.misses
    changed = msgspec.structs.replace(health, last=request, has_cache=known, misses=misses)
    warning = thrash_words(difference, common) if is_thrash else ""
    return CacheReading(changed, _in_its_count(common, request, usage), warning)


def after_compaction(health: Health, turn: int, layer: str, before: int, after: int) -> Health:
    """Add a compaction step; ``before`` and ``after`` are tokens of the prompt."""
    return added(health, turn, of_compaction(layer, before, after))


def thrash_words(difference: RequestDifference | None, common: int) -> str:
    """Describe the change that made the cache fail, with the text before and after.

    Args:
        difference: The first difference between the newest request and the request before, or None
            if the requests do not differ.
        common: The tokens of the common beginning of both requests.
    """
    head = f"{THRASH_AT} requests in a row got nothing from the prompt cache"
    if difference is None:
        return (
            f"{head}: the endpoint did not use its cache, although the request begins with all "
            f"{common:,} tokens of the previous request"
        )
    if common >= LEAST_PREFIX:
        return (
            f"{head}: the endpoint did not use its cache, although the first {common:,} tokens "
            f"are those of the previous request (the first change comes after them, in "
            f"{_named(difference)})"
        )
    texts = (difference.before, difference.after)
    before, after = (repr(text) if text else "nothing" for text in texts)
    return f"{head}: {_named(difference)} changed; it was {before}, and is {after}"


def _named(difference: RequestDifference) -> str:
    turn = f" of turn {difference.turn}" if difference.turn else ""
    return f"{difference.place} (source: {difference.source}{turn})"


def _in_its_count(common: int, request: Request, usage: Usage) -> int:
    """Convert estimated tokens to the endpoint's count, by the ratio of the whole request."""
    ours = total_tokens(request)
    return min(round(common * usage.input / ours), usage.input) if ours else 0


def added(health: Health, turn: int, figures: UsageFigures) -> Health:
    """Add figures to the sums of the session and of its newest turn ``turn``."""
    of_turn = health.turn if turn == health.turn_number else UsageFigures()
    return msgspec.structs.replace(
        health, turn_number=turn, turn=of_turn + figures, session=health.session + figures
    )


EXCERPT = 60  # the limit of characters for each of the two texts


_LEAD = 20  # the number of characters before the first difference


GONE = ""


class RequestDifference(msgspec.Struct, frozen=True):
    """The first difference between two requests.

    Attributes:
        place: The first differing block, such as ``message 3, block 2``, 1-based.
        source: The source of the differing block; ``tools`` for the tool specs.
        before: An excerpt of the block's earlier text around the change, on one line, or empty for
            a new block.
        after: An excerpt of the block's new text around the change, on one line, or empty for a
            removed block.
        common: The tokens of the earlier request before the difference.
        turn: The turn that added the block, or 0 if unknown.
    """

    place: str
    source: Source | str
    before: str
    after: str
    common: int
    turn: int = 0


def first_difference(before: Request, after: Request) -> RequestDifference | None:
    """Return the first difference, or None if ``after`` only adds to the end of ``before``."""
    if before.tools is not after.tools and before.tools != after.tools:
        return _in_tools(before.tools, after.tools)
    if before.system is not after.system:
        parted = _parted(before.system, after.system, is_whole=True)
        if parted is not None:
            common = tools_tokens(before.tools, before.model) + _tokens(before.system[:parted])
            return _difference(
                f"block {parted + 1} of the system prompt",
                _at(before.system, parted),
                _at(after.system, parted),
                common,
            )
    return _in_messages(before, after)


def total_tokens(request: Request) -> int:
    """Return the estimated tokens of a request; an earlier estimate is used again."""
    return request.tokens or request_tokens(request)


def _in_messages(before: Request, after: Request) -> RequestDifference | None:
    if before.messages == after.messages[: len(before.messages)]:
        return None  # This check of the usual case is five times as fast as the search below.
    for index in compress(count(), map(is_not, before.messages, after.messages)):
        earlier, later = before.messages[index], after.messages[index]
        is_last = index == len(before.messages) - 1
        found = _in_message(earlier, later, may_grow=is_last)
        if found is not None:
            behind = _tokens(earlier.blocks[found:])
            behind += sum(map(message_tokens, before.messages[index + 1 :]))
            return _difference(
                f"message {index + 1}, block {found + 1}",
                _at(earlier.blocks, found),
                _at(later.blocks, found),
                max(total_tokens(before) - behind, 0),
            )
    if len(after.messages) < len(before.messages):
        gone = before.messages[len(after.messages) :]
        behind = sum(map(message_tokens, gone))
        place = f"message {len(after.messages) + 1}, block 1"
        first = _at(gone[0].blocks, 0)
        return _difference(place, first, None, max(total_tokens(before) - behind, 0))
    return None


def _in_message(before: Message, after: Message, *, may_grow: bool) -> int | None:
    if before.role != after.role:
        return 0
    return _parted(before.blocks, after.blocks, is_whole=not may_grow)


def _parted(before: Sequence[Block], after: Sequence[Block], *, is_whole: bool) -> int | None:
    """Return the index of the first difference; with ``is_whole``, an added block is one, too."""
    pairs = zip(before, after, strict=False)
    for index, (earlier, later) in enumerate(pairs):
        if earlier is not later and _sent(earlier) != _sent(later):
            return index
    if len(after) < len(before) or (is_whole and len(after) > len(before)):
        return min(len(before), len(after))
    return None


_Sent: TypeAlias = tuple[str, ...]


def _sent(block: Block) -> _Sent:
    """Return the part of a block that is sent to a provider."""
    match block:
        case Text(text=text):
            return ("text", text)
        case Image(media_type=media_type, data=data):
            return ("image", media_type, data)
        case ToolUse(id=id_, name=name, arguments=arguments, extra=extra):
            return ("tool_use", id_, name, arguments, extra)
        case ToolResult(tool_use_id=id_, text=text):
            return ("tool_result", id_, text)
        case Thinking(text=text):
            return ("thinking", text)
        case _:
            assert_never(block)


def _words(block: Block | None) -> str:
    """Return a block as a text that people can compare."""
    match block:
        case None:
            return GONE
        case ToolUse(name=name, arguments=arguments):
            return f"{name} {arguments}"
        case Image(media_type=media_type, data=data):
            return f"{media_type}, {len(data):,} characters"
        case _:
            return block.text


def _difference(
    place: str, before: Block | None, after: Block | None, common: int
) -> RequestDifference:
    meta = before.meta if before is not None else after.meta if after is not None else None
    assert meta is not None, "two empty texts do not differ"
    old, new = excerpts(_words(before), _words(after))
    return RequestDifference(place, meta.source, old, new, common, meta.turn)


def _in_tools(before: Sequence[ToolSpec], after: Sequence[ToolSpec]) -> RequestDifference:
    pairs = enumerate(zip(before, after, strict=False))
    shorter = min(len(before), len(after))
    index = next((at for at, (old, new) in pairs if old != new), shorter)
    texts = [
        f"{specs[index].name}: {specs[index].description} {specs[index].parameters}"
        if index < len(specs)
        else GONE
        for specs in (before, after)
    ]
    old, new = excerpts(*texts)
    common = tools_tokens(tuple(before[:index]))
    return RequestDifference(f"tool {index + 1}", "tools", old, new, common)


def excerpts(before: str, after: str) -> tuple[str, str]:
    """Return one-line excerpts of two texts around the first differing character."""
    start = max(n_common(before, after) - _LEAD, 0)
    return _excerpt(before, start), _excerpt(after, start)


def _excerpt(text: str, start: int) -> str:
    piece = " ".join(text[start : start + EXCERPT].split())
    head = "…" if start and text else ""
    tail = "…" if start + EXCERPT < len(text) else ""
    return f"{head}{piece}{tail}"


def _tokens(blocks: Sequence[Block]) -> int:
    return sum(
        block.meta.tokens + BLOCK_OVERHEAD for block in blocks if not isinstance(block, Thinking)
    )


def _at(blocks: Sequence[Block], index: int) -> Block | None:
    return blocks[index] if index < len(blocks) else None


Sliced = TypeVar("Sliced", str, bytes)


def n_common(one: Sliced, other: Sliced) -> int:
    """Return the length of the common beginning of two strings or byte strings, by bisection."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def named(figures: UsageFigures) -> dict[str, object]:
    """Return figures as JSON; input includes cached tokens, and unknown costs are null."""
    usage = figures.usage
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.cache_read.input_tokens": usage.cached,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
        "gen_ai.usage.output_tokens": usage.output,
        "indwell.requests": figures.requests,
        "indwell.requests.estimated": figures.estimated,
        "indwell.requests.unpriced": figures.unpriced,
        "indwell.cache.hit_rate": figures.hit_rate,
        "indwell.cost": figures.cost,
        "indwell.cost.known": figures.known_cost,
        "indwell.compactions": {
            layer: {"count": one.count, "tokens_saved": one.saved}
            for layer, one in sorted(figures.compactions.items())
        },
        "indwell.compaction.tokens_saved": figures.saved,
    }
