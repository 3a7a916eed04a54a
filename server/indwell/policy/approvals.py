"""What a person is asked, and what an answer is bound to: exactly the call that was shown."""

from __future__ import annotations

import hashlib
import re
from typing import Literal, Protocol, TypeAlias

import msgspec

from indwell.context.tags import shows_nothing
from indwell.policy.decide import Ask, Asked

LONG_LINES = 15  # a dialog shows about as many
LONG_CHARACTERS = 1_200
_READ = 4  # times the length of a line: blanks are folded, and a huge text is not read to its end
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n){3,}")
_BLANKS = re.compile(r"[ \t]{41,}")

Answer: TypeAlias = Literal["no", "once", "session", "always"]


class Question(msgspec.Struct, frozen=True):
    """A permission to be asked for.

    Attributes:
        id: Binds the answer to the call: a hash of call id, arguments and folder.
        title: One line: what would happen.
        detail: The exact text that would run, or the diff; escaped, whole.
        reason: Why it is asked.
        rule: What ``session`` and ``always`` would store; empty if only ``once`` is possible.
    """

    id: str
    title: str
    detail: str
    reason: str
    rule: str


class Approver(Protocol):
    """Somebody who can be asked; where nobody can, the answer is no."""

    async def ask(self, question: Question) -> Answer:
        """Ask, and wait for the answer; an error, a timeout or a closed dialog is ``no``."""
        ...


def question_for(tool_use_id: str, asked: Asked, ask: Ask, preview: str) -> Question:
    """Word a question; what is shown is what the hash binds."""
    # Not as JSON: a name on disk may hold half a surrogate pair, which only ``repr`` can write.
    bound = repr((tool_use_id, asked, preview)).encode()
    if asked.effect == "run":
        title, detail = f"Run a command in {one_line(asked.cwd) or '.'}?", asked.command
    else:
        title = f"Change {one_line(', '.join(dict.fromkeys(asked.paths)))}?"
        detail = preview or asked.arguments
    return Question(
        id=hashlib.blake2b(bound, digest_size=16).hexdigest(),
        title=title,
        detail=folded(visible(detail)),
        reason=visible(ask.reason),
        rule=visible(ask.rule),
    )


def visible(text: str) -> str:
    """Show every character that could hide, reorder or fake text as its code point."""
    if text.isascii() and not _CONTROL.search(text):
        return text
    return "".join(
        character if character in "\n\t" or not _hides(character) else _code_point(character)
        for character in text
    )


def folded(text: str) -> str:
    """Say in words what would push a text's end out of sight: empty lines, blanks, its length."""
    short = _EMPTY_LINES.sub(lambda run: f"\n[… {run[0].count(chr(10)) - 1} empty lines …]\n", text)
    short = _BLANKS.sub(lambda run: f" [… {len(run[0])} blanks …] ", short)
    lines = text.count("\n") + 1
    if lines <= LONG_LINES and len(text) <= LONG_CHARACTERS:
        return short
    return f"[{lines:,} lines, {len(text):,} characters; look at all of them]\n{short}"


def one_line(text: str) -> str:
    """``visible``, and nothing that begins a new line or column."""
    return visible(text).replace("\n", _code_point("\n")).replace("\t", _code_point("\t"))


def short_line(text: str, most: int) -> str:
    """A text of whoever as a line of at most ``most`` characters: ``visible``, blanks folded.

    For what names or reports something; what is asked for is never cut.
    """
    shown = visible(" ".join(text[: _READ * most].split()))
    is_whole = len(shown) <= most and len(text) <= _READ * most
    return shown if is_whole else f"{shown[: most - 1]}…"


def _code_point(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"  # noqa: PLR2004 - planes


def _hides(character: str) -> bool:
    return shows_nothing(character) or (character.isspace() and character not in " \n\t")
