"""What went without a trace of its own: one note names it, and the files that have it (H21).

The note is data of the lowest trust, for it repeats what calls were about.
"""

from __future__ import annotations

from collections.abc import Sequence

from indwell.context.compaction.cuts import called
from indwell.context.compaction.step import Spill
from indwell.context.compaction.transcripts import transcript_files
from indwell.context.conversation import Conversation
from indwell.context.injections import LEFT_OUT, inject
from indwell.messages import Block, Text, ToolUse

_LISTED = 6  # calls that a note names; the files have them all


def is_note(block: Block) -> bool:
    """Did an earlier digest put it there? Nothing else makes a block of this source and tag."""
    return (
        isinstance(block, Text)
        and block.meta.source == "compactor"
        and block.text.startswith(f"<{LEFT_OUT}")
    )


def left_out(
    conversation: Conversation, cut: int, dropped: Sequence[Block], folder: str
) -> tuple[Text, tuple[Spill, ...]]:
    """The note for all that was left out before ``cut``, now or earlier, and the files it names.

    Args:
        conversation: Before the step.
        cut: First live message of which nothing is left out.
        dropped: Calls and replies that go now, as they were at first; the newest are named.
        folder: Of spills, as the model can name it.
    """
    files = transcript_files(conversation, 0, cut, folder)
    uses = [one for one in dropped if isinstance(one, ToolUse)]
    listed = "; ".join(dict.fromkeys(called(use) for use in uses[-_LISTED:]))
    newest = f" (the newest: {listed})" if listed else ""
    words = (
        "Earlier calls and their results, and parts of earlier replies, were left out "
        f"here{newest}. All of the conversation up to here: {files.named}"
    )
    turn = conversation.messages[cut - 1].turn
    return inject("left_out", words, turn=turn), files.spills
