"""What the endpoint's own counts say of the estimate (H16). Pure."""

from __future__ import annotations

import msgspec

LOWEST = 1 / 1.2  # H16: a low count may leave something out, and an overflow costs a whole call
HIGHEST = 2.0
"""No vocabulary in use makes twice o200k's tokens of code or prose. More than that is a fixed
extra of the endpoint (a hidden prompt, a picture), which is in ``reported`` and does not grow."""


MOST_TIMES, LEAST_TIMES = 3, 10
"""A count of over three times the estimate (beside a fixed extra), or under a tenth of it, is no
count: no vocabulary is that far off, so the endpoint counts something else or nothing at all."""
MOST_EXTRA = 8_000  # tokens; the longest hidden prompts of gateways are of this order
EXTRA_SHARE = 4  # but at most this part of the room, so that a count alone never fills it


def is_plausible(reported: int, estimated: int, room: int) -> bool:
    """Can this be the count of a request that was estimated at ``estimated``?

    Args:
        reported: The endpoint's prompt tokens.
        estimated: The estimate for the same request.
        room: Tokens that a request may have at all. The endpoint took this one, so a count beyond
            it is wrong, or the room is: neither may end the conversation.
    """
    most = MOST_TIMES * estimated + min(MOST_EXTRA, room // EXTRA_SHARE)
    return estimated <= reported * LEAST_TIMES and reported <= min(most, max(room, estimated))


class Calibration(msgspec.Struct, frozen=True):
    """The last count of the endpoint, beside what was estimated for the same request.

    Attributes:
        model: Whose count it is; another model's estimates are not corrected by it.
        reported: Prompt tokens of the last request as the endpoint counted them; 0: none yet.
        estimated: The estimate for that same request.
    """

    model: str = ""
    reported: int = 0
    estimated: int = 0

    @property
    def ratio(self) -> float:
        """By what an estimate for this model is multiplied."""
        if not self.reported or not self.estimated:
            return 1.0
        return min(max(self.reported / self.estimated, LOWEST), HIGHEST)

    def ratio_of(self, model: str) -> float:
        """By what an estimate for ``model`` is multiplied."""
        return self.ratio if model == self.model else 1.0

    def tokens(self, model: str, estimate: int) -> int:
        """Prompt tokens of a request to ``model`` that is estimated at ``estimate``.

        What was counted is exact; only what came after it is estimated. A request smaller than the
        counted one (something was compacted) is estimated as a whole.
        """
        if not self.reported or model != self.model:
            return estimate
        if estimate < self.estimated:
            return round(estimate * self.ratio)
        return self.reported + round((estimate - self.estimated) * self.ratio)
