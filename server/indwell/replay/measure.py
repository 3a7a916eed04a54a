"""Measures one recording under one preset (tokens, cache, cost, loss), and computes sums.

Each request is also checked against compaction's promises about the user's text. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import add

import msgspec

from indwell.context.compaction.digesting.line_choice import LineChooser, chosen
from indwell.context.compaction.presets import PRESETS, Preset
from indwell.context.compaction.step import CompactionFacts, TokenRates
from indwell.context.pairing import problems
from indwell.context.request.window_parts import PART_NAMES, Counts, message_parts, window_parts
from indwell.context.work_record import work_of
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Message, Text
from indwell.providers.pricing import HOUR
from indwell.replay.cache import CACHES, CacheRules, PrefixCache, Served
from indwell.replay.loss import Loss, LossMeter, Reader, Reading
from indwell.replay.replayed_conversation import SPILL_FOLDER, Point, ReplayRules, Summarise, points
from indwell.sessions.imports import Recorded

RATIOS = TokenRates()
"""The usual prices, relative to the price of an input token."""

_COUNTS = ("pairs", "kept", "lines", "lines_kept", "recoverable")
MILLION = 1_000_000
_SHOWN = 120  # A closing line is recognised inside a summary by its first 120 characters.
_TELLING = 20  # A line of 20 characters cannot occur elsewhere by chance.
_SUMMED_UP = lazy_pattern(r"^- turns? (\d+)(?: to (\d+))?: finished(?:, but (.*))?$", re.MULTILINE)
_RUN = lazy_pattern(r"(\d+)(?: to (\d+))?")
_WORDS = "words-"  # Files with the user's text have this prefix (``summarising.span``).


def replayed(
    session: Recorded,
    preset: Preset | str,
    window: int,
    *,
    ratio: float = 0.2,
    cache: CacheRules = CACHES["plain"],
    rates: TokenRates = RATIOS,
    pause_s: float = 0.0,
    reading: Reading = "any",
    reader: Reader | None = None,
    summarise: Summarise | None = None,
    choose: LineChooser = chosen,
) -> RequestSums:
    """Run a recording again under a preset, and measure it.

    Args:
        session: A session from ``sessions.imports``.
        preset: The preset or its name.
        window: The tokens that a request may have.
        ratio: See ``replayed_conversation.Rules``.
        cache: The provider's rules.
        rates: Prices per million tokens.
        pause_s: Seconds between two requests, if the recording has no times.
        reading: The kinds of texts from which identifiers and lines are counted; see ``loss``.
        reader: A reader that several replays of one recording share.
        summarise: See ``replayed_conversation.Rules``.
        choose: See ``replayed_conversation.Rules``.
    """
    run = PRESETS[preset] if isinstance(preset, str) else preset
    facts = CompactionFacts(rates=rates, spill_folder=SPILL_FOLDER)
    rules = ReplayRules(
        run, window, ratio, facts=facts, cache=cache, summarise=summarise, choose=choose
    )
    moments_s = request_moments(session, pause_s)
    served, promises, counts = PrefixCache(cache), Promises(), _KnownCounts()
    reader = reader or Reader()
    meter, plain = LossMeter(reader, reading), LossMeter(reader, reading, counts_mentions=True)
    total = RequestSums()
    for point, at_s in zip(points(session.messages, rules, moments_s), moments_s, strict=True):
        here, loss = served.served(point.request, at_s=at_s), meter.at(point)
        figures = _figures(point, here, loss, promises.at(point), rules)
        parts = tuple(one.tokens for one in window_parts(point.conversation, counts))
        figures = msgspec.structs.replace(figures, parts=parts)
        total += _study_figures(figures, point.tokens, plain.at(point), rules)
    return msgspec.structs.replace(total, window_tokens=window * total.requests)


class _KnownCounts:
    """Counts each message once; the messages stay alive, so an identity has one message."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Message, Counts]] = {}

    def __call__(self, message: Message) -> Counts:
        known = self._known.get(id(message))
        if known is None:
            known = self._known[id(message)] = (message, message_parts(message))
        return known[1]


def _study_figures(
    figures: RequestSums, tokens: int, plain: Loss, rules: ReplayRules
) -> RequestSums:
    """Add the figures by the rules of the study (``compaction-study.md``).

    The study counts a name as kept wherever the request shows the name, and leaves out the price of
    summaries.
    """
    prices = (reread_cost(tokens, one, rules.cache, rules.facts.rates) for one in plain.pieces)
    return msgspec.structs.replace(
        figures,
        study_cost=figures.cost - figures.summary_cost - figures.reread_cost + sum(prices),
        study_kept=plain.kept,
        study_lines_kept=plain.lines_kept,
    )


