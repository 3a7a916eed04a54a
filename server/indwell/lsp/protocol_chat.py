"""The typed arguments and results of ``indwell.chat`` and ``indwell.send``."""

from __future__ import annotations

from typing import Literal

import attrs

from indwell.lsp.values import Arguments, Value


@attrs.frozen(eq=False, repr=False)
class ChatArguments(Arguments):
    """The argument of ``indwell.chat``; all of it optional.

    Attributes:
        uri: The document to open; it is made if it is not there.
        session: The session whose document is meant; the current one if both are left out.
        new: Begin a new chat, whatever is current.
        wait: Answer only when it is there.
    """

    uri: str | None = None
    session: str | None = None
    new: bool = False
    wait: bool = False


@attrs.frozen(eq=False, repr=False)
class ChatResult(Value):
    """The document: where it is, and whether the editor has opened it."""

    uri: str
    path: str
    session: str | None
    shown: bool


@attrs.frozen(eq=False, repr=False)
class SendArguments(Arguments):
    """The argument of ``indwell.send``; all of it optional.

    Attributes:
        uri: The chat document; the one that was opened last if it is left out.
        how: ``steer`` gives the words to the running turn, ``next`` lets them wait behind it;
            ``auto`` steers if a turn of this chat runs.
        wait: Answer only when the words are on their way.
    """

    uri: str | None = None
    how: Literal["auto", "steer", "next"] = "auto"
    wait: bool = False
