"""Handles a closed or full standard output, such as when ``head`` has ended."""

from __future__ import annotations

import asyncio
import io
import sys

from indwell.agent.core import events


def hush(error: OSError) -> None:
    """Discard all further output, so that the interpreter's last flush cannot fail.

    A closed pipe is silent; any other ``error`` is reported in one sentence.
    """
    sys.stdout = io.StringIO()
    if not isinstance(error, BrokenPipeError):
        sys.stderr.write(f"the output cannot be written ({error.strerror or error})\n")


def is_full() -> bool:
    """Tell whether stdout fails, by a write: an OSError does not say which file failed."""
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError:
        return True
    return False


def stopping(view: events.Listener) -> events.Listener:
    """``view``, which also cancels the current task when the reader has closed stdout."""
    task = asyncio.current_task()
    assert task is not None

    is_over = False

    def tell(event: events.Event) -> None:
        nonlocal is_over
        if is_over:
            return
        try:
            view(event)
        except OSError as error:  # ``view`` only prints
            is_over = True
            hush(error)
            task.cancel()
        except SystemExit:  # rich exits in this way when the reader has closed stdout
            is_over = True
            sys.stdout = io.StringIO()
            task.cancel()

    return tell