def request_moments(session: Recorded, pause_s: float) -> tuple[float, ...]:
    """Return each request's time in seconds, as recorded, or with ``pause_s`` between requests."""
    n_requests = len(session.messages) // 2
    if session.times_s:
        return session.times_s[: 2 * n_requests : 2]
    return tuple(number * pause_s for number in range(n_requests))


def _figures(
    point: Point, served: Served, loss: Loss, broken: Broken, rules: ReplayRules
) -> RequestSums:
    tokens, rates = point.tokens, rules.facts.rates
    rereads = sum(reread_cost(tokens, piece, rules.cache, rates) for piece in loss.pieces)
    summaries = point.done.summary_price
    write = rates.cache_write * (HOUR if rules.cache.for_an_hour else 1)
    main = (
        served.read * rates.cached
        + served.written * write
        + (tokens - served.read - served.written) * rates.input
    )
    return RequestSums(
        requests=1,
        tokens=tokens,
        cached=served.read,
        cost=main + rereads + summaries,
        reread_cost=rereads,
        summary_cost=summaries,
        rereads=len(loss.pieces),
        compactions=bool(point.done.layers),
        largest_request=tokens,
        unpaired=bool(problems(point.request.messages, start=point.conversation.tally.n)),
        too_large=not point.fits,
        loops=point.done.is_loop,
        words_missing=broken.words,
        task_missing=broken.task,
        unfinished=broken.finished,
        sizes=(tokens,),
        troubles=point.done.troubles,
        **{name: getattr(loss, name) for name in _COUNTS},
    )


def reread_cost(prompt: int, piece: int, cache: CacheRules, rates: TokenRates) -> float:
    """Return the price of one more request, with a piece to read again at its end."""
    if not cache.exists:
        return (prompt + piece) * rates.input
    new = rates.cache_write if cache.charges_writes else rates.input
    return prompt * rates.cached + piece * new


class RequestSums(msgspec.Struct, frozen=True):
    """Sums over requests.

    Attributes:
        requests: Calls of the main model, without re-reads.
        tokens: Prompt tokens sent.
        cached: Tokens that a cache served.
        cost: A million times the price, in the units of the replay's rates, with re-reads and
            summaries.
        reread_cost: The part of the cost for text that compaction removed and the model needed
            again.
        summary_cost: The part of the cost for the summariser's calls.
        rereads: The number of texts that were read again.
        pairs, kept, lines, lines_kept, recoverable: See ``loss.Loss``.
        compactions: The number of requests before which compaction ran.
        largest_request: Tokens of the largest request.
        unpaired, too_large, loops, words_missing, task_missing, unfinished: Requests that broke a
            rule, by rule; for the last three, see ``Broken``.
        seconds: Computing time in seconds.
        study_cost, study_kept, study_lines_kept: ``cost``, ``kept`` and ``lines_kept`` by the rules
            of the study; see ``_study_figures``.
        window_tokens: Tokens of the window, once for each request.
        parts: Tokens of each part of the window (``window_parts.PART_NAMES``).
        sizes: Tokens of each request, in order.
        troubles: Why summaries were not written by the requested model.
    """

    requests: int = 0
    tokens: int = 0
    cached: int = 0
    cost: float = 0.0
    reread_cost: float = 0.0
    summary_cost: float = 0.0
    rereads: int = 0
    pairs: int = 0
    kept: int = 0
    lines: int = 0
    lines_kept: int = 0
    recoverable: int = 0
    compactions: int = 0
    largest_request: int = 0
    unpaired: int = 0
    too_large: int = 0
    loops: int = 0
    words_missing: int = 0
    task_missing: int = 0
    unfinished: int = 0
    seconds: float = 0.0
    study_cost: float = 0.0
    study_kept: int = 0
    study_lines_kept: int = 0
    window_tokens: int = 0
    parts: tuple[int, ...] = (0,) * len(PART_NAMES)
    sizes: tuple[int, ...] = ()
    troubles: tuple[str, ...] = ()

    def __add__(self, other: RequestSums) -> RequestSums:
        sums = {name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__}
        sums["parts"] = tuple(map(add, self.parts, other.parts))
        sums["largest_request"] = max(self.largest_request, other.largest_request)
        return RequestSums(**sums)

    @property
    def violations(self) -> int:
        """Return how often requests broke a rule."""
        return sum(self.broken().values())

    def broken(self) -> dict[str, int]:
        """Return the broken rules in words."""
        return {
            "calls without results": self.unpaired,
            "over the window": self.too_large,
            "compaction that never ended": self.loops,
            "words of the user missing": self.words_missing,
            "current task missing": self.task_missing,
            "finished work not marked": self.unfinished,
        }

    def filled(self) -> dict[str, float | None]:
        """Return the mean share of the window that each part takes."""
        return {
            name: share(tokens, self.window_tokens)
            for name, tokens in zip(PART_NAMES, self.parts, strict=True)
        }

    def shown(self) -> dict[str, float | None]:
        """Return the sums as ``--json`` prints them; a fraction of 0 is null."""
        lost = self.pairs - self.kept + self.lines - self.lines_kept
        return {
            "requests": self.requests,
            "tokens": self.tokens,
            "cached_share": share(self.cached, self.tokens),
            "cost": round(self.cost / MILLION, 6),
            "kept": share(self.kept, self.pairs),
            "edit_lines": share(self.lines_kept, self.lines),
            "recoverable": share(self.recoverable, lost),
            "summary_cost": round(self.summary_cost / MILLION, 6),
            "compactions": self.compactions,
            "largest_request": self.largest_request,
            "violations": self.violations,
            "seconds": round(self.seconds, 3),
            "study_cost": round(self.study_cost / MILLION, 6),
            "study_kept": share(self.study_kept, self.pairs),
            "study_edit_lines": share(self.study_lines_kept, self.lines),
        }


