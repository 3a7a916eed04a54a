"""A pytest plugin for ``scripts/test-bare``: selects tests that can meet a missing program.

A test is selected if its own source, a fixture of its file, or a function of its file that it calls
names a command of the model, a sandbox, or one of the optional programs. The tests of the sandbox
and of the whole system are all selected.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

MEETS = re.compile(
    r'"bash"|\bbash\(|sandbox|strength|stderr|bwrap|bubblewrap|chromium|emacs|n?vim|strace|tmux'
)
WHOLE = ("sandbox", "system")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that cannot meet a missing program."""
    chosen = [item for item in items if _can_meet(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def _can_meet(item: pytest.Item) -> bool:
    tests = Path(__file__).parents[1]
    if item.path.relative_to(tests).parts[0] in WHOLE:
        return True
    name = getattr(item, "originalname", None) or item.name
    return name not in _texts(item.path) or _reaches(item.path, name)


@cache
def _reaches(path: Path, name: str) -> bool:
    """Does a definition of a file, or one that it names, mention what could be missing?"""
    texts = _texts(path)
    waiting, seen = [name], {name}
    while waiting:
        text = texts[waiting.pop()]
        if MEETS.search(text):
            return True
        named = {word for word in re.findall(r"\w+", text) if word in texts}
        waiting += named - seen
        seen |= named
    return False


@cache
def _texts(path: Path) -> dict[str, str]:
    """The source of each definition and constant at the top of a file, by its name."""
    source = path.read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for node in ast.parse(source).body:
        text = ast.get_source_segment(source, node) or ""
        for decorator in getattr(node, "decorator_list", ()):
            text += ast.get_source_segment(source, decorator) or ""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found[node.name] = text
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found.update((ast.unparse(target), text) for target in targets)
    return found
