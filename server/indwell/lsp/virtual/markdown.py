"""Formats the next request and transcripts as Markdown that no contained text can break. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from indwell.agent.core import events
from indwell.context.request.window_parts import WindowPart, part_words
from indwell.context.untrusted_text import one_line, short_line, visible
from indwell.lazy_pattern import lazy_pattern
from indwell.lsp.chat.markdown import Neutral
from indwell.lsp.messages.context import BlockRow, ContextResult, HealthRow
from indwell.service.sessions.recorded_turns import (
    RecordedCall,
    RecordedTurn,
    by_call,
    ending_words,
    named_text,
)
from indwell.sessions.overview import Overview

_TICKS = lazy_pattern(r"`+")
_MARKUP = lazy_pattern(r"([\\`*\[\]<|]|(?<!\w)_|_(?!\w))")


def fenced(text: str, language: str = "") -> str:
    r"""Format a text as a code block, with a fence longer than any backticks in the text.

    Characters that hide or reorder text are shown as code points; line ends are ``\n``.
    """
    shown = visible(text.replace("\r\n", "\n"))
    longest = max((len(run) for run in _TICKS.findall(shown)), default=0)
    fence = "`" * max(3, longest + 1)
    end = "" if not shown or shown.endswith("\n") else "\n"
    return f"{fence}{language}\n{shown}{end}{fence}\n"


def inline(text: str) -> str:
    """Format a text as one line without Markdown, for headings, lists and tables."""
    return _MARKUP.sub(r"\\\1", one_line(text))


def contained(text: str) -> str:
    """Make untrusted Markdown safe: no hidden text, and no constructs that stay open."""
    words = Neutral()
    shown = words.feed(visible(text.replace("\r\n", "\n")).rstrip("\n"))
    return f"{shown}{words.finish()}\n"


def folded(title: str, inside: str) -> str:
    """Format blocks that the reader can unfold; ``title`` is untrusted, ``inside`` is Markdown."""
    return f"<details><summary>{escape(one_line(title))}</summary>\n\n{inside}\n</details>\n"


def bounded(text: str, most: int) -> str:
    """Shorten a text to its beginning and end, with a note on the omitted middle."""
    if len(text) <= most:
        return text
    head, tail = most * 3 // 4, most - most * 3 // 4
    n_cut = len(text) - head - tail
    return f"{text[:head]}\n[… {n_cut:,} characters are not shown …]\n{text[len(text) - tail :]}"


BLOCK_CHARACTERS = 20_000  # the limit of characters for one block; the session has the whole text
MOST_CHARACTERS = 2_000_000  # the limit of characters for all blocks
MOST_ROWS = 5_000  # the limit of rows in the table, which has a row for each block

_STATES = {"sent": "yes", "new": "no, new", "waiting": "no, goes with your words"}
_TIERS = {"0": "0 system", "1": "1 user", "2": "2 workspace", "3": "3 tools"}


def request_markdown(context: ContextResult) -> str:
    """Return the document of the next request; ``context`` must contain the complete texts."""
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
    parts = [WindowPart(one.name, one.tokens, one.share, one.limit) for one in context.parts]
    for tokens, words in part_words(parts):
        yield f"  - {tokens:,}: {words}"
    if context.sources:
        yield f"- by source: {_sums(context.sources)}"
    if context.tiers:
        named_tiers = {_TIERS.get(tier, tier): number for tier, number in context.tiers.items()}
        yield f"- by tier: {_sums(named_tiers)}"
    if context.health is not None:
        yield _cache(context.health)


def _cache(health: HealthRow) -> str:
    """Return a sentence on how much the endpoint's cache has served in the session so far."""
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
                "shown, because the document would be too long."
            )
            return
        text = bounded(row.preview, min(BLOCK_CHARACTERS, room))
        room -= len(text)
        yield f"### Block {number}\n"
        spans = f", messages {row.first} to {row.last}" if row.altered else ""
        facts = f"{row.role}, {row.source}, {row.kind}, {row.tokens:,} tokens{spans}"
        yield f"{inline(facts)}\n"
        yield fenced(text)


