"""The files of a folder that tools execute, load or obey are found without running a program."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from indwell.workspace import executable_files
from indwell.workspace.executable_files import executables, instruction_files
from support.platforms import posix_only


class Folder:
    """A folder with files in it."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.root.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, text: str = "x\n") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    @property
    def names(self) -> list[str]:
        return [one.name for one in executables(self.root)]

    @property
    def digests(self) -> dict[str, str]:
        return {one.name: one.seen.digest for one in executables(self.root)}


@pytest.fixture
def folder(tmp_path) -> Folder:
    return Folder(tmp_path / "work")


def test_an_ordinary_project_contains_no_executed_files(folder) -> None:
    for name in ("README.md", "src/a.py", "Makefile", "package.json", ".git/HEAD", ".gitignore"):
        folder.write(name)
    folder.write(".git/config", "[core]\n\tbare = false\n")
    folder.write(".git/hooks/pre-commit.sample")
    assert folder.names == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (".indwell/config.toml", "settings"),
        (".indwell/hooks/deep/run.sh", "settings"),
        ("AGENTS.md", "instructions"),
        ("CLAUDE.md", "instructions"),
        (".github/copilot-instructions.md", "instructions"),
        (".claude/skills/x/SKILL.md", "instructions"),
        (".claude/agents/x.md", "instructions"),
        (".mcp.json", "servers"),
        (".vscode/mcp.json", "servers"),
        (".vscode/tasks.json", "programs"),
        (".vscode/settings.json", "programs"),
        (".vscode/launch.json", "programs"),
        (".envrc", "programs"),
        (".git/hooks/pre-commit", "programs"),
        (".yarnrc.yml", "programs"),
    ],
)
def test_an_obeyed_or_executed_file_is_found_and_identified_by_its_content(
    folder, name, kind
) -> None:
    folder.write(name, "first\n")
    (found,) = executables(folder.root)
    assert (found.name, found.kind) == (name, kind)
    folder.write(name, "second\n")
    (changed,) = executables(folder.root)
    assert changed.seen.digest != found.seen.digest
    folder.write(name, "first\n")
    assert executables(folder.root) == (found,)


def test_tru_17_only_the_executing_part_of_a_git_config_counts_for_trust(folder) -> None:
    folder.write(".git/config", "[core]\n\tfsmonitor = cmd\n")
    before = folder.digests
    assert list(before) == [".git/config"]
    folder.write(".git/config", '[core]\n\tfsmonitor = cmd\n[branch "x"]\n\tmerge = y\n')
    assert folder.digests == before
    folder.write(".git/config", "[core]\n\tfsmonitor = other\n")
    assert folder.digests != before


def test_hooks_in_a_folder_of_the_project_and_included_files_count_for_trust(folder) -> None:
    folder.write(".git/config", "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../more\n")
    folder.write("tools/hooks/pre-commit")
    folder.write("more", "[core]\n\tfsmonitor = x\n")
    assert folder.names == [".git/config", "more", "tools/hooks/pre-commit"]


def test_a_key_in_a_git_config_is_neither_shown_nor_kept(folder) -> None:
    folder.write(".git/config", '[http "x"]\n\textraHeader = AUTHORIZATION: basic c2VjcmV0\n')
    (found,) = executables(folder.root)
    assert found.lines == ("http.extraheader = (not shown)",)


def test_a_file_that_may_hold_keys_is_identified_without_its_text(folder) -> None:
    folder.write(".envrc", "export KEY=hunter2\n")
    (found,) = executables(folder.root)
    assert (found.lines, found.seen.lines) == ((), ())


def test_the_repository_around_a_folder_counts_for_trust(folder) -> None:
    folder.write(".git/hooks/post-checkout")
    inner = Folder(folder.root / "sub")
    assert inner.names == [str(folder.root / ".git/hooks/post-checkout")]


