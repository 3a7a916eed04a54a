"""A key as a value that shows itself nowhere."""

from __future__ import annotations

import hmac
from typing import NoReturn


class Secret:
    """A text that no log, traceback or settings dump shows; ``reveal`` is the only way in.

    No struct on purpose: ``msgspec`` refuses to encode it.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself; for the one place that sends it."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(
            self._text.encode("utf-8", "surrogatepass"),
            other._text.encode("utf-8", "surrogatepass"),
        )

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled or copied; hand on the object")
