"""While a file that a command planted exists, no command runs, and the user is told."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from indwell.bounds.guarded_scan import FolderGuard
from indwell.errors import ToolError
from indwell.files.quarantine import MOST_DEPTH, Quarantine
from indwell.sandbox import spawn
from indwell.sandbox.confinement import Confinement, Guarded
from indwell.sandbox.gate import (
    Gate,
    StandingPlant,
    blocked_message,
    check_running_commands,
    remaining_plants,
    take_untold,
)
from indwell.sandbox.program import BACKGROUND
from indwell.settings.credentials import SECRETS
from support.another_disk import elsewhere
from support.bubblewrap import needs_bubblewrap
from support.unheard import unheard

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no command is held on Windows")


class Place:
    """A workspace whose planted files cannot be moved away while ``spare`` is missing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "workspace"
        self.root.mkdir()
        (folder / "blocked").touch()
        self.spare = folder / "spare"
        self.quarantine = Quarantine(
            folder / "blocked" / "quarantine", (self.root,), spare_in=self.spare
        )
        self.guard = FolderGuard(self.root, SECRETS, quarantine=self.quarantine)

    async def plant(self, make: Callable[[], object]) -> str:
        """Plant a file as a running command would; return the only note."""
        looked = await asyncio.to_thread(self.guard.look)
        make()
        (note,) = await asyncio.to_thread(looked.settle)
        return note


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def evil(path: Path) -> Callable[[], object]:
    return lambda: path.write_text("evil")


async def ran(cwd: Path, **more: object) -> str:
    return (await spawn("echo ran", cwd=cwd, timeout_s=60, **more)).output  # type: ignore[arg-type]


async def test_no_command_runs_until_the_user_removes_the_planted_file(place: Place) -> None:
    plant = place.root / ".nvim.lua"
    note = await place.plant(evil(plant))
    assert plant.exists()
    assert "'.nvim.lua'" in note
    assert "it could not be moved away" in note
    assert "No command runs here until it is gone: tell the user" in note
    (place.root / "sub").mkdir()
    confinement = Confinement(writable=(str(place.root),), look=place.guard.look)
    for given in (
        {"cwd": place.root},
        {"cwd": place.root / "sub"},
        {"cwd": place.folder, "never_in": (place.root,)},
        {"cwd": place.folder},  # a program in a parent folder can obey the file, too
        {"cwd": place.root, "pool": BACKGROUND, "on_note": print},
        {"cwd": place.root, "confinement": confinement},
    ):
        with pytest.raises(ToolError, match=r"nothing was run: .*\.nvim\.lua.*Tell the user"):
            await ran(**given)  # type: ignore[arg-type]
    (place.folder / "other").mkdir()
    assert await ran(place.folder / "other") == "ran\n"
    plant.unlink()
    assert await ran(place.root) == "ran\n"
    assert await remaining_plants((place.root,)) == ()


async def test_commands_run_again_once_the_planted_file_can_be_moved(place: Place) -> None:
    plant = place.root / ".idea"
    await place.plant(plant.mkdir)
    with pytest.raises(ToolError, match="nothing was run"):
        await ran(place.root)
    place.spare.mkdir()
    assert await ran(place.root) == "ran\n"
    assert not plant.exists()
    assert len(list(place.spare.rglob("quarantined-.idea.txt"))) == 1


async def test_a_planted_file_under_another_name_blocks_each_command(tmp_path: Path) -> None:
    root = tmp_path / "w"
    deep = root / "x" / "/".join("d" * (MOST_DEPTH + 2))
    deep.mkdir(parents=True)
    with elsewhere(tmp_path) as state:
        guard = FolderGuard(root, SECRETS, quarantine=Quarantine(state, (root,)))
        looked = await asyncio.to_thread(guard.look)
        (root / "x").rename(root / ".idea")
        (note,) = await asyncio.to_thread(looked.settle)
        (left,) = root.iterdir()
        assert f"it is now '{left.name}'" in note
        for _ in range(3):
            with pytest.raises(ToolError, match=f"nothing was run: .*{left.name}"):
                await ran(root)
        shutil.rmtree(left)
        assert await ran(root) == "ran\n"