def share(part: float, whole: float) -> float | None:
    """Return ``part`` as a fraction of ``whole``; None if ``whole`` is 0."""
    return round(part / whole, 4) if whole else None


def total(figures: Iterable[RequestSums]) -> RequestSums:
    """Return the sum of all figures."""
    return sum(figures, RequestSums())


class Broken(msgspec.Struct, frozen=True):
    """The promises of compaction that one request breaks.

    Attributes:
        words: Text of the user that is nowhere in the request.
        task: Text of the current task that the request lacks.
        finished: A finished request of the user that is not marked as finished.
    """

    words: bool = False
    task: bool = False
    finished: bool = False


class _Finished(msgspec.Struct, frozen=True):
    turn: int
    words: str
    closing: str


class Promises:
    """Follows one replay, request by request, and checks what compaction promises."""

    def __init__(self) -> None:
        self._said: dict[str, None] = {}
        self._newest = ""
        self._asked: Message | None = None
        self._answered: Message | None = None
        self._finished: list[_Finished] = []
        self._files: dict[str, str] = {}

    def at(self, point: Point) -> Broken:
        """Return the promises that the request of this point breaks."""
        self._files |= {
            one.name: one.text for one in point.done.spills if one.name.startswith(_WORDS)
        }
        self._hear([one for one in point.arrived if isinstance(one, Text) and is_users(one)])
        self._answered = point.reply
        blocks = [
            block
            for message in point.request.messages
            for block in message.blocks
            if isinstance(block, Text)
        ]
        shown = {block.text for block in blocks}
        missing = [words for words in self._said if words not in shown]
        doubtful = [
            one for one in self._finished if one.words in shown and one.closing not in shown
        ]
        if not missing and not doubtful:
            return Broken()
        notes = "\n".join(block.text for block in blocks if not is_users(block))
        return Broken(
            words=any(not self._is_filed(words, notes) for words in missing),
            task=bool(self._newest) and self._newest not in shown,
            finished=any(not _is_noted(one, notes) for one in doubtful),
        )

    def _hear(self, words: Sequence[Text]) -> None:
        """Add new text of the user; earlier requests of the user count as finished."""
        if not words:
            return
        message = Message("user", tuple(words), words[-1].meta.turn)
        before, reply = self._asked, self._answered
        if before is not None and reply is not None and before.turn != message.turn:
            earlier = work_of((before, reply, message)).asked()[0]
            said = [one.text for one in reply.blocks if isinstance(one, Text)]
            if earlier.state == "finished" and said:
                first = next(one.text for one in before.blocks if isinstance(one, Text))
                self._finished.append(_Finished(before.turn, first, "\n\n".join(said)))
        self._asked = message
        self._said |= dict.fromkeys(one.text for one in words)
        self._newest = words[-1].text

    def _is_filed(self, words: str, notes: str) -> bool:
        return any(words in text and name in notes for name, text in self._files.items())


def is_users(block: Text) -> bool:
    """Return whether a block is the user's own text."""
    return block.meta.source == "user"


def _is_noted(one: _Finished, notes: str) -> bool:
    if f"turn {one.turn}, finished" in notes or _is_summed_up(one.turn, notes):
        return True
    lines = [line.strip() for line in one.closing.splitlines() if line.strip()]
    telling = [line for line in lines if len(line) >= _TELLING] or lines
    return any(line[:_SHOWN] in notes for line in telling)


def _is_summed_up(turn: int, notes: str) -> bool:
    """Return whether a line of the task card, which covers many turns, calls this turn finished."""
    return any(
        int(first) <= turn <= int(last or first)
        and not any(int(a) <= turn <= int(b or a) for a, b in _RUN.findall(but))
        for first, last, but in _SUMMED_UP.findall(notes)
    )
