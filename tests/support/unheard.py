"""Bounds without the watch: what a command makes is looked at only when it has ended.

For tests of that look; a command that is stopped at its first plant makes no second one.
"""

from __future__ import annotations

import msgspec

from indwell.sandbox.confinement import Confinement, Guarded, unwatched


def unheard(bounds: Confinement | None) -> Confinement:
    """The same bounds; no name that appears is heard of."""
    assert bounds is not None
    look = bounds.look
    assert look is not None

    def looked() -> Guarded:
        return msgspec.structs.replace(look(), watched=unwatched)

    return msgspec.structs.replace(bounds, look=looked)
