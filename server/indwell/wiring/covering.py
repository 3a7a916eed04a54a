"""The look at a session's workspace around its commands, put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from indwell.workspace.base import Workspace

if TYPE_CHECKING:
    from indwell.review.checkpoints.coverage import Coverage
    from indwell.review.ledger import ReviewLedger


def coverage_of(
    workspace: Workspace,
    review: ReviewLedger | None,
    secret: Callable[[], tuple[str, ...]],
    own: tuple[str, ...],
    hide: Callable[[str], str],
) -> Coverage | None:
    """It brings what commands change into ``review``; none without one.

    Args:
        workspace: The user's files.
        review: The ledger.
        secret: Absolute paths of secret files; blocks.
        own: Folders of Indwell's own, absolute.
        hide: A text without the secrets in it.
    """
    if review is None:
        return None
    from indwell.review.carrying import COPIES
    from indwell.review.checkpoints.coverage import Coverage
    from indwell.review.copies import Copies

    return Coverage(
        workspace,
        review,
        Copies(review.folder / COPIES),
        secret=lambda: (*secret(), *own),
        hide=hide,
    )
