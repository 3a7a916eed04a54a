"""What one endpoint understands, and how it speaks, beyond the common core of chat completions."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

ReasoningField: TypeAlias = Literal["", "reasoning_content", "reasoning"]

CALL_ID_LIMIT = 128  # characters; OpenAI's ids have 29, vLLM's 46; longer ones are replaced


class Dialect(msgspec.Struct, frozen=True):
    """One endpoint's ways; the defaults are the common core.

    Attributes:
        cache_marks: Takes ``cache_control`` on content parts and tools.
        cache_key: Takes ``prompt_cache_key``; others may refuse fields that they do not know.
        output_limit: The field that bounds the reply.
        usage_option: Takes ``stream_options``; found out at the first refusal (H39).
        tool_choice: Takes ``tool_choice: "none"``.
        null_content: Takes null as the content of a message that only calls tools.
        nine_ids: Wants ids of calls to be nine letters or digits (Mistral).
        id_limit: Characters of an id that are kept as they came; a longer id is replaced.
        bridge: Wants the assistant to speak between tool results and the user (Mistral).
        reasoning_back: The field in which reasoning is sent back (H65); empty: it is not.
        call_extras: Wants ``extra_content`` of a call back (Gemini's thought signatures).
        think_tags: Reasoning may stand in the words, between ``<think>`` and ``</think>``.
        reasoning_apart: ``completion_tokens`` leaves the reasoning out; the total has it.
    """

    cache_marks: bool = False
    cache_key: bool = False
    output_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    usage_option: bool = True
    tool_choice: bool = True
    null_content: bool = True
    nine_ids: bool = False
    id_limit: int = CALL_ID_LIMIT
    bridge: bool = False
    reasoning_back: ReasoningField = ""
    call_extras: bool = False
    think_tags: bool = False
    reasoning_apart: bool = False
