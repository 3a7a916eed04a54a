"""Write docs/modules.md, the list of all modules, from the first lines of their docstrings."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "modules.md"
HEAD = """\
# Modules

<!-- scripts/fix writes this page from the docstrings; do not edit it. -->

Every module of the server with the first line of its docstring. [Architecture](architecture.md)
tells how they work together; begin there.

"""


def module_tables() -> str:
    """Return a table for each package: module and first line of its docstring."""
    package = ROOT / "server" / "indwell"
    folders = sorted(path.parent for path in package.rglob("__init__.py"))
    parts: list[str] = []
    for folder in folders:
        name = folder.relative_to(package.parent).as_posix()
        parts += [
            f"## `{name}/`: {first_line(folder / '__init__.py')}\n",
            "| module | what it is |",
            "| --- | --- |",
        ]
        parts += [
            f"| `{path.stem}` | {first_line(path)} |"
            for path in sorted(folder.glob("*.py"))
            if path.name != "__init__.py"
        ]
        parts.append("")
    return "\n".join(parts)


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return docstring.split("\n", 1)[0]


def main() -> int:
    """Write the page, or with --check exit with 1 if it is out of date."""
    fresh = HEAD + module_tables()
    if PAGE.exists() and PAGE.read_text("utf-8") == fresh:
        return 0
    if "--check" in sys.argv:
        print("docs/modules.md is out of date; run scripts/fix", file=sys.stderr)
        return 1
    PAGE.write_text(fresh, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
