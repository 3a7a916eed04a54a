"""The features that an endpoint accepts, and how refusals change later requests.

Only a 400 that names a rejected field changes the dialect; any other 400 is not retried (LLM-08).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.messages import EFFORTS, CacheLife, Effort, Request

WireName: TypeAlias = Literal["chat", "responses", "messages", "editor"]
ReasoningField: TypeAlias = Literal["", "reasoning_content", "reasoning"]

MAX_WORDS = 4_000
# OpenAI's call ids have 29 characters and vLLM's 46; a longer id is replaced.
CALL_ID_LIMIT = 128


class Dialect(msgspec.Struct, frozen=True):
    """The features of one endpoint's API; the defaults are what all endpoints accept.

    Attributes:
        wire: The kind of API: chat completions, OpenAI's responses, Anthropic's messages, or the
            editor's own models.
        cache_marks: Whether the endpoint accepts ``cache_control`` on content parts and tools.
        cache_hours: Whether the endpoint accepts cache marks for an hour, by ``ttl``.
        life: The lifetime of the cache marks in this request, set by ``for_request``.
        cache_key: Whether the endpoint accepts ``prompt_cache_key``.
        output_limit: The field that limits the reply.
        usage_option: Whether the endpoint accepts ``stream_options`` (H39).
        tool_choice: Whether the endpoint accepts ``tool_choice: "none"``.
        progress: Whether the endpoint can report how much of the prompt it has read.
        null_content: Whether the endpoint accepts null as the content of a message with only tool
            calls.
        nine_ids: Whether call ids must have nine letters or digits (Mistral).
        id_limit: Characters of the longest call id that is sent back unchanged; a longer id is
            replaced.
        bridge: Whether an assistant message is needed between tool results and the user's message
            (Mistral).
        reasoning_back: The field that sends reasoning back (H65), or empty if the endpoint gets no
            reasoning back.
        call_extras: Whether a call's ``extra_content`` must be sent back (Gemini's thought
            signatures).
        think_tags: Whether reasoning may be part of the text, between ``<think>`` and ``</think>``.
        reasoning_apart: Whether ``completion_tokens`` excludes reasoning, though the total includes
            it.
        effort_field: The field for the effort in chat completions, or empty if there is no such
            field.
        efforts: The efforts that the endpoint accepts for the model, or empty for all efforts.
        reasoning: Whether the wires ``responses`` and ``messages`` may ask for reasoning.
        seals: Whether the wires ``responses`` and ``messages`` send back the reasoning of earlier
            replies.
        summaries: Whether the wires ``responses`` and ``messages`` may ask for a readable text of
            the reasoning.
        verbosity: Whether the endpoint accepts ``verbosity``.
        phases: Whether the endpoint accepts ``phase`` on the assistant's texts (OpenAI's
            responses).
        model_in_path: Whether the path names the model instead of the body, as at Google's Vertex.
        name: The endpoint's own name of the model, or empty for the name in the request.
        counts_as: The public name of the model, by which its abilities are known, or empty for the
            same name.
        fields: More fields of the body, as a JSON object, or empty for none.
    """

    wire: WireName = "chat"
    cache_marks: bool = False
    cache_hours: bool = False
    cache_key: bool = False
    output_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    usage_option: bool = True
    tool_choice: bool = True
    null_content: bool = True
    progress: bool = False
    nine_ids: bool = False
    id_limit: int = CALL_ID_LIMIT
    bridge: bool = False
    reasoning_back: ReasoningField = ""
    call_extras: bool = False
    think_tags: bool = False
    reasoning_apart: bool = False
    effort_field: Literal["", "reasoning_effort", "reasoning"] = ""
    efforts: tuple[Effort, ...] = ()
    reasoning: bool = True
    seals: bool = True
    summaries: bool = True
    verbosity: bool = False
    phases: bool = False
    model_in_path: bool = False
    name: str = ""
    counts_as: str = ""
    fields: str = ""
    life: CacheLife = ""

    def for_request(self, request: Request) -> Dialect:
        """Return the dialect for a request, with the lifetime of the request's cache marks."""
        life = request.cache_life if self.cache_marks and self.cache_hours else ""
        return self if life == self.life else msgspec.structs.replace(self, life=life)

    def effort(self, wanted: Effort) -> Effort:
        """Return the supported effort nearest to ``wanted``; of two equally near, the lower."""
        if not wanted or not self.efforts or wanted in self.efforts:
            return wanted
        place = EFFORTS.index(wanted)
        return min(self.efforts, key=lambda one: abs(EFFORTS.index(one) - place))


_UNKNOWN = lazy_pattern(
    r"un(supported|known|recogni[sz]ed|expected|permitted)|not (be )?(supported|permitted|allowed)"
    r"|does(n't| not) (support|accept|allow)|extra (inputs?|fields?)|additional propert"
    r"|invalid (field|param|argument)|use '?max_",
    re.IGNORECASE,
)
_NULL_CONTENT = lazy_pattern(
    r"content\b.{0,200}(null|none|nil|must be a string|should be a (valid )?string|valid string)"
    r"|(null|none) .{0,200}content\b",
    re.IGNORECASE,
)
_REASONING_WANTED = lazy_pattern(
    r"(reasoning_content|reasoning)\b.{0,200}(must be passed back|is required)"
    r"|missing [`'\"]?reasoning_content",
    re.IGNORECASE,
)


