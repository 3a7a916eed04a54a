"""The effects of running a program: change files, use the network, delete, run other programs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.commands.git import git
from indwell.policy.commands.path_rules import TEMPORARY, Grounds
from indwell.policy.commands.programs import LISTS, TABLES
from indwell.policy.commands.readers import reading
from indwell.policy.commands.verdict import Use, hosts_of, working, writing
from indwell.policy.paths import is_beneath
from indwell.policy.rules import ANY_HOST
from indwell.policy.shell.items import ParsedOptions, Simple, UnknownOption, given, names
from indwell.policy.shell.words import UNKNOWN, Word

SHELLS = frozenset(["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish"])
_WRAPPERS = TABLES.wrappers
QUIET = frozenset(
    ["command", "nohup", "nice", "ionice", "timeout", "stdbuf", "time", "xargs", "env"]
)
"""Wrappers that do nothing besides running a command."""
_ASSIGNED = lazy_pattern(r"\w+\+?=")


def program_name(word: Word) -> str:
    """Return the name of a well-known program, or empty for an unknown or a workspace program."""
    if not word.is_literal:
        return ""
    folder, _, name = word.text.rpartition("/")
    if folder and posixpath.normpath(folder) not in {"/bin", "/usr/bin", "/usr/local/bin"}:
        return ""
    return name if "/" not in word.text or word.text.startswith("/") else ""


def base_name(word: Word) -> str:
    """Return the last part of a program's path."""
    return posixpath.basename(word.text)


def unwrapped(words: Sequence[Word]) -> tuple[Word, ...] | None:
    """Return the command inside a wrapper: empty for a wrapper alone, None if not a wrapper.

    Raises:
        UnknownOption: The wrapper has an unknown option.
    """
    if not words:
        return None
    name = base_name(words[0])
    if name not in _WRAPPERS:
        return None
    known = _WRAPPERS[name]
    behind = list(words[1:])
    if name == "command" and behind and behind[0].text in {"-v", "-V"}:
        return None
    inner = list(given(behind, known, permutes=False).operands)
    if name in {"env", "sudo", "doas"}:
        while inner and _ASSIGNED.match(inner[0].text):
            inner.pop(0)
    return tuple(inner[known.n_before :])


def sets_variables(words: Sequence[Word]) -> bool:
    """Return whether ``env`` sets variables for its command."""
    return base_name(words[0]) == "env" and any(_ASSIGNED.match(word.text) for word in words[1:])


def fed_by_xargs(words: Sequence[Word], inner: Sequence[Word]) -> tuple[Word, ...]:
    """Return the command of ``xargs``, with placeholders for the words from its input."""
    places = [one for one in _given_to_xargs(words).values("-I") if one]
    fed = [
        Word(word.source, tuple(_with_marks(one, places) for one in word.options), word.splits)
        for word in inner
    ]
    return (*fed, Word("…", (UNKNOWN,), splits=True))


def _given_to_xargs(words: Sequence[Word]) -> ParsedOptions:
    return given(words[1:], _WRAPPERS["xargs"], permutes=False)


def _with_marks(text: str, places: Sequence[str]) -> str:
    for place in places:
        text = text.replace(place, UNKNOWN)
    return text


def loosely_unwrapped(words: Sequence[Word]) -> list[tuple[Word, ...]]:
    """Return all commands that a wrapper may run, to check each against the deny patterns."""
    name = base_name(words[0]) if words else ""
    if name not in _WRAPPERS and not words[0].could_be_option:
        return []
    return [tuple(words[at:]) for at in range(1, min(len(words), 24))]


def shell_text(words: Sequence[Word]) -> Word | None:
    """Return the text that a shell receives by ``-c``."""
    if not words or base_name(words[0]).lower() not in SHELLS | {"su", "script"}:
        return None
    for at, word in enumerate(words[1:-1], start=1):
        if re.fullmatch(r"-[a-zA-Z]*c|--command", word.text):
            return words[at + 1]
    return None