def test_trust_in_a_worktree_includes_its_main_repository(folder) -> None:
    folder.write("main/.git/hooks/pre-commit")
    folder.write("main/.git/worktrees/tree/commondir", "../..\n")
    folder.write("tree/.git", f"gitdir: {folder.root}/main/.git/worktrees/tree\n")
    tree = Folder(folder.root / "tree")
    assert tree.names == [".git", str(folder.root / "main/.git/hooks/pre-commit")]


@posix_only("symlinks")
def test_inj_08_a_link_out_of_the_folder_is_never_read(folder, tmp_path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"KEY")
    (folder.root / "AGENTS.md").symlink_to(secret)
    (folder.root / ".indwell").symlink_to(tmp_path)
    found = executables(folder.root)
    assert [one.name for one in found] == [".indwell", "AGENTS.md"]
    assert [one.lines for one in found] == [(), ()]
    before = folder.digests
    secret.write_bytes(b"another")
    assert folder.digests == before  # the target was never read
    (folder.root / "AGENTS.md").unlink()
    (folder.root / "AGENTS.md").symlink_to(tmp_path / "elsewhere")
    assert folder.digests != before


@posix_only("symlinks")
def test_the_trust_question_covers_files_of_a_linked_folder(folder) -> None:
    folder.write("other/x")
    (folder.root / ".indwell").mkdir()
    (folder.root / ".indwell" / "skills").symlink_to(folder.root / "other")
    assert folder.names == [".indwell/skills/x"]


@posix_only("symlinks")
def test_a_link_to_an_outside_folder_counts_for_trust_by_its_target(folder, tmp_path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x").write_bytes(b"x")
    (folder.root / ".husky").mkdir()
    (folder.root / ".husky" / "out").symlink_to(tmp_path / "out")
    before = folder.digests
    assert list(before) == [".husky/out"]
    (folder.root / ".husky" / "out").unlink()
    (folder.root / ".husky" / "out").symlink_to(tmp_path)
    assert folder.digests != before


@posix_only("symlinks")
def test_circular_links_end_the_search(folder) -> None:
    folder.write(".indwell/x")
    for number in range(4):
        (folder.root / ".indwell" / f"round{number}").symlink_to(folder.root / ".indwell")
    assert folder.digests == {".indwell/…": ""}


@posix_only("mkfifo")
def test_pipes_and_folders_in_place_of_files_are_harmless(folder) -> None:
    os.mkfifo(folder.root / "AGENTS.md")
    (folder.root / ".envrc").mkdir()
    assert folder.names == ["AGENTS.md"]


def test_inj_08_a_huge_file_is_not_read_and_is_identified_by_its_times(folder) -> None:
    path = folder.write("AGENTS.md", "x" * (10 << 20))
    (found,) = executables(folder.root)
    assert found.lines == ()
    assert executables(folder.root) == (found,)
    path.write_bytes(b"y" * (10 << 20))
    os.utime(path, ns=(1, 1))
    assert executables(folder.root) != (found,)


def test_a_folder_of_huge_files_is_not_read_to_its_end(folder) -> None:
    for number in range(3):
        folder.write(f".indwell/{number}", "x" * (executable_files.FOLDER_B // 2))
    assert folder.digests == {".indwell/…": ""}


def test_a_collection_of_skills_can_be_trusted(folder) -> None:
    for number in range(300):
        folder.write(f".claude/skills/{number}/SKILL.md", "x" * 2_000)
    assert len(folder.digests) == 300
    assert all(folder.digests.values())


def test_a_folder_with_too_many_files_is_never_recognised_again(folder) -> None:
    for number in range(executable_files.MOST_FILES + 1):
        folder.write(f".indwell/{number}")
    assert folder.digests == {".indwell/…": ""}


def test_tru_13_instruction_files_in_any_folder_are_found(folder) -> None:
    for number in range(25):
        folder.write(f"pkg{number}/AGENTS.md")
        folder.write(f"pkg{number}/skills/x/SKILL.md")
    folder.write("node_modules/x/AGENTS.md")
    assert len(instruction_files(folder.root)) == 50
