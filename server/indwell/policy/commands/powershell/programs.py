"""The effect of a PowerShell command: a cmdlet, a method, or a program that it starts."""

from __future__ import annotations

import base64
import binascii
import re

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.commands import effects
from indwell.policy.commands.path_rules import Grounds
from indwell.policy.commands.powershell.arguments import CMDLET_NAME, Words, tables
from indwell.policy.commands.powershell.cmdlets import use_of_cmdlet, use_of_method
from indwell.policy.commands.verdict import Use, working, writing
from indwell.policy.shell.items import Simple
from indwell.policy.shell.words import STAR, Word

_CMD = lazy_pattern(r"[\w \t./\\:*?~-]*")
_EXPANDED = lazy_pattern(r"^[@~]|[*?\[{'`]")
_FINDS = lazy_pattern(r"[/-](?:[beilmnoprvx]+|c:.*)", re.IGNORECASE | re.DOTALL)
_CMD_READS = frozenset(["cd", "dir", "echo", "type", "ver", "vol"])
_CMD_WRITES = frozenset(["copy", "md", "mkdir", "mklink", "move", "ren", "rename", "xcopy"])
_CMD_REMOVES = frozenset(["del", "erase", "rd", "rmdir"])


def use_in_powershell(words: tuple[Word, ...], one: Simple, grounds: Grounds) -> Use:
    """Return the effect of a PowerShell command.

    Args:
        words: The command's words; the first word is the full name.
        one: The simple command.
        grounds: The folders that paths are relative to.
    """
    first = words[0]
    if first.text.endswith("()") and first.text.startswith((".", "[")):
        return use_of_method(first.text[:-2].lower(), words[1:], one.folders)
    if not first.is_literal:
        return Use("unknown", "its command is known only at run time")
    if first.text == "." and not all(word.is_literal for word in words[1:2]):
        return Use("unknown", "runs a script that is known only at run time")
    if first.text == ".":
        return working("runs a script in the same shell")
    known = tables().cmdlets.get(first.text)
    if known is None:
        if CMDLET_NAME.fullmatch(first.text):
            return Use("unknown", f"{first.text!r} is not a cmdlet that is known")
        return _program(words, one, grounds)
    use = use_of_cmdlet(first.text, known, words[1:], one)
    is_by_module = "\\" in first.source and use.kind == "reads"
    if is_by_module:
        return Use("unknown", f"{first.source!r} may be a script of that name")
    return use


def _program(words: tuple[Word, ...], one: Simple, grounds: Grounds) -> Use:
    """Return the effect of a program that PowerShell starts."""
    name = words[0].text
    lower = effects.base_name(words[0]).lower()
    short = re.sub(r"\.(?:exe|com|cmd|bat)$", "", lower)
    if short in {"powershell", "pwsh", "cmd"}:
        use = _cmd(words[1:]) if short == "cmd" else _powershell(words)
        if "/" in name and use.kind == "reads":
            return _unsure(use, f"{name!r} may be another program of that name")
        return use
    if short in effects.SHELLS | {"wsl", "wscript", "cscript", "mshta"}:
        return Use("unknown", f"{short!r} runs a text or a script in another shell")
    if "/" in name:
        if any(grounds.is_inside(path) for path in grounds.paths(name, ("",))):
            return working(f"runs a program of the workspace, {name!r}")
        return Use("unknown", f"runs the program {name!r}, which is not known")
    if known := _of_windows(short, words):
        return known
    use = effects.use_of(words, one, grounds)
    if use.kind == "reads" and _expands_itself(short, words):
        return _unsure(use, f"{short!r} may expand wildcards and quotes by itself")
    if not all(word.is_known for word in words[1:]):
        return msgspec.structs.replace(use, takes_any=False)
    return use


def _unsure(use: Use, reason: str) -> Use:
    return msgspec.structs.replace(use, kind="unknown", reason=reason)


def _expands_itself(name: str, words: Words) -> bool:
    """Return whether a program could split a word again, like the programs of Git's bash."""
    if name == "jq":
        return any(re.search(r"[*?]", word.text) for word in words[2:])
    is_exact = name in tables().lists["exact programs"]
    return not is_exact and any(_EXPANDED.search(one) for w in words[1:] for one in w.options)


def _of_windows(name: str, words: tuple[Word, ...]) -> Use | None:
    """Return the effect of a Windows program, or None for a program that all systems have."""
    lists = tables().lists
    if name in lists["told programs"]:
        return Use("unknown", f"{name!r} shows other data of this machine")
    if name in lists["privileged programs"]:
        return Use("privileged", f"{name!r} reaches beyond the workspace")
    if name in lists["deleting programs"]:
        return Use("destroys", f"{name!r} can remove files", writes=tuple(words[1:]))
    if name in lists["text programs"] and len(words) == 1:
        return Use("reads")
    if name == "findstr" and all(word.is_known for word in words):
        options = [word.text for word in words[1:] if word.text.startswith(("/", "-"))]
        if not all(map(_FINDS.fullmatch, options)):
            return Use("unknown", "'findstr' with such options reads more than it names")
        begin = 1 if any(one[1:3].lower() == "c:" for one in options) else 2
        rest = (word for word in words[begin:] if not word.text.startswith(("/", "-")))
        return Use("reads", reads=tuple(_expanded(word.source, word.text) for word in rest))
    if name == "where" and all(re.fullmatch(r"[\w.+-]+", word.text) for word in words[1:]):
        return Use("reads")
    if (
        name in lists["other programs"]
    ):  # On other systems, a program of this name does something else.
        return Use("unknown", f"{name!r} is not a program that is known")
    return None


