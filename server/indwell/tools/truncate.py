"""Cuts a text for the model: keeps both ends, and counts the omitted part."""

from __future__ import annotations

import msgspec

from indwell.lazy_pattern import lazy_pattern

OUTPUT_LIMIT = 15_000  # The limit is in characters of a command's output (H48).
OUTPUT_HEAD = 6_000
OUTPUT_TAIL = 3_000
DIFF_LIMIT = 3_000  # The limit is in characters of a diff (H47).
DIFF_HEAD = 2_500

# A word of more characters is not a secret but, for example, a picture in base64.
_MOST_WORD = 1_000
_LONG_WORD = lazy_pattern(r"[\w+/=.~:@%!-]{12,}")
_ESCAPE = lazy_pattern(
    # The group matches an operating system command: titles, links.
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|\x1b[P^_X][^\x1b]*(?:\x1b\\)?"  # The group matches device control and other strings.
    r"|\x1b\[[0-?]*[ -/]*[@-~]?"  # The group matches a control sequence: colours, cursor.
    r"|\x1b[ -/]*[0-~]?"  # The group matches other escape sequences.
)
_CONTROL = lazy_pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class TextEnds(msgspec.Struct, frozen=True):
    """The two ends of a text that was too long.

    Attributes:
        head: The beginning of the text.
        tail: The end of the text.
        n_chars: Characters that were removed between head and tail.
        n_lines: Line ends that were removed between head and tail.
    """

    head: str
    tail: str
    n_chars: int
    n_lines: int


def cut_output(text: str, max_lines: int = 0) -> TextEnds | None:
    """Cut a command's output by lines, then by characters; return None if no cut is needed.

    Args:
        text: The output.
        max_lines: The number of lines to keep, two thirds from the beginning; 0 means no limit.
    """
    head, tail = text, ""
    lines = text.splitlines(keepends=True) if max_lines else []
    if len(lines) > max_lines:
        n_head = (2 * max_lines + 2) // 3
        n_tail = max_lines - n_head
        head = "".join(lines[:n_head])
        tail = "".join(lines[len(lines) - n_tail :])
    if len(head) + len(tail) > OUTPUT_LIMIT:
        tail = (tail or head)[-OUTPUT_TAIL:]
        head = head[:OUTPUT_HEAD]
    elif head == text:
        return None
    middle = text[len(head) : len(text) - len(tail)]
    return TextEnds(head=head, tail=tail, n_chars=len(middle), n_lines=middle.count("\n"))


def cut_diff(diff: str) -> str:
    """Cut a diff of over 3,000 characters to the whole lines of its first 2,500."""
    if len(diff) <= DIFF_LIMIT:
        return diff
    stop = diff.rfind("\n", 0, DIFF_HEAD) + 1 or len(untorn(diff[:DIFF_HEAD]))
    return f"{diff[:stop]}[… {diff.count(chr(10), stop):,} more lines of diff …]\n"


def untorn(head: str) -> str:
    """Drop a cut word at the end of ``head``, if the word is long and has digits.

    The word may be half of a secret, which would not be recognised and therefore not removed.
    """
    end = head[-_MOST_WORD:]
    word = _LONG_WORD.match(end[::-1])
    if word is None or len(word[0]) == _MOST_WORD or not any(map(str.isdigit, word[0])):
        return head
    return head[: -len(word[0])]


def without_escapes(text: str) -> str:
    """Return ``text`` without terminal escapes and control characters, except tab and line ends."""
    return _CONTROL.sub("", _ESCAPE.sub("", text))


def plain(text: str) -> str:
    """Return a terminal's output as the screen shows it: no escapes, no overwritten progress."""
    text = without_escapes(text).replace("\r\n", "\n")
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
