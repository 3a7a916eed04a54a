"""Defines the conversation as a frozen value, with functions that return the next value.

A turn calls ``with_input`` (the queued injections and the user's text join the last user message) →
send → ``with_reply`` → ``with_results`` → send …. If sending fails, the caller keeps the earlier
value, in which the injections are still queued.

A message never changes once another message follows. Each message is therefore counted and checked
once (``Tally``), and the time of a call depends only on new messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import NamedTuple

import msgspec

from indwell.context.history import History
from indwell.context.injections import Frame, framed
from indwell.context.pairing import interrupted_result, problems, tool_uses
from indwell.context.tokens import (
    BLOCK_OVERHEAD,
    Calibration,
    estimate_tokens,
    is_plausible,
    message_tokens,
    tools_tokens,
)
from indwell.context.untrusted_text import neutralise, noted, scalar_text
from indwell.messages import (
    BROKE_OFF,
    BROKEN_OFF,
    Block,
    CacheLife,
    Effort,
    Image,
    Message,
    Meta,
    Reply,
    Source,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
    Usage,
    Verbosity,
)

_STATES = frozenset(
    {"environment", "ide_selection", "ide_opened", "instructions", "task_card", "plan"}
    | {"skill_list", "own_skill_list", "agent_list", "tool_list", "server_tools"}
)
"""Sources of blocks that report a state, of which only the newest block is current."""
MILESTONE_TOKENS = 2_000  # A prompt cache may end after a tool result of this many tokens.
STRIDE = 32  # The sums are stored after every 32 messages.
ONCE: frozenset[Source] = frozenset({"ide_selection", "skill"})
"""Sources of blocks whose texts are never sent twice."""


class Sums(NamedTuple):
    """The estimated tokens of some messages.

    Attributes:
        tokens: The tokens of all blocks.
        loose: The tokens that compaction may remove: calls, results, and texts that are neither the
            user's nor pinned.
        fixed: The tokens of pinned blocks and the user's text, which compaction never removes.
    """

    tokens: int = 0
    loose: int = 0
    fixed: int = 0


class Tally(msgspec.Struct, frozen=True):
    """Counts of the first ``n`` messages, which are checked and no longer change.

    Attributes:
        n: The number of messages.
        last: The last counted message; if another message replaces it, the tally is invalid.
        sums: The sums over the counted messages.
        places: The sums of all messages before message 0, ``STRIDE``, 2 ``STRIDE``, ….
        milestone: The index of the newest message with a large result, or -1 if no result is large.
        newest: The newest text of each state that injections report (``state_of``).
        once: All texts from the sources in ``ONCE``.
    """

    n: int = 0
    last: Message | None = None
    sums: Sums = Sums()
    places: tuple[Sums, ...] = ()
    milestone: int = -1
    newest: Mapping[str, str] = {}
    once: frozenset[str] = frozenset()

    @property
    def tokens(self) -> int:
        """The estimated tokens of the counted messages."""
        return self.sums.tokens


def valid(tally: Tally, messages: Sequence[Message]) -> Tally:
    """Return the tally if its messages are the first of these messages; if not, an empty tally."""
    if tally.n and not (tally.n <= len(messages) and messages[tally.n - 1] is tally.last):
        return Tally()
    return tally


def extended(tally: Tally, messages: Sequence[Message]) -> Tally:
    """Return the tally of all ``messages`` but the last, which may still grow.

    The time depends only on messages that ``tally`` does not cover yet. The count stops before an
    invalid message, so that ``problems(messages, start=tally.n)`` finds the fault.
    """
    tally = valid(tally, messages)
    end = len(messages) - 1
    if end <= tally.n or problems(messages, start=tally.n, may_wait=True):
        return tally
    sums, milestone = tally.sums, tally.milestone
    places: list[Sums] = []
    newest, once = dict(tally.newest), set[str]()
    for index in range(tally.n, end):
        message = messages[index]
        if index % STRIDE == 0:
            places.append(sums)
        sums = added(sums, message)
        if is_milestone(message):
            milestone = index
        notice_texts(message, newest, once)
    return Tally(
        n=end,
        last=messages[end - 1],
        sums=sums,
        places=(*tally.places, *places) if places else tally.places,
        milestone=milestone,
        newest=newest,
        once=tally.once | once if once else tally.once,
    )


def added(sums: Sums, message: Message) -> Sums:
    """Return the sums with one more message; reasoning is not sent back and adds nothing."""
    tokens, loose, fixed = sums
    for block in message.blocks:
        if isinstance(block, Thinking):
            continue
        meta = block.meta
        cost = meta.tokens + BLOCK_OVERHEAD
        tokens += cost
        if meta.pinned or meta.source == "user":
            fixed += cost
        if _is_loose(block):
            loose += cost
    return Sums(tokens, loose, fixed)


def _is_loose(block: Block) -> bool:
    """Return whether compaction may remove the block: neither the user's nor pinned blocks."""
    return isinstance(block, ToolUse | ToolResult) or (
        isinstance(block, Text) and block.meta.source != "user" and not block.meta.pinned
    )


