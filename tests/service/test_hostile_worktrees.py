"""Worktrees of hostile folders: forged indexes, swapped links, denied files, damaged records."""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path

import msgspec
import pytest

from indwell.bounds.git.git_program import run_git
from indwell.bounds.git.store import UnreadableStore
from indwell.errors import ToolError, UserError
from indwell.files.tree_copy import Copier, new_private_folder
from indwell.service.sessions.worktrees.record import WorktreeStore
from indwell.settings.model import Settings
from service.test_worktrees import SHOP, Folder, begun
from support.git_shell import run as shell
from support.platforms import posix_only

pytestmark = posix_only("git")


@pytest.fixture
def repository(tmp_path) -> Folder:
    made = Folder(tmp_path.resolve())
    made.write("shop.py", SHOP)
    made.write(".gitignore", "node/\n")
    made.commit()
    return made


def forge_index(top: Path, *names: str) -> None:
    """Write an index that git itself would refuse to write."""
    sha = bytes.fromhex(shell(top, "git hash-object -w shop.py").strip())
    data = b"DIRC" + struct.pack(">II", 2, len(names))
    for name in sorted(map(os.fsencode, names)):
        stat = struct.pack(">10I", *(0, 0, 0, 0, 0, 0, 0o100644, 0, 0, 0))
        entry = stat + sha + struct.pack(">H", len(name)) + name
        data += entry + b"\0" * (8 - len(entry) % 8)
    (top / ".git/index").write_bytes(data + hashlib.sha1(data, usedforsecurity=False).digest())


async def test_a_denied_file_is_not_copied_by_a_forged_name_through_a_link(repository) -> None:
    repository.settings = Settings(deny=("private/**",))
    repository.write("private/key.txt", "secret\n")
    (repository.path / "near").symlink_to("private")
    repository.write(".gitignore", "near\n")
    forge_index(repository.path, "near/key.txt", "shop.py")
    _, root = await begun(repository)
    held = [one for one in root.rglob("*") if one.is_file() and "secret" in one.read_text()]
    assert held == []
    assert any("near/key.txt" in one for one in repository.told)


async def test_forged_names_in_the_index_leave_the_copy_and_git_alone(repository) -> None:
    repository.write("../beside.txt", "beside\n")
    forged = ("../work/shop.py", "../beside.txt", ".git/config", "a/../shop.py", "/etc/hostname")
    forge_index(repository.path, *forged, "shop.py")
    place, root = await begun(repository)
    assert place.worktree is not None
    names = {one.name for one in root.iterdir()}
    assert names == {".git", ".gitignore", "shop.py"}
    assert {one.name for one in root.parent.iterdir()} == {"work"}
    assert any("beside.txt" in one for one in repository.told)


async def test_files_that_a_rule_hides_are_not_copied_either(repository) -> None:
    hidden = repository.write("plans/private.txt", "mine\n")
    repository.settings = Settings(rules_deny=(f"read: {hidden}",))
    _, root = await begun(repository)
    assert not (root / "plans/private.txt").exists()


async def test_a_hard_link_to_a_denied_file_is_not_copied(repository) -> None:
    repository.write(".env", "KEY=1\n")
    (repository.path / "notes.txt").hardlink_to(repository.path / ".env")
    (repository.path / "shop2.py").hardlink_to(repository.path / "shop.py")
    _, root = await begun(repository)
    assert {one.name for one in root.iterdir()} == {".git", ".gitignore", "shop.py", "shop2.py"}


async def test_an_exception_from_the_secret_files_is_no_exception_from_a_rule(repository) -> None:
    repository.settings = Settings(deny=("*.env", "!open.env"), rules_deny=("read: plans/**",))
    repository.write("plans/open.env", "mine\n")
    repository.write("open.env", "open\n")
    _, root = await begun(repository)
    assert [one.relative_to(root).as_posix() for one in root.rglob("*.env")] == ["open.env"]


async def test_links_that_leave_the_copy_behind_another_link_are_left_out(repository) -> None:
    (repository.path / "a/b/c").mkdir(parents=True)
    (repository.path / "a/b/c/up").symlink_to("../../..")
    (repository.path / "away").symlink_to("a/b/c/up/../../..")
    (repository.path / "near").symlink_to("a/b/../../shop.py")
    _, root = await begun(repository)
    for link in (one for one in root.rglob("*") if one.is_symlink()):
        assert link.resolve().is_relative_to(root), link
    assert any("away" in one for one in repository.told)


def test_a_folder_that_replaces_a_copied_link_is_not_written_through_the_link(tmp_path) -> None:
    source, target, outside = (tmp_path / one for one in ("source", "target", "outside"))
    for one in (source, outside):
        one.mkdir()
    new_private_folder(target)
    copier = Copier(source, (target,), 1 << 20)
    assert copier.copy_link("d", "../outside")
    (source / "d/deep").mkdir(parents=True)
    (source / "d/evil.desktop").write_text("evil\n")
    (source / "d/deep/evil").write_text("evil\n")
    for name in ("d/evil.desktop", "d/deep/evil"):
        with pytest.raises(ToolError):
            copier.copy(name)
    assert list(outside.iterdir()) == []


async def test_git_writes_its_entry_only_into_the_repositorys_own_folder(repository) -> None:
    outside = repository.path.parent / "outside"
    outside.mkdir()
    (repository.path / ".git/worktrees").symlink_to(outside)
    with pytest.raises(UserError, match="is a link"):
        await begun(repository)
    assert (list(outside.iterdir()), repository.stored) == ([], ())