def _powershell(words: tuple[Word, ...]) -> Use:
    """Return the effect of another PowerShell; its text may lose its quotes on the way."""
    use = _other_powershell(words)
    if any('"' in text or text.endswith("\\") for text in use.texts):
        texts = tuple(text.replace('"', "") for text in use.texts)
        return Use(
            "unknown", "runs a text that versions of PowerShell quote differently", texts=texts
        )
    return use


def _other_powershell(words: tuple[Word, ...]) -> Use:
    """Return the effect of another PowerShell; a known text or script is judged, too."""
    rest = list(words[1:])
    while rest and rest[0].is_literal:
        option = rest.pop(0)
        name = option.text.lower().lstrip("-/")
        if not option.text.startswith(("-", "/")):
            if option.text.lower().endswith(".ps1"):
                return Use("writes", "runs a script", reads=(option,), is_work=True)
            return _text_of([option, *rest])
        if name and "command".startswith(name):
            return _text_of(rest)
        if name in {"e", "ec"} or (name and "encodedcommand".startswith(name)):
            text = _decoded(rest[0].text) if rest and rest[0].is_literal else ""
            return Use("reads", texts=(text,), takes_any=True) if text else _HIDDEN
        if name and "file".startswith(name):
            return Use("writes", "runs a script", reads=tuple(rest[:1]), is_work=True)
        if name in {"wd", "v"} or (name and any(one.startswith(name) for one in _ELSEWHERE)):
            use = _other_powershell((words[0], *rest[1:]))
            return _unsure(use, "runs a text in another folder or version of PowerShell")
        if name and any(one.startswith(name) for one in _POWERSHELL_VALUES) and name != "i":
            rest = rest[1:]
        elif not name or not any(one.startswith(name) for one in _POWERSHELL_SWITCHES):
            return _UNTOLD
    return _UNTOLD


def _text_of(words: Words) -> Use:
    """Return the effect of a PowerShell that runs these words as its text."""
    if not words or not all(word.is_literal for word in words):
        return _UNTOLD
    return Use("reads", texts=(" ".join(word.text for word in words),), takes_any=True)


_UNTOLD = Use("unknown", "runs code known only at run time in another PowerShell")
_HIDDEN = Use("unknown", "runs an encoded text that cannot be read")
_POWERSHELL_VALUES = ("outputformat", "inputformat", "windowstyle")
_ELSEWHERE = ("version", "workingdirectory")
_POWERSHELL_SWITCHES = ("nologo", "noprofile", "noninteractive", "sta", "mta", "noexit")


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode("utf-16-le")
    except (binascii.Error, ValueError):
        return ""


def _expanded(source: str, text: str) -> Word:
    """Return a path in which the program itself expands wildcards."""
    return Word(source, (re.sub(r"[*?]", STAR, text),))


def _cmd(words: Words) -> Use:
    """Return the effect of ``cmd /c``, if its text is one plain command."""
    texts = [word.text for word in words]
    while texts and re.fullmatch(r"/[a-bd-jl-z]\S*", texts[0].lower()):
        texts.pop(0)
    text = " ".join(texts[1:]).strip()
    unknown = Use("unknown", "'cmd' runs a text that Indwell does not analyse")
    if not texts or texts[0].lower() not in {"/c", "/k"} or not all(w.is_known for w in words):
        removes = re.search(r"(?<!\w)(?:del|erase|rd|rmdir|format)\b", " ".join(texts).lower())
        return Use("destroys", "'cmd' may remove files") if removes else unknown
    first, _, behind = text.partition(" ")
    operands = tuple(_expanded(one, one) for one in behind.split() if not one.startswith("/"))
    name = first.lower()
    if re.search(r"(?:^|[\s&|(])(?:del|erase|rd|rmdir|format)\b", text.lower()):
        return Use("destroys", f"'cmd {name}' removes files", writes=operands)
    if not _CMD.fullmatch(text) or not all(
        re.fullmatch(r"/[a-z][a-z:-]*", one) for one in behind.lower().split() if one[0] == "/"
    ):
        return unknown
    if name in _CMD_READS and (name not in {"cd", "echo"} or not operands):
        return Use("reads", reads=operands, is_here=not operands)
    if name in _CMD_WRITES:
        return writing(f"'cmd {name}' changes files", *operands)
    return unknown
