"""What the editor says it can do, from ``initialize``, as one frozen value. Pure.

A missing capability is a hint, not proof: editors exist that obey what they do not declare.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from lsprotocol import types


class Features(msgspec.Struct, frozen=True):
    """Capabilities that change what is sent.

    Attributes:
        progress: Takes server-made work-done progress.
        show_document: Opens a document when asked.
        experimental: Names of ``capabilities.experimental.indwell`` that are on.
    """

    progress: bool = False
    show_document: bool = False
    experimental: frozenset[str] = frozenset()

    def has(self, name: str) -> bool:
        """Is this one of our own extensions on: ``events``, ``permission``, ``save``, ``ask``."""
        return name in self.experimental


def features_of(capabilities: types.ClientCapabilities) -> Features:
    """Read the capabilities."""
    window = capabilities.window
    document = window.show_document if window else None
    return Features(
        progress=bool(window and window.work_done_progress),
        show_document=bool(document and document.support),
        experimental=_experimental(capabilities.experimental),
    )


def _experimental(declared: Any) -> frozenset[str]:  # noqa: ANN401 - JSON comes in here
    ours = _as_mapping(_as_mapping(declared).get("indwell"))
    return frozenset(name for name, on in ours.items() if on is True)


def _as_mapping(value: Any) -> Mapping[str, Any]:  # noqa: ANN401 - JSON comes in here
    # pygls gives unknown JSON objects as mappings or as objects with attributes.
    if isinstance(value, Mapping):
        return value
    return vars(value) if hasattr(value, "__dict__") else {}
