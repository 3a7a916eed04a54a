"""The tables of cmdlets, and the arguments of a cmdlet by its parameters."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.shell.items import Simple
from indwell.policy.shell.powershell import renamed
from indwell.policy.shell.words import HOME, STAR, UNKNOWN, Word
from indwell.prepared_types import prepared

Words = Sequence[Word]


class Cmdlet(msgspec.Struct, frozen=True):
    """A cmdlet and its parameters.

    Attributes:
        kind: The kind of the cmdlet's effect.
        at: The parameters of the cmdlet's positional arguments; ``*`` for any number.
        paths: Parameters with paths that the cmdlet reads.
        writes: Parameters with paths that the cmdlet writes.
        values: Parameters with another value.
        switches: Parameters without a value.
        blocks: Parameters with a script block, which is judged separately.
        texts: Parameters with a text that is not a path.
        here: Whether the cmdlet reads its working directory if no path is given.
        fed: What the cmdlet does with the objects of a pipeline.
    """

    kind: str
    at: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    here: bool = False
    fed: str = ""


class _Data(msgspec.Struct, frozen=True):
    """The file ``cmdlets.json``."""

    aliases: Mapping[str, tuple[str, ...]]
    cmdlets: Mapping[str, Cmdlet]
    lists: Mapping[str, frozenset[str]]


class CmdletTables(msgspec.Struct, frozen=True):
    """The tables, by names in lower case.

    Attributes:
        names: Full names by aliases and by names.
        cmdlets: The cmdlets by their full names.
        lists: Lists of names that share a property, by that property.
    """

    names: Mapping[str, str]
    cmdlets: Mapping[str, Cmdlet]
    lists: Mapping[str, frozenset[str]]


@cache
def tables() -> CmdletTables:
    """Read the tables once, when the first PowerShell text is judged."""
    data = msgspec.json.decode(
        pkgutil.get_data(__name__, "cmdlets.json") or b"", type=prepared(_Data)
    )
    names = {alias: name for name, some in data.aliases.items() for alias in some}
    names.update({name.lower(): name for name in data.cmdlets})
    return CmdletTables(names, data.cmdlets, data.lists)


_PROGRAM = lazy_pattern(r"(.+?)\.(?:exe|com|cmd|bat|ps1)", re.IGNORECASE | re.DOTALL)
CMDLET_NAME = lazy_pattern(r"[a-z]+-[a-z]\w*", re.IGNORECASE)
_OWN_TEXTS = frozenset(["cmd", "powershell", "pwsh"])
"""Programs whose words are judged as a text."""

_LITERAL = frozenset(["literalpath", "lp", "pspath"])
_PROVIDERS = frozenset(
    [
        *("alias", "certificate", "environment", "filesystem", "function", "registry", "variable"),
        *("wsman",),
    ]
)
_DRIVE = lazy_pattern(r"(?:[\w.]+[\\/])?(\w{2,}):", re.IGNORECASE)
_OF_BATCH = frozenset('&|<>^%"')
"""Characters that ``cmd`` interprets even within quotes, if a program is a batch file."""


def full_name(word: Word) -> str:
    """Return PowerShell's name of a command: ``Remove-Item`` for ``rm``, ``git`` for ``GIT.exe``.

    A command given by its path keeps the folder. A name that is known only at run time stays
    unchanged.
    """
    text = "?" if word.source == "?" else word.text
    lower = text.lower()
    if lower.startswith("microsoft.powershell.") and "\\" in lower:
        lower = lower.rpartition("\\")[2]
    if found := tables().names.get(lower):
        return found
    if CMDLET_NAME.fullmatch(text):
        return text
    if re.search(r"[\\/]", text):
        return text.replace("\\", "/")
    at = _PROGRAM.fullmatch(lower)
    return at[1] if at and not lower.endswith(".ps1") else lower


def named(simple: Simple) -> Simple:
    """Return a command under its full name, with its arguments as the program may receive them."""
    if not simple.words:
        return simple
    first = simple.words[0]
    if first.text.startswith((".", "[")) and first.text.endswith("()"):
        return simple
    if first.text == "." and first.source == ".":
        return simple
    name = full_name(first)
    found = renamed(simple, name)
    if name in tables().cmdlets or CMDLET_NAME.fullmatch(name) or name in _OWN_TEXTS:
        return found
    is_batch = first.text.lower().endswith((".bat", ".cmd"))
    is_exact = name in tables().lists["exact programs"] and not is_batch
    rest = tuple(_for_program(word, is_exact=is_exact) for word in found.words[1:])
    return msgspec.structs.replace(found, words=(found.words[0], *rest))


def _for_program(word: Word, *, is_exact: bool) -> Word:
    """Return a word as a program receives it; unknown if PowerShell's versions disagree."""
    refused = {'"'} if is_exact else _OF_BATCH
    is_sure = all(one and not refused.intersection(one) for one in word.options)
    is_block = word.source.startswith(("{", "@"))
    if len(word.options) > 1 or not is_sure or is_block:
        return Word(word.source, (UNKNOWN,), splits=True)
    if re.search(r"\s", word.text) and word.text.endswith("\\"):
        return Word(word.source, (UNKNOWN,), splits=True)
    return word


