"""The parser of shell texts, loaded when it is first needed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Parser


@cache
def bash_parser() -> Parser:
    """A parser for bash; one for the whole process, as no two texts are parsed at once."""
    import tree_sitter  # noqa: PLC0415 - 20 ms, which no start is to wait for
    import tree_sitter_bash  # noqa: PLC0415

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
