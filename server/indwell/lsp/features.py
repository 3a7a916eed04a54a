"""What the editor says it can do, from ``initialize``, as one frozen value. Pure.

A missing capability is a hint, not proof: editors exist that obey what they do not declare.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class Features(msgspec.Struct, frozen=True):
    """Capabilities that change what is sent.

    Attributes:
        progress: Takes server-made work-done progress.
        show_document: Opens a document when asked.
        configuration: Answers ``workspace/configuration``.
        experimental: Names of ``capabilities.experimental.indwell`` that are on.
    """

    progress: bool = False
    show_document: bool = False
    configuration: bool = False
    experimental: frozenset[str] = frozenset()

    def has(self, name: str) -> bool:
        """Is one of our own extensions on: ``events permission save ask reread``."""
        return name in self.experimental


def features_of(capabilities: Mapping[str, Any]) -> Features:
    """Read the capabilities of ``initialize``; whatever has an impossible type is not there."""
    window = _table(capabilities, "window")
    ours = _table(_table(capabilities, "experimental"), "indwell")
    return Features(
        progress=window.get("workDoneProgress") is True,
        show_document=_table(window, "showDocument").get("support") is True,
        configuration=_table(capabilities, "workspace").get("configuration") is True,
        experimental=frozenset(name for name, on in ours.items() if on is True),
    )


def _table(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = parent.get(name)
    return value if isinstance(value, Mapping) else {}
