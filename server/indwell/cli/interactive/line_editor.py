"""The input line, which prompt_toolkit draws below the lines of the session.

Only the last lines of the screen are drawn again, so the terminal's scrollback stays intact.
"""

from __future__ import annotations

import asyncio
import io
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from prompt_toolkit.application.current import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.defaults import create_output
from prompt_toolkit.shortcuts import PromptSession
from prompt_toolkit.styles import Style
from rich.console import Console

from indwell.cli.interactive.desk import (
    PASTE_S,
    AnswerGate,
    Line,
    Status,
    live_tail,
    status_line,
)
from indwell.cli.terminal.stdin import keys_wait
from indwell.context.untrusted_text import visible

if TYPE_CHECKING:
    from indwell.lsp.chat.completion import CompletionChoice

FOLDED_LINES = 8  # A paste of 8 or more lines is shown as a label.
FOLDED_CHARACTERS = 1_000
START_S = 0.5  # Keys typed before the start may arrive within this time, in seconds.
AGAIN_S = 2.0  # A second Ctrl-C within 2 seconds ends the session.
SPIN_S = 0.5  # seconds between two drawings of the status line while a turn runs
_STYLE = Style.from_dict({"question": "bold", "status": "ansibrightblack"})


class Typist(Completer):
    """Completes file names and commands; ``choices`` returns the choices for a line."""

    def __init__(self, choices: Callable[[str, bool], Sequence[CompletionChoice]]) -> None:
        self._choices = choices

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Yield the completions at the cursor."""
        del complete_event
        is_start = document.cursor_position_row == 0
        for one in self._choices(document.current_line_before_cursor, is_start):
            yield Completion(
                one.text,
                -one.n_before,
                display=visible(one.label),
                display_meta=visible(one.detail),
            )


class _Lines(History):
    """The history of the line editor."""

    def __init__(self, lines: Sequence[str], keep: Callable[[str], None]) -> None:
        super().__init__()
        self._before, self._keep = lines, keep

    def load_history_strings(self) -> Iterable[str]:
        """Return the lines, newest first."""
        return reversed(self._before)

    def store_string(self, string: str) -> None:
        """Store a submitted line."""
        self._keep(string)


class Above(io.TextIOBase):
    """A file for Rich: its text appears above the line that is being edited."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show

    def write(self, text: str) -> int:
        """Show text that ends with a line end."""
        self._show(text)
        return len(text)

    def isatty(self) -> bool:
        """Return True."""
        return True


