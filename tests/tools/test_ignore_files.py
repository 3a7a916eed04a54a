"""Files that ignore files exclude from ``glob`` and ``grep``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from indwell.workspace.disk import DiskWorkspace
from support.platforms import posix_only
from tools.calling import Agent
from tools.shared_data import shared_cases


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    folder.mkdir()
    return folder


@pytest.fixture
def agent(root: Path, tmp_path: Path) -> Agent:
    return Agent(DiskWorkspace([root]), tmp_path / "spill")


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())


@posix_only("names")
async def test_all_shared_cases_of_ignore_files_pass(tmp_path: Path) -> None:
    """Each case has a root, an ignore file and a path, and says whether git ignores the path."""
    cases = shared_cases("gitignore.json")
    assert len(cases) == 42
    wrong = []
    for number, case in enumerate(cases):
        assert case["ignored"] == case["git_check_ignore"]
        if await is_ignored(case, tmp_path / str(number)) != case["ignored"]:
            wrong.append(case["id"])
    assert wrong == []


async def is_ignored(case: dict[str, Any], base: Path) -> bool:
    """Create the files of a case, and return whether the path is ignored."""
    root = base / "w"
    below = case["path"].removeprefix("./")
    if case["root"].startswith("./") and not Path(case["root"]).is_absolute():
        below = below.removeprefix(case["root"].removeprefix("./").rstrip("/") + "/")
    name, rules = below, case["gitignore"]
    if case["is_dir"]:  # files in an ignored folder cannot be included again
        name = f"{below}/inside"
        rules += f"\n!{name}\n"
    write(root, {name: "needle\n", ".gitignore": rules})
    agent = Agent(DiskWorkspace([root]), base / "spill")
    found = []
    for tool, options in (
        ("glob", {"pattern": "**/*"}),
        ("grep", {"pattern": "needle", "mode": "files"}),
    ):
        lines = (await agent.call(tool, **options)).text.splitlines()
        found.append(name in {line.removeprefix("./") for line in lines})
    assert found[0] == found[1]
    return not found[0]


async def test_a_nested_ignore_file_overrides_one_in_a_parent_folder(
    agent: Agent, root: Path
) -> None:
    write(
        root,
        {
            ".gitignore": "*.log\n/out/\n!.gitignore\n",
            "a.log": "needle\n",
            "out/b.txt": "needle\n",
            "src/out/c.txt": "needle\n",
            "src/.gitignore": "!kept.log\n*.tmp\n/secret.txt\n",
            "src/kept.log": "needle\n",
            "src/d.tmp": "needle\n",
            "src/secret.txt": "needle\n",
            "src/deep/secret.txt": "needle\n",
            "e.tmp": "needle\n",
        },
    )
    found = (await agent.call("grep", pattern="needle", mode="files")).text.splitlines()
    assert found == ["e.tmp", "src/deep/secret.txt", "src/kept.log", "src/out/c.txt"]


async def test_ignore_files_of_ripgrep_and_of_the_repository_are_respected(
    agent: Agent, root: Path
) -> None:
    (root / ".git" / "info").mkdir(parents=True)
    (root / ".git" / "info" / "exclude").write_bytes(b"excluded.txt\n")
    write(
        root,
        {
            ".gitignore": "git.txt\nback.txt\n",
            ".ignore": "ignore.txt\n!back.txt\n",
            ".rgignore": "rg.txt\n",
            "git.txt": "needle\n",
            "back.txt": "needle\n",
            "ignore.txt": "needle\n",
            "rg.txt": "needle\n",
            "excluded.txt": "needle\n",
            "kept.txt": "needle\n",
        },
    )
    found = (await agent.call("grep", pattern="needle", mode="files")).text.splitlines()
    assert found == ["back.txt", "kept.txt"]
    listed = (await agent.call("glob", pattern="*.txt")).text.splitlines()
    assert sorted(listed) == ["back.txt", "kept.txt"]


async def test_an_ignore_file_above_the_workspace_is_respected(agent: Agent, root: Path) -> None:
    """The rule matters if the workspace is a folder of a larger repository."""
    (root.parent / ".gitignore").write_bytes(b"*.log\n")
    write(root, {"a.log": "needle\n", "b.txt": "needle\n"})
    assert (await agent.call("grep", pattern="needle", mode="files")).text == "b.txt"


@pytest.mark.parametrize(("pattern", "named"), [("*.js", "out"), ("out/*.js", ".")])
async def test_an_ignored_folder_is_searched_if_named_explicitly(
    agent: Agent, root: Path, pattern: str, named: str
) -> None:
    write(root, {".gitignore": "out/\n", "out/a.js": "needle\n", "b.js": "needle\n"})
    assert (await agent.call("glob", pattern=pattern, path=named)).text == "out/a.js"
    assert (
        await agent.call("grep", pattern="needle", glob=pattern, path=named, mode="files")
    ).text == "out/a.js"
