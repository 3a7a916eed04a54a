"""Typed messages about requests to the model: the next one, and what goes with a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from indwell.lsp.messages.values import Value
from indwell.messages import Tier


@attrs.frozen(eq=False, repr=False)
class Attachment(Value):
    """A piece that goes with a prompt; which fields count is a matter of ``kind``.

    Attributes:
        kind: ``image``: ``mime`` and ``data``. ``text``, pasted or from a terminal: ``text``.
            ``problems``: those that the editor knows of ``uri``, or of all documents.
        label: How people call it; it stands beside it wherever it is shown.
        mime: ``image/png``, ``image/jpeg``, ``image/gif`` or ``image/webp``.
        data: Base64.
        text: As it is.
        uri: Of a document.
    """

    kind: Literal["image", "text", "problems"]
    label: str = ""
    mime: str = ""
    data: str = attrs.field(default="", repr=False)
    text: str = attrs.field(default="", repr=False)
    uri: str | None = None


@attrs.frozen(eq=False, repr=False)
class AttachedRow(Value):
    """A piece of context that goes with the next prompt, and can be detached by its ``id``."""

    id: str
    kind: Literal["selection", "opened"]
    label: str
    tokens: int


@attrs.frozen(eq=False, repr=False)
class DetachParams(Value):
    """A piece of attached context, for the next prompt only."""

    id: str


@attrs.frozen(eq=False, repr=False)
class DetachResult(Value):
    """What is still attached."""

    attached: tuple[AttachedRow, ...]


@attrs.frozen(eq=False, repr=False)
class ContextParams(Value):
    """Nothing to say: the next request is that of the current session."""


@attrs.frozen(eq=False, repr=False)
class BlockRow(Value):
    """One block of the next request; ``anchor`` if a cache mark stands behind it.

    ``message`` is its message's index (-1: tools and system); it stands for the messages ``first``
    to ``last`` of the transcript, ``altered`` if compaction made it what it is; ``why`` says so.
    """

    message: int
    role: Literal["tools", "system", "user", "assistant"]
    kind: str
    source: str
    tier: Tier
    tokens: int
    turn: int
    pinned: bool
    compactable: bool
    anchor: bool
    state: Literal["sent", "new", "waiting"]
    altered: bool
    first: int
    last: int
    why: str
    preview: str


@attrs.frozen(eq=False, repr=False)
class HeadroomRow(Value):
    """A rung of compaction: it may run from ``at`` tokens on, which are ``left`` away."""

    layer: str
    at: int
    left: int
    pays: bool


@attrs.frozen(eq=False, repr=False)
class HealthRow(Value):
    """What calls, cache and compactions came to, named as in ``request.cache_health``.

    ``turn`` of the newest turn, ``session`` of all; ``misses`` are the calls in a row that got
    nothing from the cache although a prefix should have hit.
    """

    turn: Mapping[str, Any]
    session: Mapping[str, Any]
    misses: int


@attrs.frozen(eq=False, repr=False)
class ContextResult(Value):
    """What the next request would contain.

    ``window`` and ``budget`` in tokens (null before the first turn), ``used`` as estimated,
    ``share`` of the budget from 0 on; tokens by source and by tier; ``preset`` with its rungs;
    ``health`` of the session so far, null before the first turn.
    """

    session: str | None
    model: str
    window: int | None
    budget: int | None
    used: int
    share: float | None
    preset: str
    headroom: tuple[HeadroomRow, ...]
    sources: Mapping[str, int]
    tiers: Mapping[str, int]
    blocks: tuple[BlockRow, ...]
    attached: tuple[AttachedRow, ...]
    health: HealthRow | None
