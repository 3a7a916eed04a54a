"""Creates blocks, messages and requests for tests."""

from __future__ import annotations

from collections.abc import Sequence

from indwell.context.tokens import estimate_tokens
from indwell.messages import (
    Anchors,
    Block,
    Message,
    Meta,
    Request,
    Source,
    Text,
    ToolChoice,
    ToolResult,
    ToolSpec,
    ToolUse,
)

READ = ToolSpec("read_file", "Read a file.", '{"type":"object","properties":{}}')


def meta(text: str = "", source: Source = "user") -> Meta:
    return Meta(tier=1, source=source, tokens=estimate_tokens(text), turn=1)


def words(text: str, source: Source = "user") -> Text:
    return Text(text, meta(text, source))


def use(name: str = "read_file", arguments: str = "{}", *, id_: str = "c1") -> ToolUse:
    return ToolUse(id_, name, arguments, meta(arguments, "assistant"))


def result(text: str, *, id_: str = "c1") -> ToolResult:
    return ToolResult(id_, text, meta(text, "tool"))


def user(*blocks: Block | str) -> Message:
    return Message("user", _blocks(blocks, "user"), 1)


def assistant(*blocks: Block | str) -> Message:
    return Message("assistant", _blocks(blocks, "assistant"), 1)


def request(
    *messages: Message,
    system: Sequence[str] = (),
    tools: Sequence[ToolSpec] = (),
    model: str = "small",
    anchors: Anchors | None = None,
    tool_choice: ToolChoice = "auto",
    cache_key: str = "",
) -> Request:
    return Request(
        model=model,
        system=tuple(words(text, "system") for text in system),
        tools=tuple(tools),
        messages=messages or (user("hello"),),
        max_output=100,
        anchors=anchors or Anchors(),
        tool_choice=tool_choice,
        cache_key=cache_key,
    )


def _blocks(blocks: Sequence[Block | str], source: Source) -> tuple[Block, ...]:
    return tuple(words(block, source) if isinstance(block, str) else block for block in blocks)
