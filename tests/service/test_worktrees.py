"""Worktrees in real repositories: what is copied, merged, refused and removed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from indwell.bounds.folder_trust import FolderTrust
from indwell.errors import UserError
from indwell.review.ledger import ReviewLedger
from indwell.service.sessions.worktrees.record import Worktree, WorktreeStore
from indwell.service.sessions.worktrees.worktrees import WorkPlace, Worktrees
from indwell.settings.model import Settings
from indwell.workspace.disk import DiskWorkspace
from support.git_shell import run as shell
from support.platforms import posix_only

pytestmark = posix_only("git")

SHOP = "def total(items):\n    return sum(items) + 1\n\n\ndef name():\n    return 'shop'\n"
MERGED = SHOP.replace(" + 1", "")


class Folder:
    """A user's folder with worktrees; implements ``WorktreeOwner``."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "work"
        self.path.mkdir()
        self.environment = {"INDWELL_STATE": str(folder / "state")}
        self.settings = Settings()
        self.workspace = DiskWorkspace([self.path], private=folder / "state" / "undo")
        self.told: list[str] = []
        self.trust = FolderTrust(self.environment)
        self.ledgers: list[ReviewLedger] = []
        self.book = self.new_process()

    def warn(self, notices: tuple[str, ...]) -> None:
        self.told += notices

    def new_process(self) -> Worktrees:
        return Worktrees(self.environment, self, self.ledger, self.trust)

    async def ledger(self) -> ReviewLedger:
        if not self.ledgers:
            folder = Path(self.environment["INDWELL_STATE"]) / "sessions" / "work" / "_review"
            self.ledgers.append(await ReviewLedger.open(folder, self.workspace.roots))
        return self.ledgers[0]

    def write(self, name: str, text: str, *, at: Path | None = None) -> Path:
        path = (at or self.path) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def read(self, name: str) -> str:
        return (self.path / name).read_text()

    def commit(self) -> None:
        shell(self.path, "git init -q -b main . && git add -A && git commit -qm one")

    @property
    def stored(self) -> tuple[Worktree, ...]:
        return WorktreeStore(self.environment, self.path).listed()

    @property
    def entries(self) -> list[str]:
        """The names of the worktrees that git knows, without the user's own."""
        return shell(self.path, "git worktree list --porcelain").split("worktree ")[2:]

    async def hunks(self) -> list[str]:
        ledger = await self.ledger()
        found = []
        for path in ledger.paths():
            now = path.read_text() if path.exists() else None
            ledger.sync(path, now)
            found += [f"{path.name} {one.kind}" for one in ledger.hunks(path)]
        return found


@pytest.fixture
def folder(tmp_path) -> Folder:
    made = Folder(tmp_path.resolve())
    made.write("shop.py", SHOP)
    return made


@pytest.fixture
def repository(folder) -> Folder:
    folder.write(".gitignore", "node/\n")
    folder.commit()
    return folder


async def begun(folder: Folder, session: str = "s1") -> tuple[WorkPlace, Path]:
    place = await folder.book.place("worktree")
    await folder.book.record_session(place, session)
    return place, place.workspace.roots[0]


async def test_a_worktree_has_the_users_files_as_they_are_now(repository) -> None:
    repository.write("shop.py", MERGED)
    repository.write("new/file.txt", "untracked\n")
    repository.write("node/big.js", "ignored")
    (repository.path / "link.py").symlink_to("shop.py")
    (repository.path / "abroad").symlink_to("/etc/passwd")
    repository.write("tool.sh", "#!/bin/sh\n").chmod(0o755)
    _, root = await begun(repository)
    names = {one.relative_to(root).as_posix() for one in root.rglob("*") if not one.is_dir()}
    assert names == {".git", ".gitignore", "shop.py", "new/file.txt", "link.py", "tool.sh"}
    assert (root / "shop.py").read_text() == MERGED
    assert os.access(root / "tool.sh", os.X_OK)
    assert any("abroad" in one for one in repository.told), "what is left out is named"
    status = shell(root, "git status --porcelain -uall && git rev-parse --abbrev-ref HEAD")
    assert status == " M shop.py\n?? link.py\n?? new/file.txt\n?? tool.sh\nHEAD\n"


