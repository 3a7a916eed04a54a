from __future__ import annotations

import os
from pathlib import Path

import pytest

from indwell.errors import ToolError
from indwell.tools.base import Outcome
from indwell.workspace.disk import DiskWorkspace
from indwell.workspace.memory import MemoryWorkspace
from tools.calling import Agent


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    files = {
        "a.py": "import os\nneedle = 1\n",
        "src/b.py": "x\r\nNeedle\r\nneedle two\r\n",
        "src/c.ts": "needle\n",
        "node_modules/d.py": "needle\n",
        "src/dist/e.py": "needle\n",
        ".github/f.yml": "needle\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return folder


@pytest.fixture
def agent(root: Path, tmp_path: Path) -> Agent:
    return Agent(DiskWorkspace([root]), tmp_path / "spill")


async def found(agent: Agent, pattern: str, **options: object) -> list[str]:
    return (await agent.call("grep", pattern=pattern, **options)).text.splitlines()


async def test_matches_stand_below_their_path(agent: Agent) -> None:
    assert await agent.call("grep", pattern="needle") == Outcome(
        text=(
            ".github/f.yml\n1: needle\na.py\n2: needle = 1\n"
            "src/b.py\n3: needle two\nsrc/c.ts\n1: needle"
        ),
        figure="4 matches",
    )


@pytest.mark.parametrize(
    ("options", "paths"),
    [
        ({"glob": "*.py"}, ["a.py", "src/b.py"]),
        ({"glob": "src/*.{py,ts}"}, ["src/b.py", "src/c.ts"]),
        ({"glob": "**/*.ts"}, ["src/c.ts"]),
        ({"path": "src"}, ["src/b.py", "src/c.ts"]),
        ({"path": "src/c.ts"}, ["src/c.ts"]),
        ({"path": "node_modules"}, ["node_modules/d.py"]),
        ({"path": "src/dist/e.py"}, ["src/dist/e.py"]),
    ],
)
async def test_a_search_is_narrowed(
    agent: Agent, options: dict[str, str], paths: list[str]
) -> None:
    lines = await found(agent, "needle", **options)
    assert [line for line in lines if ":" not in line] == paths


async def test_case_is_ignored_on_request(agent: Agent) -> None:
    assert await found(agent, "NEEDLE", path="src/b.py", ignore_case=True) == [
        "src/b.py",
        "2: Needle",
        "3: needle two",
    ]


async def test_a_glob_does_not_bring_ignored_files_back(agent: Agent, root: Path) -> None:
    (root / ".gitignore").write_text("a.py\nb.py\n")
    nothing = ["nothing in '.' matches 'needle' (ignored files aside)"]
    assert await found(agent, "needle", glob="*.py") == nothing
    assert await found(agent, "needle", glob="src/*.py") == nothing


@pytest.mark.parametrize("pattern", ["-needle", "--files", "-e", "--pre=id"])
async def test_a_pattern_is_never_an_option(agent: Agent, root: Path, pattern: str) -> None:
    (root / "a.py").write_text(f"x {pattern} y\n")
    assert await found(agent, pattern) == ["a.py", f"1: x {pattern} y"]


async def test_a_folder_is_never_an_option(agent: Agent, root: Path) -> None:
    (root / "--files").mkdir()
    (root / "--files" / "x").write_text("needle\n")
    assert await found(agent, "needle", path="--files") == ["--files/x", "1: needle"]


async def test_a_pattern_that_is_none_is_told_as_such(agent: Agent) -> None:
    with pytest.raises(ToolError, match=r"(?s)'\(' is no regular expression .*unclosed group"):
        await found(agent, "(")
    with pytest.raises(ToolError, match=r"no regular expression .*not allowed in a regex"):
        await found(agent, "a\\nb")
    with pytest.raises(ToolError, match="'' is no pattern"):
        await found(agent, "")


async def test_a_missing_folder_is_said(agent: Agent) -> None:
    with pytest.raises(ToolError, match="'gone' does not exist"):
        await found(agent, "x", path="gone")


async def test_it_stops_at_200_matches_and_says_so(agent: Agent, root: Path) -> None:
    (root / "a.py").write_text("many\n" * 1_000)
    lines = await found(agent, "many")
    assert (len(lines), lines[-2:]) == (
        202,
        ["200: many", "[stopped at 200 matches; narrow the pattern, path or glob]"],
    )


async def test_a_long_line_is_cut(agent: Agent, root: Path) -> None:
    (root / "a.py").write_text("needle" + "é" * 100_000 + "\n")
    assert await found(agent, "needle", path="a.py") == ["a.py", f"1: needle{'é' * 294}…"]


async def test_one_huge_line_is_no_matter(agent: Agent, root: Path) -> None:
    (root / "a.py").write_bytes(b"needle" + b"x" * 50_000_000)
    lines = await found(agent, "needle", path="a.py")
    assert (len(lines), len(lines[1])) == (2, 304)


async def test_a_pattern_that_ruins_others_takes_no_time(agent: Agent, root: Path) -> None:
    (root / "a.py").write_bytes(b"a" * 1_000_000 + b"b")
    assert len(await found(agent, "(a+)+$", path="a.py")) == 1


async def test_links_are_not_followed(agent: Agent, root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("needle\n")
    (root / "src" / "link").symlink_to(tmp_path / "outside")
    (root / "src" / "file").symlink_to(tmp_path / "outside" / "x")
    assert [line for line in await found(agent, "needle", path="src") if ":" not in line] == [
        "src/b.py",
        "src/c.ts",
    ]
    with pytest.raises(ToolError, match="outside the workspace"):
        await found(agent, "needle", path="src/link")


async def test_binary_files_do_not_disturb(agent: Agent, root: Path) -> None:
    (root / "src" / "bin").write_bytes(b"needle first\n" + b"x\n" * 100_000 + b"\0\nneedle\n")
    (root / "src" / "zip").write_bytes(b"\0needle\n")
    assert await found(agent, "needle", path="src") == [
        "src/b.py",
        "3: needle two",
        "src/bin",
        "1: needle first",
        "src/c.ts",
        "1: needle",
    ]


async def test_a_name_with_a_line_feed_is_one_line(agent: Agent, root: Path) -> None:
    (root / "x\n9: forged").write_text("needle\n")
    assert await found(agent, "needle", glob="x*") == ["x\\n9: forged", "1: needle"]


async def test_unsaved_buffers_are_searched_instead_of_their_files(
    root: Path, tmp_path: Path
) -> None:
    unsaved = {
        "a.py": "new\nneedle unsaved\n",
        "src/b.py": "nothing any more\n",
        "src/untitled.py": "needle\n",
        "node_modules/g.py": "needle\n",
    }
    agent = Agent(MemoryWorkspace(unsaved=unsaved, root=root), tmp_path / "spill")
    assert await found(agent, "needle", glob="*.py") == [
        "a.py (not saved yet)",
        "2: needle unsaved",
        "src/untitled.py (not saved yet)",
        "1: needle",
    ]
    assert await found(agent, "needle", path="src/c.ts") == ["src/c.ts", "1: needle"]


async def test_what_was_spilled_can_be_searched(agent: Agent) -> None:
    path = await agent.context.spill("bash", "one\nneedle\n")
    assert await found(agent, "needle", path=str(path)) == [str(path), "2: needle"]


async def test_the_users_ripgrep_settings_do_not_count(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rgrc").write_text("--invert-match\n")
    monkeypatch.setitem(os.environ, "RIPGREP_CONFIG_PATH", str(tmp_path / "rgrc"))
    assert await found(agent, "needle", path="src/c.ts") == ["src/c.ts", "1: needle"]


async def test_a_pipe_is_not_searched(agent: Agent, root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(ToolError, match="cannot be searched"):
        await agent.call("grep", pattern="x", path="pipe")