async def test_many_planted_files_moved_later_are_reported_in_a_few_lines(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    looked = await asyncio.to_thread(place.guard.look)
    for number in range(30):
        (place.root / f"d{number}").mkdir()
        evil(place.root / f"d{number}" / ".nvim.lua")()
    assert len(await asyncio.to_thread(looked.settle)) == 30
    place.spare.mkdir()
    caplog.clear()
    assert await ran(place.root) == "ran\n"
    told = take_untold((place.root,))
    assert (len(told), told[-1], caplog.messages) == (21, "and 10 more of this kind", [])
    assert "d0/.nvim.lua' was moved out of the workspace, to " in told[0]


async def test_a_file_that_the_user_puts_in_place_of_a_planted_file_is_kept(place: Place) -> None:
    plant = place.root / ".nvim.lua"
    await place.plant(evil(plant))
    # The other file exists before the planted file is removed, so the two files differ.
    (place.root / "own").write_text("own")
    (place.root / "own").replace(plant)
    place.spare.mkdir()
    assert await ran(place.root) == "ran\n"
    assert plant.read_text() == "own"


@needs_bubblewrap
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
        (MemoryError(), "there is not enough memory"),
        (KeyError("x"), "an error in Indwell itself: KeyError: 'x'"),
    ],
    ids=["disk", "memory", "bug"],
)
async def test_no_command_runs_before_the_files_of_the_last_command_are_checked(
    tmp_path: Path, error: Exception, words: str
) -> None:
    root = tmp_path / "w"
    root.mkdir()
    guard = FolderGuard(root, SECRETS, quarantine=Quarantine(tmp_path / "state", (root,)))
    is_broken = [True]

    def look() -> Guarded:
        looked = guard.look()

        def settle() -> tuple[str, ...]:
            if is_broken[0]:
                raise error
            return looked.settle()

        return msgspec.structs.replace(looked, settle=settle)

    confinement = unheard(Confinement(writable=(str(root),), look=look))
    finished = await spawn("echo evil >.nvim.lua", cwd=root, timeout_s=60, confinement=confinement)
    assert f"could not be checked ({words}); no command runs" in finished.notes[0]
    for _ in range(2):
        with pytest.raises(ToolError, match=f"nothing was run: .*{root}.*{words}"):
            await ran(root)
    is_broken[0] = False
    assert await ran(root) == "ran\n"
    assert not (root / ".nvim.lua").exists()
    (note,) = take_untold((root,))
    assert note.startswith("the command made '.nvim.lua'")


def test_commands_stay_blocked_for_a_server_that_starts_later(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (root / ".envrc").write_text("evil")
    broken = Quarantine(tmp_path / "state", (root, tmp_path), spare_in=tmp_path / "none")
    (tmp_path / "state").mkdir()
    Gate().close(StandingPlant(str(root), ".envrc", "safe", "why not"), broken)
    later = Gate()
    later.heed(Quarantine(tmp_path / "state", (root, tmp_path), spare_in=tmp_path / "none"))
    (one,) = later.open_again((root,))
    assert (one.path, one.why) == (f"{root}/.envrc", "why not")
    assert later.open_again((tmp_path / "other",)) == ()
    (root / ".envrc").unlink()
    assert later.open_again((root,)) == ()
    assert list((tmp_path / "state" / "standing").iterdir()) == []


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b"\xff", b"[" * 50_000])
def test_an_unreadable_record_of_planted_files_keeps_commands_blocked(
    tmp_path: Path, damage: bytes
) -> None:
    root, state = tmp_path / "w", tmp_path / "state"
    root.mkdir()
    (root / ".envrc").write_text("evil")
    state.mkdir()
    Gate().close(
        StandingPlant(str(root), ".envrc", "safe", "why not"),
        Quarantine(state, (root, tmp_path), spare_in=tmp_path / "none"),
    )
    (record,) = (state / "standing").iterdir()
    record.write_bytes(damage)
    later = Gate()
    later.heed(Quarantine(state, (root,)))
    for _ in range(2):
        (one,) = later.open_again((root,))
        assert str(record) in blocked_message((one,))
        assert "cannot be read (it is damaged)" in blocked_message((one,))
        assert "then delete the file" in blocked_message((one,))
    record.unlink()
    assert later.open_again((root,)) == ()


@needs_bubblewrap
async def test_files_planted_by_a_stopped_command_are_reported_in_the_next_turn(
    tmp_path: Path,
) -> None:
    root = tmp_path / "w"
    root.mkdir()
    guard = FolderGuard(root, SECRETS, quarantine=Quarantine(tmp_path / "state", (root,)))
    confinement = Confinement(writable=(str(root),), look=guard.look)
    command = "echo evil >.nvim.lua; echo ready; exec sleep 1000"
    is_ready = asyncio.Event()
    task = asyncio.create_task(
        spawn(
            command,
            cwd=root,
            timeout_s=None,
            confinement=unheard(confinement),
            on_chunk=lambda _chunk: is_ready.set(),
        )
    )
    await is_ready.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not (root / ".nvim.lua").exists()
    assert take_untold((tmp_path / "other",)) == ()
    (note,) = take_untold((root,))
    assert note.startswith("the command made '.nvim.lua', ")
    assert take_untold((root,)) == ()


