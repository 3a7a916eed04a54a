from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from indwell.errors import ToolError
from indwell.tools.base import Outcome
from indwell.tools.glob import path_matcher
from indwell.workspace.disk import DiskWorkspace
from tools.calling import Agent
from tools.shared_data import shared_cases

OUR_OWN_WAY = {
    ("{foo}", "foo"): "braces around one word stand for themselves, as in bash",
    ("{}", ""): "as above",
    ("foo{,.txt}", "foo"): "an empty alternative counts, as in bash",
    ("abc\\def", "abc/def"): "a backslash is never a separator",
    ("\\[a-z]", "\\a"): "a backslash always escapes",
}
"""Cases of ripgrep's tests where a model, which knows bash, expects something else."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    for number, name in enumerate(
        ["old.py", "src/a.py", "src/deep/b.py", "src/c.ts", ".github/ci.yml", "new.py"]
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
        os.utime(folder / name, (number, number))
    return folder


@pytest.fixture
def agent(root: Path, tmp_path: Path) -> Agent:
    return Agent(DiskWorkspace([root]), tmp_path / "spill")


async def found(agent: Agent, pattern: str, path: str = ".") -> list[str]:
    return (await agent.call("glob", pattern=pattern, path=path)).text.splitlines()


def test_patterns_mean_what_other_tools_cases_say() -> None:
    cases = [case for case in shared_cases("glob.json") if case["options"] != ["CASEI"]]
    assert len(cases) > 70
    wrong = {
        (case["glob"], case["path"])
        for case in cases
        if path_matcher(case["glob"])(case["path"]) != case["matches"]
    }
    assert wrong - set(OUR_OWN_WAY) == set()


async def test_a_name_is_found_in_any_folder_newest_first(agent: Agent) -> None:
    assert await found(agent, "*.py") == ["new.py", "src/deep/b.py", "src/a.py", "old.py"]


@pytest.mark.parametrize(
    ("pattern", "path", "files"),
    [
        ("src/*.py", ".", ["src/a.py"]),
        ("src/**/*.py", ".", ["src/deep/b.py", "src/a.py"]),
        ("**/*.{ts,yml}", ".", [".github/ci.yml", "src/c.ts"]),
        ("./src/*.ts", ".", ["src/c.ts"]),
        ("*.ts", "src", ["src/c.ts"]),
        ("**/b.py", "src/deep", ["src/deep/b.py"]),
    ],
)
async def test_patterns_start_from_the_folder(
    agent: Agent, pattern: str, path: str, files: list[str]
) -> None:
    assert await found(agent, pattern, path) == files


async def test_a_pattern_may_start_at_the_root_of_the_disk(agent: Agent, root: Path) -> None:
    assert await found(agent, f"{root}/src/*.ts") == ["src/c.ts"]


async def test_ignored_files_and_git_itself_are_left_out(agent: Agent, root: Path) -> None:
    (root / ".gitignore").write_text("*.py\n!src/a.py\n")
    (root / ".git").mkdir()
    (root / ".git" / "hook.py").write_text("x")
    assert await found(agent, "*.py") == ["src/a.py"]


async def test_links_are_not_followed(agent: Agent, root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "z.zz").write_text("x")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "loop").symlink_to(root)
    assert await found(agent, "*.zz") == ["no file below '.' matches '*.zz' (ignored files aside)"]


async def test_at_most_100_are_listed_and_the_rest_counted(agent: Agent, root: Path) -> None:
    (root / "many").mkdir()
    for number in range(130):
        (root / "many" / f"{number}.txt").write_text("x")
    outcome = await agent.call("glob", pattern="*.txt")
    lines = outcome.text.splitlines()
    assert (len(lines), lines[-1], outcome.figure) == (
        101,
        "[the newest 100 of 130 files; narrow the pattern for others]",
        "130 files",
    )


async def test_nothing_found_is_said(agent: Agent) -> None:
    assert await agent.call("glob", pattern="*.rs", path="src") == Outcome(
        text="no file below 'src' matches '*.rs' (ignored files aside)", figure="0 files"
    )


@pytest.mark.parametrize(
    ("pattern", "path", "said"),
    [
        ("*", "gone", "'gone' does not exist"),
        ("*", "old.py", "'old.py' is a file; name a folder"),
        ("*", "..", "outside the workspace"),
        ("", ".", "is no pattern"),
        ("**/a/**/b/**/c/**", ".", "is too long or has over 3"),
        ("{a,b}" * 20, ".", "too many alternatives"),
    ],
)
async def test_what_cannot_be_searched_is_said(
    agent: Agent, pattern: str, path: str, said: str
) -> None:
    with pytest.raises(ToolError, match=said):
        await agent.call("glob", pattern=pattern, path=path)


async def test_a_name_with_a_line_feed_is_one_line(agent: Agent, root: Path) -> None:
    (root / "a\nfake.zz").write_text("x")
    assert await found(agent, "*.zz") == ["a\\nfake.zz"]


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("a*" * 20 + "b", "a" * 255),
        ("**/a/**/a/**/b", "/".join("a" * 60)),
        ("**/a/**/a/**/b", "/".join("a" * 2_000)),
        ("[a-z]*" * 10 + "!", "a" * 255),
    ],
)
def test_no_pattern_takes_long_on_a_hostile_name(pattern: str, path: str) -> None:
    matches = path_matcher(pattern)
    began = time.perf_counter()
    assert not matches(path)
    assert time.perf_counter() - began < 0.2
