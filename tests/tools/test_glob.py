from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import msgspec
import pytest

from indwell.errors import ToolError
from indwell.tools.base import Outcome
from indwell.tools.searching.patterns import path_matcher
from indwell.workspace.disk import DiskWorkspace
from support.memory_workspace import MemoryWorkspace
from support.platforms import posix_only
from tools.calling import Agent
from tools.programs import programs, seen_running
from tools.shared_data import shared_cases

OPTIONS: dict[str, dict[str, bool]] = {
    "CASEI": {"ignore_case": True},
    "NOBSESC": {"escapes": False},
    "BSESC": {},  # this option is on by default
    "SLASHLIT": {},  # a star never matches a slash
}
"""Indwell's names for the options of ripgrep's tests."""

ONE_SYSTEM_EACH = ("matchslash5", "abc\\def", "abc/def")
"""Two contradictory records: in ripgrep's source one is for Unix (no match), and one for Windows,
where a backslash also separates folders. Indwell's paths always have ``/``.
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    for number, name in enumerate(
        ["old.py", "src/a.py", "src/deep/b.py", "src/c.ts", ".github/ci.yml", "new.py"]
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")
        os.utime(folder / name, (number, number))
    return folder


@pytest.fixture
def agent(root: Path, tmp_path: Path) -> Agent:
    return Agent(DiskWorkspace([root]), tmp_path / "spill")


async def found(agent: Agent, pattern: str, path: str = ".") -> list[str]:
    return (await agent.call("glob", pattern=pattern, path=path)).text.splitlines()


def denying(agent: Agent, part: str) -> Agent:
    """Return the agent with a rule that hides paths with ``part`` from the model."""
    agent.context = msgspec.structs.replace(agent.context, hidden=lambda path: part in path)
    return agent


def test_patterns_match_as_in_the_test_cases_of_other_tools() -> None:
    cases = shared_cases("glob.json")
    assert len(cases) == 80
    wrong = []
    for case in cases:
        # Ripgrep's tests do not use empty alternatives unless an option allows them; no test has
        # this option.
        options = {"empty_alternatives": False}
        for name in case["options"]:
            options |= OPTIONS[name]
        if path_matcher(case["glob"], **options)(case["path"]) != case["matches"]:
            wrong.append((case["id"], case["glob"], case["path"], case["matches"]))
    assert wrong == [(*ONE_SYSTEM_EACH, True)]


def test_the_only_failing_case_is_contradicted_by_another_case() -> None:
    said: dict[tuple[str, ...], set[bool]] = {}
    for case in shared_cases("glob.json"):
        question = (case["glob"], case["path"], *case["options"])
        said.setdefault(question, set()).add(case["matches"])
    assert [question for question, answers in said.items() if len(answers) > 1] == [
        (*ONE_SYSTEM_EACH[1:], "SLASHLIT")
    ]


@pytest.mark.parametrize(
    ("pattern", "path"), [("foo{,.txt}", "foo"), ("foo{,.txt}", "foo.txt"), ("\\[a]", "[a]")]
)
def test_an_empty_alternative_matches_and_a_backslash_escapes(pattern: str, path: str) -> None:
    assert path_matcher(pattern)(path)


async def test_glob_finds_a_name_in_any_folder_newest_first(agent: Agent) -> None:
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
async def test_glob_patterns_are_relative_to_the_folder(
    agent: Agent, pattern: str, path: str, files: list[str]
) -> None:
    assert await found(agent, pattern, path) == files


async def test_a_glob_pattern_may_be_an_absolute_path(agent: Agent, root: Path) -> None:
    assert await found(agent, f"{root}/src/*.ts") == ["src/c.ts"]


async def test_glob_skips_ignored_files_and_the_git_folder(agent: Agent, root: Path) -> None:
    (root / ".gitignore").write_bytes(b"*.py\n!src/a.py\n")
    (root / ".git").mkdir()
    (root / ".git" / "hook.py").write_bytes(b"x")
    assert await found(agent, "*.py") == ["src/a.py"]


@posix_only("symlinks")
async def test_glob_does_not_follow_links(agent: Agent, root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "z.zz").write_bytes(b"x")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "loop").symlink_to(root)
    assert await found(agent, "*.zz") == ["no file below '.' matches '*.zz' (ignored files aside)"]


async def test_at_most_100_files_are_listed_and_the_others_counted(
    agent: Agent, root: Path
) -> None:
    (root / "many").mkdir()
    for number in range(130):
        (root / "many" / f"{number}.txt").write_bytes(b"x")
    outcome = await agent.call("glob", pattern="*.txt")
    lines = outcome.text.splitlines()
    assert (len(lines), lines[-1], outcome.figure) == (
        101,
        "[the newest 100 of 130 files; narrow the pattern for others]",
        "130 files",
    )


async def test_glob_reports_that_no_file_matches(agent: Agent) -> None:
    assert await agent.call("glob", pattern="*.rs", path="src") == Outcome(
        text="no file below 'src' matches '*.rs' (ignored files aside)", figure="0 files"
    )


@pytest.mark.parametrize(
    ("pattern", "path", "said"),
    [
        ("*", "gone", "'gone' does not exist"),
        ("*", "old.py", "'old.py' is a file; name a folder"),
        ("*", "..", "outside the workspace"),
        ("", ".", "is not a pattern"),
        ("a*" * 201, ".", "is over 400 characters"),
        ("*/" * 20 + "{a,b}" * 4, ".", "has too many '\\*' or alternatives"),
        ("{a,b}" * 20, ".", "too many alternatives"),
    ],
)
async def test_an_invalid_glob_search_is_reported(
    agent: Agent, pattern: str, path: str, said: str
) -> None:
    with pytest.raises(ToolError, match=said):
        await agent.call("glob", pattern=pattern, path=path)


@posix_only("names")
async def test_a_name_with_a_line_feed_is_shown_on_one_line(agent: Agent, root: Path) -> None:
    (root / "a\nfake.zz").write_bytes(b"x")
    assert await found(agent, "*.zz") == ["a\\nfake.zz"]


DEEP = ["/".join(names) for names in (["a" * 63] * 64, ["a"] * 2_000, ["a" * 255] * 16)]
HOSTILE = [
    *("a*" * 20 + "b", "[a-z]*" * 10 + "!", "*a" * 110 + "b", "**/*" + "*a" * 110 + "b"),
    *("**/a/**/a/**/b", "**/*a*a*a/**/*a*a*a/**/*a*b", "**/*/**/*/**/*b", "**/*/" * 55 + "b"),
    *("**/" + "*/" * 110 + "b", "*/" * 30 + "**/b", "**/" + "[!b]*/" * 50 + "b"),
    *("**/*{" + ",".join("bcdefghijkl") * 3 + "}", "**/*/*/*/*/*/*{a,b}{a,b}{a,b}!"),
    *("**/*a*/*a*/*a*/{a,b}{a,b}{a,b}!", "{" + ",".join(["**/a*b"] * 25) + "}/**/x"),
]


@pytest.mark.parametrize("pattern", HOSTILE)
def test_no_pattern_takes_long_on_a_hostile_name(pattern: str) -> None:
    """At most 5 ms of processor time; the best of five runs is used."""
    matches = path_matcher(pattern)
    for path in ("a" * 255, *DEEP):
        taken = []
        for _ in range(5):
            began = time.thread_time()
            assert not matches(path)
            taken.append(time.thread_time() - began)
        assert min(taken) < 0.05


async def test_files_that_a_rule_denies_are_neither_listed_nor_counted(
    root: Path, tmp_path: Path
) -> None:
    agent = denying(Agent(DiskWorkspace([root]), tmp_path / "spill"), "a.py")
    outcome = await agent.call("glob", pattern="*.py")
    assert outcome == Outcome(text="new.py\nsrc/deep/b.py\nold.py", figure="3 files")


async def test_edt_09_an_open_file_that_was_never_saved_is_listed_as_newest(
    root: Path, tmp_path: Path
) -> None:
    unsaved = {"old.py": "x", "src/untitled.py": "x", "src/untitled.ts": "x", "no/.env.py": "x"}
    agent = denying(Agent(MemoryWorkspace(unsaved=unsaved, root=root), tmp_path / "spill"), ".env")
    assert await found(agent, "*.py") == [
        "src/untitled.py (not saved yet)",
        *("new.py", "src/deep/b.py", "src/a.py", "old.py"),
    ]
    assert await found(agent, "un*.ts", "src") == ["src/untitled.ts (not saved yet)"]


async def test_without_a_path_files_of_every_root_are_listed(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "src").mkdir(parents=True)
    (other / "src" / "z.py").write_bytes(b"x")
    os.utime(other / "src" / "z.py", (100, 100))
    agent = Agent(DiskWorkspace([root, other, root / "src"]), tmp_path / "spill")
    assert await found(agent, "src/*.py") == [(other / "src" / "z.py").as_posix(), "src/a.py"]
    assert await found(agent, "a.py") == ["src/a.py"]
    assert (await agent.call("glob", pattern="a.py")).figure == "1 file"
    assert await found(agent, "*.py", str(other)) == [(other / "src" / "z.py").as_posix()]
    assert await found(agent, "*.none") == [
        "no file in the workspace matches '*.none' (ignored files aside)"
    ]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("gone/**/*.py", ": there is no folder 'gone' (links are not followed)"),
        ("/etc/*.conf", "; a pattern starts at the folder of 'path'"),
        ("[id].tsx", "; '[' begins a set of characters, write '\\[' for the character itself"),
    ],
)
async def test_the_reason_for_an_empty_result_is_reported(
    agent: Agent, pattern: str, said: str
) -> None:
    assert await found(agent, pattern) == [
        f"no file below '.' matches {pattern!r} (ignored files aside){said}"
    ]


async def test_fs_03_a_folder_in_the_pattern_must_not_be_a_link(
    agent: Agent, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "z.zz").write_bytes(b"x")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "inner").symlink_to(root / "src")
    for pattern in ("link/*.zz", "link/**/*", "inner/*.py", "inner/deep/*.py"):
        assert "there is no folder" in (await found(agent, pattern))[0]


@posix_only("names")
async def test_fs_14_no_file_name_can_forge_another_line(agent: Agent, root: Path) -> None:
    names = ["a\nb.zz", "\x1b[31mred.zz", "\u202egnp.zz", "[the newest 100 of 9 files].zz"]
    for number, name in enumerate(names):
        (root / name).write_bytes(b"x")
        os.utime(root / name, (number, number))
    assert await found(agent, "*.zz") == [
        "./[the newest 100 of 9 files].zz",
        "\\u202egnp.zz",
        "\\x1b[31mred.zz",
        "a\\nb.zz",
    ]


@posix_only("kernel")
async def test_a_cancelled_listing_leaves_no_program_behind(agent: Agent, root: Path) -> None:
    for number in range(2_000):
        (root / f"{number}.txt").write_bytes(b"")
    call = await seen_running(root, lambda: agent.call("glob", pattern="**/*"))
    call.cancel()
    began = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - began < 60
    assert programs(root) == []
