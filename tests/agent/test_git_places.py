"""Files that git executes or obeys are protected in any folder (attackers H3-H5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from indwell.policy.call_facts import Policy
from indwell.settings.credentials import SECRETS
from indwell.tools.commands.bash import Shell
from indwell.wiring.features import standard_tools
from indwell.workspace.disk import DiskWorkspace
from support.session import World, a_world, asks, call, says, with_rules


async def written(folder: Path, root: Path, path: str, policy: Policy | None = None) -> World:
    """Let the model write one file, with a user who says no; return the world."""
    script = [asks(call("write_file", path=path, content="x")), says()]
    async with a_world(
        folder,
        script,
        workspace=DiskWorkspace([root]),
        registry=standard_tools(Shell(root)),
        policy=policy or Policy("auto", SECRETS),
    ) as world:
        await world.turn()
        return world


def a_root(folder: Path, *names: str) -> Path:
    root = folder / "work"
    root.mkdir()
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x")
    return root


WHOLE = ("real/HEAD", "real/objects/x", "real/refs/x")


@pytest.mark.parametrize(
    ("there", "path"),
    [
        (WHOLE, "real/hooks/post-checkout"),
        (WHOLE, "real/config"),
        (WHOLE, "real/anything/at/all"),
        ((), "sub/HEAD"),
        (("sub/HEAD",), "sub/config"),
        (("sub/HEAD",), "sub/hooks/pre-commit"),
        (("sub/HEAD",), "sub/commondir"),
        (("HEAD",), "config"),  # the workspace itself is a bare repository
    ],
)
async def test_a_git_repository_with_an_unusual_folder_name_is_protected(
    tmp_path: Path, there: tuple[str, ...], path: str
) -> None:
    root = a_root(tmp_path, *there)
    world = await written(tmp_path, root, path)
    (question,) = world.approver.questions
    assert question.rule == ""
    assert not (root / path).exists()


@pytest.mark.parametrize("path", ["sub/main.py", "config", "sub/config/x", "hooks/pre-commit"])
async def test_a_file_that_only_looks_protected_is_written_without_a_question(
    tmp_path: Path, path: str
) -> None:
    root = a_root(tmp_path, "other/HEAD", "sub/objects/x")
    world = await written(tmp_path, root, path)
    assert world.approver.questions == []
    assert (root / path).read_text(encoding="utf-8") == "x"


@pytest.mark.parametrize("path", [".githooks/pre-commit", "git-settings"])
async def test_files_that_git_is_configured_to_obey_are_protected(
    tmp_path: Path, path: str
) -> None:
    root = a_root(tmp_path)
    obeyed = (str(root / ".githooks"), str(root / "git-settings"))
    world = await written(tmp_path, root, path, Policy("auto", SECRETS, obeyed=obeyed))
    (question,) = world.approver.questions
    assert (question.reason, question.rule) == (f"git runs or obeys {path!r}", "")


async def test_a_hard_link_to_a_secret_file_in_any_folder_counts_as_secret(tmp_path: Path) -> None:
    root = a_root(tmp_path, "b/.env", "a/other.txt")
    (root / "a" / "notes.txt").hardlink_to(root / "b" / ".env")
    script = [asks(call("read_file", path="a/notes.txt")), says()]
    async with a_world(
        tmp_path,
        script,
        workspace=DiskWorkspace([root]),
        registry=standard_tools(Shell(root)),
        policy=Policy("auto", SECRETS),
    ) as world:
        secret = (str(root / "b" / ".env"), str(root / "a" / "notes.txt"))
        with_rules(world.session, secret_files=lambda: secret)
        await world.turn()
    (question,) = world.approver.questions
    assert "'b/.env' may hold secrets" in question.reason
