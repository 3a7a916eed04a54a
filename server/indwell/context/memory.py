"""Stores facts that the user lets Indwell remember, and chooses facts for a prompt.

A page is a Markdown file that people edit, with one ``- fact`` per line. All other text on the page
stays unchanged.

Facts are ranked by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
Beyond", 2009) with its usual constants. The user's text counts most, then file names, then selected
text. A fact that shares no significant word with the prompt is not sent, even if there are few
facts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from indwell.compatibility import version_comment
from indwell.context.conversation import Conversation
from indwell.context.injections import inject
from indwell.errors import ToolError
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Text

# the limit of characters for a fact; a longer line that a person wrote is cut
FACT_CHARACTERS = 300
MOST_FACTS = 500  # the limit of facts that are examined on one page; ranking 500 facts takes 5 ms
PAGE_LIMIT_B = 1 << 20  # a file with more bytes is not read as a page

Scope: TypeAlias = Literal["workspace", "user"]
"""The subject of a fact: this workspace, or the user in all workspaces."""

_FACT = lazy_pattern(r"\s{0,3}[-*+][ \t]+(?P<text>\S.*)")
_NOTE = lazy_pattern(r"<!-- (?P<day>\d{4}-\d\d-\d\d)(?: session (?P<session>[\w-]{1,64}))? -->")
_LINE = lazy_pattern(r"[^\n]*\n|[^\n]+")
_FENCE = lazy_pattern(r"\s{0,3}(?:```|~~~)")
_SUBJECT: dict[Scope, str] = {"workspace": "this workspace", "user": "you"}


class Fact(msgspec.Struct, frozen=True):
    """A fact for later sessions.

    Attributes:
        text: The fact, on one line.
        scope: The scope of the page that contains the fact.
        day: The ISO date on which the fact was stored, or empty if the user wrote the fact by hand.
        session: The session in which the model proposed the fact, or empty for the user's own
            facts.
        is_cut: Whether the line on the page is longer than the limit.
    """

    text: str
    scope: Scope = "workspace"
    day: str = ""
    session: str = ""
    is_cut: bool = False


class MemoryEntry(NamedTuple):
    """A fact with the 0-based number of its line."""

    line: int
    fact: Fact


def new_page(scope: Scope) -> str:
    """Return a page without facts."""
    return (
        f"# What Indwell remembers of {_SUBJECT[scope]}\n\n"
        "One fact a line. Nothing came here without your yes; change and delete lines as you "
        f"like.\n\n{version_comment('memory')}\n\n"
    )


def entries(page: str, scope: Scope) -> tuple[MemoryEntry, ...]:
    """Return the facts of a page, in the order of the page."""
    found: list[MemoryEntry] = []
    is_code = False
    for number, line in enumerate(_lines(page)):
        if _FENCE.match(line):
            is_code = not is_code
        match = None if is_code else _FACT.fullmatch(line.rstrip())
        if match is None:
            continue
        text, day, session = match["text"], "", ""
        at = text.rfind("<!--")
        note = _NOTE.fullmatch(text, at) if at >= 0 else None
        if note is not None:
            text, day, session = text[:at], note["day"], note["session"] or ""
        text = " ".join(text.split())
        if text:
            is_cut = len(text) > FACT_CHARACTERS
            fact = Fact(text[:FACT_CHARACTERS], scope, day, session, is_cut)
            found.append(MemoryEntry(number, fact))
        if len(found) == MOST_FACTS:
            break
    return tuple(found)


def fact_line(fact: Fact) -> str:
    """Return the line of a fact on a page, with the date in a comment at the end."""
    session = f" session {fact.session}" if fact.session else ""
    return f"- {fact.text} <!-- {fact.day}{session} -->" if fact.day else f"- {fact.text}"


def with_fact(page: str, fact: Fact, instead_of: str = "") -> str:
    """Return the page with one more fact; an equal fact is replaced.

    Raises:
        ToolError: The page's format cannot hold the fact, so that it would not be found again.
    """
    old = next((one for one in entries(page, fact.scope) if one.fact.text == instead_of), None)
    if old is not None:
        return _changed(page, lambda number, line: _same_end(fact_line(fact), line, number, old))
    end = "\r\n" if "\r\n" in page else "\n"
    gap = "" if not page or page.endswith("\n") else end
    longer = f"{page}{gap}{fact_line(fact)}{end}"
    if fact.text not in (one.fact.text for one in entries(longer, fact.scope)):
        raise ToolError(_why_not_found(page, fact.scope))
    return longer


def without(page: str, scope: Scope, texts: frozenset[str]) -> str:
    """Return the page without the facts of these texts."""
    gone = {one.line for one in entries(page, scope) if one.fact.text in texts}
    return _changed(page, lambda number, line: "" if number in gone else line)


def _why_not_found(page: str, scope: Scope) -> str:
    if len(entries(page, scope)) == MOST_FACTS:
        return f"it contains {MOST_FACTS} facts, and more are not read; forget some first"
    return "a block of code in it has no end, and text in it is not a fact; end the block first"


def _lines(page: str) -> list[str]:
    """Return the lines with their line breaks, as an editor counts lines."""
    return _LINE.findall(page)


def _changed(page: str, change: Callable[[int, str], str]) -> str:
    return "".join(change(number, line) for number, line in enumerate(_lines(page)))


def _same_end(new: str, line: str, number: int, old: MemoryEntry) -> str:
    """Return the new line with the old line's line break."""
    if number != old.line:
        return line
    return new + line[len(line.rstrip("\r\n")) :]


