"""The user's words as they arrive: text that can be encoded, and no more than a message holds."""

from __future__ import annotations

from indwell.context.untrusted_text import scalar_text
from indwell.errors import UserError

MOST_CHARACTERS = 1_000_000
"""Of one prompt: some 250,000 tokens, as much as the largest windows that are common.

More would also hold the event loop up: it is logged, told to the editor and counted (5,000,000
characters took 100 ms).
"""

MOST_WAITING = 50  # prompts, or words for the running turn; more than anybody reads again
MOST_WAITING_CHARACTERS = (
    2_000_000  # of all of them: an event has them all (the wire ends at 32 MB)
)


def is_blank(words: str) -> bool:
    """Is there nothing in ``words``? Unlike ``strip`` this does not read a long text to its end."""
    return not words or words.isspace()


def taken_words(words: str) -> str:
    """``words`` as they can be logged and sent: half a character, alone, becomes U+FFFD.

    Raises:
        UserError: There are too many.
    """
    if len(words) > MOST_CHARACTERS:
        raise UserError(
            f"{len(words):,} characters are more than the {MOST_CHARACTERS:,} that a message may "
            "have; put the text into a file of the workspace, and name the file"
        )
    return scalar_text(words)