# the limit of characters for a call's result; the session's log has the whole text
RESULT_CHARACTERS = 4_000
ARGUMENT_CHARACTERS = 4_000
WORDS_CHARACTERS = 40_000  # the limit of characters for one message

LINE_CHARACTERS = 200


def transcript_markdown(
    seen: Overview, turns: Sequence[RecordedTurn], notices: Sequence[str] = ()
) -> str:
    """Return the transcript, oldest turn first; a very long session is cut to the newest.

    Args:
        seen: The overview of the session.
        turns: All turns.
        notices: Sentences about problems of the log.
    """
    head = [f"# Session {seen.id}\n", _facts(seen), *(f"> {inline(one)}\n" for one in notices)]
    shown: list[str] = []
    room = MOST_CHARACTERS
    for turn in reversed(turns):
        text = _turn(turn)
        room -= len(text)
        if room < 0 and shown:
            break
        shown.append(text)
    n_left = len(turns) - len(shown)
    if n_left:
        head.append(f"_{n_left} older turns are not shown; `indwell sessions show` prints them._\n")
    if not turns:
        head.append("_Nothing was said yet._\n")
    return "\n".join([*head, *reversed(shown)])


def _facts(seen: Overview) -> str:
    n_turns = "1 turn" if seen.turns == 1 else f"{seen.turns} turns"
    cost = "cost unknown" if seen.cost is None else f"${seen.cost:.4f}"
    return f"{inline(seen.model)} · {n_turns} · {cost} · began {inline(seen.at)}\n"


def _turn(turn: RecordedTurn) -> str:
    lines = [f"## Turn {turn.turn}\n", f"_{inline(turn.at)} · {inline(ending_words(turn))}_\n"]
    lines += filter(None, map(_told, by_call(turn.events)))
    return "\n".join(lines)


def _told(told: events.Event | RecordedCall) -> str:
    """Format one event: the model's text as Markdown, other texts as quotations."""
    match told:
        case RecordedCall():
            return _call(told)
        case events.TurnStarted(words=text) | events.Steered(text=text):
            lines = contained(bounded(text, WORDS_CHARACTERS)).rstrip("\n").split("\n")
            return "\n".join(["**You**\n", *(f"> {one}".rstrip() for one in lines), ""])
        case events.TextAdded(text=text):
            return contained(bounded(text, WORDS_CHARACTERS))
        case events.ThinkingAdded(text=text):
            return folded("Reasoning", fenced(bounded(text, WORDS_CHARACTERS)))
        case events.TurnFinished(message=message) if message:
            return f"> {inline(short_line(message, LINE_CHARACTERS * 5))}\n"
        case _:
            kind, text = named_text(told)
            if not kind:
                return ""
            text = bounded(text, WORDS_CHARACTERS)
            source = told.source if isinstance(told, events.Attached) else ""
            named = f"{kind} {source}".strip()
            if "\n" in text:
                return folded(named, fenced(text))
            return f"_{inline(named)}:_ {inline(text)}\n"


def _call(call: RecordedCall) -> str:
    result, given = call.result, call.started.arguments
    how = ": failed" if call.is_error else ": no result" if result is None else ""
    called = short_line(f"{call.started.name} {given}", LINE_CHARACTERS)
    blocks = [fenced(bounded(given, ARGUMENT_CHARACTERS), "json")]
    blocks += map(_inner, call.inner)
    if result is not None:
        blocks.append(fenced(bounded(result, RESULT_CHARACTERS)))
    return folded(f"{called}{how}", "\n".join(blocks))


def _inner(call: RecordedCall) -> str:
    """Format the tool calls of a sub-agent; the session does not contain their results."""
    done = call.finished
    figure = "not ended" if done is None else "failed" if done.is_error else done.figure
    how = f": {figure}" if figure else ""
    line = f"{short_line(f'{call.started.name} {call.started.target}', LINE_CHARACTERS)}{how}"
    blocks = [fenced(done.message)] if done is not None and done.is_error else []
    blocks += [fenced(bounded(one.diff, RESULT_CHARACTERS), "diff") for one in call.edits]
    return folded(line, "\n".join(blocks)) if blocks else f"{inline(line)}\n"