@pytest.mark.parametrize(
    "tree", ["{trees}/{id}", "{trees}/{id}/../../outside/x", "{trees}/{id}/a/b"]
)
async def test_a_record_that_names_other_folders_does_not_count(repository, tree) -> None:
    store = WorktreeStore(repository.environment, repository.path)
    made = store.create(repository.path, made_at="now", is_git=False)
    assert store.find(made.id) == made
    trees = Path(made.tree).parent.parent
    store.save(msgspec.structs.replace(made, tree=tree.format(trees=trees, id=made.id)))
    assert store.find(made.id) is None


async def test_a_record_with_a_repository_elsewhere_does_not_count(repository) -> None:
    store = WorktreeStore(repository.environment, repository.path)
    made = store.create(repository.path, made_at="now", is_git=False)
    store.save(msgspec.structs.replace(made, top="/elsewhere"))
    assert (store.find(made.id), store.listed()) == (None, ())


async def test_a_file_becomes_a_folder_and_a_folder_a_file_in_a_merge(repository) -> None:
    for name in ("file", "folder/one"):
        repository.write(name, "old\n")
    place, root = await begun(repository)
    (root / "file").unlink()
    repository.write("file/one", "new\n", at=root)
    (root / "folder/one").unlink()
    (root / "folder").rmdir()
    repository.write("folder", "new\n", at=root)
    await repository.book.close_place(place)
    shell(repository.path, "rm -r file folder")
    merged = await repository.book.merge(repository.stored[0])
    assert (merged.kept, repository.read("file/one"), repository.read("folder")) == (
        (),
        "new\n",
        "new\n",
    )


async def test_git_is_told_to_run_no_hook_that_a_setting_defines(repository) -> None:
    async def is_on(name: str) -> bytes:
        return await run_git(
            repository.path, "config", "--get", f"hook.{name}.enabled", never_in=()
        )

    with pytest.raises(UnreadableStore):  # No setting defines a hook, so git gets no more options.
        await is_on("post-checkout")
    repository.write(
        ".git/more", '[hook "Evil.One"]\n\tcommand = touch ran\n\tevent = post-checkout\n'
    )
    shell(repository.path, "git config include.path more && git config hook.Evil.One.enabled true")
    for name in ("Evil.One", "post-checkout", "reference-transaction"):
        assert await is_on(name) == b"false\n"


async def test_a_file_that_git_obeys_only_in_the_users_folder_is_not_merged(repository) -> None:
    repository.write(".gitconfig", "[core]\n\tabbrev = 9\n")
    repository.write("tools/hooks/pre-commit", "true\n")
    shell(repository.path, "git config include.path ../.gitconfig")
    shell(repository.path, f"git config core.hooksPath {repository.path}/tools/hooks")
    place, root = await begun(repository)
    repository.write(".gitconfig", "[core]\n\tfsmonitor = evil\n", at=root)
    repository.write("tools/hooks/pre-commit", "evil\n", at=root)
    repository.write("tools/hooks/pre-push", "evil\n", at=root)
    repository.write("shop.py", "pass\n", at=root)
    await repository.book.close_place(place)
    merged = await repository.book.merge(repository.stored[0])
    assert merged.done == ("shop.py",)
    kept = {name for name, why in merged.kept if "git runs or obeys this file" in why}
    assert kept == {".gitconfig", "tools/hooks/pre-commit", "tools/hooks/pre-push"}
    assert repository.read("tools/hooks/pre-commit") == "true\n"


async def test_hooks_that_git_obeys_in_both_folders_are_merged(repository) -> None:
    repository.write(".husky/pre-commit", "true\n")
    shell(repository.path, "git config core.hooksPath .husky")
    place, root = await begun(repository)
    repository.write(".husky/pre-commit", "make check\n", at=root)
    await repository.book.close_place(place)
    assert (await repository.book.merge(repository.stored[0])).done == (".husky/pre-commit",)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [("gone.txt", "old\n", None), ("gone.bin", "old\0", None), ("picture.bin", "old\0", "new\0")],
)
async def test_a_merge_that_was_killed_after_a_change_is_recorded_for_review_by_the_next(
    repository, name, before, after
) -> None:
    repository.write(name, before)
    place, root = await begun(repository)
    for folder in (root, repository.path):
        (folder / name).unlink()
        if after is not None:
            repository.write(name, after, at=folder)
    await repository.book.close_place(place)
    (one,) = repository.stored
    # The killed process had noted and changed the file, but had recorded nothing.
    base = WorktreeStore(repository.environment, repository.path).base(one)
    base.with_name("merging").write_text(str(repository.path / name))
    assert (await repository.book.merge(one)).done == (name,)
    (hunk,) = await repository.hunks()
    assert name in hunk


async def test_two_processes_do_not_merge_one_worktree_at_once(repository) -> None:
    place, root = await begun(repository)
    repository.write("shop.py", "pass\n", at=root)
    await repository.book.close_place(place)
    (one,) = repository.stored
    lock = WorktreeStore(repository.environment, repository.path).lock(one, "merging-lock")
    assert lock is not None
    with pytest.raises(UserError, match="another process merges"):
        await repository.book.merge(one)
    lock.close()
    assert (await repository.book.merge(one)).done == ("shop.py",)


async def test_a_diff_names_links_and_no_name_of_gits_own_folder_is_merged(repository) -> None:
    place, root = await begun(repository)
    (root / "shop.py").unlink()
    (root / "shop.py").symlink_to("/etc/hostname")
    repository.write("sub/.GIT/hooks/pre-commit", "evil\n", at=root)
    await repository.book.close_place(place)
    shown = str(await repository.book.answer("diff"))
    assert "shop.py: a link, a folder" in shown
    merged = await repository.book.merge(repository.stored[0])
    assert merged.done == ()
    assert {name for name, _ in merged.kept} == {"shop.py", "sub/.GIT/hooks/pre-commit"}