MOST = 5  # the limit of facts with one prompt
MOST_TOKENS = 300  # the limit of tokens for the block with the facts

_HEAD = "Kept from earlier sessions because they may matter here; they may be out of date:"


def recalled(
    facts: Sequence[Fact],
    query: MemoryQuery,
    conversation: Conversation,
    *,
    turn: int,
    hide: Callable[[str], str],
) -> Text | None:
    """Return the block for the next request, or None if no new fact fits.

    Args:
        facts: All stored facts.
        query: The search terms of the user's prompt.
        conversation: The conversation so far.
        turn: The number of the turn that begins.
        hide: Removes secrets, because people also write pages by hand.
    """
    standing = _standing(conversation)
    found = (_hidden(one, hide) for one in ranked(facts, query))
    fitting = [one for one in found if _line(one) not in standing][:MOST]
    block = None
    for n_facts in range(1, len(fitting) + 1):
        longer = _block(fitting[:n_facts], turn)
        if longer.meta.tokens > MOST_TOKENS:
            break
        block = longer
    return block


def _block(facts: Sequence[Fact], turn: int) -> Text:
    return inject("memory", "\n".join((_HEAD, *(f"- {one.text}" for one in facts))), turn=turn)


def _hidden(fact: Fact, hide: Callable[[str], str]) -> Fact:
    return msgspec.structs.replace(fact, text=hide(fact.text))


def _line(fact: Fact) -> str:
    """Return the line of a fact in a block, with escaped tags."""
    return _block([fact], 0).text.split("\n")[2]


def _standing(conversation: Conversation) -> frozenset[str]:
    """Return the lines of facts that the conversation or the next request contains."""
    return frozenset(line for text in _memories(conversation) for line in text.split("\n"))


def _memories(conversation: Conversation) -> Iterator[str]:
    for message in conversation.messages:
        if message.role == "user":
            for block in message.blocks:
                if isinstance(block, Text) and block.meta.source == "memory":
                    yield block.text
    yield from (one.text for one in conversation.pending if one.meta.source == "memory")


_K1, _B = 1.2, 0.75
# The weight of a shared word in the user's text, in a path, or in the selected text.
_OF_WORDS, _OF_PATHS, _OF_TEXT = 1.0, 0.7, 0.4
# The least weight of all shared words: one of the user's text, one of a path, or two of a
# selection.
_LEAST = 0.7
_COMMON_IN = 6  # Among 6 facts or more, a word in more than half of the facts is ignored.
MOST_CHARACTERS = 4_000  # the limit of characters that are examined in each part of the query


class MemoryQuery(msgspec.Struct, frozen=True):
    """The search terms for the facts.

    Attributes:
        words: The user's prompt.
        paths: Paths of the attached files.
        text: The selected text.
    """

    words: str
    paths: tuple[str, ...] = ()
    text: str = ""


def ranked(facts: Sequence[Fact], query: MemoryQuery) -> tuple[Fact, ...]:
    """Return the facts that match, best first; of equal facts, the newest first."""
    counts = [Counter(terms(one.text)) for one in facts]
    spread = Counter(term for count in counts for term in count)
    weights = {
        term: weight
        for term, weight in _weights(query).items()
        if len(facts) < _COMMON_IN or 2 * spread[term] <= len(facts)
    }
    length = sum(count.total() for count in counts) / len(counts) if counts else 0.0
    scored: list[tuple[float, int]] = []
    for place, count in enumerate(counts):
        shared = weights.keys() & count.keys()
        if sum(weights[term] for term in shared) >= _LEAST:
            size = 1 - _B + _B * count.total() / length
            score = sum(
                weights[term] * _rarity(spread[term], len(facts)) * _share(count[term], size)
                for term in shared
            )
            scored.append((score, place))
    return tuple(facts[place] for _, place in sorted(scored, reverse=True))


