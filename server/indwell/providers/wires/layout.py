"""The form of a request's parts on a wire, and helpers that all wires share. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.messages import CacheLife, Message, Request, Text, Thinking, ToolSpec
from indwell.prepared_types import prepared
from indwell.providers.wires.dialect import Dialect, WireName

# The usual value of ``cache_control``, with a lifetime of 5 minutes.
MARK: Mapping[str, str] = {"type": "ephemeral"}
HOUR_MARK: Mapping[str, str] = {"type": "ephemeral", "ttl": "1h"}
BLANK_LINE = "\n\n"
_INVALID_CHARS = 10_000  # At most 10,000 characters of arguments that are not JSON are sent back.
_NINE = lazy_pattern(r"[A-Za-z0-9]{9}")


class Layout(Protocol):
    """The functions by which a wire writes the parts of a request; each wire's module has them."""

    PATH: str
    """The path of the requests, below the endpoint's address."""

    def opening(self, first: bytes, system: bytes, *, has_messages: bool) -> bytes:
        """Return the JSON before the messages.

        Args:
            first: The first field as JSON, which names the model.
            system: The system prompt as JSON, or empty if missing.
            has_messages: Whether messages follow.
        """
        ...

    def system_entries(self, system: Sequence[Text], *, marked: bool, life: CacheLife = "") -> Any:  # noqa: ANN401 - JSON
        """Return the system prompt as a JSON value; ``marked`` adds ``cache_control``."""
        ...

    def message_entries(
        self, message: Message, dialect: Dialect, *, marked: bool, model: str
    ) -> list[dict[str, Any]]:
        """Return the entries of one message, at least one; ``marked`` adds ``cache_control``."""
        ...

    def tool_entries(
        self, tools: Sequence[ToolSpec], *, marked: bool, life: CacheLife = ""
    ) -> list[dict[str, Any]]:
        """Return the schemas of the tools; ``marked`` adds ``cache_control`` to the last schema."""
        ...

    def options(self, request: Request, dialect: Dialect) -> dict[str, Any]:
        """Return the fields after the messages and the tools."""
        ...


def marked_part(part: Mapping[str, Any], life: CacheLife) -> dict[str, Any]:
    """Return a part of a request with ``cache_control``, which ends a prefix to cache."""
    return {**part, "cache_control": HOUR_MARK if life else MARK}


def clean(text: str) -> str:
    """Return ``text`` without lone surrogates, which UTF-8 forbids."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def joined(blocks: Iterable[Text]) -> str:
    """Join the texts with blank lines."""
    return BLANK_LINE.join(clean(block.text) for block in blocks)


def call_id(id_: str, dialect: Dialect) -> str:
    """Convert a call id from any endpoint to this endpoint's form, always with the same result."""
    if dialect.nine_ids and not _NINE.fullmatch(id_):
        return hashlib.sha256(id_.encode("utf-8", "replace")).hexdigest()[:9]
    if len(id_) > dialect.id_limit:
        return "call_" + hashlib.sha256(id_.encode("utf-8", "replace")).hexdigest()[:24]
    return clean(id_)


def arguments_text(text: str) -> str:
    """Return the model's arguments unchanged if they are a JSON object.

    Servers that decode arguments for a prompt template (vLLM, Ollama) would refuse every further
    request of the session. So invalid or too deeply nested arguments are sent as text inside an
    object, cut if they are long.
    """
    try:
        msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return msgspec.json.encode({"invalid_json": clean(text[:_INVALID_CHARS])}).decode()
    return text


def kept_reasoning(block: Thinking, dialect: Dialect, model: str) -> dict[str, Any] | None:
    """Return the reasoning to send back, or None if another model or wire produced it."""
    if not (block.extra and dialect.reasoning and dialect.seals):
        return None
    try:
        kept = msgspec.json.decode(block.extra, type=prepared(KeptReasoning))
    except msgspec.DecodeError:  # Somebody changed the log by hand.
        return None
    return kept.item if (kept.wire, kept.model) == (dialect.wire, model) else None


class KeptReasoning(msgspec.Struct, frozen=True):
    """The format of ``messages.Reasoning.extra``.

    Attributes:
        wire: The wire over which the reasoning came.
        model: The model that made the reasoning; only this model can read the reasoning.
        item: The fields that are sent back.
    """

    wire: WireName
    model: str
    item: dict[str, Any]
