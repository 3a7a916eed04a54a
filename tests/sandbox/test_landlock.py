"""Landlock without bubblewrap: the actions that it blocks on this machine's kernel."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indwell.errors import ToolError
from indwell.files.beneath import Child, children
from indwell.sandbox import run_program
from indwell.sandbox.confine import landlock
from indwell.sandbox.confine.landlock import LIMITS, READ_FILE, WRITE_FILE, rules_of, start_held
from indwell.sandbox.confinement import Confinement
from indwell.sandbox.starting import Launch
from support.landlock import needs_landlock

ATTEMPTS = Path(__file__).with_name("landlock_attempts.py")
NOBODY = 65_534


async def attempts(user: int, *more: str) -> dict[str, bool]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(ATTEMPTS), str(user), *more,
        stdout=asyncio.subprocess.PIPE,
        # The variable is in the environment from the start, as /proc shows it.
        env={**os.environ, "CANARY": "canary-4711"},
        cwd="/",
    )  # fmt: skip
    output, _ = await process.communicate()
    assert process.returncode == 0
    found: dict[str, bool] = json.loads(output)
    return found


@needs_landlock
@pytest.mark.parametrize("user", [0, NOBODY])
async def test_sbx_23_landlock_refuses_to_write_connect_signal_and_read_what_is_hidden(
    user: int,
) -> None:
    if user and os.geteuid():
        pytest.skip("only root can become another user")
    came_of = await attempts(user)
    assert {title for title, done in came_of.items() if done and "allowed: " not in title} == set()
    assert {title for title, done in came_of.items() if not done and "allowed: " in title} == set()
    assert len(came_of) > 50


@needs_landlock
async def test_the_same_attempts_succeed_without_landlock() -> None:
    if os.geteuid():
        pytest.skip("some of them need root")
    came_of = await attempts(0, "free")
    assert {title for title, done in came_of.items() if not done} == set()


def test_sbx_23_actions_that_landlock_cannot_block_are_reported() -> None:
    assert any(".git" in one for one in LIMITS)
    assert all(one == one.strip() and not one.endswith(".") for one in LIMITS)


@needs_landlock
async def test_a_program_that_cannot_be_started_is_reported_to_the_model(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="could not be started"):
        await start_held(
            Launch(["/nonexistent"], tmp_path, {}, stdin=0, stdout=2, stderr=2),
            confinement=Confinement((str(tmp_path),)),
            scratch=tmp_path,
        )


@needs_landlock
async def test_a_confined_program_reads_its_input(tmp_path: Path) -> None:
    bounds = Confinement((str(tmp_path),))
    finished = await run_program(
        ["/bin/cat"],
        cwd=tmp_path,
        timeout_s=10,
        stdin=b"x" * 300_000,
        limit_b=400_000,
        start=partial(start_held, confinement=bounds, scratch=tmp_path),
    )
    assert finished.head == b"x" * 300_000


@needs_landlock
async def test_a_kernel_that_refuses_the_filter_is_reported(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as alone, pytest.raises(OSError, match="Invalid argument"):
        alone.submit(landlock.enter, [], b"\xff" * 8).result()
    (tmp_path / "free").touch()


TREE = {
    "/": ["home", "tmp", "usr", "dev", "file"],
    "/home": ["me", "you"],
    "/home/me": [".ssh", "work", ".bashrc"],
    "/home/me/.ssh": ["key"],
    "/home/me/work": [".env", "src", "secrets"],
    "/home/me/work/src": ["main.py", ".env"],
    "/home/me/work/secrets": ["a"],
    "/tmp": ["other"],
    "/tmp/other": ["their"],
    "/usr": ["bin"],
    "/usr/bin": ["ls"],
    "/home/you": [],
    "/dev": ["sda"],
}
FILES = {f"{folder.rstrip('/')}/{name}" for folder in TREE for name in TREE[folder]} - set(TREE)


def in_tree(folder: str) -> Sequence[Child]:
    return [Child(name, is_folder=f"{folder.rstrip('/')}/{name}" in TREE) for name in TREE[folder]]


def reached(confinement: Confinement, access: int) -> set[str]:
    """Return the files of the tree to which a rule gives ``access``."""
    rules = rules_of(confinement, "/tmp/scratch", in_tree)
    given_to = [rule.path.rstrip("/") for rule in rules if rule.access & access]
    return {
        file for file in FILES if any(file == one or file.startswith(f"{one}/") for one in given_to)
    }


def test_hidden_paths_get_no_rule_and_their_siblings_do() -> None:
    hidden = ("/home/me/.ssh", "/home/me/work/.env", "/home/me/work/src/.env")
    confinement = Confinement(("/home/me/work",), hidden=hidden)
    shut = {"/home/me/.ssh/key", *hidden[1:], "/tmp/other/their", "/dev/sda"}
    assert reached(confinement, READ_FILE) == FILES - shut
    assert reached(confinement, WRITE_FILE) == {
        file for file in FILES if file.startswith("/home/me/work/")
    }


def test_a_visible_path_in_a_hidden_folder_is_readable_except_hidden_paths_in_it() -> None:
    hidden = ("/home/me", "/home/me/work/src/.env", "/home/me/work/.env")
    confinement = Confinement(("/usr",), hidden=hidden, shown=("/home/me/work/src",))
    mine = {file for file in FILES if file.startswith("/home/me/")}
    assert reached(confinement, READ_FILE) & mine == {"/home/me/work/src/main.py"}
    assert reached(confinement, WRITE_FILE) & mine == set()


@settings(deadline=None)
@given(st.frozensets(st.sampled_from(sorted({*FILES, *TREE} - {"/"})), max_size=6), st.data())
def test_no_rule_allows_reading_a_hidden_path(hidden: frozenset[str], data: st.DataObject) -> None:
    root = data.draw(st.sampled_from(sorted(set(TREE) - {"/"})))
    seen = reached(Confinement((root,), hidden=tuple(hidden)), READ_FILE)
    above = {one for one in hidden if root.startswith(f"{one}/")}
    shut = {
        file
        for file in FILES
        for one in hidden
        if f"{file}/".startswith(f"{one}/") and not (one in above and file.startswith(f"{root}/"))
    }
    assert seen & shut == set()
    assert {file for file in FILES - shut if file.startswith(f"{root}/")} <= seen


@pytest.mark.skipif(sys.platform != "linux", reason="handles are Linux's")
def test_no_link_is_followed_on_the_way_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").touch()
    (tmp_path / "real" / "link").symlink_to("/etc")
    (tmp_path / "link").symlink_to("real")
    assert children(f"{tmp_path}/real") == (Child("file", is_folder=False),)
    with pytest.raises(OSError, match="symbolic links"):
        children(f"{tmp_path}/link")