def is_milestone(message: Message) -> bool:
    """Return whether the message has a tool result after which a prompt cache may end."""
    return any(
        isinstance(block, ToolResult) and block.meta.tokens >= MILESTONE_TOKENS
        for block in message.blocks
    )


def state_of(block: Text) -> str:
    """Return the name of the state that a text reports: the source, perhaps with a file.

    For instructions, the opening tag names the file; texts cannot forge a tag.
    """
    source = block.meta.source
    return source if source != "instructions" else f"{source} {block.text.splitlines()[0]}"


def notice_texts(message: Message, newest: dict[str, str], once: set[str]) -> None:
    """Add a message's injected texts, in order, to the ``newest`` and ``once`` of a tally."""
    for block in message.blocks:
        if isinstance(block, Text):
            newest[state_of(block)] = block.text
            if block.meta.source in ONCE:
                once.add(block.text)


class Config(msgspec.Struct, frozen=True):
    """The values that determine the shape of a request.

    Attributes:
        model: The endpoint's name of the model.
        window: The size of the model's window in tokens, for prompt and reply together.
        max_output: The number of tokens that are reserved for the reply.
        cache_key: The key of the prompt cache, which stays the same for the session.
        takes_pictures: Whether the model accepts pictures.
        effort: The reasoning effort; see ``messages.Request``.
        verbosity: The verbosity of answers; see ``messages.Request``.
        cache_life: The lifetime of cached prefixes; see ``messages.Request``.
    """

    model: str
    window: int
    max_output: int
    cache_key: str = ""
    takes_pictures: bool = False
    effort: Effort = ""
    verbosity: Verbosity = ""
    cache_life: CacheLife = ""

    @property
    def budget(self) -> int:
        """The limit of tokens for a request: the window without the reserved output."""
        return self.window - self.max_output


class Conversation(msgspec.Struct, frozen=True):
    """A conversation, which determines the next request.

    Attributes:
        config: The model and the sizes.
        system: The system prompt, which never changes during a session.
        tools: Tool specs in a stable order.
        messages: The messages with alternating roles; every tool use has its result.
        pending: The injections for the next user message.
        tally: Counts and checks of messages that no longer change; requests do not depend on the
            tally.
        calibration: The endpoint's last token count, which corrects estimates.
        history: The originals of the compacted messages.
    """

    config: Config
    system: tuple[Text, ...]
    tools: tuple[ToolSpec, ...] = ()
    messages: tuple[Message, ...] = ()
    pending: tuple[Text, ...] = ()
    tally: Tally = Tally()
    calibration: Calibration = Calibration()
    history: History = History()


def system_block(text: str) -> Text:
    """Return the system prompt as a block; ``text`` must not contain a repository's text."""
    return Text(
        text=text,
        meta=Meta(
            tier=0, source="system", tokens=estimate_tokens(text), pinned=True, compactable=False
        ),
    )


def user_words(words: str, *, turn: int) -> Text:
    """Return the user's text as a block, which compaction keeps and which cannot close a tag."""
    text = noted(neutralise(scalar_text(words))) if words.strip() else "(no words)"
    return Text(
        text=text,
        meta=Meta(
            tier=1, source="user", tokens=estimate_tokens(text), turn=turn, compactable=False
        ),
    )


