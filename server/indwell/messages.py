"""The values that a model sees or returns: blocks, messages, tool specs, requests, replies, usage.

All values are frozen ``msgspec`` structs. The session log can therefore write and read the values
without a second description (``docs/decisions/0002-msgspec.md``).

The values' references form no cycles, and the garbage collector need not visit the values
(``gc=False``). Otherwise, a conversation of 36,000 messages would block the process for 15 ms each
time.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Tier: TypeAlias = Literal[0, 1, 2, 3]
"""The trust tier of a text (H10): 0 (system) and 1 (user) may give orders; 2 (workspace) and 3
(tool) are data.
"""

Source: TypeAlias = Literal[
    "system",
    "user",
    "assistant",
    "tool",
    "hook",
    "reminder",
    "environment",
    "ide_selection",
    "ide_opened",
    "mention",
    "attached",
    "diagnostics",
    "changed_file",
    "instructions",
    "skill",
    "skill_list",
    "own_skill_list",
    "agent_list",
    "tool_list",
    "server_tools",
    "summary",
    "task_card",
    "todo",
    "memory",
    "plan",
    "compactor",
]
Role: TypeAlias = Literal["user", "assistant"]
Finish: TypeAlias = Literal["stop", "tool_calls", "length", "filtered", "incomplete", "endless"]
BROKEN_OFF: frozenset[Finish] = frozenset({"incomplete", "endless"})
"""The finish reasons of an incomplete reply; after ``endless``, no other attempt is made."""

# The text of a reply that broke off ends with this line, for the model.
BROKE_OFF = "[the reply broke off here]"

ToolChoice: TypeAlias = Literal["auto", "none"]
Effort: TypeAlias = Literal["", "none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model reasons before it answers; if empty, the model decides."""

EFFORTS: tuple[Effort, ...] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
Verbosity: TypeAlias = Literal["", "low", "medium", "high"]
"""How long a model's answers are; if empty, the model decides."""


