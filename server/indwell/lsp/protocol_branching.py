"""The typed arguments of ``indwell.fork`` and ``indwell.rewind``."""

from __future__ import annotations

import attrs

from indwell.lsp.values import Arguments


@attrs.frozen(eq=False, repr=False)
class ForkArguments(Arguments):
    """The argument of ``indwell.fork``; all of it optional.

    Attributes:
        session: The one that stays as it is; the current one if it is left out.
        turn: The new one goes on from the end of this turn; the last one that has ended if it is
            left out, and 0 is before the first one.
        model: Goes on with this one of the user's models instead of that turn's own.
        wait: Answer only when it is done.
    """

    session: str | None = None
    turn: int | None = None
    model: str | None = None
    wait: bool = False


@attrs.frozen(eq=False, repr=False)
class RewindArguments(Arguments):
    """The argument of ``indwell.rewind``.

    Attributes:
        turn: The conversation goes on from the end of this turn; 0 is before the first one.
        session: The current one if it is left out.
        model: As in ``ForkArguments``.
        files: Take the files back too; if it is left out, plain editors ask, others do not.
        wait: Answer only when it is done.
    """

    turn: int
    session: str | None = None
    model: str | None = None
    files: bool | None = None
    wait: bool = False
