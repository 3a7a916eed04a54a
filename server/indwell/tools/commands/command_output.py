"""Streams a command's output as in a terminal, stores it, and describes its end for the model."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable

from indwell.lazy_pattern import lazy_pattern
from indwell.sandbox import Finished
from indwell.sandbox.capture import output_decoder
from indwell.tools.truncate import TextEnds, cut_output, plain, without_escapes
from indwell.workspace.base import Workspace
from indwell.workspace.paths import display

SPILL_LIMIT_B = 4_000_000  # All stored bytes of one output are in memory.
# The output shown while the command runs is limited; the rest is shown at the end.
LIVE_CHARS = 200_000
TAIL_B = 100_000  # If the output is longer, this many bytes of its end are stored.
_MOST_WORD_B = 1_000  # A cut is moved back to a blank within the last 1,000 bytes.
_BLANKS = (b"\n", b" ", b"\t")
_PIECE_B = 1 << 14  # Random bytes take 3 ms in one step.

_HELD = 1_000  # The rest of a longer unfinished escape sequence is ignored.
_UNFINISHED = lazy_pattern(r"\x1b(?:\][^\x07\x1b]*|[P^_X][^\x1b]*|\[[0-?]*[ -/]*|[ -/]*)\Z")

MAX_TIMEOUT_S = 600  # A call waits at most 600 seconds for its command.


class CommandOutput:
    """Collects a command's output, part by part.

    Args:
    on_output: Receives text while the command runs.
    """

    def __init__(self, on_output: Callable[[str], None]) -> None:
        self._on_output = on_output
        self._kept = bytearray()
        self._decoder = output_decoder()
        self._room = LIVE_CHARS

    def feed(self, data: bytes) -> None:
        """Add a part of the output."""
        room = SPILL_LIMIT_B - len(self._kept)
        if room > 0:
            self._kept += data[:room]
        if self._room > 0:
            text = without_escapes(self._decoder.decode(data[: 4 * self._room]))[: self._room]
            self._room -= len(text)
            if not self._room:
                text += "\n[… more when the command has ended …]\n"
            if text:
                self._on_output(text)

    def finish(
        self, finished: Finished, max_lines: int, hide: Callable[[str], str]
    ) -> tuple[str, TextEnds | None]:
        """Return the stored text, or its two ends if the text is too long; call this in a thread.

        Secrets are removed before a cut, because half a secret is not recognised.
        """
        kept, end = self._kept, b""
        self._kept = bytearray()
        n_beyond = finished.total_b - len(kept)
        if n_beyond > 0:
            end = finished.tail[-min(n_beyond, TAIL_B) :]
        if n_beyond <= TAIL_B:
            text = hide(_shown(kept + end))
            return text, cut_output(text, max_lines)
        text = hide(_shown(_up_to_a_blank(kept)))
        return text, cut_output(text + hide(_shown(_from_a_blank(end))), max_lines)


def _up_to_a_blank(data: bytes | bytearray) -> bytes | bytearray:
    """Return the text without the last word, which may be the beginning of a secret."""
    blank = max(data.rfind(one, -_MOST_WORD_B) for one in _BLANKS)
    return data if blank < 0 else data[: blank + 1]


def _from_a_blank(data: bytes) -> bytes:
    blanks = [at for one in _BLANKS if (at := data.find(one, 0, _MOST_WORD_B)) >= 0]
    return data[min(blanks) :] if blanks else data


def _shown(data: bytes | bytearray) -> str:
    """Return the text that a terminal would show, with pauses for the event loop."""
    decoder, screen = output_decoder(), Screen()
    for start in range(0, len(data), _PIECE_B):
        screen.feed(decoder.decode(data[start : start + _PIECE_B]))
        # The pause lets other threads run, which would otherwise be blocked for 5 ms.
        time.sleep(0)
    screen.feed(decoder.decode(b"", final=True))
    return screen.finish()


class Screen:
    """Computes the result of ``plain`` for a whole text from parts of any size.

    A regular expression over megabytes delays all other threads, and so the editor.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._line = 0  # The last line begins at the part with this index.
        self._held = ""

    def feed(self, text: str) -> None:
        """Add a part of the text."""
        text = self._held + text
        unfinished = _UNFINISHED.search(text)
        stop = unfinished.start() if unfinished else len(text)
        done = without_escapes(text[:stop])
        # It is not known yet whether these carriage returns end the line or overwrite the line.
        shown = done.rstrip("\r")
        self._held = done[len(shown) :] + text[stop:][:_HELD]
        self._show(shown.replace("\r\n", "\n"))

    def finish(self) -> str:
        """Return the whole text."""
        text = without_escapes(self._held).rstrip("\r")
        self._held = ""
        self._show(text)
        whole = "".join(self._parts)
        self._parts.clear()
        return whole

    def _show(self, text: str) -> None:
        """Add text without escape sequences and without a carriage return at its end."""
        first, end, rest = text.partition("\n")
        first = first.rstrip("\r")
        if "\r" in first:  # The text overwrites the beginning of the line.
            del self._parts[self._line :]
        self._parts.append(plain(first) + end)
        if end:
            lines, end, last = rest.rpartition("\n")
            self._parts.append(plain(lines) + end)
            self._line = len(self._parts)
            self._parts.append(plain(last))


def ending_words(finished: Finished, timeout_s: float | None = None) -> list[str]:
    """Describe the end of a command for the model: one line, and further notes."""
    ending = []
    if finished.stopped:
        ending.append(
            "stopped by Indwell at once: the command created a file that no command may create "
            "here; the note names it. Work without that file, or ask the user to create it"
        )
    elif finished.overrun:
        ending.append(f"ended: it used {finished.overrun}; change what it does, not the limit")
    if finished.timed_out:
        ending.append(
            f"timed out after {timeout_s:g} s and was ended; timeout_s may be up to {MAX_TIMEOUT_S}"
        )
    elif finished.exit_code < 0:
        with contextlib.suppress(ValueError):  # Real-time signals have no name.
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
    """Describe the end of a command for the user, in one or two words."""
    if finished.stopped:
        return "stopped: made a protected file"
    if finished.timed_out:
        return "timed out"
    if finished.overrun:
        return "used too much"
    return f"failed {finished.exit_code}" if finished.exit_code else "ok"


async def notes_after(workspace: Workspace) -> list[str]:
    """Describe open files that a command changed on disk."""
    changed = await workspace.changed_under_buffers()
    if not changed:
        return []
    names = ", ".join(display(path, workspace.roots) for path in changed)
    note = "[the command changed files that are open in the editor: "
    return [f"{note}{names}; the editor may still show the old text]"]