class _Lesson(msgspec.Struct, frozen=True):
    """A kind of refusal, and the change of the dialect that avoids the refusal.

    Attributes:
        words: A pattern of the endpoint's message.
        changes: The new values of the dialect's fields.
        applies: Whether the refusal can concern a request in this dialect.
        says_unknown: Whether the message must also say that something is not accepted, because the
            name alone also occurs in other error messages.
    """

    words: re.Pattern[str]
    changes: dict[str, object]
    applies: Callable[[Dialect], bool] = lambda _dialect: True
    says_unknown: bool = False


def _lesson(
    words: str | re.Pattern[str],
    *,
    applies: Callable[[Dialect], bool] = lambda _dialect: True,
    says_unknown: bool = False,
    **changes: object,
) -> _Lesson:
    return _Lesson(
        lazy_pattern(words) if isinstance(words, str) else words, changes, applies, says_unknown
    )


_LESSONS = (
    # The messages are like "To use function tools, use /v1/responses" or "only supported in
    # v1/responses".
    _lesson(
        r"v1/responses\b(?!.{0,40}not supported)|not a chat model",
        applies=lambda dialect: dialect.wire == "chat",
        wire="responses",
        cache_marks=False,
    ),
    # The endpoint refuses reasoning that was made with another key, region or deployment. Requests
    # still ask for new reasoning.
    _lesson(
        r"(?i)encrypted.content\b.{0,300}(verified|decrypted|parsed)"
        r"|invalid [`'\"]?signature|thinking.{0,80}cannot be modified",
        applies=lambda dialect: dialect.wire != "chat" and dialect.seals,
        seals=False,
    ),
    _lesson(
        r"(?i)summar(y|ies)\b.{0,80}verif|verif.{0,80}summar|thinking\S*display",
        applies=lambda dialect: dialect.wire != "chat",
        summaries=False,
    ),
    _lesson(r"verbosity", verbosity=False),
    _lesson(r"\bphase\b", says_unknown=True, phases=False),
    _lesson(
        r"(?i)encrypted content|reasoning|thinking|output_config|effort",
        applies=lambda dialect: dialect.wire != "chat" and dialect.reasoning,
        reasoning=False,
    ),
    _lesson(
        r"reasoning_effort|reasoning\.effort",
        applies=lambda dialect: bool(dialect.effort_field),
        effort_field="",
    ),
    _lesson(r"return_progress", progress=False),
    _lesson(r"stream_options|include_usage", usage_option=False),
    _lesson(r"prompt_cache_key", cache_key=False),
    _lesson(
        r"cache_control\S*\bttl|\bttl\b|extended.cache",
        applies=lambda dialect: dialect.cache_hours,
        cache_hours=False,
    ),
    _lesson(r"cache_control", cache_marks=False),
    _lesson(r"length of 9\b", nine_ids=True),
    _lesson(r"(?i)role '?user'? after role '?tool", bridge=True),
    _lesson(_REASONING_WANTED, reasoning_back="reasoning_content"),
    _lesson(
        r"reasoning(_content)?\b",
        applies=lambda dialect: bool(dialect.reasoning_back),
        says_unknown=True,
        reasoning_back="",
    ),
    _lesson(r"extra_content", says_unknown=True, call_extras=False),
    _lesson(
        r"max_(completion_)?tokens",
        applies=lambda dialect: dialect.output_limit == "max_tokens",
        says_unknown=True,
        output_limit="max_completion_tokens",
    ),
    _lesson(
        r"max_completion_tokens",
        applies=lambda dialect: dialect.output_limit == "max_completion_tokens",
        says_unknown=True,
        output_limit="max_tokens",
    ),
    _lesson(_NULL_CONTENT, null_content=False),
)
_CHOICE = _lesson(r"tool_?choice", says_unknown=True, tool_choice=False)


def adapted(dialect: Dialect, words: str, *, forbids_calls: bool = False) -> Dialect | None:
    """Return the dialect without the sent fields that ``words`` reject, or None if there are none.

    Args:
        dialect: The dialect of the refused request.
        words: The endpoint's message, and the parameter that the message names.
        forbids_calls: Whether the request had ``tool_choice: "none"``.
    """
    words = words[:MAX_WORDS]
    left = _fields_left(dialect, words)
    if left != dialect.fields:
        return msgspec.structs.replace(dialect, fields=left)
    efforts = _efforts_in(words)
    if efforts and efforts != dialect.efforts:
        return msgspec.structs.replace(dialect, efforts=efforts)
    for lesson in (*_LESSONS, _CHOICE) if forbids_calls else _LESSONS:
        if lesson.says_unknown and not _UNKNOWN.search(words):
            continue
        if lesson.applies(dialect) and lesson.words.search(words):
            changed = msgspec.structs.replace(dialect, **lesson.changes)
            if changed != dialect:
                return changed
    return None


def _fields_left(dialect: Dialect, words: str) -> str:
    """Return the user's own fields without the fields that a message rejects by name."""
    if not dialect.fields or not _UNKNOWN.search(words):
        return dialect.fields
    fields = msgspec.json.decode(dialect.fields)
    left = {
        name: value
        for name, value in fields.items()
        if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words)
    }
    return fields_text(left) if left != fields else dialect.fields


def fields_text(fields: Mapping[str, object]) -> str:
    """Return fields as the JSON text of ``Dialect.fields``; no fields give an empty text."""
    return msgspec.json.encode(fields).decode() if fields else ""


def _efforts_in(words: str) -> tuple[Effort, ...]:
    """Return the efforts that a message offers in place of the refused effort; may be empty."""
    if "effort" not in words.lower():
        return ()
    _, offers, offered = words.partition("upported values are")
    return tuple(one for one in EFFORTS if offers and re.search(rf"['\"`]{one}['\"`]", offered))
