"""Typed arguments and results of ``indwell.open``: which virtual document, and where it stands."""

from __future__ import annotations

from typing import Literal

import attrs

from indwell.lsp.values import Arguments, Value


@attrs.frozen(eq=False, repr=False)
class OpenArguments(Arguments):
    """The argument of ``indwell.open``.

    Attributes:
        what: Which document. ``diff``: what is pending; ``base``: a file without it, or before a
            turn; ``request``: what the model would get next; ``transcript``: a session.
        uri: Of the file that a diff or base is of; a diff without it is of all files.
        turn: Only what this turn changed, or the file before it; of the current session if none
            is named.
        session: Whose changes, or whose transcript (the current one's if it is left out).
    """

    what: Literal["diff", "base", "request", "transcript"]
    uri: str | None = None
    turn: int | None = None
    session: str | None = None


@attrs.frozen(eq=False, repr=False)
class OpenResult(Value):
    """The URI (of a file where the client asks for no texts), and whether it is shown."""

    uri: str
    shown: bool
