"""Tests that the list of modules is up to date, files are short, and imports follow contracts."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "server" / "indwell"
EXTENSION = ROOT / "vscode-extension" / "src"
MAX_ENTRIES = 15
MAX_LINES = 500


def test_the_list_of_modules_has_the_first_line_of_every_module() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "module_list.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


PACKAGE = ROOT / "server" / "indwell"
NAMED = re.compile(r"`([a-z_]+(?:\.\w+)+)`")


def is_there(name: str) -> bool:
    """Return whether a name is a package, a module, or a name within a module."""
    path = PACKAGE.joinpath(*name.split("."))
    if path.is_dir() or path.with_suffix(".py").exists():
        return True
    within = (path.parent.with_suffix(".py"), path.parent / "__init__.py")
    texts = [one.read_text("utf-8") for one in within if one.exists()]
    return any(re.search(rf"\b{path.name}\b", text) for text in texts)


def test_every_module_named_in_the_map_or_a_docstring_exists() -> None:
    packages = {one.name for one in PACKAGE.iterdir() if (one / "__init__.py").exists()}
    gone = [
        f"{page.relative_to(ROOT)}: {name}"
        for page in (ROOT / "docs" / "architecture.md", *PACKAGE.rglob("*.py"))
        for name in NAMED.findall(page.read_text("utf-8"))
        if name.split(".")[0] in packages and not name.endswith(".json") and not is_there(name)
    ]
    assert gone == []


def test_the_architecture_page_lists_the_layers_in_the_order_of_the_contract() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = (one["layers"] for one in contracts if one["type"] == "layers")
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    table = page.split("## Layers", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| (`[^|]+`) \|", table, re.MULTILINE)
    assert [row.replace("`", "").replace(", ", " | ") for row in rows] == layers


def test_no_two_public_classes_have_one_name() -> None:
    trees = [ast.parse(one.read_text("utf-8")) for one in PACKAGE.rglob("*.py")]
    classes = (one.name for tree in trees for one in tree.body if isinstance(one, ast.ClassDef))
    names = Counter(one for one in classes if not one.startswith("_"))
    assert [one for one, count in names.items() if count > 1] == []


def test_imports_follow_the_contracts() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert checked.returncode == 0, checked.stdout


_HEAD = re.compile(r"(Args|Attributes|Raises):$")
_ITEM = re.compile(r"    [\w*`., ]+:( |$)")


def test_each_item_of_a_docstring_section_has_its_own_line() -> None:
    wrong: list[str] = []
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py"))
    for node in (one for tree in trees for one in ast.walk(tree)):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        is_section = False
        for line in (ast.get_docstring(node) or "").splitlines():
            is_section = bool(_HEAD.match(line)) or (is_section and line.startswith(" "))
            is_continued = line.startswith("        ") or _HEAD.match(line)
            if is_section and not is_continued and not _ITEM.match(line):
                wrong.append(f"{node.name}: {line}")
    assert wrong == []


def test_no_module_is_longer_than_500_lines() -> None:
    lengths = {path: path.read_text(encoding="utf-8").count("\n") for path in PACKAGE.rglob("*.py")}
    assert [str(path) for path, length in lengths.items() if length > MAX_LINES] == []


def test_a_folder_has_15_entries_unless_each_entry_is_a_layer_or_a_feature() -> None:
    files = (one.relative_to(PACKAGE) for one in PACKAGE.rglob("*") if one.is_file())
    written = [one for one in files if "__pycache__" not in one.parts and one.name != "__init__.py"]
    entries = {one for path in written for one in (path, *path.parents)}
    sizes = Counter(one.parent.as_posix() for one in entries if one.parts)
    crowded = {folder for folder, size in sizes.items() if size > MAX_ENTRIES}
    assert crowded == {".", "agent/features"}


def test_the_vs_code_extension_has_short_files_in_small_folders() -> None:
    paths = list(EXTENSION.rglob("*"))
    folders = [EXTENSION, *(one for one in paths if one.is_dir())]
    crowded = [str(one) for one in folders if len(list(one.iterdir())) > MAX_ENTRIES]
    # The protocol's types are generated, as one list.
    written = [one for one in paths if one.is_file() and one != EXTENSION / "protocol.ts"]
    written += _typescript(EXTENSION.parent / "test")
    long = [str(one) for one in written if one.read_bytes().count(b"\n") > MAX_LINES]
    assert (crowded, long) == ([], [])


def _typescript(folder: Path) -> list[Path]:
    """Return the TypeScript files below a folder, without those of installed packages."""
    files = [*folder.glob("*.ts"), *folder.glob("*.tsx")]
    for one in folder.iterdir():
        if one.is_dir() and one.name != "node_modules":
            files += _typescript(one)
    return files
