"""Compaction layers that cut long results, replace old ones, or drop the oldest exchanges.

``micro`` rewrites the cached prefix before every call. ``digest`` is the layer that considers the
cost of a rewrite.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import msgspec

from indwell.context.compaction.presets import Micro, Slide, Snip
from indwell.context.compaction.step import Action, CompactionStep, SpilledText, View
from indwell.context.file_work import call_of
from indwell.context.history import MessageSplice, boundaries, last_exchange, place_of, transcript
from indwell.context.injections import inject
from indwell.context.tokens import BLOCK_OVERHEAD, estimate_tokens, message_tokens
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Block, Message, ToolResult, ToolUse

_UNSAFE = lazy_pattern(r"[^A-Za-z0-9_-]+")
# The bytes of a digest (16 characters); with 5 bytes, a collision could be found in a second.
_STAMP_BYTES = 10
# A whole text would be encoded to up to three times as many bytes.
_STAMPED_AT_ONCE = 4_096
# The limit of characters for a tool's name, as at providers, though a model may write more.
_MOST_OF_TOOL = 64
# A file name has 10 characters from the end of a call's id, where ids differ most.
_NAME_LENGTH = 10

Shorten: TypeAlias = Callable[[str], str]
"""Maps the path of the spill file to the text that replaces the result."""


class ResultPlace(NamedTuple):
    """A tool result: block ``at`` of message ``among``, with the tool call ``use``."""

    among: int
    at: int
    result: ToolResult
    use: ToolUse


class ResultCut(NamedTuple):
    """A planned cut in one tool result."""

    place: ResultPlace
    shorten: Shorten


def results_of(messages: Sequence[Message], start: int, stop: int) -> tuple[ResultPlace, ...]:
    """Return the results of the messages from ``start`` to ``stop``, oldest first."""
    found: list[ResultPlace] = []
    for index in range(max(1, start), stop):
        uses = {one.id: one for one in messages[index - 1].blocks if isinstance(one, ToolUse)}
        found += (
            ResultPlace(index, at, block, uses[block.tool_use_id])
            for at, block in enumerate(messages[index].blocks)
            if isinstance(block, ToolResult) and block.tool_use_id in uses
        )
    return tuple(found)


def called(use: ToolUse) -> str:
    """Describe a call in a few words: the tool and the main argument."""
    main, name = call_of(use).main, _UNSAFE.sub("_", use.name)[:_MOST_OF_TOOL]
    return f"{name} {main}" if main else name


def spill_name(identifier: str, text: str) -> str:
    """Return a file name for a removed text, with a digest, because call ids may repeat."""
    safe = _UNSAFE.sub("-", identifier)[-_NAME_LENGTH:].strip("-") or "text"
    return f"{safe}-{stamp(text)}.txt"


def stamp(text: str) -> str:
    """Return a digest that identifies a text in a file name and is hard to forge.

    The digest has no capital letters, because some file systems ignore case.
    """
    digest = hashlib.blake2b(digest_size=_STAMP_BYTES)
    for at in range(0, len(text), _STAMPED_AT_ONCE):
        piece = text[at : at + _STAMPED_AT_ONCE]
        digest.update(piece.encode("utf-8", "surrogatepass"))
    return base64.b32encode(digest.digest()).decode().lower()


def spill_path(folder: str, name: str) -> str:
    """Return the path of a spill file in the form that the model can pass to ``read_file``."""
    return f"{folder.rstrip('/')}/{name}" if folder else name


def cut_step(layer: str, view: View, cuts: Iterable[ResultCut]) -> CompactionStep | None:
    """Build the step that makes the cuts; return None if no cut saves tokens.

    The file gets the tool's complete result, not what an earlier cut has left. Each cut includes
    the text even if the result already seems to name the file, because a tool can print a file
    name, and in a fork the file is in another folder. The writer does not change an existing file.
    """
    whole: tuple[Message, ...] | None = None
    spills: dict[str, SpilledText] = {}
    blocks: dict[int, list[Block]] = {}
    for (index, at, result, _), shorten in cuts:
        if whole is None:
            whole = transcript(view.messages, view.conversation.history)
        original = _original(view, whole, index, result)
        name = spill_name(result.tool_use_id, original)
        shorter = with_text(result, shorten(spill_path(view.facts.spill_folder, name)))
        if shorter.meta.tokens >= result.meta.tokens or len(shorter.text) >= len(result.text):
            continue
        spills[name] = SpilledText(name, original)
        blocks.setdefault(index, list(view.messages[index].blocks))[at] = shorter
    if not blocks:
        return None
    splices = tuple(
        MessageSplice(index, index + 1, (with_blocks(view.messages[index], blocks[index]),))
        for index in sorted(blocks)
    )
    return CompactionStep(layer, splices, tuple(spills.values()))


def with_text(result: ToolResult, text: str) -> ToolResult:
    """Return the result with another text, and with the token count of that text."""
    meta = msgspec.structs.replace(result.meta, tokens=estimate_tokens(text))
    return msgspec.structs.replace(result, text=text, meta=meta)


def with_blocks(message: Message, blocks: Iterable[Block]) -> Message:
    """Return the message with other blocks."""
    return Message(message.role, tuple(blocks), message.turn)


def _original(view: View, whole: Sequence[Message], index: int, result: ToolResult) -> str:
    """Return the complete text that the tool returned, before any compaction."""
    history = view.conversation.history
    if index >= len(history.places):
        return result.text
    start, stop = (place_of(view.messages, history, at) for at in (index, index + 1))
    for message in whole[start:stop]:
        for block in message.blocks:
            if isinstance(block, ToolResult) and block.tool_use_id == result.tool_use_id:
                return block.text
    return result.text


def snip(layer: Snip, view: View) -> Action | None:
    """Cut the results with many characters.

    The results of the last message are kept, because the model has not seen them yet.
    """
    return cut_step(
        "snip",
        view,
        (
            ResultCut(place, partial(_snipped, place, layer))
            for place in results_of(view.messages, 0, min(len(view.messages) - 1, view.changeable))
            if len(place.result.text) > layer.characters
        ),
    )


def first_and_last_lines(text: str, ends: int, more: str) -> str:
    """Return the first and last ``ends`` lines, with a marker that counts the omitted lines.

    Args:
        text: The text of a result.
        ends: The number of lines that are kept at each end.
        more: A text for the marker, such as the path of the whole text.
    """
    lines = text.splitlines()
    left_out = len(lines) - 2 * ends
    head, tail = "\n".join(lines[:ends]), "\n".join(lines[len(lines) - ends :])
    return f"{head}\n[… {left_out:,} lines left out{more} …]\n{tail}"


def head_and_tail(text: str, characters: int, more: str) -> str:
    """Return about ``characters`` of ``text``, two thirds of them from its beginning.

    Args:
        text: A text of more than ``characters`` characters.
        characters: The number of characters to keep; cuts are at line ends if possible.
        more: A text for the marker, such as the path of the whole text.
    """
    head, tail = text[: characters * 2 // 3], text[len(text) - characters // 3 :]
    if (end := head.rfind("\n")) > len(head) * 3 // 4:
        head = head[:end]
    if 0 <= (begin := tail.find("\n")) < len(tail) // 4:
        tail = tail[begin + 1 :]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[… {left_out:,} characters left out{more} …]\n{tail}"


def _snipped(place: ResultPlace, layer: Snip, path: str) -> str:
    text = place.result.text
    more = f" of {called(place.use)}; all of it is in {path}"
    if text.count("\n") + 1 > layer.lines:
        shorter = first_and_last_lines(text, layer.ends, more)
        if len(shorter) <= layer.characters:
            return shorter
    return head_and_tail(text, layer.characters * 2 // 3, more)


_MARK = "[earlier result of "


def micro(layer: Micro, view: View) -> Action | None:
    """Replace results that are older than the newest ``keep`` and longer than ``longer_than``."""
    places = results_of(view.messages, 0, len(view.messages))
    old = places[: max(0, len(places) - layer.keep)]
    return cut_step(
        "micro",
        view,
        (
            ResultCut(place, partial(_placeholder, place))
            for place in old
            if place.among < view.changeable
            and len(place.result.text) > layer.longer_than
            and not _is_placeholder(place)
        ),
    )


def _is_placeholder(place: ResultPlace) -> bool:
    """Return whether the result was already replaced by a short note."""
    return place.result.text.startswith(_MARK)


def _placeholder(place: ResultPlace, path: str) -> str:
    length = len(place.result.text)
    return f"{_MARK}{called(place.use)}: {length:,} characters, in {path}]"


_WORDS = (
    "The conversation began earlier: its oldest part was dropped to make room, the user's words of "
    "that part included."
)


def slide(layer: Slide, view: View) -> Action | None:
    """Drop the oldest exchanges until the goal is reached; keep the newest and pinned blocks."""
    del layer
    stop = _stop(view)
    if stop <= 0:
        return None
    messages = view.messages
    notice = inject("reminder", _WORDS, turn=messages[stop - 1].turn)
    pinned = tuple(
        block for message in messages[:stop] for block in message.blocks if view.facts.keeps(block)
    )
    blocks: tuple[Block, ...] = (notice, *pinned)
    end = stop
    if messages[stop].role == "user":
        blocks += messages[stop].blocks
        end += 1
    first = Message("user", blocks, messages[end - 1].turn)
    if message_tokens(first) >= sum(message_tokens(one) for one in messages[:end]):
        return None
    note = f"the oldest {stop} messages were dropped to make room"
    return CompactionStep("slide", (MessageSplice(0, end, (first,), whole=True),), note=note)


def _stop(view: View) -> int:
    """Return the index of the first message to keep, or 0 if no message can be dropped."""
    messages = view.messages
    last = min(last_exchange(messages), view.changeable)
    kept = inject("reminder", _WORDS, turn=0).meta.tokens + BLOCK_OVERHEAD
    freed, at, best = -kept, 0, 0
    for stop in boundaries(messages, 1, last):
        freed += sum(_droppable(message, view) for message in messages[at:stop])
        at = best = stop
        if freed >= view.to_free:
            break
    return best


def _droppable(message: Message, view: View) -> int:
    kept = (one for one in message.blocks if view.facts.keeps(one))
    pinned = sum(one.meta.tokens + BLOCK_OVERHEAD for one in kept)
    return message_tokens(message) - pinned
