"""The conversation: one frozen value, and the functions that map it to the next (H4-H7).

A turn goes: ``with_input`` (what is waiting and the user's words join the last user message) →
send → ``with_reply`` → ``with_results`` → send …. The waiting injections leave the queue only in
the value that was really sent: when sending fails, the caller keeps the value from before (H5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, count

import msgspec

from indwell.context.history import History
from indwell.context.injections import Frame, framed
from indwell.context.pairing import interrupted_result, tool_uses
from indwell.context.tally import ONCE, Tally, extended, notice_texts, state_of, valid
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
    Image,
    Message,
    Meta,
    Reply,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
    Usage,
)

_STATES = frozenset(
    {"environment", "ide_selection", "ide_opened", "instructions", "task_card", "plan"}
    | {"skill_list", "own_skill_list", "agent_list", "tool_list"}
)
"""Sources of which only the newest word counts."""


class Config(msgspec.Struct, frozen=True):
    """What decides the shape of a request.

    Attributes:
        model: The endpoint's name of the model.
        window: Tokens that the model takes and gives in one call.
        max_output: Of those, reserved for the reply.
        cache_key: Stable for the session (H35).
        takes_pictures: Does the model?
    """

    model: str
    window: int
    max_output: int
    cache_key: str = ""
    takes_pictures: bool = False

    @property
    def budget(self) -> int:
        """Tokens that a request may have: the window less the reserved output (H65)."""
        return self.window - self.max_output


class Conversation(msgspec.Struct, frozen=True):
    """Everything that decides the next request.

    Attributes:
        config: Model and sizes.
        system: Byte-stable for the whole session (H13).
        tools: Schemas in a stable order.
        messages: Roles alternate; every tool use is answered.
        pending: Injections that wait for the next user message (H5).
        tally: What is known of the messages that no longer change; never decides what is sent.
        calibration: What the endpoint last counted (H16).
        history: What the first messages were before they were compacted.
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
    """The system prompt as a block; no text of a repository may come here (H13)."""
    return Text(
        text=text,
        meta=Meta(
            tier=0, source="system", tokens=estimate_tokens(text), pinned=True, compactable=False
        ),
    )


def user_words(words: str, *, turn: int) -> Text:
    """The user's own words; kept by every compaction, and no way to smuggle a tag in."""
    text = noted(neutralise(scalar_text(words))) if words.strip() else "(no words)"
    return Text(
        text=text,
        meta=Meta(
            tier=1, source="user", tokens=estimate_tokens(text), turn=turn, compactable=False
        ),
    )


def queue(conversation: Conversation, blocks: Sequence[Text]) -> Conversation:
    """Let injections wait for the next user message; what was sent already is left out.

    What has not changed is not said again, and of selections, opened files and other states only
    the newest waits.
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
    """Move what waits, then the user's words, behind the results of the last user message (H7).

    Args:
        conversation: The value before.
        words: The prompt; None when the agent goes on by itself.
        turn: Its number.
        steered: What the user said while the turn ran, in order; comes last.
        along: What the user attached to the words; left out without words.
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
    """Append what the model said; calls get an id that is unique within the reply.

    Calls of a reply that broke off may be cut short: they are left out, so nothing runs them.
    Blank words, blank names: endpoints refuse them in the next request, so they are not kept.
    """
    blocks: list[Block] = []
    if reply.thinking:
        thinking = scalar_text(reply.thinking)
        blocks.append(Thinking(thinking, _assistant(thinking, turn)))
    text = scalar_text(reply.text)
    if reply.finish in BROKEN_OFF:
        text = f"{text}\n{BROKE_OFF}"
    if text.strip():
        blocks.append(Text(text, _assistant(text, turn)))
    taken: set[str] = set()
    for call in reply.calls if reply.finish in {"stop", "tool_calls"} else ():
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
    """The block of a tool's answer; data of tier 3, and no way to smuggle a tag in.

    With a ``frame`` it stands within that tag: what the tool has loaded is a text of its own.
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
    """Answer every call of the last reply, in its order; what has no result was interrupted.

    Pictures come behind the results, in the order of their calls: an endpoint takes none in a
    tool's answer (H11).
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
    """Roles alternate: blocks of the side that spoke last join its message."""
    if not message.blocks:
        return messages
    if messages and messages[-1].role == message.role:
        last = messages[-1]
        joined = Message(last.role, last.blocks + message.blocks, message.turn)
        return (*messages[:-1], joined)
    return (*messages, message)


def sent_texts(conversation: Conversation) -> tuple[Mapping[str, str], frozenset[str]]:
    """The newest text of each state (``state_of``), and all selections and skills, sent so far."""
    tally = valid(conversation.tally, conversation.messages)
    newest, once = dict(tally.newest), set[str]()
    for message in conversation.messages[tally.n :]:
        notice_texts(message, newest, once)
    return newest, tally.once | once


def _was_sent(block: Text, newest: Mapping[str, str], once: frozenset[str]) -> bool:
    """Does the conversation show this text already, with nothing newer of its source since?

    Only the newest block of a source counts as its state: going back to an earlier branch is news,
    unless the text is a selection (the same text is never sent twice). What happened once more is
    no state: a reminder or a hook's words are said each time.
    """
    if block.meta.source in {"reminder", "hook", "changed_file"}:
        return False
    if block.meta.source in ONCE:
        return block.text in once
    return newest.get(state_of(block)) == block.text


def counted(conversation: Conversation) -> Conversation:
    """The same conversation, with a tally that holds all that no longer changes."""
    tally = extended(conversation.tally, conversation.messages)
    if tally is conversation.tally:
        return conversation
    return msgspec.structs.replace(conversation, tally=tally)


def estimated_tokens(conversation: Conversation) -> int:
    """The estimate of the whole prompt: a running sum, to which only the newest is added (H17)."""
    tally = valid(conversation.tally, conversation.messages)
    return (
        sum(block.meta.tokens + BLOCK_OVERHEAD for block in conversation.system)
        + tools_tokens(conversation.tools)
        + tally.tokens
        + sum(message_tokens(message) for message in conversation.messages[tally.n :])
    )


def prompt_tokens(conversation: Conversation) -> int:
    """How full the context is: what the endpoint counted, and an estimate of what came since."""
    estimate = estimated_tokens(conversation)
    return conversation.calibration.tokens(conversation.config.model, estimate)


def part_tokens(conversation: Conversation, text: str) -> int:
    """Tokens of a text, in the measure of ``prompt_tokens``."""
    ratio = conversation.calibration.ratio_of(conversation.config.model)
    return round(estimate_tokens(text) * ratio)


def calibrated(conversation: Conversation, sent: Conversation, usage: Usage) -> Conversation:
    """Take what the endpoint counted for the request made of ``sent``.

    Estimates teach nothing, nor do counts that cannot be (H16): what was known before stands.
    """
    if not usage.reported or not usage.input:
        return conversation
    estimated = estimated_tokens(sent)
    if not is_plausible(usage.input, estimated, sent.config.budget):
        return conversation
    calibration = Calibration(sent.config.model, usage.input, estimated)
    return msgspec.structs.replace(conversation, calibration=calibration)