def use_of(words: tuple[Word, ...], one: Simple, grounds: Grounds) -> Use:
    """Return the effect of a command.

    Args:
        words: The words of the command; for the command in a wrapper, only a part of ``one``'s
            words.
        one: The simple command.
        grounds: The folders that paths are relative to.
    """
    name = program_name(words[0])
    lower = base_name(words[0]).lower()
    text = shell_text(words)
    if text is not None and lower in SHELLS:
        if not text.is_literal:
            return Use("unknown", "runs a text that is known only at run time")
        return working("runs a text in another shell", text.text)
    if lower in SHELLS:
        return _shell(words, one)
    if name == "eval":
        if all(word.is_literal for word in words[1:]):
            return working("'eval' runs its words", " ".join(word.text for word in words[1:]))
        return Use("unknown", "'eval' runs a text that is known only at run time")
    try:
        inner = unwrapped(words)
    except UnknownOption as error:
        return Use(
            "unknown", f"{lower!r} runs another program, and its option {str(error)!r} is not known"
        )
    if not name:  # A workspace program may have any name, and its arguments may be paths as well.
        own = _of_folder(words, grounds)
        return msgspec.structs.replace(own, inner=(inner,)) if inner else own
    if inner is not None:
        return _wrapped(name, words, inner)
    if name == "git":
        return git(words[1:])
    return reading(name, words[1:]) or doing(name, words[1:])


def _shell(words: tuple[Word, ...], one: Simple) -> Use:
    """Return the effect of a shell that runs a file or runs its input."""
    operands = [word for word in words[1:] if not word.text.startswith("-")]
    if operands:
        return Use("writes", "runs a script", reads=tuple(operands[:1]), is_work=True)
    if one.input:
        return working("runs its input", *one.input)
    return Use("unknown", "runs its input")


def _wrapped(name: str, words: tuple[Word, ...], inner: tuple[Word, ...]) -> Use:
    if not inner:
        quiet = name in {"env", "nice"} or (name == "xargs" and all(w.is_literal for w in words))
        return Use("reads" if quiet else "unknown", f"{name!r} runs no visible program")
    if name in {"sudo", "doas"}:
        return Use("privileged", f"{name!r} runs it with all rights", inner=(inner,))
    if name == "npx":  # `npx` runs a package of any name.
        return Use("network", "'npx' may load a program from the network", hosts=(ANY_HOST,))
    if name == "xargs":
        files = tuple(Word(one, (one,)) for one in _given_to_xargs(words).values("-a"))
        return Use("reads", reads=files, inner=(fed_by_xargs(words, inner),))
    if name in QUIET and not sets_variables(words):
        return Use("reads", inner=(inner,))
    reason = f"{name!r} changes how a program runs"
    return Use("writes", reason, inner=(inner,), is_work=True)


def _of_folder(words: tuple[Word, ...], grounds: Grounds) -> Use:
    """Return the effect of a program with a path, or with a name known only at run time."""
    first = words[0]
    if not first.is_literal or not first.text:
        return Use("unknown", "its program is known only at run time")
    if "/" in first.text and any(
        grounds.is_inside(path) or is_beneath(path, TEMPORARY)
        for path in grounds.paths(first.text, ("",))
    ):
        return working(f"runs a program of the workspace, {first.text!r}")
    return Use("unknown", f"runs the program {first.text!r}, which is not known")


Words = Sequence[Word]


_WORKERS = LISTS["workers"]


_FILERS = LISTS["filers"]
"""Programs that write to the files that their arguments name."""


_NO_TARGETS = LISTS["filers without targets"]


_LOADERS = LISTS["loaders"]


_UNBOUND = LISTS["unbound"]
"""Programs that need sockets, keys or rights with which they reach other machines, or all of this
one.
"""


_REMOVERS = LISTS["removers"]


_PRIVILEGED = LISTS["privileged"]


_STATEFUL = LISTS["stateful"]


_HARMLESS_STATE = LISTS["harmless state"]


_INSTALLS = lazy_pattern(
    r"(?:install|i|ci|add|update|upgrade|up|publish|login|logout|adduser|audit|outdated|view|info"
    r"|search|deprecate|unpublish|dist-tag|owner|pack|link|exec|x|dlx|create|init|get|mod|fetch|sync"
    r"|lock|push|pull|release|deploy|remove|uninstall|un|rm|import|export|self|tool|vendor|yank"
    r"|restore|workload|nuget|require|plan|apply|destroy|dedupe|star|token|team|access|hook|doctor"
    r"|fund|ping|prune|repo|docs|bugs|explore|org|profile|whoami|down|refresh|download)"
)


