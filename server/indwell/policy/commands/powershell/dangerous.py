"""Recognises destructive commands of PowerShell, which neither an answer nor a mode permits (H49).

Like ``commands.dangerous``, this module is the last defence against a mistake.
"""

from __future__ import annotations

import re

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.commands import dangerous, effects
from indwell.policy.commands.path_rules import Grounds
from indwell.policy.commands.powershell.arguments import full_name, named
from indwell.policy.commands.powershell.programs import use_in_powershell
from indwell.policy.shell.items import Simple, joined
from indwell.policy.shell.powershell import PowerShellReading
from indwell.policy.shell.words import HOME, STAR, UNKNOWN, Word

_NESTED = 4  # At most 4 texts are nested.
_MOST_PIECES = 50  # A text that is not understood as a whole is split into at most 50 pieces.
_HINT = lazy_pattern(
    r"(?<![\w.-])(?:remove-item|ri|rm|rmdir|rd|del|erase|format(?:-volume)?|clear-disk|bash|sh|wsl"
    r"|initialize-disk|remove-partition|iex|invoke-expression|cmd|powershell|pwsh|dd|mkfs)(?![\w-])"
    r"|(?:directory\]|scriptblock\])::|invokescript",
    re.IGNORECASE,
)
_PIECE = lazy_pattern(r"[^;|&{}()\r\n]+")
_LOADERS = frozenset(["Invoke-WebRequest", "Invoke-RestMethod", "Start-BitsTransfer"])
_RUNNERS = frozenset(["Invoke-Expression", "[scriptblock]::create()", ".invokescript()"])
_DISKS = frozenset(["Format-Volume", "Clear-Disk", "Initialize-Disk", "Remove-Partition"])
_TOP = lazy_pattern(
    r"(?:[a-z]:|(?=/))(?:/(?:windows(?:/system32)?|users(?:/[^/]+)?|program files(?: \(x86\))?"
    r"|programdata)?)?",
    re.IGNORECASE,
)
_TOP_VARIABLE = lazy_pattern(
    r"[\"']?\$\{?env:(?:systemdrive|systemroot|windir|programfiles|programdata|homedrive"
    r"|homepath|allusersprofile|public)\}?[\\/]*\*?[\"']?",
    re.IGNORECASE,
)
_CMD_REMOVES = frozenset(["rd", "rmdir", "del", "erase"])
_CMD_FORMATS = lazy_pattern(r"(?:^|[\s&|(\"])format(?:\.com)?\s+[a-z]:", re.IGNORECASE)
_UNSEEN = "runs a script from the network that nobody has checked"


def why_dangerous_in_powershell(command: str) -> str:
    """Describe what a text would destroy, for the model, or return an empty text."""
    return _judge_text(command, _NESTED)


def _judge_text(command: str, depth: int) -> str:
    if not depth or not _HINT.search(command.replace("`", "")):
        return ""
    reading = PowerShellReading(command)
    simple = [named(item) for item in reading.items if isinstance(item, Simple) and item.words]
    if why := _judge_items(simple, depth):
        return why
    if reading.is_broken:
        pieces = [one for one in _PIECE.findall(command) if _HINT.search(one.replace("`", ""))]
        for piece in pieces[:_MOST_PIECES]:
            rest = PowerShellReading(piece.strip()).items
            found = [named(one) for one in rest if isinstance(one, Simple) and one.words]
            if why := _judge_items(found, depth):
                return why
    return ""


def _judge_items(items: list[Simple], depth: int) -> str:
    for one in items:
        name, words = one.words[0].text, one.words
        name = name.lower() if name.endswith("()") else name
        if name in _RUNNERS and _is_loaded(one, items):
            return _UNSEEN
        if why := _destroys(name, words):
            return why
        for text in use_in_powershell(words, one, Grounds(language="powershell")).texts:
            if why := _judge_text(text, depth - 1):
                return why
        script = effects.shell_text(words)
        if script is not None and (why := dangerous.why_dangerous(script.text)):
            return why
    return ""


def _is_loaded(one: Simple, items: list[Simple]) -> bool:
    """Return whether the command runs downloaded code, from the pipeline or from its own words."""
    if _LOADERS.intersection(map(full_name, one.upstream)):
        return True
    return any(
        one.start <= other.start and other.end <= one.end and other is not one
        for other in items
        if other.words[0].text in _LOADERS
        or other.words[0].text.lower() in {".downloadstring()", ".downloaddata()"}
    )


def _destroys(name: str, words: tuple[Word, ...]) -> str:
    if name in _DISKS and not any(word.text.lower() == "-whatif" for word in words):
        return f"clears a disk with {name!r}"
    if name == "Remove-Item":
        options = [word.text.lower() for word in words if word.source.startswith("-")]
        return _removes(words[1:]) if any(one.startswith("-r") for one in options) else ""
    if name == "[io.directory]::delete()" and len(words) > 2:  # noqa: PLR2004 - with `$true`
        return _removes(words[1:2])
    base = re.sub(r"\.(?:exe|com)$", "", effects.base_name(words[0]).lower())
    texts = [word.text for word in words[1:]]
    if base == "cmd":
        return _cmd_destroys(" ".join(texts))
    if base == "format" and texts and re.fullmatch(r"[A-Za-z]:", texts[0]):
        return "makes a new file system over the existing data"
    return dangerous.destroys([base, *texts], "")


def _removes(words: tuple[Word, ...]) -> str:
    for word in words:
        if word.source.startswith("-") and ":" not in word.source:
            continue
        if _TOP_VARIABLE.fullmatch(word.source):
            return f"removes {word.source} with its whole content"
        for text in word.options:
            plain = re.sub(r"^-\w+:", "", text) if word.source.startswith("-") else text
            if _is_top(plain):
                shown = plain.replace(HOME, "~").replace(STAR, "*")
                return f"removes {shown!r} with its whole content"
    return ""


def _is_top(path: str) -> bool:
    bare = re.sub(r"[\\/]*(?:[*\x02]+(?:\.[*\x02]+)?)?$", "", path)
    if bare == HOME:
        return True
    if not bare and path:
        return path[0] in "\\/"
    if UNKNOWN in bare or not (bare.startswith(("/", "\\")) or bare[1:2] == ":"):
        return False
    place = joined("", bare + "/", "win32")
    return _TOP.fullmatch(place) is not None or dangerous.is_top(place)


def _cmd_destroys(text: str) -> str:
    if _CMD_FORMATS.search(text):
        return "makes a new file system over the existing data"
    for piece in re.split(r"[&|()\"]+", text):
        words = piece.lower().split()
        at = next((at for at, word in enumerate(words) if word in _CMD_REMOVES), len(words))
        rest = words[at + 1 :]
        for place in rest if "/s" in rest else ():
            is_option = re.fullmatch(r"/[a-z]", place)
            if not is_option and (_is_top(place) or re.fullmatch(r"%\w+%[\\/]*\*?", place)):
                return f"removes {place!r} with its whole content"
    return ""
