"""How a command ended, for the model and for the user."""

from __future__ import annotations

import contextlib
import signal

from indwell.sandbox import Finished

MAX_TIMEOUT_S = 600  # of a command that somebody waits for


def ending_words(finished: Finished, timeout_s: float | None = None) -> list[str]:
    """How it ended, in words: one line, and what else is to be known of it."""
    ending = []
    if finished.stopped:
        ending.append(
            "stopped by Indwell at once: the command made what no command may make here; the note "
            "names it. Work without that file, or ask the user to make it"
        )
    elif finished.overrun:
        ending.append(f"ended: it used {finished.overrun}; change what it does, not the limit")
    if finished.timed_out:
        ending.append(
            f"timed out after {timeout_s:g} s and was ended; timeout_s may be up to {MAX_TIMEOUT_S}"
        )
    elif finished.exit_code < 0:
        with contextlib.suppress(ValueError):  # a real-time signal has no name
            ending.append(f"ended by {signal.Signals(-finished.exit_code).name}")
        ending = ending or [f"ended by signal {-finished.exit_code}"]
    else:
        ending.append(f"exit code {finished.exit_code}")
    if finished.left_running:
        n_left = finished.left_running
        ending.append(
            f"[{n_left} background process{'es' if n_left > 1 else ''} ended with the command]"
        )
    if finished.may_run_on:
        ending.append("[not all that it started could be ended; some of it may still run]")
    return ending


def ending_figure(finished: Finished) -> str:
    """How it ended, for the user, in a word or two."""
    if finished.stopped:
        return "stopped: made a protected file"
    if finished.timed_out:
        return "timed out"
    if finished.overrun:
        return "used too much"
    return f"failed {finished.exit_code}" if finished.exit_code else "ok"
