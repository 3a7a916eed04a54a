"""Text that can be encoded: models and files bring lone surrogates, which no wire or log takes."""

from __future__ import annotations


def scalar_text(text: str) -> str:
    """Make ``text`` encodable: surrogate pairs become their character, lone ones U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
