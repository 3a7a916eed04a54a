"""How editors' languages write a string and a list of strings. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence


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
