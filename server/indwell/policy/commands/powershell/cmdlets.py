"""What running a cmdlet or calling a method does. Unknown asks."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.commands.verdict import Use, hosts_of, writing
from indwell.policy.rules import ANY_HOST
from indwell.policy.shell.items import Simple
from indwell.policy.shell.powershell import renamed
from indwell.policy.shell.words import STAR, UNKNOWN, Word

Words = Sequence[Word]


class Cmdlet(msgspec.Struct, frozen=True):
    """A cmdlet and its parameters.

    Attributes:
        kind: What it does.
        at: The parameters of its positional arguments; ``*`` for any number.
        paths: Parameters with paths that it reads.
        writes: Parameters with paths that it writes.
        values: Parameters with another value.
        switches: Parameters without a value.
        blocks: Parameters with a script block, which is judged where it is written.
        texts: Parameters with a text that is no path.
        here: Whether it reads the folder in which it runs if no path is given.
        fed: What the objects of a pipeline are to it.
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
        lists: Names by what is true of them.
    """

    names: Mapping[str, str]
    cmdlets: Mapping[str, Cmdlet]
    lists: Mapping[str, frozenset[str]]


@cache
def tables() -> CmdletTables:
    """Read the tables once, when the first PowerShell text is judged."""
    data = msgspec.json.decode(pkgutil.get_data(__name__, "cmdlets.json") or b"", type=_Data)
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
"""Characters that ``cmd`` obeys even within quotes, where a program is a batch file."""


def full_name(word: Word) -> str:
    """Return what PowerShell calls a command: ``Remove-Item`` for ``rm``, ``git`` for ``GIT.exe``.

    A path keeps its folder, and what only a run can tell stays as it is.
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
    """Return a command under its full name, with its arguments as its program may see them."""
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
    is_exact = name in tables().lists["exact programs"]
    rest = tuple(_for_program(word, is_exact=is_exact) for word in found.words[1:])
    return msgspec.structs.replace(found, words=(found.words[0], *rest))


def _for_program(word: Word, *, is_exact: bool) -> Word:
    """Return a word as a program gets it, or an unknown one where versions disagree."""
    refused = {'"'} if is_exact else _OF_BATCH
    is_sure = all(one and not refused.intersection(one) for one in word.options)
    is_block = word.source.startswith(("{", "@"))
    if len(word.options) > 1 or not is_sure or is_block:
        return Word(word.source, (UNKNOWN,), splits=True)
    if re.search(r"\s", word.text) and word.text.endswith("\\"):
        return Word(word.source, (UNKNOWN,), splits=True)
    return word


class _Unclear(Exception):
    """A parameter that is unknown, or that may be more than one.

    Args:
        name: As written.
    """


class CmdletArguments(msgspec.Struct, frozen=True):
    """The arguments of a cmdlet by its parameters.

    Attributes:
        given: Names of parameters in lower case, with their values; None for a switch.
        rest: Positional arguments beyond the known ones.
    """

    given: tuple[tuple[str, Word | None], ...]
    rest: tuple[Word, ...] = ()

    def words(self, names: Sequence[str]) -> tuple[Word, ...]:
        """Return the values of these parameters, each member of a list by itself."""
        wanted = {name.lower() for name in names}
        found = [word for name, word in self.given if name in wanted and word is not None]
        return tuple(each for word in found for each in _members(word))

    def paths(self, names: Sequence[str]) -> tuple[Word, ...]:
        """Return the values of these parameters as paths, with marks for wildcards."""
        literal = [name for name in names if name.lower() in _LITERAL]
        others = [name for name in names if name.lower() not in _LITERAL]
        return (*self.words(literal), *map(_globbed, self.words(others)))

    def has(self, *names: str) -> bool:
        """Is one of these parameters given?"""
        return any(name in names for name, _ in self.given)


def _members(word: Word) -> tuple[Word, ...]:
    return tuple(Word(word.source, (one,), splits=UNKNOWN in one) for one in word.options)


