"""How a program ended and what it wrote."""

from __future__ import annotations

import msgspec


class Finished(msgspec.Struct, frozen=True):
    """How a program ended and what it wrote.

    Attributes:
        exit_code: Its status; negative for the signal that ended it.
        head: The first bytes of its output; all of them if ``cut_b`` is 0.
        tail: The last bytes; empty if ``cut_b`` is 0.
        cut_b: Bytes left out in between.
        total_b: Bytes it wrote.
        errors: What it wrote to standard error, if that was kept apart; cut in the same way.
        timed_out: It was ended because its time was over.
        seconds: Wall time, without the wait for a place.
        left_running: Processes that it had left behind and that were ended.
        overrun: What it took too much of, in words, such as ``over 600 s of processor time``; it,
            or a part of it, was ended for that. Empty if it kept within its limits.
        may_run_on: A part of it may still run: not all could be ended in the time there is for it.
        stopped: It was ended at once, for what it made although it may not; ``notes`` name that.
        notes: What was done about what it made although it may not, a sentence each.
    """

    exit_code: int
    head: bytes
    tail: bytes
    cut_b: int
    total_b: int
    errors: bytes
    timed_out: bool
    seconds: float
    left_running: int
    overrun: str = ""
    may_run_on: bool = False
    stopped: bool = False
    notes: tuple[str, ...] = ()

    @property
    def output(self) -> str:
        """The output as text; undecodable bytes are replaced, the gap is said."""
        if not self.cut_b:
            return self.head.decode("utf-8", "replace")
        return (
            f"{self.head.decode('utf-8', 'replace')}\n"
            f"[… {self.cut_b:,} bytes left out …]\n"
            f"{self.tail.decode('utf-8', 'replace')}"
        )
