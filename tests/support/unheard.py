"""Creates bounds without a file watch, so that a command's new files are checked only at its end.

Tests of the check need several planted files, and a watch stops the command at the first file.
"""

from __future__ import annotations

import msgspec

from indwell.sandbox.confinement import Confinement, Guarded, unwatched


def unheard(bounds: Confinement | None) -> Confinement:
    """Return the same bounds, with a watch that reports no new name."""
    assert bounds is not None
    look = bounds.look
    assert look is not None

    def looked() -> Guarded:
        return msgspec.structs.replace(look(), watched=unwatched)

    return msgspec.structs.replace(bounds, look=looked)