def _weights(query: MemoryQuery) -> Mapping[str, float]:
    found: dict[str, float] = {}
    parts = (
        (query.text, _OF_TEXT),
        (" ".join(query.paths), _OF_PATHS),
        (query.words, _OF_WORDS),
    )
    for text, weight in parts:
        found |= dict.fromkeys(terms(text[:MOST_CHARACTERS]), weight)
    return found


def _rarity(n_with: int, n: int) -> float:
    """Return the inverse document frequency in the form that is never negative (Lucene's BM25)."""
    return math.log(1 + (n - n_with + 0.5) / (n_with + 0.5))


def _share(n_times: int, size: float) -> float:
    return n_times * (_K1 + 1) / (n_times + _K1 * size)


_WORD = lazy_pattern(r"[^\W_]+")
_PARTS = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# In scripts without blanks between words, two consecutive characters count as a word.
_UNSPACED = lazy_pattern("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]+")
_LEAST_LENGTH = 2  # A shorter word, in characters, does not count.
_STEM = 3  # An ending is removed only if at least 3 characters of the word are left.
_HISSING = ("sses", "shes", "ches", "xes", "zes")

_FILLER = """
    a about after again all also always am an and any are as at be because been before being but by
    can could did do does doing don down each either else ever every few for from get give go got
    had has have he her here him his how if in into is it its just let like ll made make makes many
    may me might more most much must my need no not now of off ok on once one only or other our out
    over own please re same see set she should so some still such take tell than that the their them
    then there these they this those through to too try two under until up us use used using very
    want was way we well were what when where which while who whom why will with without would yes
    you your add change code edit file files fix function line lines look put read run show write
    der die das und ist ein eine nicht mit von zu den le la les et un une des est pas que el los y
"""
FILLER = frozenset(_FILLER.split())
"""Words that show no topic, because they occur in nearly every prompt."""


def terms(text: str) -> tuple[str, ...]:
    """Return the stems of a text's words that may show the topic, in order, with repetitions."""
    found: list[str] = []
    for word in _WORD.findall(text):
        for run in _UNSPACED.findall(word):
            found += [run[at : at + 2] for at in range(max(len(run) - 1, 1))]
        rest = _UNSPACED.sub(" ", word)
        for plain in rest.split():
            parts = _PARTS.findall(plain) if plain.isascii() else [plain]
            whole = plain.casefold()
            found += [one for one in (whole, *_apart(parts, whole)) if _is_telling(one)]
    return tuple(map(_stem, found))


def _apart(parts: list[str], whole: str) -> list[str]:
    """Return the parts of a name such as ``parseHTTPHeader``; return none for a single part."""
    return [one.casefold() for one in parts] if parts and parts[0].casefold() != whole else []


def _is_telling(word: str) -> bool:
    return len(word) >= _LEAST_LENGTH and word not in FILLER


def _stem(word: str) -> str:
    """Remove English endings, so that ``test`` finds ``tests`` and ``testing``."""
    if not word.isascii() or word.endswith("ss"):
        return word
    if word.endswith(_HISSING):
        return word[:-2]
    for ending in ("ing", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _STEM:
            return word[: -len(ending)]
    return word


ALIKE = 86.0  # the least similarity of two facts, up to 100, as for a sentence with another number
# Similar facts share at least 4 words, because fewer may agree by chance.
LEAST_WORDS = 4


def same(text: str, facts: Iterable[Fact]) -> Fact | None:
    """Return the fact that equals ``text`` except for case and punctuation, or None."""
    from rapidfuzz.utils import default_process  # noqa: PLC0415 # 15 ms that start-up need not pay

    wanted = default_process(text).split()
    return next((one for one in facts if default_process(one.text).split() == wanted), None)


def alike(text: str, facts: Iterable[Fact]) -> Fact | None:
    """Return a similar fact, of which ``text`` may be a new version.

    Only the user can distinguish a correction from a different fact, so the caller shows both. A
    fact that was cut is never returned.
    """
    from rapidfuzz.fuzz import token_sort_ratio  # noqa: PLC0415 # as above
    from rapidfuzz.utils import default_process  # noqa: PLC0415

    words = default_process(text).split()
    scored = (
        (
            100.0
            if _holds(words, default_process(one.text).split())
            else token_sort_ratio(text, one.text, processor=default_process),
            place,
            one,
        )
        for place, one in enumerate(facts)
        if not one.is_cut
    )
    score, _, best = max(scored, default=(0.0, 0, None))
    return best if score >= ALIKE else None


def _holds(some: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether one of two facts contains all words of the other."""
    shorter, longer = sorted((Counter(some), Counter(others)), key=Counter.total)
    return shorter.total() >= LEAST_WORDS and shorter <= longer
