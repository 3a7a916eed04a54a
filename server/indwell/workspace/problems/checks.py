"""Which commands check a project, from what its own files say. Pure."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from indwell.workspace.problems.scripts import only_checks

FILES = ("pyproject.toml", "package.json", "tsconfig.json", "Cargo.toml", "go.mod")
"""What is read, right in the folder."""

SCRIPTS = ("typecheck", "check", "lint")
"""Of ``package.json``; the first that is there, and of which it is known what it does, is run."""

_PYTHON = (".py", ".pyi")
_SCRIPT = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte")


class Check(msgspec.Struct, frozen=True):
    """A command that checks a project.

    Attributes:
        name: What people call it.
        arguments: What stands behind the program, as shell text.
        programs: Where the program may be: a path in the project, or a name for PATH; the first
            that exists counts.
        suffixes: Ends of the files that it looks at; none for all.
    """

    name: str
    arguments: str
    programs: tuple[str, ...]
    suffixes: tuple[str, ...] = ()

    def is_about(self, path: str) -> bool:
        """Does it look at this file?"""
        return not self.suffixes or path.endswith(self.suffixes)


def found_checks(contents: Mapping[str, str]) -> tuple[Check, ...]:
    """The checks of a project, in the order in which they run.

    Args:
        contents: Texts of those ``FILES`` that are there, by name. They are the project's, so
            nothing of them becomes part of a command but fixed words.
    """
    found = [*_python(contents.get("pyproject.toml", ""))]
    found += _scripts(contents.get("package.json", ""), has_types="tsconfig.json" in contents)
    if "Cargo.toml" in contents:
        words = "check --offline --quiet --message-format short"
        found.append(Check("cargo check", words, ("cargo",), (".rs", "Cargo.toml")))
    if "go.mod" in contents:
        found.append(Check("go vet", "vet ./...", ("go",), (".go", "go.mod")))
    return tuple(found)


def _python(text: str) -> Iterator[Check]:
    tools = _table(_table(_toml(text)).get("tool"))
    if "ruff" in tools:
        words = "check --no-fix --output-format concise ."
        yield Check("ruff", words, _of_environment("ruff"), _PYTHON)
    if "mypy" in tools:
        named = {"files", "packages", "modules"} & _table(tools["mypy"]).keys()
        words = "--show-column-numbers --no-pretty --no-color-output --no-error-summary"
        yield Check("mypy", words if named else f"{words} .", _of_environment("mypy"), _PYTHON)


def _of_environment(program: str) -> tuple[str, ...]:
    """The project's own one knows what is installed there."""
    return (f".venv/bin/{program}", f"venv/bin/{program}", program)


def _scripts(text: str, *, has_types: bool) -> Iterator[Check]:
    scripts = _table(_table(_json(text)).get("scripts"))
    for name in SCRIPTS:
        if only_checks(scripts, name):
            yield Check(f"npm run {name}", f"run --silent {name}", ("npm",), _SCRIPT)
            return
    if has_types:
        programs = ("node_modules/.bin/tsc", "tsc")
        yield Check("tsc", "--noEmit --pretty false", programs, _SCRIPT)


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
