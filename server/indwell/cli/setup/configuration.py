"""The configuration of one editor as data, and how the editors' languages quote text. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import msgspec

from indwell.lazy_pattern import lazy_pattern


def lua(word: str) -> str:
    r"""A string of Lua.

    Single quotes, as in the examples of Neovim's own documentation; ``\`` and ``'`` are escaped.
    """
    return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"


def lua_list(words: Sequence[str]) -> str:
    """A table of Lua."""
    return "{ " + ", ".join(map(lua, words)) + " }"


def quoted(word: str) -> str:
    """A string of JSON, which is one of TOML and Emacs Lisp too where it is printable."""
    return json.dumps(word, ensure_ascii=False)


def json_list(words: Sequence[str]) -> str:
    """A list of JSON, and of TOML."""
    return json.dumps(list(words), ensure_ascii=False)


def elisp_list(words: Sequence[str]) -> str:
    """A quoted list of Emacs Lisp, without its quote."""
    return "(" + " ".join(map(quoted, words)) + ")"


def vim(word: str) -> str:
    """A string of Vim script; in single quotes nothing but the quote is special."""
    return "'" + word.replace("'", "''") + "'"


def vim_arguments(words: Sequence[str]) -> str:
    """A command line behind ALE's ``%e``, each word quoted for the shell; ``%`` is ALE's own."""
    shell = " ".join(_shell(word.replace("%", "%%")) for word in words)
    return vim(f"%e {shell}")


def _shell(word: str) -> str:
    plain = word.replace("-", "").replace("_", "").replace("/", "").replace(".", "")
    return word if plain.isalnum() else "'" + word.replace("'", "'\\''") + "'"


PLAIN = ("indwell", "serve", "--stdio")
"""The command as the documentation pages show it."""

_GAP = lazy_pattern("@(?:COMMAND|PROGRAM|ARGUMENTS)@")


class EditorConfiguration(msgspec.Struct, frozen=True):
    """What an editor needs.

    Attributes:
        editor: For people.
        page: The documentation page, which shows ``blocks`` word for word.
        language: Of the blocks, as a Markdown fence names it.
        blocks: The text, in parts that stand apart on the page; the first is enough.
        words: How a list of strings is written in ``language``.
        word: How one string is.
        comment: What begins a comment in ``language``; empty if there is none.
        next_steps: What to do when it is in place.
    """

    editor: str
    page: str
    language: str
    blocks: tuple[str, ...]
    words: Callable[[Sequence[str]], str]
    word: Callable[[str], str]
    comment: str
    next_steps: tuple[str, ...]

    def shown(self, command: Sequence[str] = PLAIN) -> tuple[str, ...]:
        """The blocks with a command, its arguments behind it."""
        filled = {
            "@COMMAND@": self.words(command),
            "@PROGRAM@": self.word(command[0]),
            "@ARGUMENTS@": self.words(command[1:]),
        }
        # In one go: what is filled in may look like a gap itself.
        return tuple(_GAP.sub(lambda gap: filled[gap[0]], block) for block in self.blocks)

    def text(self, command: Sequence[str] = PLAIN) -> str:
        """All blocks, one after the other."""
        return "\n".join(self.shown(command))
