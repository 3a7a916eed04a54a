"""The effects of cmdlets and methods; an unknown cmdlet or method needs a question."""

from __future__ import annotations

import re
from collections.abc import Sequence

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.commands.powershell.arguments import (
    Cmdlet,
    CmdletArguments,
    Unclear,
    Words,
    bind,
    drive_of,
    full_name,
    globbed,
    members_of,
    tables,
    value_of,
)
from indwell.policy.commands.verdict import Use, hosts_of, writing
from indwell.policy.rules import ANY_HOST
from indwell.policy.shell.items import AT_START, Simple
from indwell.policy.shell.powershell import PIPE
from indwell.policy.shell.words import STAR, UNKNOWN, Word


def use_of_cmdlet(name: str, known: Cmdlet, words: Words, one: Simple) -> Use:
    """Return the effect of a cmdlet.

    Args:
        name: The cmdlet's full name.
        known: The cmdlet's parameters.
        words: The cmdlet's arguments.
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
            return Use("unknown", f"{name!r} changes how PowerShell runs the following commands")
        case "tells":
            return Use("unknown", f"{name!r} shows other data of this machine")
        case "runs":
            return _running(name, known, words)
    try:
        bound = bind(words, known)
    except Unclear as unclear:
        return _unclear(name, known, words, str(unclear))
    if known.kind == "text":
        return _text(name, known, bound, one)
    if bound.rest:
        return _unclear(name, known, words, bound.rest[0].source)
    reads, writes = bound.paths(known.paths), bound.paths(known.writes)
    if known.kind == "reads":
        return _reading(name, known, reads, one)
    return _writing(name, known, bound, reads, writes)


_LOOK_UP = frozenset(["Get-Command", "Get-Help", "Get-Module", "Join-Path", "Split-Path"])
"""Cmdlets that may look for a file with the given name."""

_TELL_OF_COMMANDS = frozenset(["Get-Command", "Get-Help", "Get-Module"])
"""Cmdlets that run parts of a script or a module that they describe, such as ``dynamicparam``."""

_BARE_NAME = lazy_pattern(rf"[\w.+*?{STAR}-]+")


def _unclear(name: str, known: Cmdlet, words: Words, what: str) -> Use:
    """Return the effect of a cmdlet with unknown arguments, which may all be paths."""
    reason = f"{name!r} is used with {what!r}, which is not known"
    targets = tuple(
        each for word in words if not word.source.startswith("-") for each in members_of(word)
    )
    if known.kind == "destroys":
        return Use("destroys", f"{name!r} removes or empties files", writes=targets)
    if known.kind == "writes":
        return writing(f"{name!r} changes files", *targets)
    return Use("unknown", reason, reads=targets)


def _reading(name: str, known: Cmdlet, reads: tuple[Word, ...], one: Simple) -> Use:
    paths = [drive_of(word) for word in reads]
    if "\\" in paths:
        return Use("network", f"{name!r} reaches another machine", hosts=(ANY_HOST,))
    drives = {place for place in paths if place}
    if drives - {"env", "function", "alias", "variable"}:
        return Use("unknown", f"{name!r} reads {min(drives) + ':'!r}, which is not a folder")
    reads = tuple(word for word, place in zip(reads, paths, strict=True) if not place)
    if drives and not reads:
        return Use("reads", takes_any=True)
    if one.is_piped and not reads and known.fed:
        return _fed(name, known, one)
    is_here = known.here and not reads
    return Use("reads", reads=reads, is_here=is_here, takes_any=True)


def _fed(name: str, known: Cmdlet, one: Simple) -> Use:
    """Return the reads of a cmdlet whose paths come through the pipeline."""
    untold = Use("unknown", f"{name!r} reads a file that is known only at run time")
    commands = _split(one.upstream)
    fed = [full_name(words[0]) if words else "" for words in commands]
    if not all(fed) or "Get-Variable" in fed or any(map(_may_hold_files, one.upstream)):
        return untold
    lists_files = _LIST_FILES.intersection(fed)
    if lists_files and known.fed != "unknown":
        if not all(map(_passes_files_on, fed, commands)):
            return untold
        places = tuple(
            globbed(each)
            for word in map(value_of, one.upstream)
            for each in members_of(word)
            if each.text and word != PIPE and full_name(each) not in tables().cmdlets
        )
        here = (Word(".", (".",)),)
        return Use("reads", reads=(*here, *places), is_deep=True, takes_any=True)
    if known.fed == "either" and fed:
        return Use("reads", takes_any=True)
    return untold


_LIST_FILES = frozenset(["Get-ChildItem", "Get-Item", "Resolve-Path"])
_KEEP_FILES = _LIST_FILES | {"Where-Object", "Sort-Object"}
_STRING = lazy_pattern(r'(?:-\w+:)?"[^"]*"')


def _split(upstream: Words) -> list[list[Word]]:
    """Return the commands that feed a command."""
    commands: list[list[Word]] = [[]]
    for word in upstream:
        if word == PIPE:
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def _may_hold_files(word: Word) -> bool:
    """Return whether a word could refer to files by a variable or a script block."""
    if any(UNKNOWN in one for one in word.options):
        return _STRING.fullmatch(word.source) is None
    return any(map(drive_of, members_of(value_of(word))))


def _passes_files_on(name: str, words: Words) -> bool:
    """Return whether a command only passes on the files that it lists or receives."""
    if name in _KEEP_FILES:
        return True
    if name == "ForEach-Object":
        return [word.text.lower() for word in words[1:]] in (["fullname"], ["name"])
    if name != "Select-Object":
        return False
    try:
        bound = bind(words[1:], tables().cmdlets[name])
    except Unclear:
        return False
    others = bound.words(["Property", "ExcludeProperty", "InputObject"])
    shown = bound.words(["ExpandProperty"])
    return not (bound.rest or others) and all(w.text.lower() in {"fullname", "name"} for w in shown)


def _writing(
    name: str,
    known: Cmdlet,
    bound: CmdletArguments,
    reads: tuple[Word, ...],
    writes: tuple[Word, ...],
) -> Use:
    places = {drive_of(word) for word in (*reads, *writes)} - {""}
    if "\\" in places:
        return Use("network", f"{name!r} reaches another machine", hosts=(ANY_HOST,))
    if places & {"hklm", "hkcu", "registry", "cert", "wsman", "hku"} or any(
        "registry" in place for place in places
    ):
        return Use("privileged", f"{name!r} reaches beyond the workspace")
    if places:
        return Use("unknown", f"{name!r} changes {min(places) + ':'!r}, which is not a folder")
    targets = writes
    if known.kind == "destroys":
        return Use("destroys", f"{name!r} removes or empties files", writes=targets)
    if name == "New-Item" and bound.has("itemtype", "type", "target"):
        kinds = {word.text.lower() for word in bound.words(["ItemType", "Type"])}
        if not kinds <= {"file", "directory", "leaf", "container"} or bound.has("target"):
            reason = "'New-Item' makes a link, or an item known only at run time"
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


def _text(name: str, known: Cmdlet, bound: CmdletArguments, one: Simple) -> Use:
    """Return the effect of a cmdlet that only works on objects."""
    given = (*bound.rest, *(word for _, word in bound.given if word is not None))
    if name in _TELL_OF_COMMANDS and not any(drive_of(word) == "\\" for word in given):
        names = [text for word in given for text in word.options]
        if one.is_piped or not all(map(_BARE_NAME.fullmatch, names)):
            return Use("unknown", f"{name!r} may run a part of a script that it describes")
    if name in _LOOK_UP and any(drive_of(word) == "\\" for word in given):
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
        return Use("unknown", f"{name!r} runs code that is known only at run time")
    return Use("reads", takes_any=True)


_RUN_BLOCKS = frozenset(["Measure-Command", "Where-Object"])


def _running(name: str, known: Cmdlet, words: Words) -> Use:
    """Return the effect of a cmdlet that runs other code."""
    try:
        bound = bind(words, known)
    except Unclear:
        bound = None
    if name == "Invoke-Expression" and bound and len(bound.given) == 1 and not bound.rest:
        texts = bound.words(["Command"])
        if len(texts) == 1 and texts[0].is_literal:
            return Use("reads", texts=(texts[0].text,), takes_any=True)
    if name == "Invoke-Command" and bound and not bound.rest:
        blocks = bound.words(["ScriptBlock", "Command"])
        if blocks and all(word.source.startswith("{") for word in blocks):
            return Use("reads", takes_any=True)  # The block is judged separately.
    if name == "Invoke-Command":
        return Use("network", f"{name!r} may run it on another machine", hosts=(ANY_HOST,))
    return Use("unknown", f"{name!r} runs or makes something that Indwell does not analyse")


def _hosts(words: Words) -> tuple[str, ...]:
    """Return the hosts of addresses in the words; any host if a word could name another host."""
    given = [word for word in words if not word.source.startswith("-")]
    is_plain = all(word.is_literal for word in words)
    risky = any(re.match(r"-(?:pr|cr|se|w)", word.source.lower()) for word in words)
    found = [word for word in given if re.match(r"https?://", word.text.lower())]
    return hosts_of("curl", found) if found and is_plain and not risky else (ANY_HOST,)


def use_of_method(name: str, words: Words, folders: Sequence[str]) -> Use:
    """Return the effect of a method by its name alone, because its object's type is unknown.

    Args:
        name: The name in lower case, which follows a dot or a type.
        words: The arguments.
        folders: The folders in which PowerShell may be at that point.
    """
    if name.startswith("["):
        return _use_of_static(name, words, folders)
    lists = tables().lists
    plain = name.lstrip(".:")
    if plain in lists["destroying methods"]:
        return Use("destroys", f"calls '{plain}', which removes or ends something")
    is_harmless = name.startswith(".") and plain in lists["methods"]
    if name.startswith(".") and plain in lists["block methods"]:
        is_harmless = all(word.source.startswith("{") for word in words)
    if is_harmless:
        return Use("reads", takes_any=True)
    return Use("unknown", f"calls the method {plain!r}, which is not known")


def _use_of_static(name: str, words: Words, folders: Sequence[str]) -> Use:
    """Return the effect of a static method.

    .NET does not know PowerShell's drives, and stays in the folder in which PowerShell started.
    """
    lists = tables().lists
    kind, _, method = name[1:].partition("]::")
    full = f"{kind}.{method}"
    if full in lists["destroying statics"]:
        return Use("destroys", f"'{name}' removes files", writes=tuple(words[:1]))
    if full in lists["writing statics"]:
        return writing(f"'{name}' changes files", *words)
    drives = {drive_of(word) for word in words} - {""}
    if full in lists["reading statics"]:
        if tuple(folders) != AT_START or drives - {"\\"}:
            return Use("unknown", f"'{name}' reads from a folder known only at run time")
        return _reading(f"{name}()", Cmdlet("reads"), tuple(words), _NOT_FED)
    if "\\" in drives:
        return Use("network", f"'{name}' may reach another machine", hosts=(ANY_HOST,))
    if kind in lists["harmless types"] or full in lists["harmless statics"]:
        return Use("reads", takes_any=True)
    return Use("unknown", f"calls '{name}', which is not known")


_NOT_FED = Simple((), (), (), 0, 0, ())
