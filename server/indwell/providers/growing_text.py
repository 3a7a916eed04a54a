"""Text that grows by pieces and is kept in few of them, however small they are; pure."""

from __future__ import annotations

_FEW = 4_096  # half a million in one list hold up every garbage collection for 30 ms


class GrowingText:
    """Takes pieces; false until there is one."""

    __slots__ = ("_pieces",)

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def __bool__(self) -> bool:
        """Whether any piece has come."""
        return bool(self._pieces)

    @property
    def joined(self) -> str:
        """All of it."""
        return "".join(self._pieces)

    def add(self, piece: str) -> None:
        """Take another piece."""
        self._pieces.append(piece)
        if len(self._pieces) == _FEW:
            self._pieces = [self.joined]

    def clear(self) -> None:
        """Forget everything."""
        self._pieces.clear()
