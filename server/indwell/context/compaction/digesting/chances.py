"""How likely an identifier or a line is needed in the next 25 model calls. Pure.

Logistic regressions on 86 of the 129 recorded sessions: half a million identifiers and 0.8 million
lines that a compaction could have left out, with whether the agent wrote (or edited) them in the
next 25 calls. On the other 43 sessions they tell used from unused with an AUC of .79 and .75;
gradient boosting on 20 features reaches .80 and .71 there, so more features gain nothing. The
coefficients are rounded; see ``docs/decisions/0010``.
"""

from __future__ import annotations

from math import exp, log1p

from indwell.context.compaction.digesting.lines import Line
from indwell.context.compaction.digesting.uses import Read, Uses


def name_chance(name: str, uses: Uses) -> float:
    """That the agent writes ``name`` again, 0 to 1.

    Most of all it says whether the agent has written it before; then in how many texts it stands,
    and how many calls ago it was last written or seen.
    """
    odds = -2.7 + 0.65 * log1p(uses.spread.get(name, 0))
    odds -= 0.5 * log1p(uses.n_calls - uses.seen.get(name, 0))
    written = uses.written.get(name)
    if written is not None:
        odds += 2.2 - 0.3 * log1p(uses.n_calls - written)
    return _chance(odds)


def edit_chance(line: Line, n_lines: int, read: Read, uses: Uses) -> float:
    """That an edit has to match a line of a file that was read, 0 to 1.

    Args:
        line: One of them.
        n_lines: How many were read with it: of many each one counts for less.
        read: The call that read them.
        uses: Of the conversation.
    """
    if not line.key:
        return 0.0
    odds = -0.75 - 0.3 * log1p(n_lines)
    odds -= 0.33 * log1p(uses.n_calls - read.call)
    odds -= 0.33 * log1p(uses.n_calls - uses.read_last.get(read.path, read.call))
    if any(name in uses.written for name in line.names):
        odds += 0.7
    return _chance(odds)


def _chance(log_odds: float) -> float:
    return 1 / (1 + exp(-log_odds))
