"""Reads the values of a PowerShell text: strings, expressions, and calls on values. Pure."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from indwell.policy.shell import powershell_words as words
from indwell.policy.shell.items import AT_START, Item, Oddity, Simple, either
from indwell.policy.shell.powershell_words import Unreadable
from indwell.policy.shell.words import HOME, UNKNOWN, Word

DEEPEST = 40  # At most 40 constructs are nested.
MOVES_IN_BLOCK = "changes the folder in a block, which may run more than once"
STARTS_EXPRESSION = frozenset("\"'$([{-+!,@")
"""Characters that begin an expression, and not a command, where a statement begins."""

CASTS = frozenset(
    [
        *("array", "bool", "boolean", "byte", "char", "datetime", "decimal", "double", "float"),
        *("guid", "hashtable", "int", "int32", "int64", "long", "ordered", "pscustomobject"),
        *("regex", "single", "string", "timespan", "uint32", "uint64", "version", "void"),
    ]
)
"""Types whose conversions run nothing and open no file."""


class ValueReading(ABC):
    """Reads strings and expressions; commands within them are read by a subclass.

    Args:
        command: The text.

    Attributes:
        data: The text in bytes.
        items: The text's commands and oddities in source order.
    """

    def __init__(self, command: str) -> None:
        self.data = command.encode("utf-8", "replace")
        self.items: list[Item] = []
        self._text = command
        self._at = 0
        self._depth = 0
        self._nested = 0
        self._folders: tuple[str, ...] = AT_START

    @abstractmethod
    def _statements(self, closing: str) -> None:
        """Read statements, up to and including a closing bracket."""

    @abstractmethod
    def _statement(self) -> bool:
        """Read a statement; return whether another statement may follow without a separator."""

    def _expression(self) -> str | None:
        """Read an expression; return its value if it is one known text."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise Unreadable("is nested too deeply to be analysed")
        value, n_operands = self._operand(), 1
        while True:
            self._skip()
            found = words.OPERATOR.match(self._text, self._at)
            if not found:
                break
            self._at = found.end()
            self._skip(lines=True)
            self._operand()
            n_operands += 1
        self._depth -= 1
        return value if n_operands == 1 else None

    def _operand(self) -> str | None:  # noqa: C901 - one case for each kind of operand
        is_plain = True
        while found := words.UNARY.match(self._text, self._at):
            self._at = found.end()
            self._skip(lines=True)
            is_plain = False
        one, behind = self._peek(), self._text[self._at + 1 : self._at + 2]
        value: str | None = None
        start = self._at
        if one == "'":
            value, self._at = words.raw_string(self._text, self._at)
        elif one == '"':
            value = self._text_in_quotes()
        elif one == "@" and behind in {"'", '"'}:
            value = self._here_string()
        elif one == "@" and behind == "{":
            self._at += 2
            self._table()
        elif one == "(" or (one in "$@" and behind == "(" and one):
            self._at += 1 if one == "(" else 2
            self._inside(")")
        elif one == "{":
            self._at += 1
            self._inside("}")
        elif one == "[":
            value = self._type()
            is_plain = is_plain and value is not None
        elif one == "$":
            value, self._at = words.variable(self._text, self._at)
            value = value if value == HOME else None
        else:
            self._at = words.number_end(self._text, self._at)
            value = self._text[start : self._at]
        if self._at == start:
            raise Unreadable(
                f"contains {one!r}, which is not understood" if one else "ends too soon"
            )
        return value if not self._members(value) and is_plain else None

    def _inside(self, closing: str) -> None:
        before, self._nested = self._folders, self._nested + 1
        self._statements(closing)
        if closing == "}" and self._folders != before:
            raise Unreadable(MOVES_IN_BLOCK)
        self._nested, self._folders = self._nested - 1, either(before, self._folders)

    def _table(self) -> None:
        """Read the entries of ``@{…}``."""
        while True:
            self._skip(lines=True)
            while self._peek() == ";":
                self._at += 1
                self._skip(lines=True)
            if self._peek() == "}":
                self._at += 1
                return
            if found := re.compile(r"[A-Za-z_][\w-]*").match(self._text, self._at):
                self._at = found.end()
            else:
                self._operand()
            self._skip()
            self._take("=")
            self._skip(lines=True)
            self._statement()

    def _type(self) -> str | None:
        """Read a type with its static members, or a type that converts the next value."""
        found = words.TYPE.match(self._text, self._at)
        if not found:
            raise Unreadable("names a type that is not understood")
        start, self._at = self._at, found.end()
        name = found[1].lower().removeprefix("system.")
        if self._text.startswith("::", self._at):
            return f"[{name}]"
        self._skip()
        one = self._peek()
        is_operand = one in STARTS_EXPRESSION or words.number_end(self._text, self._at) > self._at
        if one and is_operand and one not in ",-+":
            if name not in CASTS:
                self._odd(start, f"converts to {found[1]!r}, which may run code")
            self._operand()
            return None
        return None

    def _members(self, value: str | None) -> bool:
        """Read properties, methods and indexes after a value; return whether there are any."""
        start = self._at
        while True:
            if self._text.startswith(("++", "--"), self._at):
                self._at += 2
            elif self._peek() == "[":
                self._at += 1
                self._skip(lines=True)
                self._expression()
                self._skip(lines=True)
                self._take("]")
            elif found := re.compile(r"(\.|::)([A-Za-z_]\w*)").match(self._text, self._at):
                self._at = found.end()
                owner = value if found[1] == "::" and value else ""
                if self._peek() in {"(", "{"}:
                    self._method(f"{owner}{found[1]}{found[2]}", found.start())
            elif self._text.startswith("::", self._at) or (
                self._peek() == "." and not self._text.startswith("..", self._at)
            ):
                raise Unreadable("calls a method that is known only at run time")
            else:
                return self._at > start

    def _method(self, name: str, start: int) -> None:
        """Read a method's arguments; the call counts as a command of that name."""
        found = [Word(f"{name}()", (f"{name}()",))]
        self._nested += 1
        if self._peek() == "{":
            self._operand()
        else:
            self._take("(")
            self._skip(lines=True)
            while self._peek() != ")":
                begin = self._at
                value = self._argument_of_method()
                source = self._text[begin : self._at]
                found.append(
                    words.unknown_word(source) if value is None else words.known_word(source, value)
                )
                self._skip(lines=True)
                if self._peek() == ",":
                    self._at += 1
                    self._skip(lines=True)
                elif self._peek() != ")":
                    raise Unreadable("calls a method in a way that is not understood")
            self._take(")")
        self._nested -= 1
        self._add(Simple(tuple(found), (), (), *self._span(start), self._folders, is_nested=True))

    def _argument_of_method(self) -> str | None:
        """Read one argument: an expression without a comma."""
        value, n_operands = self._operand(), 1
        while True:
            self._skip(lines=True)
            found = words.OPERATOR.match(self._text, self._at)
            if not found or found[0] == ",":
                return value if n_operands == 1 else None
            self._at = found.end()
            self._skip(lines=True)
            self._operand()
            n_operands += 1

    # The following methods read quotes.

    def _text_in_quotes(self) -> str:
        """Read a string in double quotes, with the commands in it."""
        self._at += 1
        parts: list[str] = []
        while True:
            one = self._peek()
            if not one:
                raise Unreadable("contains a quote without an end")
            if self._text.startswith('""', self._at):
                parts.append('"')
                self._at += 2
            elif one == '"':
                self._at += 1
                return "".join(parts)
            else:
                parts.append(self._quoted_piece())

    def _here_string(self) -> str:
        begin, stop, end = words.here_string(self._text, self._at)
        if self._text[self._at + 1] == "'":
            self._at = end
            return self._text[begin:stop]
        self._at = begin
        parts: list[str] = []
        while self._at < stop:
            parts.append(self._quoted_piece())
        if self._at != stop:
            raise Unreadable("contains a here-string that is not understood")
        self._at = end
        return "".join(parts)

    def _quoted_piece(self) -> str:
        one = self._text[self._at]
        if one == "`":
            text, self._at = words.escaped(self._text, self._at)
            return text
        if one == "$":
            return self._dollar()
        self._at += 1
        return one

    def _dollar(self) -> str:
        """Read a variable or a command within a word or a string."""
        if self._text.startswith("$(", self._at):
            self._at += 2
            self._inside(")")
            return UNKNOWN
        if words.begins_variable(self._text, self._at):
            text, self._at = words.variable(self._text, self._at)
            return text
        if self._text[self._at + 1 : self._at + 2] == "{":
            raise Unreadable("contains a '$' that is not understood")
        self._at += 1
        return "$"

    # The following methods move through the text.

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self, *, lines: bool = False) -> None:
        self._at = words.blanks(self._text, self._at, lines=lines)

    def _take(self, wanted: str) -> None:
        self._skip(lines=True)
        if self._peek() != wanted:
            raise Unreadable(f"lacks a {wanted!r}")
        self._at += 1

    def _span(self, start: int, end: int | None = None) -> tuple[int, int]:
        stop = self._at if end is None else end
        if len(self.data) == len(self._text):
            return start, stop
        begin = len(self._text[:start].encode("utf-8", "replace"))
        return begin, begin + len(self._text[start:stop].encode("utf-8", "replace"))

    def _odd(self, start: int, reason: str, end: int | None = None) -> None:
        self._add(Oddity(reason, *self._span(start, end), is_hard=True))

    def _add(self, item: Item) -> None:
        self.items.append(item)