def queue(conversation: Conversation, blocks: Sequence[Text]) -> Conversation:
    """Queue injections for the next user message, without injections that were already sent.

    An unchanged state is not repeated. Only the newest block of each state, such as the selection
    or the opened file, is queued.
    """
    newest, once = sent_texts(conversation)
    pending = list(conversation.pending)
    for block in blocks:
        if block.text in {one.text for one in pending}:
            continue
        if block.meta.source in _STATES:
            pending = [one for one in pending if state_of(one) != state_of(block)]
        if not _was_sent(block, newest, once):
            pending.append(block)
    return msgspec.structs.replace(conversation, pending=tuple(pending))


def with_input(
    conversation: Conversation,
    *,
    words: str | None,
    turn: int,
    steered: Sequence[str] = (),
    along: Sequence[Block] = (),
) -> Conversation:
    """Add the queued injections, then the user's text, to the last user message.

    Args:
        conversation: The conversation without the input.
        words: The user's prompt, or None if the agent continues by itself.
        turn: The number of the turn.
        steered: The user's messages to the running turn, in order; added last.
        along: The attachments of the prompt; ignored if there is no prompt.
    """
    said = (*(() if words is None else (words,)), *steered)
    blocks: tuple[Block, ...] = (
        *conversation.pending,
        *(() if words is None else along),
        *(user_words(one, turn=turn) for one in said),
    )
    if not blocks:
        return conversation
    return msgspec.structs.replace(
        conversation,
        messages=_appended(conversation.messages, Message("user", blocks, turn)),
        pending=(),
    )


def with_reply(conversation: Conversation, reply: Reply, *, turn: int) -> Conversation:
    """Append the model's reply; the tool calls get ids that are unique within the reply.

    Tool calls of an incomplete reply are left out, because they may be incomplete, too. Blank texts
    and names are left out or replaced, because endpoints would refuse the next request.
    """
    blocks: list[Block] = []
    is_broken = reply.finish in BROKEN_OFF
    if reply.thinking and (is_broken or not reply.reasoning):
        thinking = scalar_text(reply.thinking)
        blocks.append(Thinking(thinking, _assistant(thinking, turn)))
    reasoning: dict[int, list[Block]] = {}
    for one in () if is_broken else reply.reasoning:
        thinking = scalar_text(one.text)
        block = Thinking(thinking, _assistant(thinking, turn), scalar_text(one.extra))
        reasoning.setdefault(one.place, []).append(block)
    blocks += reasoning.get(0, ())
    text = scalar_text(reply.text)
    if is_broken:
        text = f"{text}\n{BROKE_OFF}"
    if text.strip():
        blocks.append(Text(text, _assistant(text, turn)))
    taken: set[str] = set()
    calls = reply.calls if reply.finish in {"stop", "tool_calls"} else ()
    for number, call in enumerate(calls, 1):
        blocks += reasoning.get(number, ())
        identifier = _unique(scalar_text(call.id), taken)
        taken.add(identifier)
        name, arguments = scalar_text(call.name) or "(no name)", scalar_text(call.arguments)
        meta = _assistant(name + arguments, turn)
        blocks.append(ToolUse(identifier, name, arguments, meta, scalar_text(call.extra)))
    if not any(isinstance(block, Text | ToolUse) for block in blocks):
        silence = "[no answer]"
        blocks.append(Text(silence, _assistant(silence, turn)))
    return msgspec.structs.replace(
        conversation,
        messages=_appended(conversation.messages, Message("assistant", tuple(blocks), turn)),
    )


def tool_result(
    use: ToolUse, text: str, *, is_error: bool, frame: Frame | None = None
) -> ToolResult:
    """Return the block of a tool's result, whose text is untrusted and cannot close a tag.

    A loaded document, such as a skill, gets the tag of ``frame``.
    """
    safe = noted(neutralise(scalar_text(text))) if text.strip() else "(no output)"
    if frame is not None:
        safe = framed(frame, text)
    return ToolResult(
        tool_use_id=use.id,
        text=safe,
        is_error=is_error,
        meta=Meta(tier=3, source="tool", tokens=estimate_tokens(safe), turn=use.meta.turn),
    )


