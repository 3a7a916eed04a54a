"""Recognises destructive commands, which neither an answer nor a mode permits (H49).

This module is only the last defence after permissions and sandbox: a command can be spelled so that
no parser recognises it. The module catches mistakes of a model or a person in any ordinary
spelling: quotes, wrappers such as ``sudo``, lists, pipes, functions, substitutions, ``bash -c``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from indwell.files.spelling import HERE, is_absolute, slashed
from indwell.lazy_pattern import lazy_pattern
from indwell.policy.shell.parse import bash_parser
from indwell.policy.shell.words import (
    HOME,
    UNKNOWN,
    Effort,
    Tangled,
    Variables,
    folder,
    program_of,
    words_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_NESTED = 4  # At most 4 texts are nested, as in `bash -c "eval …"`.
_PARSING = 6  # Each character of a word costs 6 units of effort.
_START = 12  # Starting a text costs 12 units of effort.
_SHELLS = frozenset(["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish"])
_LOADERS = frozenset(["curl", "wget", "aria2c", "http", "https", "xh"])
_SUBSTITUTIONS = frozenset(["command_substitution", "process_substitution"])
_OWN_FOLDER = _SUBSTITUTIONS | {
    "subshell",
    "pipeline",
}  # The effect of `cd` ends with these constructs.
_UNSEEN = "runs a script from the network that nobody has checked"
_WRITES = frozenset([">", ">>", ">|", "&>", "&>>", "<>"])


_QUOTES = lazy_pattern(r"\\\n|[\\'\"]")
_HINT = lazy_pattern(
    r"(?<![\w.])(?:rm|chmod|mkfs|mke2fs|mkswap|newfs)(?![\w/])|-delete\b"
    r"|/dev/(?!null\b|std|tty\b|fd/)[a-z]"
)
_LOADER_HINT = lazy_pattern(r"\b(?:curl|wget|aria2c|https?|xh)\b(?!:)")
_SHELL_HINT = lazy_pattern(r"sh\b|\bsource\b|\beval\b|(?:^|[\s;&|(])\.\s")
_FUNCTION_HINT = lazy_pattern(r"\(\s*\)\s*[{(]|\bfunction\b")


def why_dangerous(command: str) -> str:
    """Describe what a command would destroy, for the model, or return an empty text."""
    try:
        return _judge_text(command, _NESTED, Effort())
    except Tangled:
        return "is too complex to be understood"


def _has_hint(command: str) -> bool:
    """Return whether the text could be dangerous; for most texts, this check needs no parsing."""
    text = _QUOTES.sub("", command)
    return (
        "$'" in command
        or _HINT.search(text) is not None
        or bool(_LOADER_HINT.search(text) and _SHELL_HINT.search(text))
        or bool(_FUNCTION_HINT.search(text) and ("|" in text or "&" in text))
    )


def _judge_text(command: str, depth: int, effort: Effort) -> str:
    if not depth or not _has_hint(command):
        return ""
    if depth < _NESTED:
        effort.spend(_PARSING * (len(command) + _START))
    root = bash_parser().parse(command.encode("utf-8", "replace")).root_node
    return _DangerReader(root, depth, effort).judge()


class _DangerReader:
    """Reads one shell text from its beginning to its end.

    Args:
        root: The syntax tree.
        depth: Number of nested texts that may still be read.
        effort: The remaining units of effort for the whole command.
    """

    def __init__(self, root: Node, depth: int, effort: Effort) -> None:
        self._root = root
        self._depth = depth
        self._effort = effort
        self._variables = Variables(effort)
        self._cwd = ""  # The current folder is empty if unknown.
        # The keys are ids of the nodes that the redirects belong to.
        self._redirects: dict[int, list[Node]] = {}
        self._for_one: set[int] = set()  # These assignments apply to one command only.
        self._loads: set[int] = set()  # These nodes contain a command that downloads.
        # These nodes contain a shell that reads its script from its input.
        self._obeys: set[int] = set()
        self._survey()

    def judge(self) -> str:
        """Return the reason why the text is dangerous, or an empty text for a harmless text."""
        pending: list[Node | str] = [self._root]  # A text in this list is the folder to return to.
        while pending:
            node = pending.pop()
            if isinstance(node, str):
                self._cwd = node
                continue
            if why := self._judge_node(node):
                return why
            if node.type in _OWN_FOLDER:
                pending.append(self._cwd)
            pending.extend(reversed(node.named_children))
        return ""

    def _survey(self) -> None:
        """Compute in advance, for each node, the parent and the commands in the node."""
        order = [(self._root, self._root)]
        for node, _ in order:  # Parents come before their children.
            order.extend((child, node) for child in node.named_children)
            if node.type == "redirected_statement":
                body = node.child_by_field_name("body")
                if body is not None:
                    self._redirects[body.id] = node.children_by_field_name("redirect")
            elif node.type == "command":
                self._for_one.update(
                    one.id for one in node.named_children if one.type == "variable_assignment"
                )
        for node, parent in reversed(order):
            words = self._program(node) if node.type == "command" else []
            for found, is_here in (
                (self._loads, bool(words) and words[0] in _LOADERS),
                (self._obeys, _reads_script(words)),
            ):
                if is_here or node.id in found:
                    found |= {node.id, parent.id}

    def _judge_node(self, node: Node) -> str:
        match node.type:
            case "command":
                return self._judge_command(node)
            case "variable_assignment" if node.id not in self._for_one:
                self._assign(node)
            case "file_redirect":
                return self._judge_redirect(node)
            case "pipeline":
                return self._judge_pipeline(node)
            case "function_definition" if _is_bomb(node):
                return "defines a function that starts itself twice, without end (a fork bomb)"
        return ""

    def _judge_command(self, node: Node) -> str:
        words = self._program(node)
        if not words:
            return ""
        name, *rest = words
        if name in {"cd", "pushd"}:
            self._cwd = next((one for one in rest if not one.startswith("-")), HOME)
            if not (is_absolute(slashed(self._cwd)) or self._cwd.startswith(HOME)):
                self._cwd = ""
        if why := destroys(words, self._cwd):
            return why
        is_shell = name in _SHELLS or name in {"source", ".", "eval"}
        if is_shell and self._is_fed_by_loader(node, words):
            return _UNSEEN
        texts = self._inner(node, words)
        return next(filter(None, map(self._judge_inner, texts)), "")

    def _judge_inner(self, text: str) -> str:
        return _judge_text(text, self._depth - 1, self._effort)

    def _inner(self, node: Node, words: list[str]) -> list[str]:
        """Return the texts that a command hands to a shell."""
        name, *rest = words
        if name == "eval":
            return [" ".join(rest)]
        if name == "trap":
            return rest[:1]
        texts = []
        if name in _SHELLS | {"su", "runuser", "script"}:
            texts = [text for option, text in pairwise(rest) if _takes_text(option)]
        is_piped = any(one.id in self._obeys for one in self._around(node))
        if name in _SHELLS or (is_piped and name == "cat"):
            texts += self._fed(node)
        return texts

    def _judge_redirect(self, node: Node) -> str:
        if not any(child.type in _WRITES for child in node.children):
            return ""
        # Only the first word is the destination; further words belong to the command.
        for target in node.children_by_field_name("destination")[:1]:
            for word in words_of(target, self._variables):
                if is_device(word):
                    return f"writes over the device {word!r}"
        return ""

    def _judge_pipeline(self, node: Node) -> str:
        is_loaded, said = False, ""
        for stage in node.named_children:
            if stage.id in self._obeys:
                if is_loaded:
                    return _UNSEEN
                if why := self._judge_inner(said):
                    return why
                said = ""  # The next shell reads the output of this shell.
            elif stage.type == "command":
                words = self._program(stage)
                if words and words[0] in {"echo", "printf"}:
                    said = " ".join(words[1:])
            is_loaded |= stage.id in self._loads
        return ""

    def _program(self, node: Node) -> list[str]:
        """Return a command's words without wrappers, including the words after a redirect."""
        words: list[str] = []
        for child in node.named_children:
            if child.type not in {"variable_assignment", "file_redirect", "herestring_redirect"}:
                words += words_of(child, self._variables)
        for redirect in self._around(node):
            for behind in redirect.children_by_field_name("destination")[1:]:
                words += words_of(behind, self._variables)
            for behind in redirect.children_by_field_name("argument"):
                words += words_of(behind, self._variables)
        return program_of(words)

    def _around(self, node: Node) -> list[Node]:
        return self._redirects.get(node.id, [])

    def _is_fed_by_loader(self, node: Node, words: list[str]) -> bool:
        """Return whether a shell runs a downloader's output, by a substitution or by its input."""
        is_text = words[0] in {"source", ".", "eval"} or any(map(_takes_text, words[1:]))
        return any(
            one.id in self._loads
            and (
                one.type == "process_substitution"
                or (
                    one.type == "command_substitution"
                    and (is_text or part.type == "herestring_redirect")
                )
            )
            for part in [*node.named_children, *self._around(node)]
            for one in _beneath(part, _SUBSTITUTIONS)
        )

    def _fed(self, node: Node) -> Iterator[str]:
        """Return the text that a here-document or here-string gives to a command."""
        for redirect in [*node.named_children, *self._around(node)]:
            if redirect.type == "herestring_redirect":
                for child in redirect.named_children:
                    yield from words_of(child, self._variables)
            for body in redirect.named_children if redirect.type == "heredoc_redirect" else ():
                if body.type == "heredoc_body":
                    yield (body.text or b"").decode("utf-8", "replace")

    def _assign(self, node: Node) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None:
            words = words_of(value, self._variables) if value is not None else [""]
            self._variables.assign(
                (name.text or b"").decode("utf-8", "replace"),
                words[0] if len(words) == 1 else UNKNOWN,
            )


