"""Handles a closed or full standard output, as when the reader ``head`` has ended."""

from __future__ import annotations

import asyncio
import io
import sys

from indwell.agent.core import events


def hush(error: OSError) -> None:
    """Let what is printed lead nowhere, so that not even the interpreter's last flush can fail.

    A reader that has had enough wants no word more; of any other ``error`` one sentence is said.
    """
    sys.stdout = io.StringIO()
    if not isinstance(error, BrokenPipeError):
        sys.stderr.write(f"the output cannot be written ({error.strerror or error})\n")


def is_full() -> bool:
    """Can nothing be printed any more? It tries, for the error of a write does not say where to."""
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError:
        return True
    return False


def stopping(view: events.Listener) -> events.Listener:
    """``view``, but the task that runs now is cancelled when nobody reads any more."""
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
        except SystemExit:  # so ends rich, where nobody reads any more
            is_over = True
            sys.stdout = io.StringIO()
            task.cancel()

    return tell
