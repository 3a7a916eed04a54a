"""Finds a project's check commands in its files, and decides which scripts only read. Pure.

A ``package.json`` script is used only if every part of the script is a known program. The user can
set other commands as ``check_command``.
"""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from indwell.lazy_pattern import lazy_pattern

FILES = ("pyproject.toml", "package.json", "tsconfig.json", "Cargo.toml", "go.mod")
"""The files, directly in the folder, that are read to find checks."""

SCRIPTS = ("typecheck", "check", "lint")
"""Scripts of ``package.json``; the first existing script that only reads is run."""

_PYTHON = (".py", ".pyi")
_SCRIPT = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte")


class ProjectCheck(msgspec.Struct, frozen=True):
    """A command that checks a project.

    Attributes:
        name: The name for the user.
        arguments: The arguments, as shell text.
        programs: Possible programs, each a path in the project or a name on PATH; the first that
            exists is used.
        suffixes: Suffixes of the files that are checked, or empty for all files.
    """

    name: str
    arguments: str
    programs: tuple[str, ...]
    suffixes: tuple[str, ...] = ()

    def is_about(self, path: str) -> bool:
        """Return whether the check covers this file."""
        return not self.suffixes or path.endswith(self.suffixes)


def found_checks(contents: Mapping[str, str]) -> tuple[ProjectCheck, ...]:
    """Return the checks of a project, in the order in which they run.

    Args:
        contents: The texts of the existing ``FILES``, by name. The texts come from the project, so
            only Indwell's own fixed texts become part of a command.
    """
    found = [*_python(contents.get("pyproject.toml", ""))]
    found += _scripts(contents.get("package.json", ""), has_types="tsconfig.json" in contents)
    if "Cargo.toml" in contents:
        words = "check --offline --quiet --message-format short"
        found.append(ProjectCheck("cargo check", words, ("cargo",), (".rs", "Cargo.toml")))
    if "go.mod" in contents:
        found.append(ProjectCheck("go vet", "vet ./...", ("go",), (".go", "go.mod")))
    return tuple(found)


def _python(text: str) -> Iterator[ProjectCheck]:
    tools = _table(_table(_toml(text)).get("tool"))
    if "ruff" in tools:
        words = "check --no-fix --output-format concise ."
        yield ProjectCheck("ruff", words, _of_environment("ruff"), _PYTHON)
    if "mypy" in tools:
        named = {"files", "packages", "modules"} & _table(tools["mypy"]).keys()
        words = "--show-column-numbers --no-pretty --no-color-output --no-error-summary"
        yield ProjectCheck(
            "mypy", words if named else f"{words} .", _of_environment("mypy"), _PYTHON
        )


def _of_environment(program: str) -> tuple[str, ...]:
    """Return possible programs; the program in the project's environment comes first."""
    return (f".venv/bin/{program}", f"venv/bin/{program}", program)


def _scripts(text: str, *, has_types: bool) -> Iterator[ProjectCheck]:
    scripts = _table(_table(_json(text)).get("scripts"))
    for name in SCRIPTS:
        if _only_checks(scripts, name, MOST_DEEP):
            yield ProjectCheck(f"npm run {name}", f"run --silent {name}", ("npm",), _SCRIPT)
            return
    if has_types:
        programs = ("node_modules/.bin/tsc", "tsc")
        yield ProjectCheck("tsc", "--noEmit --pretty false", programs, _SCRIPT)


def _toml(text: str) -> object:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _json(text: str) -> object:
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


MOST_DEEP = 3  # Scripts that run scripts are followed for 3 levels.
MOST_CHARACTERS = 2_000
_SHELL = lazy_pattern(
    r"[;|<>`$()&\\\n\r#!]"
)  # These signs show that a shell text is more than a program with its arguments.
_RUNNERS = frozenset({"npm", "pnpm", "yarn"})


class _Program(msgspec.Struct, frozen=True):
    """The arguments with which a program writes no files.

    Attributes:
        needs: Arguments of which one must be present; may be empty.
        bare: Options without a value.
        valued: Options whose value is the next word or follows ``=``.
        has_files: Whether files and folders may be arguments.
    """

    needs: frozenset[str] = frozenset()
    bare: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    has_files: bool = True


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TYPES = _Program(
    needs=_words("--noEmit"),
    bare=_words("--noEmit --strict --skipLibCheck --noErrorTruncation"),
    valued=_words("-p --project --pretty"),
)
_BIOME = _words("check lint ci")
_PROGRAMS: Mapping[str, _Program] = {
    "tsc": _TYPES,
    "vue-tsc": _TYPES,
    "svelte-check": _Program(
        bare=_words("--fail-on-warnings"),
        valued=_words("--tsconfig --threshold --workspace"),
        has_files=False,
    ),
    "eslint": _Program(
        bare=_words(
            "--quiet --report-unused-disable-directives --no-error-on-unmatched-pattern "
            "--no-warn-ignored"
        ),
        valued=_words("--ext --max-warnings"),
    ),
    "biome": _Program(needs=_BIOME, bare=_words("--error-on-warnings")),
    "oxlint": _Program(bare=_words("--quiet --deny-warnings")),
    "prettier": _Program(
        needs=_words("--check -c --list-different -l"),
        bare=_words("--check -c --list-different -l --ignore-unknown"),
    ),
}


def _only_checks(scripts: Mapping[str, object], name: str, depth: int) -> bool:
    """Return whether a script only checks, and the scripts that npm runs with it, too."""
    if not depth or name not in scripts:
        return False
    around = [one for one in (f"pre{name}", name, f"post{name}") if one in scripts]
    return all(_is_known(scripts, scripts[one], depth) for one in around)


def _is_known(scripts: Mapping[str, object], text: object, depth: int) -> bool:
    if not isinstance(text, str) or not 0 < len(text) <= MOST_CHARACTERS:
        return False
    return all(_is_program(scripts, part, depth) for part in text.split("&&"))


def _is_program(scripts: Mapping[str, object], text: str, depth: int) -> bool:
    if _SHELL.search(text):
        return False
    try:
        program, *words = shlex.split(text)
    except ValueError:  # The text is empty, or has an unclosed quote.
        return False
    if program in _RUNNERS:
        words = [word for word in words if word not in {"--silent", "-s"}]
        match words:
            case ["run", name]:
                return _only_checks(scripts, name, depth - 1)
        return False
    known = _PROGRAMS.get(program)
    return known is not None and _fits(known, program, words)


def _fits(known: _Program, program: str, words: list[str]) -> bool:
    if known.needs and not known.needs & set(words[:1] if program == "biome" else words):
        return False
    left = iter(words)
    for word in left:
        option, is_set, _ = word.partition("=")
        if word.startswith(("-", "@")):
            if option in known.valued:
                value = "" if is_set else next(left, "-")
                if value.startswith(("-", "@")):
                    return False
            elif word not in known.bare:
                return False
        elif not known.has_files:
            return False
    return True