def _beneath(node: Node, no_deeper: frozenset[str]) -> Iterator[Node]:
    """Return a node and its descendants in source order, but nothing inside ``closed`` kinds."""
    pending = [node]
    while pending:
        one = pending.pop()
        yield one
        if one.type not in no_deeper:
            pending.extend(reversed(one.named_children))


def _takes_text(option: str) -> bool:
    """Return whether the word is a shell's option before a shell text: ``-c``, ``-lc``, ``-ec``."""
    return bool(re.fullmatch(r"-[a-zA-Z]*c|--command", option))


def _reads_script(words: list[str]) -> bool:
    """Return whether the command is a shell that runs its input."""
    if not words or words[0] not in _SHELLS:
        return False
    if "-s" in words[1:] or not words[1:]:
        return True
    return not any(map(_takes_text, words[1:])) and all(
        word.startswith("-") or word == "/dev/stdin" for word in words[1:]
    )


def _is_bomb(node: Node) -> bool:
    """Return whether a function starts only itself, more than once and in parallel."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None or body is None:
        return False
    inner = list(_beneath(body, frozenset(["function_definition"])))
    # These calls of the function have no arguments.
    own = [one for one in inner if one.type == "command" and one.text == name.text]
    beside = any(child.type in {"|", "|&", "&"} for one in inner for child in one.children)
    return len(own) > 1 and beside


_TOP = frozenset(
    [
        *("bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "opt", "proc", "root"),
        *("run", "sbin", "srv", "sys", "usr", "var", "nix", "snap"),
        *("Applications", "Library", "System", "Users", "Volumes", "private"),
        *("Windows", "Program Files", "Program Files (x86)", "ProgramData"),
    ]
)
"""Folders directly below the root that contain the system or users' work; not ``/tmp``."""