def bind(words: Words, known: Cmdlet) -> CmdletArguments:
    """Sort the arguments of a cmdlet by its parameters.

    Raises:
        _Unclear: A parameter is unknown, ambiguous, or only a run can tell it.
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
            raise _Unclear(word.source)  # splatting
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
            raise _Unclear(word.source)
        elif colon:
            options = tuple(one.partition(":")[2] for one in word.options)
            given.append((full, Word(word.source, options, word.splits)))
        elif at < len(words):
            given.append((full, words[at]))
            at += 1
        else:
            raise _Unclear(word.source)
    return _placed(given, rest, known)


def _resolved(name: str, every: set[str], shown: str) -> str:
    if name in every:
        return name
    alike = [one for one in every if one.startswith(name)]
    if len(alike) != 1 or not name:
        raise _Unclear(shown)
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


def use_of_cmdlet(name: str, known: Cmdlet, words: Words, one: Simple) -> Use:
    """Return what a cmdlet does.

    Args:
        name: Its full name.
        known: Its parameters.
        words: Its arguments.
        one: The simple command.
    """
    match known.kind:
        case "network":
            targets = tuple(word for word in words if not word.source.startswith("-"))
            return Use(
                "network", f"{name!r} needs the network", hosts=_hosts(words), writes=targets
            )
        case "privileged":
            return Use("privileged", f"{name!r} reaches beyond the workspace")
        case "state":
            return Use("unknown", f"{name!r} changes how PowerShell runs what follows")
        case "tells":
            return Use("unknown", f"{name!r} shows what else is on this machine")
        case "runs":
            return _running(name, known, words)
    try:
        bound = bind(words, known)
    except _Unclear as unclear:
        return _unclear(name, known, words, str(unclear))
    if known.kind == "text":
        return _text(name, known, bound)
    if bound.rest:
        return _unclear(name, known, words, bound.rest[0].source)
    reads, writes = bound.paths(known.paths), bound.paths(known.writes)
    if known.kind == "reads":
        return _reading(name, known, reads, one)
    return _writing(name, known, bound, reads, writes)


_LOOK_UP = frozenset(["Get-Command", "Get-Help", "Get-Module", "Join-Path", "Split-Path"])
"""Cmdlets that may look for a file of the name that they get."""


def _unclear(name: str, known: Cmdlet, words: Words, what: str) -> Use:
    """Return a use of a cmdlet with arguments that are not known; all of them may be paths."""
    reason = f"{name!r} is used with {what!r}, which is not known"
    targets = tuple(
        each for word in words if not word.source.startswith("-") for each in _members(word)
    )
    if known.kind == "destroys":
        return Use("destroys", f"{name!r} removes or empties files", writes=targets)
    if known.kind == "writes":
        return writing(f"{name!r} changes files", *targets)
    return Use("unknown", reason, reads=targets)


def _reading(name: str, known: Cmdlet, reads: tuple[Word, ...], one: Simple) -> Use:
    paths = [_place(word) for word in reads]
    if "\\" in paths:
        return Use("network", f"{name!r} reaches another machine", hosts=(ANY_HOST,))
    drives = {place for place in paths if place}
    if drives - {"env", "function", "alias", "variable"}:
        return Use("unknown", f"{name!r} reads {min(drives) + ':'!r}, which is no folder")
    reads = tuple(word for word, place in zip(reads, paths, strict=True) if not place)
    if drives and not reads:
        return Use("reads", takes_any=True)
    if one.is_piped and not reads and known.fed:
        return _fed(name, known, one)
    is_here = known.here and not reads
    return Use("reads", reads=reads, is_here=is_here, takes_any=True)


def _fed(name: str, known: Cmdlet, one: Simple) -> Use:
    """Return what a cmdlet reads whose paths come through the pipeline."""
    fed = [full_name(word) for word in one.upstream]
    if any(word.source.startswith(("{", "(", "$", "@")) for word in one.upstream):
        return Use("unknown", f"{name!r} reads what only a run can tell")
    lists_files = {"Get-ChildItem", "Get-Item", "Resolve-Path"}.intersection(fed)
    if lists_files and known.fed != "unknown":
        places = tuple(
            _globbed(each)
            for word in map(_value_of, one.upstream)
            for each in _members(word)
            if each.text and full_name(each) not in tables().cmdlets
        )
        here = (Word(".", (".",)),)
        return Use("reads", reads=(*here, *places), is_deep=True, takes_any=True)
    if known.fed == "either" and fed:
        return Use("reads", takes_any=True)
    return Use("unknown", f"{name!r} reads what only a run can tell")


def _value_of(word: Word) -> Word:
    """Return a word without the name of a parameter."""
    if not word.source.startswith("-"):
        return word
    return Word(word.source, tuple(one.partition(":")[2] for one in word.options), word.splits)


def _globbed(word: Word) -> Word:
    """Return a path in which the cmdlet itself expands wildcards, also within quotes."""
    options = tuple(re.sub(r"[*?]|\[[^\]]*\]", STAR, one) for one in word.options)
    return Word(word.source, options, word.splits)


def _place(word: Word) -> str:
    r"""Return the drive of PowerShell that a path names, ``\`` for another machine, or nothing."""
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


def _writing(
    name: str,
    known: Cmdlet,
    bound: CmdletArguments,
    reads: tuple[Word, ...],
    writes: tuple[Word, ...],
) -> Use:
    places = {_place(word) for word in (*reads, *writes)} - {""}
    if "\\" in places:
        return Use("network", f"{name!r} reaches another machine", hosts=(ANY_HOST,))
    if places & {"hklm", "hkcu", "registry", "cert", "wsman", "hku"} or any(
        "registry" in place for place in places
    ):
        return Use("privileged", f"{name!r} reaches beyond the workspace")
    if places:
        return Use("unknown", f"{name!r} changes {min(places) + ':'!r}, which is no folder")
    targets = writes
    if known.kind == "destroys":
        return Use("destroys", f"{name!r} removes or empties files", writes=targets)
    if name == "New-Item" and bound.has("itemtype", "type", "target"):
        kinds = {word.text.lower() for word in bound.words(["ItemType", "Type"])}
        if not kinds <= {"file", "directory", "leaf", "container"} or bound.has("target"):
            reason = "'New-Item' makes a link or what only a run can tell"
            return Use("unknown", reason, writes=targets)
    if name == "New-Item" and bound.has("name"):
        folders = [word.text for word in bound.words(["Path"])] or ["."]
        targets += tuple(
            Word(each.source, (f"{folder}/{each.text}",), each.splits)
            for folder in folders
            for each in bound.words(["Name"])
        )
    reason = f"{name!r} changes files"
    if name in {"Move-Item", "Rename-Item"}:
        moves = bound.paths(["Destination"])
        return Use("writes", reason, writes=targets, moves_to=moves)
    return Use("writes", reason, reads=reads, writes=targets)


def _text(name: str, known: Cmdlet, bound: CmdletArguments) -> Use:
    """Return a use of a cmdlet that only works on objects."""
    given = (*bound.rest, *(word for _, word in bound.given if word is not None))
    if name in _LOOK_UP and any(_place(word) == "\\" for word in given):
        return Use("network", f"{name!r} reaches another machine", hosts=(ANY_HOST,))
    blocks = [word for word in bound.words(known.blocks) if word.text != word.source]
    unsure = [word for word in blocks if UNKNOWN in word.text and not word.source.startswith("{")]
    if name == "ForEach-Object":
        texts = [word for word in bound.rest if not word.source.startswith("{")]
        members = tables().lists["members"]
        if any(not w.is_literal or w.text.lower() not in members for w in (*texts, *unsure)):
            return Use("unknown", "'ForEach-Object' may call a method that is not known")
    elif known.at != ("*",) and bound.rest:
        return Use("unknown", f"{name!r} is used with {bound.rest[0].source!r}, which is not known")
    elif name in _RUN_BLOCKS and any(
        UNKNOWN in word.text and not word.source.startswith("{")
        for word in bound.words(["Expression", "FilterScript", "Property"])
    ):
        return Use("unknown", f"{name!r} runs what only a run can tell")
    return Use("reads", takes_any=True)


_RUN_BLOCKS = frozenset(["Measure-Command", "Where-Object"])


def _running(name: str, known: Cmdlet, words: Words) -> Use:
    """Return a use of a cmdlet that runs other code."""
    try:
        bound = bind(words, known)
    except _Unclear:
        bound = None
    if name == "Invoke-Expression" and bound and len(bound.given) == 1 and not bound.rest:
        texts = bound.words(["Command"])
        if len(texts) == 1 and texts[0].is_literal:
            return Use("reads", texts=(texts[0].text,), takes_any=True)
    if name == "Invoke-Command" and bound and not bound.rest:
        blocks = bound.words(["ScriptBlock", "Command"])
        if blocks and all(word.source.startswith("{") for word in blocks):
            return Use("reads", takes_any=True)  # the block is judged where it is written
    if name == "Invoke-Command":
        return Use("network", f"{name!r} may run it on another machine", hosts=(ANY_HOST,))
    return Use("unknown", f"{name!r} runs or makes what is not judged")


def _hosts(words: Words) -> tuple[str, ...]:
    """Return the hosts of addresses among the words; any host if a word could name another one."""
    given = [word for word in words if not word.source.startswith("-")]
    is_plain = all(word.is_literal for word in words)
    risky = any(re.match(r"-(?:pr|cr|se|w)", word.source.lower()) for word in words)
    found = [word for word in given if re.match(r"https?://", word.text.lower())]
    return hosts_of("curl", found) if found and is_plain and not risky else (ANY_HOST,)


def use_of_method(name: str, words: Words) -> Use:
    """Return what calling a method does, by its name alone: its object's type is not known."""
    lists = tables().lists
    if name.startswith("["):
        kind, _, method = name[1:].partition("]::")
        full = f"{kind}.{method}"
        if full in lists["destroying statics"]:
            return Use("destroys", f"'{name}' removes files", writes=tuple(words[:1]))
        if full in lists["writing statics"]:
            return writing(f"'{name}' changes files", *words)
        if full in lists["reading statics"]:
            return _reading(f"{name}()", Cmdlet("reads"), tuple(words), _NOT_FED)
        if kind in lists["harmless types"] or full in lists["harmless statics"]:
            return Use("reads", takes_any=True)
        return Use("unknown", f"calls '{name}', which is not known")
    plain = name.lstrip(".:")
    if plain in lists["destroying methods"]:
        return Use("destroys", f"calls '{plain}', which removes or ends something")
    is_harmless = name.startswith(".") and plain in lists["methods"]
    if name.startswith(".") and plain in lists["block methods"]:
        is_harmless = all(word.source.startswith("{") for word in words)
    if is_harmless:
        return Use("reads", takes_any=True)
    return Use("unknown", f"calls the method {plain!r}, which is not known")


_NOT_FED = Simple((), (), (), 0, 0, ())