_CHANGES = lazy_pattern(
    r"--(?:in-?place|write|overwrite|fix|apply|update-?snapshots?)(?:[=-].*)?|-w|-i|-i\..*"
    r"|clean|distclean|fmt|format|fix|tidy|new|generate|install(?:[-:].*)?|uninstall|version|prune"
)


_FED = lazy_pattern(r"<\(|/dev/(?:stdin|fd)|/proc/(?:self|\d+)/fd|-$")


_FORMATTERS = LISTS["formatters"]


_NODE = names("npm yarn pnpm bun")


_REWRITES = LISTS["rewriting"]
"""Subcommands that write ``package.json``, which is protected."""


_INSTALLING = names("install i add link dedupe")
"""Subcommands that write ``package.json`` only if they name a package; if not, they install the
listed packages.
"""


_INSTALLERS = LISTS["installers"]
"""Programs that install other programs into the workspace, if the user approves. …"""


_PLACING = LISTS["placing"]
"""The subcommands with which a program installs others, if the program has other uses, too."""


_RELINKING = frozenset([("npm", "rebuild"), ("npm", "rb"), ("pnpm", "rebuild"), ("uv", "venv")])


_MANAGERS = LISTS["managers"]


def doing(name: str, words: Words) -> Use:  # noqa: C901 - a table of early answers
    """Return the effect of a program that does more than read."""
    texts = [word.text for word in words]
    first = next((text for text in texts if not text.startswith(("-", "+"))), "")
    if name in _HARMLESS_STATE and all(word.is_literal for word in words):
        return Use("reads", takes_any=True)
    if found := _stateful(name, words) if name in _STATEFUL else _spared(name, words, texts):
        return found
    if name in _REMOVERS:
        removed = tuple(word for word in words if not re.match(r"-\w", word.text))
        return Use("destroys", f"{name!r} removes or empties files", writes=removed)
    if name in _PRIVILEGED or name.startswith("mkfs"):
        return Use("privileged", f"{name!r} reaches beyond the workspace")
    if name in _UNBOUND:
        return Use("privileged", f"{name!r} needs sockets, keys or rights that no sandbox gives")
    if name in _LOADERS:
        hosts = hosts_of(name, words)
        installs = name in _INSTALLERS
        return Use("network", f"{name!r} needs the network", hosts=hosts, installs=installs)
    if name in _MANAGERS and (_INSTALLS.fullmatch(first) or not texts or _needs_net(name, texts)):
        if name == "go" and first == "mod" and {"verify", "graph", "why", "edit"} & set(texts):
            return writing("'go mod' may change the module")
        reason = f"'{name} {first}' may reach the network"
        others = [text for text in texts if not text.startswith("-") and text != first]
        rewrites = name in _NODE and first in _REWRITES and (first not in _INSTALLING or others)
        installs = name in _INSTALLERS and (not first or first in _PLACING or "pip" in texts)
        return Use(
            *("network", reason), hosts=(ANY_HOST,), takes_up=bool(rewrites), installs=installs
        )
    if _is_python(name) and _module(texts) in {"pip", "ensurepip", "venv"}:
        return Use("network", "installs from the network", hosts=(ANY_HOST,), installs=True)
    if name in _FILERS:
        return _files(name, words)
    if name in _WORKERS or _is_python(name):
        reason = f"{name!r} can change files and run the workspace's programs"
        return writing(reason) if _is_to_change(name, texts) else working(reason)
    return Use("unknown", f"{name!r} is not a program that is known")


def _spared(name: str, words: Words, texts: Sequence[str]) -> Use | None:
    """Return the effect of a program that does less or more than the table says, or None."""
    if name == "kill" and words and all(re.fullmatch(r"%\d*|\$!", w.source) for w in words):
        return working("ends processes that it started")
    is_query = name == "dpkg" and texts[:1] and texts[0] in {"-l", "-L", "-s", "-S"}
    if is_query and not any(word.could_be_option for word in words[1:]):
        return Use("reads")
    first = next((text for text in texts if not text.startswith("-")), "")
    if (name, first) in _RELINKING:
        reason = f"'{name} {first}' installs programs that editors and shells start"
        return Use("network", reason, installs=True)
    if name in _NODE and first == "version":
        return Use("writes", f"'{name} version' changes files", takes_up=True)
    if name == "bundle" and texts[:1] == ["exec"] and texts[1:]:
        return msgspec.structs.replace(
            working("runs a program of the workspace's bundle"), inner=(tuple(words[1:]),)
        )
    return None