_SECOND = lazy_pattern(r"/(?:home|Users)/[^/]+|/usr/(?:bin|lib|lib64|libexec|local|sbin|share)")
_DEVICE = lazy_pattern(
    r"/dev/(?:[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|r?disk\d|md\d|dm-\d|loop\d|sr\d|nbd\d|rbd\d"
    r"|zram\d|ram\d|mapper/|disk/)"
)
_ALL_RIGHTS = lazy_pattern(r"[0-7]?777|(?:a|ugo)?[+=](?:rwx|rwX|wrx|xrw)")
_FILTERS_NOTHING = lazy_pattern(
    r"-(?:delete|depth|xdev|mount|mindepth|maxdepth|print0?|exec(?:dir)?)"
)


def is_device(path: str) -> bool:
    """Return whether the path is a disk or a partition."""
    return _DEVICE.match(path) is not None


def destroys(words: list[str], cwd: str) -> str:
    """Return the reason why a simple command destroys a system, or an empty text.

    Args:
        words: The program's name and its words.
        cwd: The folder in which the command runs, or empty if unknown.
    """
    name, *rest = words
    options, operands = _sorted(rest)
    if name == "rm":
        return _removes(options, operands, cwd)
    if name == "find":
        return _finds(rest, cwd)
    if name == "chmod":
        return _opens(options, operands, cwd)
    if re.fullmatch(r"mkfs(?:\..+)?|mke2fs|mkswap|newfs(?:_.+)?", name) and operands:
        return "makes a new file system over the existing data"
    if name == "dd":
        targets = [word[3:] for word in rest if word.startswith("of=")]
    elif name in {"tee", "shred", "wipefs", "blkdiscard", "sponge"}:
        targets = operands
    elif name in {"cp", "mv", "install"}:
        targets = operands[-1:]
    else:
        return ""
    target = next(filter(is_device, targets), "")
    return f"writes over the device {target!r}" if target else ""


