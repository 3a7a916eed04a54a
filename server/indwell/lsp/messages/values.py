"""Base classes of our typed messages."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class Value(msgspec.Struct, frozen=True):
    """Base of our messages. A struct is cheap to create as a class; a hundred of them take 1 ms.

    Attributes:
        HIDDEN: Fields that a log must not show; ``repr`` leaves them out.
    """

    HIDDEN: ClassVar[frozenset[str]] = frozenset()

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name}={getattr(self, name)!r}"
            for name in self.__struct_fields__
            if name not in self.HIDDEN
        )
        return f"{type(self).__name__}({shown})"


class CommandArguments(Value, frozen=True):
    """Base of a command's arguments: an unknown name is refused.

    A link or an old action may call a command, and an unknown field might be meant to change more
    than the command does (TRU-14).
    """
