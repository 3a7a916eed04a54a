"""What showing pending changes needs of an editor."""

from __future__ import annotations

from typing import Protocol

from lsprotocol.types import MessageType

from indwell.lsp.features import Features
from indwell.lsp.review.hints import Published


class Screen(Protocol):
    """The editor, as far as it shows what is pending."""

    features: Features

    def publish(self, diagnostics: Published) -> None:
        """Show these diagnostics of ours for a document, and no others."""
        ...

    def refresh_lenses(self) -> None:
        """Ask for the lenses again, where that can be asked."""
        ...

    def show(self, level: MessageType, message: str) -> None:
        """Show a message and go on."""
        ...