def _sorted(words: list[str]) -> tuple[list[str], list[str]]:
    """Split options and operands, which may have any order until ``--``."""
    options: list[str] = []
    operands: list[str] = []
    for at, word in enumerate(words):
        if word == "--":
            return options, operands + words[at + 1 :]
        (options if word.startswith("-") and len(word) > 1 else operands).append(word)
    return options, operands


def _has(options: list[str], letters: str, name: str) -> bool:
    """Return whether a command gets an option: by letter, in a group, or by abbreviated name."""
    return any(
        name.startswith(one[2:]) and len(one) > 3  # noqa: PLR2004 - `--r` is a beginning
        if one.startswith("--")
        else any(letter in one for letter in letters)
        for one in options
    )


def _removes(options: list[str], operands: list[str], cwd: str) -> str:
    is_forced = _has(options, "f", "force")
    if not _has(options, "rR", "recursive"):
        return ""
    for one in operands:
        place = folder(one, cwd)
        if place in {"/", HOME} or (is_forced and is_top(place)):
            return f"removes {_shown(place)} with its whole content"
    return ""


def _finds(words: list[str], cwd: str) -> str:
    """Return the reason if ``find`` removes files without a condition, or an empty text."""
    at = next((at for at, word in enumerate(words) if word[:1] in {"-", "(", "!"}), len(words))
    starts, tests = words[:at], [word for word in words[at:] if re.match(r"-[a-z]", word)]
    runs = [
        words[index + 1] for index, word in enumerate(words[:-1]) if word in {"-exec", "-execdir"}
    ]
    if "-delete" not in tests and "rm" not in runs:
        return ""
    if not all(_FILTERS_NOTHING.fullmatch(one) or re.match("-[rRf]+$", one) for one in tests):
        return ""
    place = next(
        (p for p in (folder(one, cwd) for one in starts) if p in {"/", HOME} or is_top(p)), ""
    )
    return f"removes {_shown(place)} with its whole content" if place else ""


def _opens(options: list[str], operands: list[str], cwd: str) -> str:
    if not operands or not _ALL_RIGHTS.fullmatch(operands[0]):
        return ""
    is_deep = _has(options, "R", "recursive")
    for one in operands[1:]:
        place = folder(one, cwd)
        if place == "/" or (is_deep and (place == HOME or is_top(place))):
            return f"lets everybody write to {_shown(place)}"
    return ""


def is_top(place: str) -> bool:
    """Return whether the path is a folder of the system, or a user's home folder."""
    if HERE != "linux":  # The disk ignores case on these systems.
        place = next((f"/{one}" for one in _TOP if place.lower() == f"/{one}".lower()), place)
    return UNKNOWN not in place and (place[1:] in _TOP or bool(_SECOND.fullmatch(place)))


def _shown(place: str) -> str:
    return "your home folder" if place == HOME else repr(place)