class LineEditor:
    """Implements ``Desk``.

    Args:
        take: Receives each submitted line.
        stop: Stops the running turn; returns whether one runs.
        status: Returns the content of the status line.
        choices: Returns the completions of a line; the second argument says whether the line is the
            first one.
        history: The lines that were submitted before, oldest first.
        keep: Stores a submitted line.
        is_vi: Whether the line is edited with the keys of vi.
    """

    def __init__(
        self,
        *,
        take: Callable[[Line], None],
        stop: Callable[[], bool],
        status: Callable[[], Status],
        choices: Callable[[str, bool], Sequence[CompletionChoice]],
        history: Sequence[str],
        keep: Callable[[str], None],
        is_vi: bool = False,
    ) -> None:
        # A late reply of the terminal would look like typed keys.
        os.environ.setdefault("PROMPT_TOOLKIT_NO_CPR", "1")
        self._take, self._stop, self._status = take, stop, status
        self._began = time.monotonic()
        self._gate = AnswerGate(time.monotonic, keys_wait)
        self._is_key_taken = True
        self._is_asking = False
        self._question = ""
        self._answer: asyncio.Future[str | None] | None = None
        self._draft = Document()
        self._live = ""
        self._pasted: list[tuple[str, str]] = []
        self._interrupted = float("-inf")
        self._n_keys = 0
        self._submitted = float("-inf")
        self._pending: list[str] = []
        self._output = create_output(stdout=sys.stdout)
        no_colour = bool(os.environ.get("NO_COLOR"))
        self._session: PromptSession[str] = PromptSession(
            message=self._message,
            completer=Typist(choices),
            complete_while_typing=Condition(self._completes),
            history=_Lines(history, keep),
            key_bindings=self._keys(),
            editing_mode=EditingMode.VI if is_vi else EditingMode.EMACS,
            multiline=True,
            prompt_continuation="  ",
            style=_STYLE,
            color_depth=ColorDepth.DEPTH_1_BIT if no_colour else None,
            erase_when_done=True,
            output=self._output,
            reserve_space_for_menu=6,
        )
        self._buffer = self._session.default_buffer
        self._buffer.accept_handler = self._accepted
        self._app = self._session.app
        self._app.ttimeoutlen, self._app.timeoutlen = 0.05, 0.3
        self._app.key_processor.before_key_press += self._noted
        self._above = Console(
            file=Above(self._show),  # type: ignore[arg-type] # a text file as Rich needs it
            force_terminal=True,
            color_system=None if no_colour else "auto",
            no_color=no_colour or None,
            width=self.columns,
            highlight=False,
        )

    @property
    def columns(self) -> int:
        """The width of the terminal."""
        return self._output.get_size().columns

    @property
    def console(self) -> Console:
        """The console for the lines above the input line, as wide as the terminal is now."""
        self._above.width = self.columns
        return self._above

    async def run(self) -> None:
        """Read lines until ``leave``, or until the terminal is closed."""
        spinning = asyncio.create_task(self._spin())
        try:
            with suppress(EOFError):  # the terminal is closed
                await self._app.run_async(handle_sigint=False)
        finally:
            spinning.cancel()
            self._write_pending()

    def leave(self) -> None:
        """End the reading of lines."""
        if self._app.is_running and not self._app.is_done:
            self._app.exit(result="")

    def refresh(self) -> None:
        """Draw the status line again."""
        self._app.invalidate()

    def show_live(self, text: str) -> None:
        """Show an unfinished paragraph above the line."""
        self._live = live_tail(text, self.columns - 1) if text else ""
        self._app.invalidate()

    def put_draft(self, words: str) -> None:
        """Put words before the draft."""
        old = self._draft if self._is_asking else self._buffer.document
        text = f"{words}\n{old.text}" if old.text.strip() else words
        if self._is_asking:
            self._draft = Document(text)
        else:
            self._buffer.set_document(Document(text))
        self._app.invalidate()

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        """Wait for a pause in typing; set the draft aside until the context ends."""
        while left := self._gate.pause_left:  # noqa: ASYNC110 - each key prolongs the wait
            await asyncio.sleep(left)
        self._is_asking, self._draft = True, self._buffer.document
        self._buffer.reset()
        try:
            with self._gate.drawn():
                yield
        finally:
            self._is_asking, self._question = False, ""
            self._buffer.set_document(self._draft)
            self._app.invalidate()

    async def typed(self, prompt: str) -> str | None:
        """Show a prompt, and return the line that the user types after a short pause."""
        self._write_pending()
        self._buffer.reset()
        self._question = prompt
        self._answer = asyncio.get_running_loop().create_future()
        self._app.invalidate()
        opening = asyncio.create_task(self._open())
        try:
            with self._gate.drawn():
                answer = await self._answer
        finally:
            opening.cancel()
            self._answer, self._question = None, ""
        if answer is not None:
            self._show(f"{visible(prompt)}{visible(answer)}\n")
        return answer

    async def _open(self) -> None:
        """Let keys answer the question once the user has paused."""
        while left := self._gate.look():  # noqa: ASYNC110 - each key prolongs the wait
            await asyncio.sleep(left)

    def _show(self, text: str) -> None:
        """Show text above the input line; consecutive texts are written together."""
        if not self._pending:
            try:
                asyncio.get_running_loop().call_soon(self._write_pending)
            except RuntimeError:  # The session has not begun or has ended.
                self._output.write_raw(text)
                self._output.flush()
                return
        self._pending.append(text)

    def _write_pending(self) -> None:
        text, self._pending = "".join(self._pending), []
        if not text:
            return
        if self._app.is_running and not self._app.is_done:
            self._app.renderer.erase()
            self._output.write_raw(text.replace("\n", "\r\n"))
            self._output.flush()
            self._app._redraw()  # noqa: SLF001 - in the same step, so nothing flickers
        else:
            self._output.write_raw(text.replace("\n", "\r\n"))
            self._output.flush()

    def _message(self) -> StyleAndTextTuples:
        if self._is_asking:
            return [("class:question", self._question)]
        live = f"{self._live}\n" if self._live else ""
        status = status_line(self._status(), self.columns - 1)
        return [("", live), ("class:status", f"{status}\n" if status else ""), ("bold", "> ")]

    def _completes(self) -> bool:
        text = self._buffer.document.current_line_before_cursor
        if self._is_asking:
            return False
        return text.startswith("/") or "@" in text.rpartition(" ")[2]

    def _accepted(self, buffer: Buffer) -> bool:
        """Handle the submitted text; return whether the text stays in the input line."""
        text = buffer.text
        if self._is_asking:
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(text)
            buffer.reset()
            return True
        pasted, self._pasted = tuple(self._pasted), []
        now, before = time.monotonic(), self._submitted
        self._submitted = now
        if text.strip():
            labels = tuple(one for one in pasted if f"[{one[0]}]" in text)
            line = Line(text.strip(), labels, is_alone=now - before >= PASTE_S)
            if line.words.startswith("!"):
                asyncio.get_running_loop().call_later(PASTE_S, self._take_later, line, self._n_keys)
            else:
                self._take(line)
        return False

    def _take_later(self, line: Line, n_keys: int) -> None:
        """Take a line, and note whether another key came just after the line."""
        self._take(line._replace(is_alone=line.is_alone and self._n_keys == n_keys))

    def _noted(self, _processor: object) -> None:
        """Let the gate decide about a key before any key binding runs."""
        self._n_keys += 1
        self._is_key_taken = self._gate.key()

    async def _spin(self) -> None:
        while True:
            await asyncio.sleep(SPIN_S)
            if self._status().doing:
                self._app.invalidate()

    def _interrupt(self) -> None:
        """Stop the turn or clear the draft; a second Ctrl-C ends the session."""
        now = time.monotonic()
        is_again, self._interrupted = now - self._interrupted < AGAIN_S, now
        if self._stop():
            return
        if self._buffer.text and not self._is_asking:
            self._buffer.reset()
        elif is_again:
            self.leave()
        else:
            self._show("Press Ctrl-C again to leave.\n")

    def _paste(self, text: str) -> None:
        """Insert pasted text; a long text is shown as a label.

        A text that begins with ``!``, such as a picture in Markdown, is also shown as a label,
        because only a ``!`` that the user types may run a command.
        """
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        n_lines = text.count("\n") + 1
        before = self._buffer.document.text_before_cursor
        is_command = not before.strip() and text.lstrip().startswith("!")
        is_short = n_lines < FOLDED_LINES and len(text) < FOLDED_CHARACTERS and not is_command
        if self._is_asking or is_short:
            self._buffer.insert_text(text)
            return
        lines = "1 line" if n_lines == 1 else f"{n_lines:,} lines"
        label = f"paste {len(self._pasted) + 1}: {lines}"
        self._pasted.append((label, text))
        self._buffer.insert_text(f"[{label}]")

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        closed = Condition(lambda: not self._is_key_taken)
        asks = Condition(lambda: self._is_asking)
        stops = Condition(lambda: self._app.editing_mode is EditingMode.EMACS or not _inserts())

        def drop(event: KeyPressEvent) -> None:
            """Drop a key that was pressed before the question could be seen."""
            del event

        def enter(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if buffer.complete_state and buffer.complete_state.current_completion:
                buffer.complete_state = None
            elif buffer.document.char_before_cursor == "\\" and not self._is_asking:
                buffer.delete_before_cursor()
                buffer.insert_text("\n")
            else:
                buffer.validate_and_handle()

        def end_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        def enter_or_end_line(event: KeyPressEvent) -> None:
            """Begin a new line, or submit, because an early Enter arrives as Ctrl+J."""
            if time.monotonic() - self._began < START_S:
                enter(event)
            else:
                end_line(event)

        def leave(event: KeyPressEvent) -> None:
            if not event.current_buffer.text:
                self.leave()

        keys.add(Keys.Any, filter=closed, eager=True)(drop)
        keys.add("enter")(enter)
        keys.add("escape", "enter", filter=~asks)(end_line)
        keys.add("c-j", filter=~asks)(enter_or_end_line)
        keys.add("escape", filter=stops)(lambda _event: self._stop() and None)
        keys.add("c-c", eager=True)(lambda _event: self._interrupt())
        keys.add("c-d", filter=~asks)(leave)
        keys.add(Keys.BracketedPaste)(lambda event: self._paste(event.data))
        return keys


def _inserts() -> bool:
    """Return whether vi's insert mode is on, in which Esc leaves that mode."""
    return get_app().vi_state.input_mode is InputMode.INSERT