def _is_to_change(name: str, texts: Sequence[str]) -> bool:
    """Return whether the program's purpose is to change the workspace."""
    if any(_CHANGES.fullmatch(text) for text in texts):
        return True
    if name in {"perl", "ruby"}:
        return any(re.match(r"-[^-]*i", text) for text in texts)
    looks = any(text.startswith(("--check", "--diff", "-check", "--list")) for text in texts)
    return name in _FORMATTERS and not looks


def _stateful(name: str, words: Words) -> Use:
    if name in {"pushd", "popd", "dirs"}:
        return Use("reads", reads=tuple(words))
    if name in {"ulimit", "umask"} and all(re.fullmatch(r"-[aS]", one.source) for one in words):
        return Use("reads")
    reason = f"{name!r} changes how the shell runs the following commands"
    if name in {"source", "."}:
        if not words or any(
            _FED.match(text) for word in words for text in (word.source, *word.options)
        ):
            return Use("unknown", "runs its input and not a file")
        return working("runs a script in the same shell")
    if name in {"read", "mapfile", "readarray"} and all(
        re.fullmatch(r"-r|\w+", word.source) for word in words
    ):
        return working("'read' sets variables")
    if name == "set" and all(
        re.fullmatch(r"[-+][euxo]+|pipefail|errexit|nounset", w.source) for w in words
    ):
        return working(reason)
    if name == "export" and all(re.match(r"\w+(?:=|$)", word.source) for word in words):
        return working(reason)
    return Use("unknown", reason)


def _needs_net(name: str, texts: Sequence[str]) -> bool:
    if name == "go":
        return any(re.search(r"@(?:latest|v\d|master|main)", text) for text in texts)
    return False


def _is_python(name: str) -> bool:
    return re.fullmatch(r"python[\d.]*|pypy3?", name) is not None


def _module(texts: Sequence[str]) -> str:
    """Return the module that ``python -m`` runs."""
    for at, text in enumerate(texts[:-1]):
        if re.fullmatch(r"-[a-zA-Z]*m", text):
            return texts[at + 1]
    return next((text[2:] for text in texts if re.match(r"-m\w", text)), "")


def _files(name: str, words: Words) -> Use:
    operands = tuple(word for word in words if not word.text.startswith("-"))
    reason = f"{name!r} changes files"
    if name == "chmod":
        if any(
            re.fullmatch(r"[ugoa]*\+[rwxX]*[sS][rwxX]*|[4-7]\d{3}", word.text) for word in operands
        ):
            return Use("privileged", "'chmod' gives a program more rights")
        return writing(reason, *operands[1:])
    if name in {"cp", "mv", "ln", "install"}:
        targets = _directories(words) or operands[-1:]
        sources = tuple(word for word in operands if word not in targets)
        if name == "cp" and any(word.text == "/dev/null" for word in sources):
            return Use("destroys", "'cp' from '/dev/null' empties files", writes=targets)
        if name == "mv":
            return Use("writes", reason, writes=(*targets, *sources), moves_to=targets)
        return Use("writes", reason, reads=sources, writes=targets)
    if name in {"tar", "unzip", "zip", "cpio", "7z", *_NO_TARGETS}:
        return Use("writes", reason, reads=operands)
    return writing(reason, *operands)


_INTO = lazy_pattern(r"-[a-su-zA-RT-Z]*t(.*)|--t[a-z-]*(?:=(.*))?$", re.DOTALL)
"""Matches ``-t FOLDER``, even after other letters, and ``--target-directory``, even abbreviated."""


def _directories(words: Words) -> tuple[Word, ...]:
    """Return the folder after ``-t``."""
    found: list[Word] = []
    for at, word in enumerate(words):
        if at_option := _INTO.match(word.text):
            value = at_option[1] or at_option[2]
            found += [Word(value, (value,))] if value else words[at + 1 : at + 2]
    return tuple(found)
