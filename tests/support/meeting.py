"""A pytest plugin for ``scripts/test-bare``: selects tests that can meet a missing program.

The plugin selects a test whose source names a command of the model, a sandbox, a program's stderr
or an optional program. The plugin also searches each definition that the test uses: fixtures, and
functions, constants and classes of the tests' modules. A helper's method counts if the test's file
imports the helper, directly or indirectly, and calls a method of that name. The plugin selects all
tests of the sandbox, and each test that it cannot analyse.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias, TypeGuard

import pytest

TESTS = Path(__file__).parents[1]
WHOLE = ("sandbox",)
HELPERS = ("support",)
IMITATED = TESTS / "support" / "fake_editor"  # The folder names editors without starting them.
MEETS = re.compile(
    r'["\']bash["\']|\bbash\(|sandbox|strength|bwrap|bubblewrap|chromium|emacs|n?vim|strace|tmux'
)
READS_STDERR = re.compile("stderr")  # A helper that names stderr only creates a pipe.
ALL = "*"  # The sign means the whole module instead of a definition's name.
Definition: TypeAlias = tuple[Path, str]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that cannot meet a missing program."""
    chosen = [item for item in items if _can_meet(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def _can_meet(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function) or _is_of(item.path, WHOLE):
        return True
    return _reaches_a_program(
        frozenset({(item.path, item.originalname), *_fixtures(item)}), item.path
    )


@cache
def _reaches_a_program(begun: frozenset[Definition], test: Path) -> bool:
    waiting = list(begun)
    methods = _methods(frozenset(path for path, _ in waiting))
    seen = set(waiting)
    while waiting:
        definition = waiting.pop()
        if _names_a_program(*definition, test):
            return True
        called = (methods.get(word, ()) for word in _called(*definition))
        named = _named(*definition).union(*called)
        waiting += named - seen
        seen |= named
    return False


def _is_of(path: Path, folders: tuple[str, ...]) -> bool:
    return path.is_relative_to(TESTS) and path.relative_to(TESTS).parts[0] in folders


def _fixtures(item: pytest.Function) -> Iterator[Definition]:
    """Yield the fixtures of a test that the tests' own files define."""
    for fixtures in item._fixtureinfo.name2fixturedefs.values():
        for fixture in fixtures:
            if (place := _place(fixture.func)) is not None:
                yield place


@cache
def _place(fixture: Callable[..., object]) -> Definition | None:
    """Return the definition of a fixture in the tests' own files."""
    function = inspect.unwrap(fixture)  # The package pytest-asyncio wraps asynchronous fixtures.
    path = Path(inspect.getsourcefile(function) or "")
    return (path, function.__name__) if path.is_relative_to(TESTS) else None


@cache
def _names_a_program(path: Path, name: str, test: Path) -> bool:
    """Return whether a definition names a program that may be missing; True if there is none."""
    if path.is_relative_to(IMITATED):
        return False
    text = _definitions(path).get(name)
    is_read = path == test and text is not None and READS_STDERR.search(text)
    return text is None or bool(is_read or MEETS.search(text))


@cache
def _named(path: Path, name: str) -> frozenset[Definition]:
    """Return the definitions that a definition uses, also from other modules of the tests."""
    own, imported = _definitions(path), _imported(path)
    found: set[Definition] = set()
    for word in re.findall(r"\w+", own.get(name, "")):
        if word in own:
            found.add((path, word))
        if word in imported and imported[word][1] != ALL:
            found.add(imported[word])
    for module, part in imported.values():
        if part == ALL:
            found |= {(module, word) for word in _called(path, name) & set(_definitions(module))}
    return frozenset(found)


@cache
def _called(path: Path, name: str) -> frozenset[str]:
    """Return the names that follow a dot in a definition."""
    return frozenset(re.findall(r"\.(\w+)", _definitions(path).get(name, "")))


@cache
def _methods(paths: frozenset[Path]) -> dict[str, set[Definition]]:
    """Return, by name, the methods of all helpers that these files import, also indirectly."""
    waiting, seen = list(paths), set(paths)
    found: dict[str, set[Definition]] = {}
    while waiting:
        path = waiting.pop()
        for name in _definitions(path):
            if "." in name:
                found.setdefault(name.split(".")[1], set()).add((path, name))
        imported = {module for module, _ in _imported(path).values()}
        waiting += imported - seen
        seen |= imported
    return found


@cache
def _imported(path: Path) -> dict[str, Definition]:
    """Return the imports of a file from other modules of the tests, by the local names."""
    found: dict[str, Definition] = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            for one in node.names:
                if source := _source(node.module or "", one.name):
                    found[one.asname or one.name] = source
    return found


def _source(module: str, name: str) -> Definition | None:
    """Return the definition of a name that is imported from a module of the tests."""
    folder = TESTS.joinpath(*module.split("."))
    places = (
        (folder / f"{name}.py", ALL),
        (folder.with_suffix(".py"), name),
        (folder / "__init__.py", name),
    )
    return next((place for place in places if place[0].is_file()), None)


@cache
def _definitions(path: Path) -> dict[str, str]:
    """Return the source of each definition, constant and import of a file, by its name.

    A helper's method is a separate entry, ``Class.method``.
    """
    source = path.read_text(encoding="utf-8")
    if _is_of(path, HELPERS):
        source = _without_docstrings(source)
    lines = source.split("\n")
    found: dict[str, str] = {}
    for node in ast.parse(source).body:
        match node:
            case ast.ClassDef() if _is_of(path, HELPERS):
                methods = [one for one in node.body if _is_method(one)]
                found |= {f"{node.name}.{one.name}": _text(lines, one) for one in methods}
                node.body = [one for one in node.body if one not in methods]
                found[node.name] = ast.unparse(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found[node.name] = _text(lines, node)
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found.update((ast.unparse(one), _text(lines, node)) for one in targets)
            case ast.Import() | ast.ImportFrom():
                names = [one.asname or one.name for one in node.names]
                found.update(zip(names, names, strict=True))
    return found


def _is_method(node: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Is the node a method that callers call by name?"""
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return is_function and not node.name.startswith("__")


def _without_docstrings(source: str) -> str:
    """Return a helper's source without docstrings, since naming a program starts none."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case (
                ast.FunctionDef(body=[ast.Expr(ast.Constant()), *rest])
                | ast.AsyncFunctionDef(body=[ast.Expr(ast.Constant()), *rest])
                | ast.ClassDef(body=[ast.Expr(ast.Constant()), *rest])
            ):
                node.body = rest or [ast.Pass()]
    return ast.unparse(tree)


def _text(lines: list[str], node: ast.stmt) -> str:
    """Return the source of a statement with its decorators."""
    first = min(one.lineno for one in (node, *getattr(node, "decorator_list", ())))
    return "\n".join(lines[first - 1 : node.end_lineno])