@needs_bubblewrap
async def test_a_command_cannot_see_the_folder_to_which_its_folder_is_moved(
    tmp_path: Path,
) -> None:
    root, state = tmp_path / "w", tmp_path / "state"
    root.mkdir()
    state.mkdir()
    (state / "secret").write_text("canary")
    guard = FolderGuard(root, SECRETS, quarantine=Quarantine(state / "quarantine", (root,)))
    confinement = unheard(Confinement(writable=(str(root),), look=guard.look))
    command = (
        f"mkdir .kiro; cd .kiro; echo ready; while [ -e {root}/.kiro ]; do :; done; "
        "ls .. ../.. ../../..; cat ../../../secret ../../secret"
    )
    is_ready = asyncio.Event()
    running = asyncio.create_task(
        spawn(
            command,
            cwd=root,
            timeout_s=60,
            confinement=confinement,
            on_chunk=lambda _chunk: is_ready.set(),
            on_note=lambda _note: None,
        )
    )
    await is_ready.wait()
    await check_running_commands()
    finished = await running
    assert "canary" not in finished.output
    assert finished.output.count("No such file or directory") == 5
    assert list(root.iterdir()) == []


def test_a_planted_link_is_moved_and_its_target_is_not(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (tmp_path / "out").mkdir()
    guard = FolderGuard(root, SECRETS, quarantine=Quarantine(tmp_path / "state", (root,)))
    looked = guard.look()
    (root / ".vscode").symlink_to(tmp_path / "out")
    (note,) = looked.settle()
    assert "moved out of the workspace" in note
    assert (tmp_path / "out").is_dir()
    assert not (root / ".vscode").is_symlink()


def test_git_files_planted_among_installed_packages_are_moved_away_or_restored(
    tmp_path: Path,
) -> None:
    root = tmp_path / "w"
    old = root / ".terraform" / "modules" / "m"
    old.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(old)], check=True)
    config = old / ".git" / "config"
    guard = FolderGuard(root, SECRETS, quarantine=Quarantine(tmp_path / "state", (root,)))
    looked = guard.look()
    assert str(config) in looked.minor
    before = config.read_text()
    with config.open("a") as file:
        file.write("[core]\n\tfsmonitor = touch ran\n")
    for name in ("node_modules/p", "a/lib/python3/site-packages/q", ".tox/py/r/s"):
        new = root / name
        new.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(new)], check=True)
        subprocess.run(["git", "-C", str(new), "config", "core.fsmonitor", "x"], check=True)
    bare = root / "node_modules" / "deep" / "er"
    bare.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    with (bare / "config").open("a") as file:
        file.write("[core]\n\tworktree = .\n\tfsmonitor = touch ran\n")
    (root / "node_modules" / "h" / ".hg").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(root / "node_modules" / "fine")], check=True)
    notes = looked.settle()
    assert len(notes) == 7, "\n".join(notes)
    assert config.read_text() == before
    assert [one for one in sorted(root.rglob(".git")) if one.is_dir()] == [
        old / ".git",
        root / "node_modules" / "fine" / ".git",
    ]
    assert not (bare / "HEAD").exists()
    assert not (root / "node_modules" / "h" / ".hg").exists()
    assert guard.look().settle() == ()


def test_the_target_of_a_planted_link_stays_in_place(tmp_path: Path) -> None:
    root = tmp_path / "w"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("own")
    (root / "settings").write_text("own")
    guard = FolderGuard(root, SECRETS, quarantine=Quarantine(tmp_path / "state", (root,)))
    looked = guard.look()
    (root / ".nvim.lua").symlink_to("src/a.py")
    (root / ".idea").symlink_to("src")
    subprocess.run(["git", "init", "-q", str(root / "new")], check=True)
    for key, path in (("core.hooksPath", "../src"), ("include.path", "../../settings")):
        subprocess.run(["git", "-C", str(root / "new"), "config", key, path], check=True)
    assert len(looked.settle()) == 3
    assert (root / "src" / "a.py").read_text() == "own"
    assert (root / "settings").read_text() == "own"
    assert not (root / "new" / ".git").exists()


