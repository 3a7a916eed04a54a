"""Creates an endpoint that also lists its models, as local servers and providers do."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from support.loopback_endpoint import Answer, Seen, raw, refuse, say

CALL = ("report", json.dumps({"word": "ready"}))
TEXT = {"Content-Type": "application/json"}


def answering(
    models: object,
    *,
    key: str | None = None,
    more: Mapping[str, object] | None = None,
    chat: Callable[[Seen], Answer] = lambda _seen: say(calls=[CALL]),
) -> Callable[[Seen], Answer]:
    """Return a script for an endpoint with a list of models.

    Args:
        models: The JSON of ``/v1/models``, or the answer itself.
        key: The key that the endpoint accepts; None accepts all.
        more: JSON by path, for the pages of one kind of server.
        chat: The answer to a chat completion.
    """

    def script(seen: Seen) -> Answer:
        if key is not None and seen.headers.get("authorization") != f"Bearer {key}":
            return refuse(401, "no such key")
        if seen.path == "/v1/models":
            return models if isinstance(models, Answer) else page(models)
        if seen.path == "/v1/chat/completions":
            return chat(seen)
        pages: Mapping[str, Any] = more or {}
        return page(pages[seen.path]) if seen.path in pages else refuse(404, "no such page")

    return with_gets(script)


def with_gets(script: Callable[[Seen], Answer]) -> Callable[[Seen], Answer]:
    """Return a script that also answers GET requests."""
    script.gets = True  # type: ignore[attr-defined] # as ``LoopbackEndpoint`` looks for it
    return script


def page(content: object) -> Answer:
    """Return a JSON page."""
    return raw(200, json.dumps(content), headers=TEXT)


def listed(*names: str, **facts: object) -> dict[str, Any]:
    """Return a list of models in OpenAI's format; each model has ``facts``."""
    return {"object": "list", "data": [{"id": name, "object": "model", **facts} for name in names]}
