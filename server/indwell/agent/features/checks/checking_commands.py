"""Recognises checks among the agent's commands by their text, and the files that they cover. Pure.

A check is a program that looks for faults and reports by its exit status whether it found some:
    tests, type checkers, linters, builds. It counts only if the exit status of the whole text is
    its own: not before a pipe that hides it, nor before ``|| true`` or ``; echo done``.
"""

from __future__ import annotations

import pkgutil
import posixpath
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.shell.items import joined
from indwell.policy.shell.parse import bash_parser
from indwell.policy.shell.words import (
    HOME,
    STAR,
    UNKNOWN,
    Effort,
    Tangled,
    Variables,
    program_of,
    words_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

MOST = 10_000  # characters of a text that is parsed


class _Checker(msgspec.Struct, frozen=True):
    """A check: a program with certain first words, and the suffixes of the files it covers."""

    words: frozenset[str]
    suffixes: tuple[str, ...]


class _Tables(msgspec.Struct, frozen=True):
    suffixes: Mapping[str, tuple[str, ...]]
    always: Mapping[str, tuple[str, ...]]
    with_words: Mapping[str, _Checker]
    runners: Mapping[str, tuple[str, ...]]


_TABLES = msgspec.json.decode(
    pkgutil.get_data(__name__, "checking_commands.json") or b"", type=_Tables
)
_PYTHON, _SCRIPT, _STYLE, _ALL = (
    _TABLES.suffixes[name] for name in ("python", "script", "style", "all")
)
_ALWAYS = {one: _TABLES.suffixes[of] for of, some in _TABLES.always.items() for one in some}
"""Programs that are always checks."""
_TASK = lazy_pattern(r"(?:(?:type-?)?check|tests?|lint|build|ci|verify|compile|tsc)(?:[:._-].*)?")
_TEST_FILE = lazy_pattern(r"(?:test_[^/]*|[^/]*_test|tests?|runtests)\.py")

_TASKS = frozenset({"make", "gmake", "just", "task", "rake"})
_SCRIPTS = frozenset({"npm", "pnpm", "yarn", "bun"})

# Words that stop a check from checking, or from reporting a failure.
_NOT_CHECKING = frozenset(
    {
        *("--help", "--version", "-h", "-V", "--collect-only", "--co", "--list", "--list-tests"),
        *("--listTests", "--dry-run", "--exit-zero", "--exit-0", "--no-run", "--show-files"),
        *("--show-settings", "--showConfig", "--print-config", "--init", "--fixtures", "--watch"),
        *("-n", "--just-print", "--recon", "--question", "-i", "--ignore-errors", "-k"),
    }
)
_ONLY_OF_TASKS = frozenset({"-n", "--just-print", "--recon", "--question", "-i", "-k"})
"""Words that only task runners understand so."""

_UPSETTING = frozenset(
    {"trap", "alias", "eval", "source", ".", "enable", "hash", "return", "exit", "unset", "shopt"}
)
"""Builtins after which a name or an exit status may mean something else."""


class CheckPart(msgspec.Struct, frozen=True):
    """A check within a command.

    Attributes:
        name: Its text as the agent wrote it.
        folder: The folder in which it runs.
        suffixes: Suffixes of the files that it checks; empty for all.
    """

    name: str
    folder: Path
    suffixes: tuple[str, ...] = ()

    def is_about(self, path: Path) -> bool:
        """Does the check cover this file?"""
        is_kind = not self.suffixes or path.name.endswith(self.suffixes)
        return is_kind and path.is_relative_to(self.folder)


def checks_in(command: str, cwd: Path, declared: Sequence[str] = ()) -> tuple[CheckPart, ...]:
    """Return the checks that have passed if this command exits with code 0.

    Args:
        command: The shell text.
        cwd: The folder in which it runs.
        declared: Texts of commands that the project or its user declares as checks.
    """
    if len(command) > MOST:
        return ()
    tree = bash_parser().parse(command.encode("utf-8", "replace"))
    if tree.root_node.has_error:
        return ()
    reading = _CheckReader(cwd, frozenset(" ".join(one.split()) for one in declared))
    try:
        found = reading.all_of(tree.root_node.named_children)
    except (Tangled, RecursionError):
        return ()
    return () if reading.is_upset else tuple(dict.fromkeys(found))


class _CheckReader:
    """Interprets a text from its beginning to its end, as bash does.

    Attributes:
        is_upset: Whether something in it may change what a name or an exit status means.
    """

    def __init__(self, cwd: Path, declared: frozenset[str]) -> None:
        self.is_upset = False
        self._folder: Path | None = cwd
        self._declared = declared
        self._fails_in_pipes = False
        self._variables = Variables(Effort())

    def all_of(self, nodes: Sequence[Node]) -> list[CheckPart]:
        """Return the checks of consecutive statements, whose status is that of the last one."""
        found: list[CheckPart] = []
        for node in nodes:
            if node.type not in {"comment", "heredoc_body"}:
                found = self._of(node)
                behind = node.next_sibling
                if behind is not None and behind.type == "&":  # the shell does not wait for its end
                    found = []
        return found

    def _of(self, node: Node) -> list[CheckPart]:
        """Return the checks that have passed if this statement succeeds."""
        children = node.named_children
        match node.type:
            case "command":
                return self._of_command(node)
            case "list":
                found = [check for one in children for check in self._of(one)]
                return found if all(one.type != "||" for one in node.children) else []
            case "pipeline":
                each = [self._of(one) for one in children]
                counts = each if self._fails_in_pipes else each[-1:]
                return [check for one in counts for check in one]
            case "redirected_statement":
                body = node.child_by_field_name("body")
                return [] if body is None else self._of(body)
            case "compound_statement":
                return self.all_of(children)
            case "subshell":
                folder, pipes = self._folder, self._fails_in_pipes
                found = self.all_of(children)
                self._folder, self._fails_in_pipes = folder, pipes
                return found
            case "variable_assignment" | "variable_assignments" | "declaration_command":
                return []
            case "function_definition":
                self.is_upset = True
                return []
            case _:
                self._look_for_upsets(node)
                return []

    def _of_command(self, node: Node) -> list[CheckPart]:
        named = [one for one in node.named_children if one.type not in _BESIDE]
        words = [word for one in named for word in words_of(one, self._variables)]
        name, *rest = [*words, ""]
        if name in _UPSETTING or UNKNOWN in name:
            self.is_upset = True
        if name == "set":
            self._set(rest)
        if name in {"cd", "pushd", "popd"}:
            self._go(rest)
        if self._folder is None or not named:
            return []
        text = (node.text or b"")[named[0].start_byte - node.start_byte :].decode(
            "utf-8", "replace"
        )
        if " ".join(text.split()) in self._declared:
            return [CheckPart(text, self._folder)]
        suffixes = _suffixes(program_of(words))
        return [] if suffixes is None else [CheckPart(text, self._folder, suffixes)]

    def _set(self, words: Sequence[str]) -> None:
        for flag, option in pairwise(words):
            if option == "pipefail" and flag.endswith("o"):
                self._fails_in_pipes = flag.startswith("-")

    def _go(self, words: Sequence[str]) -> None:
        target = next((one for one in words if one and not one.startswith("-")), HOME)
        folder, is_known = self._folder, not {HOME, STAR, UNKNOWN} & set(target)
        is_known = is_known and folder is not None
        self._folder = Path(joined(str(folder), target)) if is_known else None

    def _look_for_upsets(self, node: Node) -> None:
        """Note the variables that a loop or condition may have set."""
        for child in node.named_children:
            if child.type in {"command", "function_definition"}:
                self._of(child)
            else:
                self._look_for_upsets(child)


_BESIDE = frozenset(
    {"variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect"}
)


def _suffixes(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return the suffixes of the files that a program checks; None if it is no check."""
    if not words:
        return None
    name, rest = words[0], list(words[1:])
    plain = [one for one in rest if not one.startswith("-")]
    is_task = name in _TASKS
    if any(one in _NOT_CHECKING and (is_task or one not in _ONLY_OF_TASKS) for one in rest):
        return None
    if between := _TABLES.runners.get(name):
        if plain[:1] == [between[0]]:
            return _suffixes(program_of(_behind_options(rest[rest.index(between[0]) + 1 :])))
    elif name in _TABLES.runners:
        return _suffixes(program_of(_behind_options(rest)))
    return _of_program(name, rest, plain)


def _of_program(name: str, rest: list[str], plain: list[str]) -> tuple[str, ...] | None:
    """Return the same for a program and its words; ``plain`` has no options."""
    if re.fullmatch(r"python[\d.]*|py|pypy[\d.]*", name):
        return _of_python(rest)
    if name in _ALWAYS:
        return _ALWAYS[name]
    if checker := _TABLES.with_words.get(name):
        return checker.suffixes if plain[:1] and plain[0] in checker.words else None
    if name == "node":
        return _SCRIPT if "--test" in rest else None
    if name == "prettier":
        return _STYLE if {"--check", "-c"} & set(rest) else None
    if name in {"black", "isort"}:
        return _PYTHON if {"--check", "--check-only", "-c"} & set(rest) else None
    if name == "cmake":
        return _ALL if "--build" in rest else None
    if name in _SCRIPTS:
        task = plain[1:2] if plain[:1] == ["run"] else plain[:1]
        return _STYLE if task and (_TASK.fullmatch(task[0]) or task[0] == "t") else None
    if name in _TASKS:
        return _ALL if plain and all(_TASK.fullmatch(one) or "=" in one for one in plain) else None
    return None


def _of_python(words: list[str]) -> tuple[str, ...] | None:
    """Return the same for ``python`` with a module or a script."""
    for at, word in enumerate(words):
        if word == "-m" and at + 1 < len(words):
            module = words[at + 1]
            if module in {"unittest", "compileall", "py_compile", "doctest", "trial"}:
                return _PYTHON
            return _suffixes([module, *words[at + 2 :]])
        if word == "-c":
            return None
        if not word.startswith("-"):
            name = posixpath.basename(word)
            is_test = _TEST_FILE.fullmatch(name) or (name == "manage.py" and "test" in words)
            return _PYTHON if is_test else None
    return None


def _behind_options(words: list[str]) -> list[str]:
    """Return the words of the command that a runner starts: those after the options."""
    at = next((at for at, one in enumerate(words) if not one.startswith("-")), len(words))
    return words[at:]