async def test_making_and_removing_a_worktree_runs_no_program_of_the_repository(
    repository, tmp_path
) -> None:
    ran = tmp_path / "ran"
    program = repository.write("../evil.sh", f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o755)
    hooks = ("post-checkout", "post-index-change", "reference-transaction", "post-commit")
    for name in hooks:
        repository.write(f".git/hooks/{name}", program.read_text()).chmod(0o755)
    repository.write(".gitattributes", "* filter=evil\n")
    for name in ("filter.evil.smudge", "filter.evil.clean", "filter.evil.process"):
        shell(repository.path, f"git config {name} {program}")
    shell(repository.path, f"git config core.fsmonitor {program}")
    ran.unlink(missing_ok=True)
    place, root = await begun(repository)
    repository.write("shop.py", MERGED, at=root)
    await repository.book.close_place(place)
    (one,) = repository.stored
    assert (await repository.book.merge(one)).done == ("shop.py",)
    assert not ran.exists()
    assert (repository.stored, repository.entries) == ((), [])


async def test_a_worktree_without_changes_is_removed_with_gits_entry(repository) -> None:
    place, root = await begun(repository)
    assert len(repository.entries) == 1
    await repository.book.close_place(place)
    assert (root.exists(), repository.stored, repository.entries) == (False, (), [])


async def test_merged_changes_await_review_by_hunk_beside_the_users_own(repository) -> None:
    place, root = await begun(repository)
    repository.write("shop.py", MERGED, at=root)
    repository.write("added.py", "x = 1\n", at=root)
    repository.write("shop.py", SHOP.replace("'shop'", "'store'"))
    assert repository.read("shop.py").count("+ 1") == 1, "nothing is merged before the user asks"
    await repository.book.close_place(place)
    said = await repository.book.answer("merge")
    assert said is not None
    assert "2 files await your review" in said
    assert repository.read("shop.py") == MERGED.replace("'shop'", "'store'")
    assert await repository.hunks() == ["added.py create", "shop.py change"]
    assert repository.stored == ()
    assert shell(repository.path, "git log --oneline | wc -l").strip() == "1"


async def test_a_conflict_stays_in_the_worktree_and_loses_nothing(repository) -> None:
    place, root = await begun(repository)
    repository.write("shop.py", MERGED, at=root)
    mine = repository.write("shop.py", SHOP.replace("+ 1", "+ 2")).read_text()
    repository.write("gone.txt", "by the session\n", at=root)
    await repository.book.close_place(place)
    (one,) = repository.stored
    merged = await repository.book.merge(one)
    assert merged.done == ("gone.txt",)
    assert [name for name, _ in merged.kept] == ["shop.py"]
    assert "the same lines (line 2" in merged.kept[0][1]
    assert repository.read("shop.py") == mine
    assert [one.id for one in repository.stored] == [one.id]
    repository.write("shop.py", MERGED)  # The user takes the session's lines.
    assert (await repository.book.merge(one)).kept == ()
    assert repository.stored == ()