def with_results(
    conversation: Conversation,
    results: Sequence[ToolResult],
    *,
    turn: int,
    pictures: Sequence[Image] = (),
) -> Conversation:
    """Append a result for every call of the last reply, in order; missing results are replaced.

    Pictures follow the results, in the order of the calls, because endpoints do not accept pictures
    inside a result.
    """
    known = {result.tool_use_id: result for result in results}
    uses = tool_uses(conversation.messages[-1])
    order = {use.id: place for place, use in enumerate(uses)}
    shown = sorted(pictures, key=lambda one: order.get(one.meta.tool_use_id or "", len(order)))
    answers = [known.get(use.id) or interrupted_result(use) for use in uses]
    blocks: tuple[Block, ...] = (*answers, *shown)
    return msgspec.structs.replace(
        conversation,
        messages=_appended(conversation.messages, Message("user", blocks, turn)),
    )


def _unique(wanted: str, taken: set[str]) -> str:
    numbered = (f"{wanted or 'call'}_{number}" for number in count(1))
    return next(one for one in chain((wanted,), numbered) if one and one not in taken)


def _assistant(text: str, turn: int) -> Meta:
    return Meta(tier=3, source="assistant", tokens=estimate_tokens(text), turn=turn)


def _appended(messages: tuple[Message, ...], message: Message) -> tuple[Message, ...]:
    """Append a message; join it with the last message if both have the same role."""
    if not message.blocks:
        return messages
    if messages and messages[-1].role == message.role:
        last = messages[-1]
        joined = Message(last.role, last.blocks + message.blocks, message.turn)
        return (*messages[:-1], joined)
    return (*messages, message)


def sent_texts(conversation: Conversation) -> tuple[Mapping[str, str], frozenset[str]]:
    """Return the newest text of each state in the conversation, and all selections and skills."""
    tally = valid(conversation.tally, conversation.messages)
    newest, once = dict(tally.newest), set[str]()
    for message in conversation.messages[tally.n :]:
        notice_texts(message, newest, once)
    return newest, tally.once | once


def _was_sent(block: Text, newest: Mapping[str, str], once: frozenset[str]) -> bool:
    """Return whether the conversation already shows this text as the newest of its source.

    Only the newest block of a source is current, so a return to an earlier state is sent again,
    except for selections. Reminders and texts of hooks are not states, and are sent each time.
    """
    if block.meta.source in {"reminder", "hook", "changed_file"}:
        return False
    if block.meta.source in ONCE:
        return block.text in once
    return newest.get(state_of(block)) == block.text


def counted(conversation: Conversation) -> Conversation:
    """Return the conversation with a tally of all messages that no longer change."""
    tally = extended(conversation.tally, conversation.messages)
    if tally is conversation.tally:
        return conversation
    return msgspec.structs.replace(conversation, tally=tally)


def estimated_tokens(conversation: Conversation) -> int:
    """Estimate the tokens of the whole prompt, from the tally and the newest messages."""
    tally = valid(conversation.tally, conversation.messages)
    return (
        sum(block.meta.tokens + BLOCK_OVERHEAD for block in conversation.system)
        + tools_tokens(conversation.tools, conversation.config.model)
        + tally.tokens
        + sum(message_tokens(message) for message in conversation.messages[tally.n :])
    )


def prompt_tokens(conversation: Conversation) -> int:
    """Return the prompt's tokens: the endpoint's count, plus an estimate of later messages."""
    estimate = estimated_tokens(conversation)
    return conversation.calibration.tokens(conversation.config.model, estimate)


def part_tokens(conversation: Conversation, text: str) -> int:
    """Return the tokens of a text, on the same scale as ``prompt_tokens``."""
    ratio = conversation.calibration.ratio_of(conversation.config.model)
    return round(estimate_tokens(text) * ratio)


def calibrated(conversation: Conversation, sent: Conversation, usage: Usage) -> Conversation:
    """Use the endpoint's token count of the request that was made from ``sent``.

    Estimates and impossible counts are ignored.
    """
    if not usage.reported or not usage.input:
        return conversation
    estimated = estimated_tokens(sent)
    if not is_plausible(usage.input, estimated, sent.config.budget):
        return conversation
    calibration = Calibration(sent.config.model, usage.input, estimated)
    return msgspec.structs.replace(conversation, calibration=calibration)
