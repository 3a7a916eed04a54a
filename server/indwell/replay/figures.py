"""What a replay comes to: tokens, cache, cost, loss, broken rules; sums over sessions. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

MILLION = 1_000_000


class Figures(msgspec.Struct, frozen=True):
    """Sums over requests.

    Attributes:
        requests: Calls of the main model; re-reads are not among them.
        tokens: Prompt tokens sent.
        cached: Those that a cache served.
        cost: In the prices that the replay was given, a million times; re-reads and summaries
            included.
        reread_cost: Of that, for what was lost and needed again.
        summary_cost: Of that, for the summariser's calls.
        rereads: Pieces read again.
        pairs, kept, lines, lines_kept, recoverable: As in ``loss.Loss``.
        compactions: Requests before which anything was compacted.
        largest_request: Tokens.
        unpaired, too_large, loops, words_missing, task_missing, unfinished: Requests that broke a
            rule, by rule; the last three as in ``promises.Broken``.
        seconds: Of computing.
        sizes: Tokens of each request, in order.
        troubles: Why summaries were not written by the model that was asked for.
    """

    requests: int = 0
    tokens: int = 0
    cached: int = 0
    cost: float = 0.0
    reread_cost: float = 0.0
    summary_cost: float = 0.0
    rereads: int = 0
    pairs: int = 0
    kept: int = 0
    lines: int = 0
    lines_kept: int = 0
    recoverable: int = 0
    compactions: int = 0
    largest_request: int = 0
    unpaired: int = 0
    too_large: int = 0
    loops: int = 0
    words_missing: int = 0
    task_missing: int = 0
    unfinished: int = 0
    seconds: float = 0.0
    sizes: tuple[int, ...] = ()
    troubles: tuple[str, ...] = ()

    def __add__(self, other: Figures) -> Figures:
        sums = {name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__}
        sums["largest_request"] = max(self.largest_request, other.largest_request)
        return Figures(**sums)

    @property
    def violations(self) -> int:
        """How often a rule was broken."""
        return sum(self.broken().values())

    def broken(self) -> dict[str, int]:
        """The same by rule, in words."""
        return {
            "calls without results": self.unpaired,
            "over the window": self.too_large,
            "compaction without an end": self.loops,
            "words of the user missing": self.words_missing,
            "current task missing": self.task_missing,
            "finished work not marked": self.unfinished,
        }

    def shown(self) -> dict[str, float]:
        """As ``--json`` prints it; a share of nothing is 1."""
        lost = self.pairs - self.kept + self.lines - self.lines_kept
        return {
            "requests": self.requests,
            "tokens": self.tokens,
            "cached_share": share(self.cached, self.tokens),
            "cost": round(self.cost / MILLION, 6),
            "kept": share(self.kept, self.pairs),
            "edit_lines": share(self.lines_kept, self.lines),
            "recoverable": share(self.recoverable, lost),
            "summary_cost": round(self.summary_cost / MILLION, 6),
            "compactions": self.compactions,
            "largest_request": self.largest_request,
            "violations": self.violations,
            "seconds": round(self.seconds, 3),
        }


def share(part: float, whole: float) -> float:
    """A part of a whole; of nothing all is there."""
    return round(part / whole, 4) if whole else 1.0


def total(figures: Iterable[Figures]) -> Figures:
    """Their sum."""
    return sum(figures, Figures())
