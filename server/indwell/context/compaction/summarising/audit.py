"""Restores lines that a summary lost and later rounds may need. Pure.

A summary describes what happened, but loses names. The agent mostly uses names again from its own
edits and searches, from the newest request, and from errors that still occur. If neither the
summary nor a live message has such a name, the *original line* with the name is restored, together
with the line's position.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from indwell.context.compaction.step import SummarySpan
from indwell.context.compaction.summarising.user_notes import constraints
from indwell.context.file_work import call_of
from indwell.context.tokens import estimate_tokens
from indwell.context.work_record import WorkPart, answered, work_of
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Block, Message, Text, ToolResult, ToolUse

# the limit of tokens; a longer extract is not more useful (benchmarks/audit.py)
MOST_TOKENS = 1_200
SHARE = 3  # Restored lines may have at most a third of the source's tokens.
MOST_NAMES = 250  # the limit of names that are searched, the most valuable first
LONGEST_LINE = 220  # a line with more characters, as in a minified file, is skipped
# the number of newest messages that are examined; a use 400 rounds ago counts only 2 ** -33
LOOKED_AT = 800
HALF_LIFE = 12  # the number of rounds after which a use counts half
HEAD = "Original lines that later work may need (data, word for word):"

# Repetitions are limited, so that a megabyte without a blank is still searched quickly.
NAME = lazy_pattern(
    r"(?<![\w.@/-])[\w.@-]{0,80}(?:/[\w.@-]{1,80}){1,20}"  # matches a path
    r"|\b(?<!-)[\w-]{1,80}\.[A-Za-z]\w{0,4}\b"  # matches a file name, or a.b
    r"|\b[A-Za-z_]\w{0,80}(?:_\w|[a-z][A-Z])\w{0,80}\b"  # matches snake_case and camelCase
    r"|\b[A-Za-z_]\w{3,80}(?=\()"  # matches called()
)
SHORTEST_NAME = 4
_DEFINES = lazy_pattern(
    r"\s*(?:export |pub(?:\(\w+\))? |async |static |public |private |protected |abstract |final )*"
    r"(?:def|class|func|function|fn|type|interface|struct|enum|const|var|let|trait|impl)\b"
)
_NUMBER = lazy_pattern(r"\s*(\d{1,6})(?:\t|→|: ?|\| ?)(.*)", re.DOTALL)


class AuditedLine(msgspec.Struct, frozen=True):
    """An original line with its position.

    Attributes:
        place: The index of the line's message in the source, used to sort lines.
        label: The path or command of the line, or empty for the agent's prose.
        number: The line number in the file or output, or 0 if unknown.
        text: The line, without blanks at both ends.
    """

    place: int
    label: str
    number: int
    text: str


def audited(
    span: SummarySpan,
    text: str,
    card: Text | None,
    *,
    live: Sequence[Message] = (),
    most_tokens: int = MOST_TOKENS,
    work: WorkPart | None = None,
) -> str:
    """Return the summary with important lines that it lacks; call before ``apply_summary``.

    The work takes about 0.1 s for 100,000 tokens, so do not call the function on the event loop.

    Args:
        span: The span whose source is summarised.
        text: The summary, which ``why_unusable`` has accepted.
        card: The task card that accompanies the summary.
        live: The messages that stay unchanged; the user's newest text is taken from these messages.
        most_tokens: The limit of tokens to restore.
        work: The work of the span's source, if the caller has recorded the work.
    """
    kept = [*span.kept, *(block for message in live for block in message.blocks)]
    if card is not None:
        kept.append(card)
    shown = "\n".join((text, *map(block_text, kept)))
    room = _tokens_up_to(SHARE * most_tokens, span.source) // SHARE
    newest = _newest_words((*span.source, *live))
    lines = missing(span.source, shown, newest=newest, room=room, work=work)
    return f"{text.rstrip()}\n\n{HEAD}\n{rendered(lines)}" if lines else text


def missing(
    source: Sequence[Message],
    shown: str,
    *,
    newest: str = "",
    room: int = MOST_TOKENS,
    work: WorkPart | None = None,
) -> tuple[AuditedLine, ...]:
    """Return the lines of ``source`` to restore, in the source's order.

    Args:
        source: The original messages that were summarised.
        shown: All text that stays visible: summary, card and live messages.
        newest: The user's newest text, whose names count most.
        room: The limit of tokens for the lines.
        work: The work of ``source``, if the caller has recorded the work.
    """
    lines: list[AuditedLine] = []
    here = names(shown)
    for place, text in _musts(work or work_of(source), len(source), shown):
        line = AuditedLine(place, "", 0, text)
        cost = _cost(line)
        if cost <= room:
            lines.append(line)
            here |= names(text)
            room -= cost
    late = source[-LOOKED_AT:]
    wanted = _worth(late, newest, here)
    found = _best_lines(late, wanted)
    for name in wanted:
        best = found.get(name)
        if name in here or best is None:
            continue
        cost = _cost(best)
        if cost > room:
            continue
        lines.append(best)
        here |= names(best.text)
        room -= cost
    return tuple(sorted(lines, key=lambda one: one.place))


def names(text: str) -> set[str]:
    """Return the names in a text that look like code; for a path, its last part."""
    found = (match[0].rstrip("./").rpartition("/")[2] for match in NAME.finditer(text))
    return {name for name in found if len(name) >= SHORTEST_NAME}


def rendered(lines: Iterable[AuditedLine]) -> str:
    """Return the lines as text, grouped under their file or command."""
    parts: list[str] = []
    label = ""
    for line in lines:
        if line.label != label:
            label = line.label
            parts.append(f"{label}:" if label else "")
        number = f"{line.number}: " if line.number else ""
        parts.append(f"  {number}{line.text}" if label else f"- {line.text}")
    return "\n".join(part for part in parts if part)


def _musts(work: WorkPart, end: int, shown: str) -> Iterator[tuple[int, str]]:
    """Yield errors that still occur, and the user's rules, if no visible block shows them."""
    flat = " ".join(shown.split())
    for check in work.failing():
        if check.error and check.error not in shown:
            yield end, f"`{check.command}` failed last: {check.error}"
    for turn, rule in constraints(work.asked())[:12]:
        if rule not in flat:
            yield 0, f"the user, turn {turn}: {rule}"


