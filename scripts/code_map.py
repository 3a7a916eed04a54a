"""Keep the code map of docs/architecture.md equal to the first lines of the modules."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- code map: scripts/fix writes this -->\n", "<!-- end of the code map -->\n"


def code_map() -> str:
    """One table a package: module and first line of its docstring."""
    package = ROOT / "server" / "indwell"
    folders = sorted(path.parent for path in package.rglob("__init__.py"))
    parts: list[str] = []
    for folder in folders:
        name = folder.relative_to(package.parent).as_posix()
        parts += [
            f"### `{name}/`: {first_line(folder / '__init__.py')}\n",
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
    """The first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return docstring.split("\n", 1)[0]


def main() -> int:
    """Write the map, or with --check say that it is old."""
    page = PAGE.read_text("utf-8")
    head, rest = page.split(BEGIN)
    tail = rest.split(END)[1]
    fresh = head + BEGIN + code_map() + END + tail
    if fresh == page:
        return 0
    if "--check" in sys.argv:
        print("the code map in docs/architecture.md is old; run scripts/fix", file=sys.stderr)
        return 1
    PAGE.write_text(fresh, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
