"""When whoever reads our output has had enough, as ``head`` does: no word more, and no noise."""

from __future__ import annotations

import asyncio
import io
import sys

from indwell.agent import events


def hush() -> None:
    """Let what is printed lead nowhere, so that not even the interpreter's last flush can fail."""
    sys.stdout = io.StringIO()


def stopping(view: events.Listener) -> events.Listener:
    """``view``, but the task that runs now is cancelled when nobody reads any more."""
    task = asyncio.current_task()
    assert task is not None

    def tell(event: events.Event) -> None:
        try:
            view(event)
        except BrokenPipeError:
            hush()
            task.cancel()

    return tell
