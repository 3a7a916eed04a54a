"""Recognises commands that check the project, such as tests, by their text. Pure.

A check is a program that looks for faults and reports faults by its exit status:
tests, type checkers, linters, builds. A check counts only if the exit status of the whole text is
the check's. A check before a pipe, ``|| true`` or ``; echo done`` does not count.
"""

from __future__ import annotations

import pkgutil
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.shell.items import Simple, joined
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
from indwell.prepared_types import prepared

if TYPE_CHECKING:
    from tree_sitter import Node

MOST = 10_000  # longer texts are not parsed


class _Checker(msgspec.Struct, frozen=True):
    """A kind of check: the first words of its command, and the suffixes of the files it covers."""

    words: frozenset[str]
    suffixes: tuple[str, ...]


class _Tables(msgspec.Struct, frozen=True):
    suffixes: Mapping[str, tuple[str, ...]]
    always: Mapping[str, tuple[str, ...]]
    with_words: Mapping[str, _Checker]
    runners: Mapping[str, tuple[str, ...]]


_TABLES = msgspec.json.decode(
    pkgutil.get_data(__name__, "checking_commands.json") or b"", type=prepared(_Tables)
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

# Options that keep a program from checking, or from reporting a failure.
_NOT_CHECKING = frozenset(
    {
        *("--help", "--version", "-h", "-V", "--collect-only", "--co", "--list", "--list-tests"),
        *("--listTests", "--dry-run", "--exit-zero", "--exit-0", "--no-run", "--show-files"),
        *("--show-settings", "--showConfig", "--print-config", "--init", "--fixtures", "--watch"),
        *("-n", "--just-print", "--recon", "--question", "-i", "--ignore-errors", "-k"),
    }
)
_ONLY_OF_TASKS = frozenset({"-n", "--just-print", "--recon", "--question", "-i", "-k"})
"""Options that keep task runners such as ``make`` from running a check."""

_UPSETTING = frozenset(
    {"trap", "alias", "eval", "source", ".", "enable", "hash", "return", "exit", "unset", "shopt"}
)
"""Builtins that may change what a later name runs, or what an exit status says."""


class CheckPart(msgspec.Struct, frozen=True):
    """A part of a command that runs a check, such as a type checker.

    Attributes:
        name: The command's text as the agent wrote it.
        folder: The folder in which the command runs.
        suffixes: Suffixes of the files that the check covers, or empty for all files.
    """

    name: str
    folder: Path
    suffixes: tuple[str, ...] = ()

    def is_about(self, path: Path) -> bool:
        """Return whether the check covers this file."""
        is_kind = not self.suffixes or path.name.endswith(self.suffixes)
        return is_kind and path.is_relative_to(self.folder)


def checks_in(
    command: str,
    cwd: Path,
    declared: Sequence[str] = (),
    language: Literal["bash", "powershell"] = "bash",
) -> tuple[CheckPart, ...]:
    """Return the checks that have passed if this command exits with code 0.

    Args:
        command: The shell text.
        cwd: The folder in which the command runs.
        declared: Texts of commands that the project or its user declares as checks.
        language: The shell language of the text.
    """
    if len(command) > MOST:
        return ()
    texts = frozenset(" ".join(one.split()) for one in declared)
    if language == "powershell":
        return tuple(dict.fromkeys(_checks_in_powershell(command, cwd, texts)))
    tree = bash_parser().parse(command.encode("utf-8", "replace"))
    if tree.root_node.has_error:
        return ()
    reading = _CheckReader(cwd, texts)
    try:
        found = reading.all_of(tree.root_node.named_children)
    except (Tangled, RecursionError):
        return ()
    return () if reading.is_upset else tuple(dict.fromkeys(found))


class _CheckReader:
    """Walks through the statements of a bash command in the order in which bash runs them.

    Attributes:
        is_upset: Whether the text may change what a name runs, or what an exit status says.
    """

    def __init__(self, cwd: Path, declared: frozenset[str]) -> None:
        self.is_upset = False
        self._folder: Path | None = cwd
        self._declared = declared
        self._fails_in_pipes = False
        self._variables = Variables(Effort())

    def all_of(self, nodes: Sequence[Node]) -> list[CheckPart]:
        """Return the checks of consecutive statements; the last statement sets the exit status."""
        found: list[CheckPart] = []
        for node in nodes:
            if node.type not in {"comment", "heredoc_body"}:
                found = self._of(node)
                behind = node.next_sibling
                # The shell does not wait for a statement that ends with ``&``.
                if behind is not None and behind.type == "&":
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
        self._folder = Path(joined(folder.as_posix(), target)) if folder and is_known else None

    def _look_for_upsets(self, node: Node) -> None:
        """Record whether a loop or condition may have changed what later names run."""
        for child in node.named_children:
            if child.type in {"command", "function_definition"}:
                self._of(child)
            else:
                self._look_for_upsets(child)


_BESIDE = frozenset(
    {"variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect"}
)


_BETWEEN = lazy_pattern(r"(?:[\s;|]|&&|#[^\n]*)*")
_LOOK_UP = frozenset(["path", "pathext", "psmodulepath"])
"""Variables of PowerShell that decide which program a name starts."""


def _checks_in_powershell(command: str, cwd: Path, declared: frozenset[str]) -> Iterator[CheckPart]:
    """Yield the checks of a PowerShell text, whose last statement sets the exit status.

    The text may contain only programs and reading cmdlets. A block, a variable or another cmdlet
    could change the meaning of a name or of the exit status.
    """
    from indwell.policy.shell.powershell import PowerShellReading  # noqa: PLC0415 - for Windows

    reading = PowerShellReading(command)
    commands = [one for one in reading.items if isinstance(one, Simple)]
    spans = [(0, 0), *((one.start, one.end) for one in commands), (len(reading.data),) * 2]
    is_row = all(before[1] <= after[0] for before, after in pairwise(spans))
    gaps = [reading.data[one[1] : other[0]].decode() for one, other in pairwise(spans)]
    is_plain = is_row and len(commands) == len(reading.items) and all(map(_BETWEEN.fullmatch, gaps))
    if reading.is_broken or not is_plain or not all(map(_keeps_names, commands)):
        return
    joints = [re.sub(r"#[^\n]*", "", gap).strip() for gap in gaps]
    last = max((at for at, one in enumerate(joints[:-1]) if one not in {"&&", "|"}), default=0)
    for at, one in list(enumerate(commands))[last:]:
        if one.words and "|" not in {joints[at], joints[at + 1]}:
            end = min([one.end, *(redirect.start for redirect in one.redirects)])
            text = reading.data[one.start : end].decode().strip()
            folder, suffixes = _common_folder(cwd, one.folders), _suffixes(_program(one))
            is_declared = " ".join(text.split()) in declared
            if folder is not None and (is_declared or suffixes is not None):
                yield CheckPart(text, folder, () if is_declared else suffixes or ())


def _keeps_names(one: Simple) -> bool:
    """Return whether all names still run the same programs after this PowerShell command."""
    from indwell.policy.commands.powershell.arguments import CMDLET_NAME, tables  # noqa: PLC0415

    if any(each.name.lower() in _LOOK_UP for each in one.assignments) or one.is_nested:
        return False
    if not one.words:
        return True
    name = _powershell_name(one)
    known = tables().cmdlets.get(name)
    is_program = name != "." and not CMDLET_NAME.fullmatch(name) and one.words[0].is_literal
    return is_program if known is None else known.kind in {"reads", "text"}


def _powershell_name(one: Simple) -> str:
    from indwell.policy.commands.powershell.arguments import full_name  # noqa: PLC0415

    return full_name(one.words[0])


def _program(one: Simple) -> list[str]:
    """Return a PowerShell command's words; a path to ``pytest.exe`` becomes ``pytest``."""
    name = re.sub(r"(?i)\.(?:exe|com|cmd|bat|ps1)$", "", posixpath.basename(_powershell_name(one)))
    return program_of([name.lower(), *(word.text for word in one.words[1:])])


def _common_folder(cwd: Path, folders: Sequence[str]) -> Path | None:
    """Return the folder that lies inside all given folders, or None if no such folder exists."""
    paths = [Path(joined(cwd.as_posix(), one, "win32")) for one in folders]
    deepest = max(paths, key=lambda one: len(one.parts), default=None)
    is_common = deepest is not None and all(deepest.is_relative_to(one) for one in paths)
    return deepest if is_common else None


def _suffixes(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return the suffixes of the files that a program checks, or None if it is not a check."""
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
    """Return the suffixes of the files that a named program checks.

    ``plain`` contains the words that are not options.
    """
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
    """Return the suffixes of the files that ``python`` checks with a module or script."""
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
    """Return the words after the options of a runner such as ``uv run``: the started command."""
    at = next((at for at, one in enumerate(words) if not one.startswith("-")), len(words))
    return words[at:]