def make_deep(place: Path, last: str) -> None:
    """Create a file so deep beneath ``place`` that no path leads to it, as a command can."""
    at = os.open(place, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("d" * 200, dir_fd=at)
        deeper = os.open("d" * 200, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = deeper
    os.close(os.open(last, os.O_WRONLY | os.O_CREAT, dir_fd=at))
    os.close(at)


def find(place: Path, name: str) -> str:
    """Return the path of a file from `find`, which uses descriptors."""
    words = ["find", ".", "-name", name]
    return subprocess.run(words, check=True, cwd=place, capture_output=True, text=True).stdout


@pytest.mark.parametrize("beneath", ["src", "node_modules/p"])
def test_a_plant_deeper_than_a_path_can_be_long_is_moved_away_with_its_folder(
    tmp_path: Path, beneath: str
) -> None:
    root = tmp_path / "w"
    (root / beneath).mkdir(parents=True)
    guard = FolderGuard(root, SECRETS, quarantine=Quarantine(tmp_path / "state", (root,)))
    looked = guard.look()
    make_deep(root / beneath, ".git")
    (note,) = looked.settle()
    assert "a folder that is too deep to check, so it was moved out of the workspace" in note
    assert len(note) < 1_000
    assert find(root, ".git") == ""
    assert find(tmp_path / "state", ".git") != ""
    assert not guard.look().refused
    assert guard.look().settle() == ()


async def test_no_command_runs_while_a_new_folder_is_too_deep_to_read(place: Place) -> None:
    note = await place.plant(lambda: make_deep(place.root, ".nvim.lua"))
    assert "too deep to check, and it could not be moved away" in note
    assert "No command runs here until it is gone: tell the user" in note
    with pytest.raises(ToolError, match=r"nothing was run: .*d…d.* could not be moved away"):
        await ran(place.root)
    shutil.rmtree(place.root / ("d" * 200))
    assert await ran(place.root) == "ran\n"


def test_a_folder_that_was_too_deep_before_the_command_blocks_no_command(
    tmp_path: Path,
) -> None:
    guard = FolderGuard(tmp_path, SECRETS, quarantine=Quarantine(tmp_path / "state", (tmp_path,)))
    make_deep(tmp_path, "a.py")
    assert "a folder that is too deep to check" in guard.look().refused
    assert "the user can remove it" in guard.look().refused
    shutil.rmtree(tmp_path / ("d" * 200))
    assert not guard.look().refused


def test_an_unreadable_folder_blocks_commands_of_a_server_that_starts_later(
    tmp_path: Path,
) -> None:
    root, state = tmp_path / "w", tmp_path / "state"
    root.mkdir()
    is_broken = [True]

    def settle() -> tuple[str, ...]:
        if is_broken[0]:
            raise OSError(errno.EIO, "Input/output error")
        return ("moved",)

    first, later = Gate(), Gate()
    quarantine = Quarantine(state, (root,))
    first.close_until_settled((str(root),), settle, "a broken disk", quarantine)
    later.heed(Quarantine(state, (root,)))
    (own,) = first.open_again((root,))
    assert "Input/output error" in own.words
    for _ in range(2):
        (one,) = later.open_again((root,))
        assert f"created in '{root}' could not be checked (a broken disk)" in one.words
        assert "then delete the note" in blocked_message((one,))
    assert later.open_again((tmp_path / "other",)) == ()
    is_broken[0] = False
    assert first.open_again((root,)) == ()
    assert later.open_again((root,)) == ()
    is_broken[0] = True
    first.close_until_settled((str(root),), settle, "a broken disk", quarantine)
    (one,) = later.open_again((root,))
    Path(one.record).unlink()
    assert later.open_again((root,)) == ()


def test_undecodable_names_block_commands_of_a_server_that_starts_later(
    tmp_path: Path,
) -> None:
    name = os.fsdecode(b"\xff.envrc")
    try:
        (tmp_path / name).write_text("evil")
    except OSError:
        pytest.skip("this system takes no such name")
    state = tmp_path / "state"
    state.mkdir()
    broken = Quarantine(state, (tmp_path,), spare_in=tmp_path / "none")
    Gate().close(StandingPlant(str(tmp_path), name, "safe", "why not"), broken)
    later = Gate()
    later.heed(broken)
    (one,) = later.open_again((tmp_path,))
    assert (one.at, one.why) == (name, "why not")