class Unclear(Exception):
    """A parameter that is unknown or ambiguous.

    Args:
        name: The parameter as written.
    """


class CmdletArguments(msgspec.Struct, frozen=True):
    """The arguments of a cmdlet by its parameters.

    Attributes:
        given: Names of parameters in lower case, with their values, or None for a switch.
        rest: Positional arguments beyond the known ones.
    """

    given: tuple[tuple[str, Word | None], ...]
    rest: tuple[Word, ...] = ()

    def words(self, names: Sequence[str]) -> tuple[Word, ...]:
        """Return the values of these parameters, with each member of a list as a separate word."""
        wanted = {name.lower() for name in names}
        found = [word for name, word in self.given if name in wanted and word is not None]
        return tuple(each for word in found for each in members_of(word))

    def paths(self, names: Sequence[str]) -> tuple[Word, ...]:
        """Return the values of these parameters as paths, with placeholders for wildcards."""
        literal = [name for name in names if name.lower() in _LITERAL]
        others = [name for name in names if name.lower() not in _LITERAL]
        return tuple(map(_at_home, (*self.words(literal), *map(globbed, self.words(others)))))

    def has(self, *names: str) -> bool:
        """Return whether one of these parameters is given."""
        return any(name in names for name, _ in self.given)


def members_of(word: Word) -> tuple[Word, ...]:
    """Return each member of a list as a word."""
    return tuple(Word(word.source, (one,), splits=UNKNOWN in one) for one in word.options)


def bind(words: Words, known: Cmdlet) -> CmdletArguments:
    """Sort the arguments of a cmdlet by its parameters.

    Raises:
        Unclear: A parameter is unknown, ambiguous, or known only at run time.
    """
    lists = tables().lists
    switches = {one.lower() for one in (*known.switches, *lists["common switches"])}
    valued = (*known.paths, *known.writes, *known.values, *known.blocks, *known.texts)
    values = {one.lower() for one in (*valued, *lists["common values"])}
    every = switches | values | {one.lower() for one in lists["common setters"]}
    given: list[tuple[str, Word | None]] = []
    rest: list[Word] = []
    at, ended = 0, False
    while at < len(words):
        word = words[at]
        at += 1
        if word.source.startswith("@") and word.source[1:2] not in {"'", '"', "(", "{"}:
            raise Unclear(word.source)  # The word is PowerShell's splatting.
        if ended or not word.source.startswith("-") or re.match(r"-(?:\d|$)", word.source):
            rest.append(word)
            continue
        if word.source == "--":
            ended = True
            continue
        name, colon, _ = word.source.partition(":")
        full = _resolved(name[1:].lower(), every, word.source)
        if full in switches:
            given.append((full, None))
        elif full not in values:
            raise Unclear(word.source)
        elif colon:
            options = tuple(one.removeprefix(f"{name}:") for one in word.options)
            given.append((full, Word(word.source, options, word.splits)))
        elif at < len(words):
            given.append((full, words[at]))
            at += 1
        else:
            raise Unclear(word.source)
    return _placed(given, rest, known)


def _resolved(name: str, every: set[str], shown: str) -> str:
    if name in every:
        return name
    alike = [one for one in every if one.startswith(name)]
    if len(alike) != 1 or not name:
        raise Unclear(shown)
    return alike[0]


def _placed(
    given: list[tuple[str, Word | None]], rest: list[Word], known: Cmdlet
) -> CmdletArguments:
    if known.at[:1] in {("*",), ("Member*",)}:
        return CmdletArguments(tuple(given), tuple(rest))
    names = {name for name, _ in given}
    free = [one.lower() for one in known.at if one.lower() not in names]
    if "literalpath" in names or "lp" in names or "pspath" in names:
        free = [one for one in free if one not in {"path", "filepath"}]
    found = [*given, *zip(free, rest, strict=False)]
    return CmdletArguments(tuple(found), tuple(rest[len(free) :]))


def value_of(word: Word) -> Word:
    """Return a word without the name of a parameter."""
    if not word.source.startswith("-"):
        return word
    name, colon, _ = word.source.partition(":")
    texts = (one.removeprefix(f"{name}:") if colon else "" for one in word.options)
    return Word(word.source, tuple(texts), word.splits)


def globbed(word: Word) -> Word:
    """Return a path in which the cmdlet itself expands wildcards, also within quotes."""
    options = tuple(re.sub(r"[*?`]|\[[^\]]*\]", STAR, one) for one in word.options)
    return Word(word.source, options, word.splits)


def _at_home(word: Word) -> Word:
    """Return a path in which the cmdlet expands a tilde to the home folder, even in quotes."""
    options = tuple(re.sub(r"^~(?=[\\/]|$)", HOME, one) for one in word.options)
    return Word(word.source, options, word.splits)


def drive_of(word: Word) -> str:
    r"""Return a path's PowerShell drive, ``\`` for another machine, or an empty text."""
    for text in word.options:
        plain = text.lower()
        if re.match(r"[\\/]{2}", text):
            return "\\"
        provider = re.split(r"[\\/]", plain.partition("::")[0])[-1]
        if "::" in plain and provider in _PROVIDERS:
            return provider
        if found := _DRIVE.match(plain):
            return found[1]
    return ""
