"""The next request as Markdown: a table of its blocks, then each block's text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from indwell.lsp.protocol_context import BlockRow, ContextResult, HealthRow
from indwell.lsp.virtual.fences import bounded, fenced, inline

BLOCK_CHARACTERS = 20_000  # of one block; what is cut stands in the session
MOST_CHARACTERS = 2_000_000  # of all blocks' texts
MOST_ROWS = 5_000  # of the table: one row a block

_STATES = {"sent": "yes", "new": "no, new", "waiting": "no, goes with your words"}
_TIERS = {"0": "0 system", "1": "1 user", "2": "2 workspace", "3": "3 tools"}


def request_markdown(context: ContextResult) -> str:
    """The whole document; ``context`` has the blocks' whole texts as their previews."""
    blocks = context.blocks
    lines = ["# The next request\n", *_summary(context), ""]
    if not blocks:
        lines.append(
            "No session has begun: the system prompt and the tools are known with the first turn.\n"
        )
        return "\n".join([*lines, *_attached(context)])
    lines += ["## Blocks\n", *_table(blocks), "", *_rungs(context), *_attached(context)]
    return "\n".join([*lines, "## Texts\n", *_texts(blocks)])


def _summary(context: ContextResult) -> Iterator[str]:
    yield f"- session: {inline(context.session or 'none yet')}"
    yield f"- model: {inline(context.model or 'none yet')}"
    share = f", {context.share:.0%} of it" if context.share is not None else ""
    budget = f" of a budget of {context.budget:,}{share}" if context.budget is not None else ""
    window = f" (window {context.window:,})" if context.window is not None else ""
    yield f"- tokens: {context.used:,}{budget}{window}"
    if context.sources:
        yield f"- by source: {_sums(context.sources)}"
    if context.tiers:
        named_tiers = {_TIERS.get(tier, tier): number for tier, number in context.tiers.items()}
        yield f"- by tier: {_sums(named_tiers)}"
    if context.health is not None:
        yield _cache(context.health)


def _cache(health: HealthRow) -> str:
    """What the endpoint's cache served of the session so far."""
    n_input = health.session.get("gen_ai.usage.input_tokens", 0)
    n_cached = health.session.get("gen_ai.usage.cache_read.input_tokens", 0)
    words = f"- prompt cache: served {n_cached:,} of {n_input:,} tokens of this session"
    return f"{words}; {health.misses} calls in a row got nothing" if health.misses else words


def _sums(tokens: Mapping[str, int]) -> str:
    found = sorted(tokens.items(), key=lambda one: -one[1])
    return ", ".join(f"{inline(name)}: {n_tokens:,}" for name, n_tokens in found)


def _table(blocks: tuple[BlockRow, ...]) -> Iterator[str]:
    yield "| # | from | kind | tier | tokens | turn | sent before | cached up to here | why |"
    yield "|--:|---|---|--:|--:|--:|---|---|---|"
    for number, row in enumerate(blocks[:MOST_ROWS], start=1):
        anchor = "**mark**" if row.anchor else ""
        cells = (
            f"[{number}](#block-{number})",
            f"{row.role}: {inline(row.source)}",
            inline(row.kind),
            str(row.tier),
            f"{row.tokens:,}",
            str(row.turn or ""),
            _STATES[row.state],
            anchor,
            inline(row.why),
        )
        yield f"| {' | '.join(cells)} |"
    if len(blocks) > MOST_ROWS:
        yield f"\n{len(blocks) - MOST_ROWS:,} more blocks are not shown."


def _rungs(context: ContextResult) -> Iterator[str]:
    if context.headroom:
        yield f"## Compaction ({inline(context.preset)})\n"
    for one in context.headroom:
        when = "may run now" if one.left <= 0 else f"in {one.left:,} tokens"
        pays = ", if the saving pays" if one.pays else ""
        yield f"- {inline(one.layer)}: from {one.at:,} tokens on ({when}){pays}"
    if context.headroom:
        yield ""


def _attached(context: ContextResult) -> Iterator[str]:
    if context.attached:
        yield "## Goes with your next words\n"
    for one in context.attached:
        yield f"- {one.kind}: {inline(one.label)} ({one.tokens:,} tokens)"
    if context.attached:
        yield ""


def _texts(blocks: tuple[BlockRow, ...]) -> Iterator[str]:
    room = MOST_CHARACTERS
    for number, row in enumerate(blocks, start=1):
        if room <= 0:
            yield (
                f"The texts of the {len(blocks) - number + 1:,} blocks from {number} on are not "
                "shown, for the document would be too long."
            )
            return
        text = bounded(row.preview, min(BLOCK_CHARACTERS, room))
        room -= len(text)
        yield f"### Block {number}\n"
        spans = f", messages {row.first} to {row.last}" if row.altered else ""
        facts = f"{row.role}, {row.source}, {row.kind}, {row.tokens:,} tokens{spans}"
        yield f"{inline(facts)}\n"
        yield fenced(text)