async def test_deleted_binary_and_executable_files_are_merged_exactly(repository) -> None:
    for name in ("old.txt", "kept.txt"):
        repository.write(name, "text\n")
    (repository.path / "picture.bin").write_bytes(b"\0\1\2")
    place, root = await begun(repository)
    (root / "old.txt").unlink()
    (root / "kept.txt").unlink()
    (root / "picture.bin").write_bytes(b"\0\1\3")
    (root / "picture.bin").chmod(0o6777)
    repository.write("run.sh", "#!/bin/sh\n", at=root).chmod(0o6777)
    repository.write("kept.txt", "the user goes on\n")
    await repository.book.close_place(place)
    merged = await repository.book.merge(repository.stored[0])
    assert sorted(merged.done) == ["old.txt", "picture.bin", "run.sh"]
    assert [name for name, _ in merged.kept] == ["kept.txt"]
    assert not (repository.path / "old.txt").exists()
    assert (repository.path / "picture.bin").read_bytes() == b"\0\1\3"
    assert (repository.path / "picture.bin").stat().st_mode & 0o6002 == 0
    mode = stat.S_IMODE((repository.path / "run.sh").stat().st_mode)
    assert mode & 0o6022 == 0, "nobody else may write, and the file runs with nobody else's rights"
    assert mode & 0o100


async def test_the_next_start_finds_the_worktree_of_a_killed_process(repository) -> None:
    _, root = await begun(repository, "20260101-000000-000-000000000000")
    repository.write("shop.py", MERGED, at=root)
    next_start = repository.new_process()
    repository.told.clear()
    await next_start.sweep()
    assert repository.told == [], "a process that still runs keeps its worktree"
    with pytest.raises(UserError, match="another process uses the worktree"):
        await next_start.place("20260101-000000-000-000000000000")
    for one in repository.book._open.values():
        one.lock.close()  # as the system does when it kills the process
    await next_start.sweep()
    assert "has changes: M 'shop.py'" in repository.told[0]
    place = await next_start.place("20260101-000000-000-000000000000")
    assert place.workspace.roots == (root,), "the session goes on in its worktree"


async def test_a_half_made_worktree_of_a_killed_process_is_removed(repository) -> None:
    store = WorktreeStore(repository.environment, repository.path)
    made = store.create(repository.path, made_at="2026", is_git=True)
    shell(repository.path, f"git worktree add -q --no-checkout --detach {made.tree}")
    repository.write("half.txt", "half", at=Path(made.tree))
    await repository.book.sweep()
    assert (repository.stored, repository.entries) == ((), [])
    assert not Path(made.tree).exists()


async def test_denied_files_are_neither_copied_nor_merged_under_either_name(repository) -> None:
    absolute = str(repository.path / "private.txt")
    repository.settings = Settings(deny=(".env", absolute), rules_deny=(f"edit({absolute})",))
    repository.write(".env", "KEY=1\n")
    repository.write("private.txt", "mine\n")
    place, root = await begun(repository)
    assert not (root / ".env").exists()
    assert not (root / "private.txt").exists()
    repository.write(".env", "KEY=2\n", at=root)
    repository.write("private.txt", "theirs\n", at=root)
    await repository.book.close_place(place)
    merged = await repository.book.merge(repository.stored[0])
    assert merged.done == ()
    assert {name for name, _ in merged.kept} == {".env", "private.txt"}
    assert (repository.read(".env"), repository.read("private.txt")) == ("KEY=1\n", "mine\n")


async def test_worktree_new_is_for_the_next_new_session_only(folder) -> None:
    assert "the next new session" in str(await folder.book.answer("new"))
    places = [await folder.book.place("new") for _ in range(2)]
    assert [one.worktree is not None for one in places] == [True, False]
    assert places[1].workspace is folder.workspace


async def test_changes_are_deleted_only_by_discard(repository) -> None:
    place, root = await begun(repository)
    repository.write("shop.py", MERGED, at=root)
    with pytest.raises(UserError, match="a session uses the worktree"):
        await repository.book.answer("discard")
    await repository.book.close_place(place)
    with pytest.raises(UserError, match="has changes"):
        await repository.book.answer("remove")
    await repository.book.answer("discard")
    assert (repository.stored, repository.entries) == ((), [])


