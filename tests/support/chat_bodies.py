"""Returns the body of a request as JSON, for tests of the body's contents."""

from __future__ import annotations

from typing import Any

import msgspec

from indwell.messages import Request
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.encoder import RequestEncoder


def chat_body(request: Request, dialect: Dialect) -> dict[str, Any]:
    """Return the JSON object that is sent."""
    body: dict[str, Any] = msgspec.json.decode(RequestEncoder().encode(request, dialect))
    return body
