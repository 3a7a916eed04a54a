"""Measures how many names that the agent uses later a summary keeps by the loss audit (H27).

The script cuts recorded sessions at several places. An extract of a given share replaces the part
before the live tail as a summary. The script takes the names that the agent writes in its next 20
rounds, and that only the summarised part contains. The script counts the share of these names in
the summary: without the audit, with the audit, and with an extract that is longer by the audit's
tokens. ``python benchmarks/audit.py [RATIO…]`` needs no model.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from indwell.context.compaction.step import SummarySpan
from indwell.context.compaction.summarising.audit import HEAD, audited, block_text, names
from indwell.context.compaction.summarising.task_card import task_card
from indwell.context.tokens import estimate_tokens, message_tokens
from indwell.messages import Block, Message, Meta, Source, Text, Tier, ToolResult, ToolUse

SHARED = Path(os.environ.get("INDWELL_SHARED", "../shared/data"))
CUTS = (0.3, 0.5, 0.7, 0.9)  # shares of a session's messages before the cut
TAIL_TOKENS, ROUNDS, LEAST_TOKENS = 16_000, 20, 8_000
CARD_TOKENS = 1_000
LONGEST = 400  # most characters of a line of the extract
SALIENT = re.compile(r"error|fail|func |def |class |type |\w+\.\w{1,4}:\d+|must|should|TODO")


def sessions() -> Iterator[tuple[Message, ...]]:
    """Yield recorded conversations as our messages; a turn begins with the user's words."""
    with gzip.open(SHARED / "sessions" / "entire.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            messages: list[Message] = []
            turn = 0
            for one in json.loads(line)["messages"]:
                turn += one["role"] == "user"
                blocks = _blocks(one, turn)
                role = "assistant" if one["role"] == "assistant" else "user"
                if messages and messages[-1].role == role:
                    messages[-1] = Message(role, messages[-1].blocks + blocks, turn)
                elif blocks:
                    messages.append(Message(role, blocks, turn))
            yield tuple(messages)


def _blocks(one: dict[str, object], turn: int) -> tuple[Block, ...]:
    text = str(one.get("content") or "")
    if one["role"] == "tool":
        meta = _meta(3, "tool", text, turn)
        return (ToolResult(str(one["tool_call_id"]), text, meta),)
    source: Source = "user" if one["role"] == "user" else "assistant"
    found: list[Block] = [Text(text, _meta(1, source, text, turn))] if text.strip() else []
    for call in one.get("tool_calls") or ():  # type: ignore[attr-defined]
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        found.append(ToolUse(call["id"], name, arguments, _meta(3, "assistant", arguments, turn)))
    return tuple(found)


def _meta(tier: Tier, source: Source, text: str, turn: int) -> Meta:
    return Meta(tier=tier, source=source, tokens=estimate_tokens(text), turn=turn)


def extract(source: Sequence[Message], tokens: int) -> str:
    """Return an extract of ``tokens``: salient lines first, then other lines, newest first."""
    lines = [
        line.strip()
        for message in source
        for block in message.blocks
        for line in block_text(block).split("\n")
        if line.strip() and len(line) <= LONGEST
    ]
    order = sorted(range(len(lines)), key=lambda at: (not SALIENT.search(lines[at]), -at))
    taken, spent = set[int](), 0
    for at in order:
        cost = estimate_tokens(lines[at]) + 1
        if spent + cost <= tokens:
            taken.add(at)
            spent += cost
    return "\n".join(lines[at] for at in sorted(taken))


def text_of(messages: Sequence[Message], role: str = "") -> str:
    """Return all text of the messages, or of the messages of one role."""
    return "\n".join(
        block_text(block)
        for message in messages
        if role in {"", message.role}
        for block in message.blocks
    )


def measure(ratio: float) -> None:
    """Print one line of figures for summaries of this share."""
    kept = [0, 0, 0]
    n_later = n_cuts = spent = 0
    slowest = 0.0
    for messages in sessions():
        for cut in CUTS:
            end = int(len(messages) * cut) // 2 * 2
            begin = end
            while begin > 0 and sum(map(message_tokens, messages[begin:end])) < TAIL_TOKENS:
                begin -= 2
            source, live = messages[: max(begin, 0)], messages[max(begin, 0) : end]
            total = sum(map(message_tokens, source))
            if total < LEAST_TOKENS:
                continue
            words = tuple(
                block
                for message in source
                for block in message.blocks
                if isinstance(block, Text) and block.meta.source == "user"
            )
            target = int(total * ratio)
            plan = SummarySpan("regions", 0, begin, source, words, "", target)
            summary = extract(source, target)
            card = task_card(messages[:end], budget_tokens=CARD_TOKENS)
            started = time.perf_counter()
            mended = audited(plan, summary, card, live=live)
            slowest = max(slowest, time.perf_counter() - started)
            extra = estimate_tokens(mended) - estimate_tokens(summary) if HEAD in mended else 0
            visible = names(text_of(live)) | names("\n".join(map(block_text, words)))
            later = names(text_of(messages[end : end + 2 * ROUNDS], "assistant"))
            needed = (later & names(text_of(source))) - visible
            longer = extract(source, target + extra)
            for place, text in enumerate((summary, mended, longer)):
                kept[place] += len(needed & names(text))
            n_later += len(needed)
            n_cuts += 1
            spent += extra
    shares = ", ".join(f"{one / n_later:.3f}" for one in kept)
    print(
        f"ratio {ratio}: {n_cuts} cuts, {n_later} names needed; visible without, with, and with a "
        f"longer extract: {shares}; {spent / n_cuts:.0f} tokens a time; {slowest:.2f} s at most"
    )


if __name__ == "__main__":
    for given in sys.argv[1:] or ("0.2", "0.05", "0.02"):
        measure(float(given))
