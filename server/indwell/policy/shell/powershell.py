"""Parses a PowerShell text into the commands that it runs. Unknown syntax never passes.

Indwell has its own parser for PowerShell: the public grammars misread common commands (decision
26). The parser knows only a part of the language; any other text counts as broken.
"""

from __future__ import annotations

import re

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.shell import powershell_words as words
from indwell.policy.shell.items import (
    Assignment,
    Redirect,
    Simple,
    either,
    joined,
    powershell_path,
)
from indwell.policy.shell.powershell_values import (
    CASTS,
    DEEPEST,
    MOVES_IN_BLOCK,
    STARTS_EXPRESSION,
    ValueReading,
)
from indwell.policy.shell.powershell_words import Unreadable
from indwell.policy.shell.words import STAR, UNKNOWN, Word

_MOST_ITEMS = 300
PIPE = Word("|", ("|",))
"""Separates the commands in ``Simple.upstream``; the nearest command is first."""

_KEYWORD = lazy_pattern(r"[A-Za-z]+(?=$|[\s({;)}|&])")
_FLOW = frozenset(["exit", "return", "break", "continue", "throw"])
_BLOCKS = frozenset(["if", "foreach", "for", "while", "do", "try"])
_NOT_READ = frozenset(
    [
        *("begin", "catch", "class", "clean", "configuration", "data", "define", "dynamicparam"),
        *("else", "elseif", "end", "enum", "filter", "finally", "from", "function", "hidden"),
        *("in", "inlinescript", "parallel", "param", "process", "sequence", "static", "switch"),
        *("trap", "until", "using", "var", "workflow"),
    ]
)
_ASSIGNS = lazy_pattern(
    r"(?:\[(\w+)(?:\[\])?\]\s*)?\$(?:(\w+):)?(\w+)[ \t]*(?:[+\-*/%]|\?\?)?=(?!=)", re.IGNORECASE
)
_OWN_SCOPES = frozenset(["", "global", "local", "private", "script"])
_PREFERENCES = frozenset(["pshome", "psdefaultparametervalues", "psmoduleautoloadingpreference"])
_REDIRECT = lazy_pattern(r"([1-6*]?)(>>?)(?:&([12]))?")
_PARAMETER = lazy_pattern(r"-[A-Za-z_?][^\s{}();,|&.\[:'\"`$<>]*")
_MOVES = {
    **dict.fromkeys(["cd", "chdir", "sl", "set-location", "pushd", "push-location"], "cd"),
    **dict.fromkeys(["popd", "pop-location"], "popd"),
}