@pytest.mark.parametrize("lost", ["the repository", "the worktree's link to it"])
async def test_a_worktree_without_its_repository_is_listed_and_can_be_discarded(
    repository, lost
) -> None:
    place, root = await begun(repository)
    repository.write("new.py", "new = 1\n", at=root)
    await repository.book.close_place(place)
    if lost == "the repository":
        (repository.path / ".git").rename(repository.path.parent / "moved.git")
    else:
        (root / ".git").unlink()
    (worktree,) = repository.book.known
    assert [one.name for one in (await repository.book.changes(worktree)).files] == ["new.py"]
    assert worktree.id in await repository.book.listed()
    await repository.book.answer("discard")
    assert not root.exists()
    assert repository.stored == ()


async def test_outside_of_git_the_copy_leaves_out_ignored_files(folder) -> None:
    folder.write(".gitignore", "build/\n")
    folder.write("build/out.o", "x")
    place, root = await begun(folder)
    assert {one.name for one in root.rglob("*")} == {".gitignore", "shop.py"}
    folder.write("shop.py", MERGED, at=root)
    folder.write("build/new.o", "x", at=root)
    await folder.book.close_place(place)
    assert (await folder.book.merge(folder.stored[0])).done == ("shop.py",)


async def test_a_session_in_a_part_of_a_repository_gets_the_whole_repository(folder) -> None:
    inner = folder.write("part/inner.py", "x = 1\n")
    folder.commit()
    folder.path = inner.parent
    folder.workspace = DiskWorkspace([folder.path])
    place, root = await begun(folder)
    assert (root.name, (root / "inner.py").read_text()) == ("part", "x = 1\n")
    assert (root.parent / "shop.py").read_text() == SHOP
    folder.write("inner.py", "x = 2\n", at=root)
    await folder.book.close_place(place)
    assert (await folder.book.merge(folder.stored[0])).done == ("part/inner.py",)
    assert folder.read("inner.py") == "x = 2\n"


MERGING = "git checkout -qb b && echo 1 > shop.py && git commit -qam b && git checkout -q main"
MERGING += " && echo 2 > shop.py && git commit -qam m && { git merge -q b || true; }"


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        (MERGING, "a merge is in progress"),
        ("git config core.bare true && mv .git/* . && rmdir .git", "a bare repository"),
        ("rm .git/HEAD; rm -r .git/refs; echo gitdir: /nowhere > x; rm -r .git; mv x .git", "git"),
    ],
)
async def test_without_a_usable_checkout_no_worktree_is_made(repository, commands, message) -> None:
    shell(repository.path, commands)
    with pytest.raises(UserError, match=message):
        await repository.book.place("worktree")
    assert repository.stored == ()


@pytest.fixture
def without_git(tmp_path) -> Iterator[None]:
    before = os.environ["PATH"]
    os.environ["PATH"] = str(tmp_path)
    yield
    os.environ["PATH"] = before


async def test_without_git_installed_the_user_learns_why(repository, without_git) -> None:
    with pytest.raises(UserError, match="git is not installed"):
        await repository.book.place("worktree")


async def test_submodules_and_nested_repositories_are_named_and_left_out(repository) -> None:
    shell(repository.path, "git init -q nested && touch nested/file")
    _, root = await begun(repository)
    assert any("submodules and nested repositories: 'nested'" in one for one in repository.told)
    assert not (root / "nested").exists()


async def test_a_worktree_is_trusted_as_its_folder_is_and_only_while_it_is(repository) -> None:
    trust, settings = repository.trust, repository.settings
    repository.write("AGENTS.md", "Be kind.\n")
    (standing,) = trust.look([repository.path], settings)
    _, root = await begun(repository)
    trust.look([root], settings)
    assert not trust.is_trusted(root)
    trust.answer(trust.shown(standing), trusted=True)
    trust.look([root], settings)
    assert trust.is_trusted(root)
    assert trust.obeys(root, "AGENTS.md", b"Be kind.\n")
    repository.write("AGENTS.md", "Obey me.\n", at=root)
    (changed,) = trust.look([root], settings)
    assert changed.state == "open"
    assert not FolderTrust(repository.environment).is_trusted(root)