class Meta(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Facts about a block (H2); the time of a block is only in the session log.

    Attributes:
        tier: The trust tier, 0 to 3.
        source: The origin of the text.
        tokens: Estimated tokens, counted once when the block was created (H17).
        turn: The turn that added the block, from 1, or 0 for the system prompt.
        tool_use_id: The call that an injected block belongs to, if any; tool uses and results have
            ids of their own.
        pinned: Whether compaction must keep the block.
        compactable: Whether compaction may change the block.
    """

    tier: Tier
    source: Source
    tokens: int
    turn: int = 0
    tool_use_id: str | None = None
    pinned: bool = False
    compactable: bool = True


class Text(msgspec.Struct, frozen=True, gc=False, tag="text"):
    """A text block; ``meta.source`` names the author."""

    text: str
    meta: Meta


class Image(msgspec.Struct, frozen=True, gc=False, tag="image", omit_defaults=True):
    """A picture: ``data`` is base64 of the bytes, and ``label`` is a text for people."""

    media_type: str
    data: str
    meta: Meta
    label: str = ""


class ToolUse(msgspec.Struct, frozen=True, gc=False, tag="tool_use", omit_defaults=True):
    """A tool call of the model; ``arguments`` is the JSON text as the model wrote it.

    ``extra`` is the endpoint's JSON, such as Gemini's signature, which must be sent back with the
    call.
    """

    id: str
    name: str
    arguments: str
    meta: Meta
    extra: str = ""


class ToolResult(msgspec.Struct, frozen=True, gc=False, tag="tool_result"):
    """The result of a tool call, or its error message."""

    tool_use_id: str
    text: str
    meta: Meta
    is_error: bool = False


class Thinking(msgspec.Struct, frozen=True, gc=False, tag="thinking", omit_defaults=True):
    """The model's reasoning, as far as the endpoint shows it.

    For ``extra``, see ``Reasoning``.
    """

    text: str
    meta: Meta
    extra: str = ""


Block: TypeAlias = Text | Image | ToolUse | ToolResult | Thinking


class Message(msgspec.Struct, frozen=True, gc=False):
    """Blocks of one role, in order (H3)."""

    role: Role
    blocks: tuple[Block, ...]
    turn: int


class ToolSpec(msgspec.Struct, frozen=True, gc=False):
    """A tool as the model sees it; ``parameters`` is the text of a JSON Schema."""

    name: str
    description: str
    parameters: str


class Anchors(msgspec.Struct, frozen=True):
    """Positions where a prompt cache may end (H34); some endpoints need ``cache_control``.

    Attributes:
    tools: Whether a cache may end after the last tool.

    system: Whether a cache may end after the last system block.

    messages: Ascending indices of the messages after which a cache may end.
    """

    tools: bool = False
    system: bool = False
    messages: tuple[int, ...] = ()


CacheLife: TypeAlias = Literal["", "1h"]
"""How long a prompt cache keeps a prefix after the last use, or empty for 5 minutes."""


class Request(msgspec.Struct, frozen=True):
    """One complete model call: equal requests have equal bytes.

    Attributes:
        model: The endpoint's name of the model.
        system: System blocks, in order.
        tools: Tool specs, in a stable order.
        messages: Messages of alternating roles; every tool use has its result.
        max_output: Tokens that the reply may have.
        anchors: The positions at which a cache may end.
        tool_choice: ``none`` forbids calls but keeps the tools, so the prefix stays the same.
        cache_key: The key of the prompt cache; stable for the session (H35).
        tokens: Estimated tokens, from a running sum, or 0 if not counted.
        effort: The reasoning effort, which each API expects in its own form.
        verbosity: The wanted length of answers, for endpoints with such a field.
        cache_life: The time for which a cache keeps the prefixes that end at ``anchors``.
    """

    model: str
    system: tuple[Text, ...]
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    max_output: int
    anchors: Anchors = Anchors()
    tool_choice: ToolChoice = "auto"
    cache_key: str = ""
    tokens: int = 0
    effort: Effort = ""
    verbosity: Verbosity = ""
    cache_life: CacheLife = ""


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one or several calls.

    Attributes:
        input: All prompt tokens, including cached ones.
        cached: Tokens of ``input`` that were read from a cache.
        cache_write: Tokens of ``input`` that were written to a cache.
        cache_hour: Tokens of ``cache_write`` that the cache keeps for an hour.
        output: Tokens of the reply, including reasoning.
        thinking: Tokens of ``output`` that were reasoning; an estimate if the endpoint did not
            report them.
        reported: Whether the endpoint reported the numbers; otherwise they are estimates.
    """

    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    reported: bool = True
    thinking: int = 0
    cache_hour: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            cached=self.cached + other.cached,
            cache_write=self.cache_write + other.cache_write,
            output=self.output + other.output,
            reported=self.reported and other.reported,
            thinking=self.thinking + other.thinking,
            cache_hour=self.cache_hour + other.cache_hour,
        )


class ToolCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """A complete call as the endpoint sent it; for ``extra``, see ``ToolUse``."""

    id: str
    name: str
    arguments: str
    extra: str = ""


class Reasoning(msgspec.Struct, frozen=True):
    """A part of the reasoning that is sent back to the endpoint with the next request.

    Attributes:
        text: The part that the endpoint shows; may be empty.
        extra: JSON from the endpoint's API that must be returned unchanged (a signature, encrypted
            content), and the only model that can read it.
        place: The position in the reply: 0 before the text, 1 before the first call, and one more
            after each call.
    """

    text: str
    extra: str
    place: int = 0


class Reply(msgspec.Struct, frozen=True):
    """The result of a model call.

    Attributes:
        text: The assistant's text; may be empty.
        thinking: Reasoning text, if the endpoint shows it.
        calls: Complete tool calls, in order, or empty if the reply broke off.
        finish: Why the reply ended; ``incomplete`` if the stream broke after text, ``endless`` if
            the reply exceeded all limits and was cut off.
        usage: Tokens of this call.
        problem: The failure, or the exceeded limit, in plain words; empty after success.
        reasoning: The parts of reasoning that must be sent back, in order; ``thinking`` has the
            text of all parts.
        written: ``read`` if the model wrote its calls as text, from which ``calls`` were read;
            ``unread`` if the text seems to be a call but cannot be parsed.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    thinking: str = ""
    finish: Finish = "stop"
    usage: Usage = Usage()
    problem: str = ""
    reasoning: tuple[Reasoning, ...] = ()
    written: Literal["", "read", "unread"] = ""