class PowerShellReading(ValueReading):
    """Reads one text.

    Args:
        command: The text.

    Attributes:
        data: The text in bytes.
        items: The text's commands and oddities in source order.
        is_broken: Whether a part of the text was not understood.
        expands: Always False, because unknown words are judged with their command.
    """

    def __init__(self, command: str) -> None:
        super().__init__(command)
        self.is_broken = False
        self.expands = False
        try:
            words.check_characters(command)
            self._statements("")
        except (Unreadable, RecursionError) as error:
            self.is_broken = True
            reason = (
                str(error)
                if isinstance(error, Unreadable)
                else "is nested too deeply to be analysed"
            )
            self._odd(self._at, reason, end=len(command))

    # The following methods read statements.

    def _statements(self, closing: str) -> None:
        """Read statements, up to and including a closing bracket."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise Unreadable("is nested too deeply to be analysed")
        while len(self.items) <= _MOST_ITEMS:
            self._skip(lines=True)
            while self._peek() == ";":
                self._at += 1
                self._skip(lines=True)
            if not self._peek() or self._peek() == closing:
                break
            before = self._folders
            ends_itself = self._statement()
            self._folders = either(before, self._folders)
            self._skip()
            if not (ends_itself or self._peek() in {"", ";", "\n", "\r", closing}):
                raise Unreadable(f"contains {self._peek()!r} where a statement should end")
        if len(self.items) > _MOST_ITEMS:
            raise Unreadable("is too long to be analysed")
        if closing:
            self._take(closing)
        self._depth -= 1

    def _statement(self) -> bool:
        """Read a statement; return whether another one may follow without a separator."""
        keyword = _KEYWORD.match(self._text, self._at)
        name = keyword[0].lower() if keyword else ""
        if keyword and name in _NOT_READ:
            raise Unreadable(f"contains {name!r}, which Indwell does not analyse")
        if keyword and name in _FLOW:
            self._at = keyword.end()
            self._skip()
            if self._peek() not in {"", ";", "\n", "\r", ")", "}"}:
                self._pipelines()
            return False
        if keyword and name in _BLOCKS:
            self._at = keyword.end()
            self._block_statement(name)
            return True
        if found := _ASSIGNS.match(self._text, self._at):
            return self._assignment(found)
        self._pipelines()
        return False

    def _block_statement(self, name: str) -> None:
        """Read ``if``, a loop or ``try``; if a branch changes the folder, the folder is unknown."""
        before = self._folders
        if name == "foreach":
            self._take("(")
            self._skip()
            self._loop_variable()
            self._skip()
            if not re.compile(r"in\b", re.IGNORECASE).match(self._text, self._at):
                raise Unreadable("contains a loop that is not understood")
            self._at += 2
            self._statements(")")
        elif name == "for" or name in {"if", "while"}:
            self._take("(")
            self._statements(")")
        self._braces()
        while more := self._continues(name):
            if more == "elseif" or (name == "do" and more in {"while", "until"}):
                self._take("(")
                self._statements(")")
            if name != "do":
                self._braces()
        if self._folders != before:
            if name not in {"if", "try"}:
                raise Unreadable(MOVES_IN_BLOCK)
            self._folders = ()

    def _loop_variable(self) -> None:
        found = re.compile(r"\$(\w+)(?![\w:?])").match(self._text, self._at)
        if not found or found[1].lower() in _PREFERENCES:
            raise Unreadable("contains a loop over a variable that is not understood")
        self._at = found.end()

    def _continues(self, name: str) -> str:
        """Take the keyword that continues a statement, such as ``else``."""
        wanted = {"if": "elseif|else", "try": "catch|finally", "do": "while|until"}.get(name, "")
        at = words.blanks(self._text, self._at, lines=True)
        found = re.compile(rf"(?:{wanted})\b", re.IGNORECASE).match(self._text, at)
        if not wanted or not found:
            return ""
        self._at = found.end()
        if name == "try":
            self._skip(lines=True)
            while kind := words.TYPE.match(self._text, self._at):
                self._at = kind.end()
                self._skip(lines=True)
        return found[0].lower()

    def _braces(self) -> None:
        self._take("{")
        self._statements("}")

    def _assignment(self, found: re.Match[str]) -> bool:
        cast, scope, name = ((one or "").lower() for one in found.groups())
        start, self._at = self._at, found.end()
        if cast and cast not in CASTS:
            raise Unreadable(f"converts to {cast!r}, which may run code")
        self._skip(lines=True)
        begin = self._at
        self._statement()
        if scope == "env":
            value = words.known_word(self._text[begin : self._at], self._literal(begin))
            one = Assignment(found[3], value)
            self._add(Simple((), (), (one,), *self._span(start), self._folders))
        elif scope not in _OWN_SCOPES or name in _PREFERENCES:
            self._odd(start, f"sets '${scope}:{name}', which changes what runs".replace("$:", "$"))
        return False

    def _literal(self, begin: int) -> str:
        source = self._text[begin : self._at].strip()
        found = re.fullmatch(r"'([^']*)'|\"([^\"`$]*)\"", source)
        return found[found.lastindex or 0] if found else UNKNOWN

    # The following methods read pipelines.

    def _pipelines(self) -> None:
        """Read pipelines with ``&&`` and ``||`` between them."""
        start = self._at
        while True:
            before = self._folders
            self._pipeline()
            joint = self._text[self._at : self._at + 2]
            if joint not in {"&&", "||"}:
                break
            if joint == "||":
                self._folders = either(before, self._folders)
            self._at += 2
            self._skip(lines=True)
        if self._peek() == "&":
            self._at += 1
            self._odd(start, "runs in the background")

    def _pipeline(self) -> None:
        upstream: tuple[Word, ...] | None = None
        while True:
            if upstream is None and self._begins_expression():
                start = self._at
                self._expression()
                self._skip()
                redirects = self._redirects()
                if redirects:
                    self._add(Simple((), redirects, (), *self._span(start), self._folders))
                upstream = ()
            else:
                upstream = self._command(upstream)
            self._skip()
            if self._peek() != "|" or self._text.startswith("||", self._at):
                return
            self._at += 1
            self._skip(lines=True)

    def _begins_expression(self) -> bool:
        one = self._peek()
        if one == "@" and self._text[self._at + 1 : self._at + 2].isalnum():
            raise Unreadable("contains '@' where a command should begin")
        is_number = words.number_end(self._text, self._at) > self._at
        return one in STARTS_EXPRESSION or is_number

    def _command(self, upstream: tuple[Word, ...] | None) -> tuple[Word, ...]:
        """Read a command; return its words, and those of the commands that feed it."""
        start = self._at
        one = self._peek()
        behind = self._text[self._at + 1 : self._at + 2]
        is_dot = one == "." and (not behind or behind in words.ENDS or behind in "$\"'")
        found: list[Word] = []
        if one == "&" or is_dot:
            self._at += 1
            self._skip()
            if self._peek() == "{":
                self._argument()
            else:
                found.append(self._argument())
            if is_dot and found:
                found.insert(0, Word(".", (".",)))
        elif not one or one in words.ENDS or one in STARTS_EXPRESSION:
            raise Unreadable(f"contains {one!r} where a command should begin")
        else:
            found.append(self._bare())
        redirects = self._elements(found)
        whole = (*found, *((PIPE, *upstream) if upstream is not None else ()))
        if found or redirects:
            simple = Simple(
                tuple(found),
                redirects,
                (),
                *self._span(start),
                self._folders,
                bool(self._nested),
                (),
                upstream is not None,
                not found,
                upstream or (),
            )
            self._add(simple)
            self._folders = _moved(simple)
        return whole

    def _elements(self, found: list[Word]) -> tuple[Redirect, ...]:
        """Read the arguments and redirects of a command."""
        redirects: list[Redirect] = []
        is_list = False
        while True:
            self._skip()
            one = self._peek()
            if one == ",":
                if is_list or len(found) < 2:  # noqa: PLR2004 - a name and an argument
                    raise Unreadable("contains a list that is not understood")
                is_list = True
                self._at += 1
                self._skip(lines=True)
                continue
            if not one or one in ";|)}\r\n" or (one == "&" and not is_list):
                break
            before = self._at
            redirects += self._redirects()
            if self._at > before:
                continue
            word = self._argument()
            if is_list:
                found[-1] = words.merged(found[-1], word)
            else:
                found.append(word)
            is_list = False
        if is_list:
            raise Unreadable("contains a list without an end")
        return tuple(redirects)

    def _redirects(self) -> tuple[Redirect, ...]:
        """Read consecutive redirects."""
        found: list[Redirect] = []
        while at := _REDIRECT.match(self._text, self._at):
            start, self._at = self._at, at.end()
            if at[3]:
                found.append(Redirect(">&", Word(at[3], (at[3],)), *self._span(start)))
            else:
                self._skip()
                target = self._argument()
                if target.source.lower() != "$null":
                    found.append(Redirect(at[2], target, *self._span(start)))
            self._skip()
        return tuple(found)

    def _argument(self) -> Word:
        """Read one argument of a command."""
        start, one = self._at, self._peek()
        behind = self._text[start + 1 : start + 2]
        if one == "-" and (found := _PARAMETER.match(self._text, start)):
            return self._parameter(found)
        if one == "@" and (behind.isalnum() or behind == "_"):
            self._at += 1
            while self._peek().isalnum() or self._peek() == "_":
                self._at += 1
            return words.unknown_word(self._text[start : self._at])
        if one in {"'", '"', "(", "{"} or (one == "@" and behind in {"'", '"', "(", "{"}):
            return self._primary_argument()
        if one == "$" and (behind == "(" or words.begins_variable(self._text, start)):
            return self._primary_argument()
        if not one or one in "<>&)}@" or one in words.ENDS:
            raise Unreadable(f"contains {one!r}, which is not understood")
        return self._bare()

    def _parameter(self, found: re.Match[str]) -> Word:
        """Read ``-Name`` or ``-Name:value``."""
        start, self._at = self._at, found.end()
        one = self._peek()
        if one == ":":
            self._at += 1
            before = self._at
            self._skip()
            # A cmdlet receives one parameter here, but a program receives two words.
            if self._at > before:
                raise Unreadable("contains a blank behind the colon of a parameter")
            value = self._argument()
            options = tuple(f"{found[0]}:{text}" for text in value.options)
            return Word(self._text[start : self._at], options, value.splits)
        if one in {"'", '"', "`", "$"}:
            self._at = start
            return self._bare()
        # Versions of PowerShell disagree on whether a program receives one word.
        if one in {".", "["}:
            self._bare()
            return words.unknown_word(self._text[start : self._at])
        return Word(found[0], (found[0],))

    def _primary_argument(self) -> Word:
        """Read a string, a variable or a bracket, and the calls on its value."""
        start, n_before = self._at, len(self.items)
        self._nested += 1
        value = self._operand()
        self._nested -= 1
        one = self._peek()
        is_whole = not one or one in words.ENDS
        source = self._text[start : self._at]
        if is_whole:
            return words.unknown_word(source) if value is None else words.known_word(source, value)
        if self._text[start] != "$" or len(self.items) > n_before:
            raise Unreadable("contains two words that run together")
        self._at = start  # `$env:TEMP\a` is one word.
        return self._bare()

    def _bare(self) -> Word:
        """Read a bare word, including quotes and variables."""
        start, parts = self._at, [""]
        while (one := self._peek()) and one not in words.ENDS:
            if one == "'":
                text, self._at = words.raw_string(self._text, self._at)
            elif one == '"':
                text = self._text_in_quotes()
            elif one == "`":
                text, self._at = words.escaped(self._text, self._at)
            elif one == "$":
                text = self._dollar()
            else:
                text, self._at = words.bare_piece(self._text, self._at)
            parts.append(text)
        source = self._text[start : self._at]
        if source == "--%":
            raise Unreadable("passes the rest of the line to a program unparsed")
        if self._peek() == "(" and self._at > start:
            raise Unreadable("contains a bracket within a word")
        return words.known_word(source, "".join(parts))


def _moved(simple: Simple) -> tuple[str, ...]:
    """Return the folders in which the commands after this command may run, or empty if unknown."""
    first = simple.words[0].text.lower() if simple.words else ""
    kind = _MOVES.get(first, "")
    if not kind and not any(first.endswith(one) for one in ("-location", UNKNOWN)):
        return simple.folders
    rest = [word for word in simple.words[1:] if word.text.lower() not in {"-path", "-literalpath"}]
    if kind != "cd" or len(rest) != 1:
        return ()
    (word,) = rest
    if len(word.options) > 1 or UNKNOWN in word.text or STAR in word.text or ":" in word.text[2:]:
        return ()
    if word.text in {"-", "+", ""} or word.source.startswith("-"):
        return ()
    text = powershell_path(word.text)
    if UNKNOWN in text:
        return ()
    return tuple(dict.fromkeys(joined(folder, text, "win32") for folder in simple.folders))


def renamed(simple: Simple, name: str) -> Simple:
    """Return the command under its full name, such as ``Remove-Item`` for ``rm``."""
    first = simple.words[0]
    word = Word(first.source, (name,))
    return msgspec.structs.replace(simple, words=(word, *simple.words[1:]))
