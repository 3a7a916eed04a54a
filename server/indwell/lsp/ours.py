"""Diagnostics of our own: hints of changes to review, which nobody has to mend. Pure.

They come back to us by way of the editor. Some leave their source out and make them errors
(Vim with ALE), so they are known by their words as well.
"""

from __future__ import annotations

from lsprotocol import types

OURS = "indwell"  # their source
_BEGIN, _END = "Change by Indwell, ", "; accept or reject it by code action"


def hint_words(described: str) -> str:
    """The message of a hint."""
    return f"{_BEGIN}{described}{_END}"


def is_hint(source: object, message: object) -> bool:
    """Is a diagnostic with this source and message one of ours?"""
    if source == OURS:
        return True
    return isinstance(message, str) and message.startswith(_BEGIN) and message.endswith(_END)


def is_ours(diagnostic: types.Diagnostic) -> bool:
    """Is this one of ours?"""
    return is_hint(diagnostic.source, diagnostic.message)
