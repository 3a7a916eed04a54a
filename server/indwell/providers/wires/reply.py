"""A reply that grows event by event (H38, H39): text, reasoning, calls, usage, finish reason. Pure.

Each wire has a subclass that reads the wire's events. Invalid data raises no error: a value of an
impossible type counts as missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec

from indwell.context.tokens import estimate_tokens, request_tokens
from indwell.messages import (
    Finish,
    Message,
    Reasoning,
    Reply,
    Request,
    ToolSpec,
    ToolUse,
    Usage,
)
from indwell.providers.base import CallStarted, StreamEvent, TextDelta, ThinkingDelta
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.layout import KeptReasoning
from indwell.providers.wires.tool_calls import (
    CallAssembler,
    CallDelta,
    GrowingText,
    is_json,
    joined_surrogates,
)
from indwell.providers.wires.written_calls import (
    CALL_LIMIT,
    is_attempt,
    may_be_call,
    written_calls,
)

TEXT_LIMIT = 2_000_000
"""The limit of kept characters of text and reasoning; the longest replies of models (128,000
tokens) have a quarter of this number.
"""

REPEATED = 6_000
"""A reply is cut off after this many characters that only repeat a text.

Long lists and tables differ from line to line, so they do not count as repetitions.
"""

_BEGIN = 40  # The first 40 characters show whether a reply may be a written tool call.
REASONING_LIMIT = 256  # At most 256 parts of reasoning in one reply are sent back to the endpoint.


class GrowingReply(ABC):
    """The received part of one reply.

    Args:
        dialect: The endpoint's dialect.
        tools: The tools that the model may call.

    Attributes:
        n_chunks: Number of events so far.
        reason: The endpoint's finish reason, or empty until the reason arrives.
        is_done: Whether the stream reported its end.
        excess: The exceeded limit, for the error message, or empty if no limit was exceeded.
    """

    paused: ClassVar[frozenset[str]] = frozenset()
    """Finish reasons of a reply that the endpoint has only paused."""

    broken: ClassVar[frozenset[str]] = frozenset()
    """Finish reasons by which the endpoint says that the model failed."""

    finishes: ClassVar[Mapping[str, Finish]] = {}
    """What each finish reason says, apart from the usual end."""

    def __init__(self, dialect: Dialect | None = None, tools: Sequence[ToolSpec] = ()) -> None:
        self.n_chunks = 0
        self.reason = ""
        self.is_done = False
        self.excess = ""
        self._n_said = 0
        self._repeats = _Repetition()
        self._dialect = dialect or Dialect()
        self._tools = tools
        self._text = _TextPieces()
        # Text that may be a tool call written as text.
        self._held: list[str] | None = [] if tools else None
        self._n_held = 0
        self._written: Literal["", "read"] = ""
        self._thinking = _TextPieces()
        self._calls = CallAssembler(id_limit=self._dialect.id_limit)
        self._reasoning: list[_KeptPiece] = []
        self._text_at = -1  # The index of the first text among the parts of the reply.
        self._n_kept = 0
        self._usage: Mapping[str, Any] = {}

    @property
    def can_be_kept(self) -> bool:
        """Return whether text has arrived or a tool call has begun (H41)."""
        return self._text.begun or self._calls.begun

    @property
    def n_characters(self) -> int:
        """The number of characters of text, reasoning and calls so far."""
        return self._n_said + self._calls.n_characters

    @property
    def broke_off(self) -> bool:
        """Return whether the endpoint said that the model behind the endpoint failed."""
        return self.reason in self.broken

    @property
    def ended(self) -> bool:
        """Return whether the endpoint called the reply complete, without a failure of the model."""
        said_so = self.reason or (self.is_done and self.n_chunks)
        return bool(said_so) and not self.broke_off

    @abstractmethod
    def add(self, chunk: Mapping[str, Any]) -> list[StreamEvent]:
        """Add the decoded data of one event; return its deltas."""

    @abstractmethod
    def add_whole(self, value: Mapping[str, Any]) -> list[StreamEvent] | None:
        """Add an answer that is one whole reply, not a stream; return None for any other answer."""

    @abstractmethod
    def _reported(self, usage: Mapping[str, Any]) -> Usage:
        """Return the usage that the endpoint reported, or an empty usage if none was reported."""

    def error_in(self, chunk: Mapping[str, Any], name: bytes) -> object | None:
        """Return the error that an event reports, or None if there is no error.

        Args:
            chunk: The data of the event.
            name: The name of the event; may be empty.
        """
        return chunk if chunk.get("error") or name == b"error" else None

    def end(self) -> list[StreamEvent]:
        """Return the events of text that was held back until the end of the stream.

        The text may be tool calls that the model wrote as text. Such text is now read as calls, or
        returned as text.
        """
        may_be_read = self._held and not self._calls.begun and self.reason not in self.finishes
        found = written_calls(self._text.joined, self._tools) if may_be_read else ()
        if not found:
            return self.let_go()
        for index, call in enumerate(found):
            self._calls.add(CallDelta(index=index, name=call.name, arguments=call.arguments))
        self._text, self._held, self._written = _TextPieces(), None, "read"
        return [CallStarted(call.name) for call in found]

    def let_go(self) -> list[StreamEvent]:
        """Return the events of text that was held back, but is not a valid call."""
        held, self._held = "".join(self._held or ()), None
        return [TextDelta(held)] if held else []

    def whole(self, request: Request, *, is_cut: bool = False) -> Reply:
        """Return the reply of a stream that has ended; calls that were cut off are dropped.

        Without a finish reason, the reply is complete only if the calls are complete (Ollama and
        SGLang send null with complete answers). With a finish reason, the calls must be complete
        only if the connection broke afterwards.

        Args:
            request: The request.
            is_cut: Whether the connection broke after the finish reason.
        """
        finish: Finish = self.finishes.get(self.reason, "stop")
        if self.reason in self.paused:
            return self.cut_off(request, "the endpoint paused it for tools of its own", "endless")
        if self._calls.problem:
            return self.cut_off(request, self._calls.problem)
        calls = self._calls.calls(taken=_ids(request.messages) if self._calls.begun else ())
        may_be_cut = is_cut or not self.reason
        if may_be_cut and not all(is_json(call.arguments) for call in calls):
            return self.cut_off(request, "it ended inside a tool call")
        problem = ""
        if finish != "stop" and calls:
            names = ", ".join(call.name for call in calls)
            why = "reached its limit" if finish == "length" else "was filtered"
            problem = f"the reply {why} inside a tool call, which was dropped: {names}"
            calls = ()
        return Reply(
            text=self._text.joined,
            calls=calls,
            thinking=self._thinking.joined,
            finish="tool_calls" if calls else finish,
            usage=self._used(request),
            problem=problem,
            reasoning=self._kept(request.model, most_calls=len(calls)),
            written=self._written or self._unread(has_calls=bool(calls)),
        )

    def cut_off(self, request: Request, problem: str, finish: Finish = "incomplete") -> Reply:
        """Return the received part of a reply that broke off, without tool calls (H41)."""
        return Reply(
            text=self._text.joined,
            thinking=self._thinking.joined,
            finish=finish,
            usage=self._used(request),
            problem=problem,
        )

    def rescued(
        self,
        request: Request,
        problem: str,
        on_event: Callable[[StreamEvent], None],
        *,
        is_endless: bool = False,
    ) -> Reply | None:
        """Return the usable part of a reply that broke off, or None if there is no usable part.

        Args:
            request: The request.
            problem: The fault, in plain words.
            on_event: Receives text that was held back.
            is_endless: Whether another attempt is pointless, as after a limit was exceeded.
        """
        for event in self.end() if self.ended else self.let_go():
            on_event(event)
        if is_endless and self.can_be_kept:
            return self.cut_off(request, problem, finish="endless")
        if self.ended:  # The reply was already complete.
            return self.whole(request, is_cut=True)
        return self.cut_off(request, problem) if self.can_be_kept else None

    def _unread(self, *, has_calls: bool) -> Literal["", "unread"]:
        may_be = not has_calls and self.reason not in self.finishes
        return "unread" if may_be and is_attempt(self._text.joined, self._tools) else ""

    def _say(self, thinking: str, words: str, events: list[StreamEvent], *, at: int = -1) -> None:
        """Add reasoning and text; ``at`` is the index of the text among the parts of the reply."""
        if words and (self._text_at < 0 or at < self._text_at):
            self._text_at = at
        self._n_said += len(thinking) + len(words)
        if (over := self._n_said - TEXT_LIMIT) > 0:
            self.excess = f"is over {TEXT_LIMIT:,} characters"
            thinking, words = (text[: max(0, len(text) - over)] for text in (thinking, words))
        if self._repeats.add(thinking + words):
            self.excess = self.excess or "repeats itself without end"
        if thinking and (whole := self._thinking.add(thinking)):
            events.append(ThinkingDelta(whole))
        if words and (whole := self._text.add(words)):
            if self._held is None:
                events.append(TextDelta(whole))
            else:
                self._hold(whole, events)

    def _hold(self, words: str, events: list[StreamEvent]) -> None:
        """Hold text back as long as the reply may be only a tool call written as text."""
        assert self._held is not None
        is_begin, self._n_held = self._n_held < _BEGIN, self._n_held + len(words)
        self._held.append(words)
        is_other = is_begin and not may_be_call("".join(self._held))
        if is_other or self._n_held > CALL_LIMIT:
            events += self.let_go()

    def _keep(self, text: str, item: Mapping[str, Any], at: int) -> None:
        """Keep a part of reasoning to send back; ``at`` is the index among the reply's parts."""
        try:
            raw = msgspec.json.encode(item)
        except (RecursionError, UnicodeEncodeError):
            return  # No endpoint would accept such a part.
        self._n_kept += len(text) + len(raw)
        if len(self._reasoning) < REASONING_LIMIT and self._n_kept <= TEXT_LIMIT:
            self._reasoning.append(_KeptPiece(text, raw, at))

    def _kept(self, model: str, *, most_calls: int) -> tuple[Reasoning, ...]:
        """Return the kept reasoning, without reasoning before a dropped call."""
        kept: list[Reasoning] = []
        for piece in sorted(self._reasoning, key=lambda piece: piece.at):
            item = KeptReasoning(self._dialect.wire, model, msgspec.json.decode(piece.item))
            place = self._place(piece.at)
            if place <= most_calls:
                kept.append(Reasoning(piece.text, msgspec.json.encode(item).decode(), place))
        return tuple(kept)

    def _place(self, at: int) -> int:
        """Return the index as ``Reasoning`` defines it, for parts that came in any order."""
        n_calls = self._calls.n_before(at)
        is_first = not n_calls and not 0 <= self._text_at < at
        return 0 if is_first else 1 + n_calls

    def _used(self, request: Request) -> Usage:
        def said() -> tuple[str, ...]:
            calls = "".join(call.name + call.arguments for call in self._calls.calls())
            return (self._text.joined, self._thinking.joined, calls)

        usage = plausible(self._reported(self._usage), request, said)
        if usage.thinking or not (self._thinking.begun or self._reasoning):
            return msgspec.structs.replace(usage, thinking=min(usage.thinking, usage.output))
        # The other parts are thinking, whose text may be a summary or hidden.
        text, _, calls = said()
        rest = usage.output - _answered(lambda: (text, calls))
        return msgspec.structs.replace(usage, thinking=max(0, rest))


