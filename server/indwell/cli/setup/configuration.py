"""The configuration of an editor as data, and the quoting of the editors' languages. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import msgspec

from indwell.lazy_pattern import lazy_pattern


def lua(word: str) -> str:
    r"""A string of Lua.

    Single quotes, as in the examples of Neovim's own documentation; ``\`` and
    ``'`` are escaped.
    """
    return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"


def lua_list(words: Sequence[str]) -> str:
    """A Lua table."""
    return "{ " + ", ".join(map(lua, words)) + " }"


def quoted(word: str) -> str:
    """A JSON string, which is also valid TOML and Emacs Lisp if printable."""
    return json.dumps(word, ensure_ascii=False)


def json_list(words: Sequence[str]) -> str:
    """A list for JSON and TOML."""
    return json.dumps(list(words), ensure_ascii=False)


def elisp_list(words: Sequence[str]) -> str:
    """An Emacs Lisp list without its quote."""
    return "(" + " ".join(map(quoted, words)) + ")"


def vim(word: str) -> str:
    """A string of Vim script; in single quotes only the quote is special."""
    return "'" + word.replace("'", "''") + "'"


def vim_arguments(words: Sequence[str]) -> str:
    """A command line after ALE's ``%e``, quoted for the shell; ``%`` is special to ALE."""
    shell = " ".join(_shell(word.replace("%", "%%")) for word in words)
    return vim(f"%e {shell}")


def _shell(word: str) -> str:
    plain = word.replace("-", "").replace("_", "").replace("/", "").replace(".", "")
    return word if plain.isalnum() else "'" + word.replace("'", "'\\''") + "'"


PLAIN = ("indwell", "serve", "--stdio")
"""The command in the documentation pages."""

_GAP = lazy_pattern("@(?:COMMAND|PROGRAM|ARGUMENTS)@")


class EditorConfiguration(msgspec.Struct, frozen=True):
    """The configuration of an editor.

    Attributes:
        editor: The editor's name.
        page: The documentation page, which shows ``blocks`` word for word.
        language: Of the blocks, as a Markdown fence names it.
        blocks: The text, in the parts that the page shows; the first is enough.
        words: Writes a list of strings in ``language``.
        word: Writes one string.
        comment: The start of a comment in ``language``; empty without comments.
        next_steps: What to do afterwards.
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
        """The blocks with a command and its arguments."""
        filled = {
            "@COMMAND@": self.words(command),
            "@PROGRAM@": self.word(command[0]),
            "@ARGUMENTS@": self.words(command[1:]),
        }
        # Replace all in one pass: an inserted value may look like a placeholder.
        return tuple(_GAP.sub(lambda gap: filled[gap[0]], block) for block in self.blocks)

    def text(self, command: Sequence[str] = PLAIN) -> str:
        """All blocks in order."""
        return "\n".join(self.shown(command))