def _worth(source: Sequence[Message], newest: str, here: set[str]) -> dict[str, float]:
    """Return a value for each name that the agent used and that no visible text contains."""
    worth: dict[str, float] = {}
    n_rounds = sum(message.role == "assistant" for message in source)
    at = 0
    for message in source:
        if message.role != "assistant":
            continue
        at += 1
        weight = 0.5 ** ((n_rounds - at) / HALF_LIFE)
        for block in message.blocks:
            is_edit = isinstance(block, ToolUse) and call_of(block).kind in {"edit", "write"}
            for name in names(block_text(block)) - here:
                worth[name] = worth.get(name, 0.0) + weight * (1.5 if is_edit else 1.0)
    for name, value in _defined(source):
        if name not in here:
            worth[name] = worth.get(name, 0.0) + value
    for name in names(newest):
        if name not in here:
            worth[name] = worth.get(name, 0.0) + 3.0
    best = sorted(worth.items(), key=lambda one: (-one[1], one[0]))[:MOST_NAMES]
    return dict(best)


def _defined(source: Sequence[Message]) -> Iterator[tuple[str, float]]:
    """Return the names defined in files that the agent has read; names in edited files first.

    Names that no call has used yet rank after all used names.
    """
    edited = {one.path for one in work_of(source).changed()}
    ages: dict[int, int] = {}
    for line in _lines(source):
        if line.number and _DEFINES.match(line.text):
            age = ages.setdefault(line.place, len(source) - line.place) / 2
            weight = (0.2 if line.label in edited else 0.05) * 0.5 ** (age / HALF_LIFE)
            for name in names(line.text):
                yield name, weight


def _best_lines(source: Sequence[Message], wanted: dict[str, float]) -> dict[str, AuditedLine]:
    """Return the best line for each name: a definition, a line with more names, or the newest."""
    best: dict[str, tuple[float, AuditedLine]] = {}
    for line in _lines(source):
        here = names(line.text) & wanted.keys()
        if not here:
            continue
        value = 2.0 * bool(_DEFINES.match(line.text)) + len(here) - len(line.text) / 100
        for name in here:
            if name not in best or value >= best[name][0]:
                best[name] = value, line
    return {name: line for name, (_, line) in best.items()}


def _lines(source: Sequence[Message]) -> Iterator[AuditedLine]:
    """Return all lines of results, written texts and the agent's prose, in order."""
    labels = {use.id: _label(use) for use, _ in answered(source)}
    for place, message in enumerate(source):
        for block in message.blocks:
            match block:
                case ToolResult(tool_use_id=identifier, text=text):
                    yield from _split(place, labels.get(identifier, ""), text)
                case ToolUse():
                    for text in _written(block):
                        yield from _split(place, _label(block), text)
                case Text(text=text, meta=meta) if meta.source == "assistant":
                    yield from _split(place, "", text)
                case _:
                    pass


def _split(place: int, label: str, text: str) -> Iterator[AuditedLine]:
    for raw in text.split("\n"):
        if len(raw) > LONGEST_LINE:
            continue
        numbered = _NUMBER.match(raw)
        number, bare = (int(numbered[1]), numbered[2]) if numbered else (0, raw)
        stripped = bare.strip()
        if len(stripped) >= SHORTEST_NAME:
            yield AuditedLine(place, label, number, stripped)


def _written(use: ToolUse) -> Iterator[str]:
    """Return the strings of a call's arguments."""
    try:
        given = msgspec.json.decode(use.arguments.encode())
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return
    if isinstance(given, dict):
        path = call_of(use).path  # a path alone is not restored
        yield from (one for one in given.values() if isinstance(one, str) and one != path)


def _label(use: ToolUse) -> str:
    call = call_of(use)
    shown = call.path or f"{use.name} {call.main}"
    return shown if shown.isprintable() else json.dumps(shown)


def _newest_words(messages: Sequence[Message]) -> str:
    requests = work_of(messages[-LOOKED_AT:]).asked() or work_of(messages).asked()
    return requests[-1].words if requests else ""


def _cost(line: AuditedLine) -> int:
    """Return the tokens of a line with its label, which often accompanies each line."""
    return estimate_tokens(line.text) + 4 + (estimate_tokens(line.label) if line.label else 0)


def _tokens_up_to(most: int, messages: Iterable[Message]) -> int:
    """Return the tokens of messages, or ``most`` if the messages have more tokens."""
    n = 0
    for message in messages:
        n += sum(block.meta.tokens for block in message.blocks)
        if n >= most:
            return most
    return n


def block_text(block: Block) -> str:
    """Return a block's text, with line breaks decoded, or empty for pictures and reasoning."""
    match block:
        case Text(text=text) | ToolResult(text=text):
            return text
        case ToolUse(arguments=arguments):
            return arguments.replace("\\n", "\n").replace("\\t", "\t")
        case _:
            return ""
