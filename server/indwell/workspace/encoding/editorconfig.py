"""The ``charset`` that .editorconfig files set for a file (editorconfig.org, 0.17). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

LIMIT_B = 65_536  # of one .editorconfig that is read
_STARS = 2  # in one pattern; the time of a match grows with their power
_PATTERN_CHARS = 256
_PART = re.compile(
    r"(?P<stars>\*+)|(?P<any>\?)|(?P<set>\[!?[^\]/]+\])|\{(?P<range>-?\d+\.\.-?\d+)\}"
    r"|(?P<open>\{)|(?P<close>\})|(?P<comma>,)|\\(?P<escaped>.)|(?P<plain>.)",
    re.DOTALL,
)


def charset_of(found: Sequence[tuple[str, str]]) -> str | None:
    """The charset set for one file, in lower case; None if none is.

    Args:
        found: For each .editorconfig from the innermost folder outwards: the file's path relative
            to that folder, with slashes, and the text of the .editorconfig.
    """
    for path, text in found:
        charset, is_root = _charset_in(text, path)
        if charset is not None:
            return None if charset == "unset" else charset
        if is_root:
            return None
    return None


def matches(pattern: str, path: str) -> bool:
    """Does a section's pattern mean ``path``? Without a slash it means names in any folder."""
    if len(pattern) > _PATTERN_CHARS or len(re.findall(r"\*+", pattern)) > _STARS:
        return False
    if "/" not in pattern:
        path = path.rpartition("/")[2]
    try:
        return re.fullmatch(_regex(pattern.removeprefix("/")), path) is not None
    except re.error:
        return False


def _charset_in(text: str, path: str) -> tuple[str | None, bool]:
    """What one file sets (the last section that fits wins), and whether it is the outermost."""
    charset, is_root, fits, in_section = None, False, False, False
    for line in text.splitlines():
        words = line.strip()
        if words.startswith("[") and words.endswith("]"):
            in_section, fits = True, matches(words[1:-1], path)
            continue
        key, separator, value = words.partition("=")
        if not separator or words.startswith(("#", ";")):
            continue
        name, setting = key.strip().lower(), value.strip().lower()
        if name == "root" and not in_section:
            is_root = setting == "true"
        elif name == "charset" and fits:
            charset = setting
    return charset, is_root


def _regex(pattern: str) -> str:
    pieces: list[str] = []
    depth = 0
    braces = pattern.count("{") == pattern.count("}")
    for part in _PART.finditer(pattern):
        kind, word = part.lastgroup, part.group()
        if kind == "stars":
            pieces.append(".*" if len(word) > 1 else "[^/]*")
        elif kind == "any":
            pieces.append("[^/]")
        elif kind == "set":
            pieces.append(word.replace("[!", "[^", 1).replace("\\", "\\\\"))
        elif kind == "range":
            pieces.append(r"[+-]?\d+")
        elif kind == "open" and braces:
            depth += 1
            pieces.append("(?:")
        elif kind == "close" and braces and depth:
            depth -= 1
            pieces.append(")")
        elif kind == "comma" and depth:
            pieces.append("|")
        else:
            pieces.append(re.escape(part.group("escaped") or word))
    return "".join(pieces)