class _KeptPiece(NamedTuple):
    """A part of reasoning: text, JSON, and the index among the parts of the reply."""

    text: str
    item: bytes
    at: int


class _Repetition:
    """Detects a text that repeats itself without end, as small models do.

    A text that repeats itself from its beginning may be intended, so the limit is four times as
    high.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._n = 0
        self._patience = 4  # Four equal blocks are tolerated.

    def add(self, piece: str) -> bool:
        """Add text; return whether the last ``REPEATED`` characters only repeat one text.

        The check compares whole blocks, so that the time stays small.
        """
        self._pieces.append(piece)
        self._n += len(piece)
        if self._n < REPEATED:
            return False
        block = "".join(self._pieces)
        self._pieces, self._n = [], 0
        is_repetition = period(block) > 0
        self._patience = self._patience - 1 if is_repetition else 1
        return is_repetition and self._patience <= 0


def period(text: str) -> int:
    """Return the length of a text with which ``text`` ends at least six times over, or 0.

    ``text`` has at least ``REPEATED`` characters.
    """
    head, at = text[:100], 0
    while (at := text.find(head, at + 1, REPEATED // 6 + len(head))) > 0:
        if text.startswith(text[at:]):
            return at
    return 0


class _TextPieces:
    """Joins pieces of text; the first half of a character waits for the second half."""

    def __init__(self) -> None:
        self._text = GrowingText()
        self._half = ""

    @property
    def begun(self) -> bool:
        return bool(self._text)

    @property
    def joined(self) -> str:
        return self._text.joined

    def add(self, piece: str) -> str:
        """Return the text that this piece completes; may be empty."""
        words = piece
        if self._half or not piece.isascii():
            words, self._half = self._half + piece, ""
            if "\ud800" <= words[-1] <= "\udbff":
                words, self._half = words[:-1], words[-1]
            words = joined_surrogates(words)
        if words:
            self._text.add(words)
        return words


def _ids(messages: tuple[Message, ...]) -> set[str]:
    """Return the ids of earlier calls."""
    return {
        block.id
        for message in messages
        if message.role == "assistant"
        for block in message.blocks
        if isinstance(block, ToolUse)
    }


# The limit is for one number of a usage; the largest windows have 10 million tokens.
MOST_TOKENS = 100_000_000
_LONG = 120_000  # In longer texts, in characters, only samples are counted.
_N_PIECES, _PIECE = 61, 487  # A longer text has 61 samples of 487 characters.


def plausible(usage: Usage, request: Request, said: Callable[[], Sequence[str]]) -> Usage:
    """Return the reported tokens; impossible numbers are replaced by an estimate.

    Budgets and compaction depend on these numbers. So the report is compared with estimates for the
    request and the reply, with a margin for different tokenizers.

    Args:
        usage: The tokens reported by the endpoint.
        request: The request, for the estimate.
        said: Returns the reply's text; called only for an estimate.
    """
    asked = request.tokens or request_tokens(request)
    if usage != Usage() and usage.input <= 4 * asked + 4_000:
        if usage.output <= 2 * request.max_output + 1_000:
            return usage
        answered = _answered(said)
        if usage.output <= 2 * answered + 1_000:
            return usage
        return Usage(input=asked, output=answered, reported=False)
    return Usage(input=asked, output=_answered(said), reported=False)


def count(numbers: Mapping[str, Any], name: str) -> int:
    """Return a number of tokens, or 0 for any other value, including booleans."""
    value = numbers.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return min(max(value, 0), MOST_TOKENS)


def thinking_tokens(usage: Mapping[str, Any], name: str) -> int:
    """Return the tokens of reasoning in the details of a usage, or 0 if missing."""
    details = usage.get(name)
    if not isinstance(details, Mapping):
        return 0
    # Anthropic uses the second name.
    return count(details, "reasoning_tokens") or count(details, "thinking_tokens")


def _answered(said: Callable[[], Sequence[str]]) -> int:
    return sum(_estimated(part) for part in said())


def _estimated(text: str) -> int:
    """Estimate a text's tokens within 2 ms; a long text is sampled."""
    if len(text) <= _LONG:
        return estimate_tokens(text)
    step = len(text) // _N_PIECES
    sample = "".join(text[at : at + _PIECE] for at in range(0, len(text), step))
    return int(estimate_tokens(sample) * len(text) / len(sample))


def place_of(index: object) -> int:
    """Return the index of a part of the reply, or -1 for anything that is not an index."""
    is_index = isinstance(index, int) and not isinstance(index, bool) and index >= 0
    return index if is_index and isinstance(index, int) else -1
