from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from indwell.errors import ToolError
from indwell.tools.searching.patterns import SearchScope, path_matcher, scope_of
from indwell.workspace.disk import DiskWorkspace
from support.platforms import posix_only
from tools.calling import Agent

NAMES = ["a.py", "xa.ts", "xb.tsx", "[id].tsx", "a b.md", "é.py", ".env", "-x.py", "Makefile"]
FOLDERS = ["", "src/", "src/deep/", "src/deep/er/", "lib/src/", ".github/", "a,b/", "x{1}/"]
FILES = [folder + name for folder, name in itertools.product(FOLDERS, NAMES)]
PATTERNS = [
    *("*", "**", "**/*", "*.py", "**/*.py", "?a.ts", "[xy]*.ts*", "é.py", "?.py", "*.{ts,tsx}"),
    *("src/*", "src/**", "src/**/*", "src/*.py", "src/**/*.py", "src/*/*.py", "*/*/*.ts"),
    *("src/**/x*.{ts,tsx}", "**/deep/*.py", "**/deep/**", "**/deep/**/*.ts", "src/deep/a.py"),
    *("{src,lib}/**/*.py", "{src/deep,lib}/*", "{*.py,src/*.ts}", "src/{a,xa}.*", "lib/**/a.py"),
    *("a b.md", ".*", "**/.*", ".github/*", "-x.py", "\\[id\\].tsx", "[[]id*", "src/\\[*", "a**y"),
    *("a,b/*.py", "x{1}/*.py", "Makefile", "/src/*.py", "src//a.py", "src/./a.py", "../*.py"),
    *("src/", "*/", "none/*.py", "*.none", "{a,b,c}{.py,.ts}", "src/**/deep/**/*.py", "[!a]*.py"),
    *("{a,x{a,b}}.*", "{[ax],M}*", "x{a..b}.ts*", "*.{ts}", "[{a,b}].py", "{a,.env}{,.py}", "a{b"),
]


CASES = [
    pytest.param(one, marks=posix_only("escapes")) if one.startswith("\\") else one
    for one in PATTERNS
]


@pytest.mark.parametrize("pattern", CASES)
async def test_a_narrowed_folder_walk_finds_the_same_matches(pattern: str, tmp_path: Path) -> None:
    """The tool lists exactly the files that the pattern matches."""
    root = tmp_path / "w"
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"needle\n")
    agent = Agent(DiskWorkspace([root]), tmp_path / "spill")
    matches = path_matcher(pattern.removeprefix("./"))
    expected = {name for name in FILES if matches(name)}
    outcome = await agent.call("glob", pattern=pattern)
    listed = {line.removeprefix("./") for line in outcome.text.splitlines()}
    assert listed & set(FILES) == expected
    assert outcome.figure == ("1 file" if len(expected) == 1 else f"{len(expected)} files")
    searched = await agent.call("grep", pattern="needle", glob=pattern, mode="files")
    assert {line.removeprefix("./") for line in searched.text.splitlines()} & set(FILES) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", SearchScope(names=("*.py",))),
        ("**/*.py", SearchScope(names=("*.py",))),
        ("**/*", SearchScope()),
        ("src/**/x*.{ts,tsx}", SearchScope(folder="src", names=("x*.ts", "x*.tsx"))),
        ("src/deep/*.go", SearchScope(folder="src/deep", names=("*.go",), depth=1)),
        ("src/deep/**", SearchScope(folder="src/deep")),
        ("Makefile", SearchScope(names=("Makefile",))),
    ],
)
def test_a_plain_pattern_is_resolved_only_by_the_folder_walk(
    pattern: str, expected: SearchScope
) -> None:
    assert scope_of(pattern) == expected


def test_the_rest_of_a_pattern_is_matched_on_the_walked_files() -> None:
    way = scope_of("src/*/[ab]?.go")
    assert (way.folder, way.names, way.depth) == ("src", ("*.go",), 2)
    assert way.matches is not None
    assert (way.matches("src/x/a1.go"), way.matches("src/x/c1.go")) == (True, False)


def test_too_many_alternatives_in_a_pattern_are_reported() -> None:
    with pytest.raises(ToolError, match="too many alternatives"):
        scope_of("{a,b}" * 20)
