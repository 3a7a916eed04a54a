"""If the system has no more files, processes or threads, a command fails with a plain message."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from indwell.errors import ToolError
from indwell.files.watch.tree import Tree
from indwell.sandbox.program import shortages
from support.bubblewrap import needs_bubblewrap

# The script runs in its own process, because pytest itself needs files.
_FULL = """
import asyncio, os, resource, sys
from pathlib import Path
from indwell.bounds.command_bounds import confiner
from indwell.errors import ToolError
from indwell.policy.rules import Widening
from indwell.sandbox import spawn
from indwell.settings.model import Settings

async def main(folder, n_left):
    bounds = confiner((folder,), Settings, home=folder / "home")
    await spawn("true", cwd=folder, timeout_s=60, confinement=bounds(Widening()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    held = []
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    for _ in range(n_left):
        os.close(held.pop())
    said = "ran"
    try:
        await spawn("true", cwd=folder, timeout_s=60, confinement=bounds(Widening()))
    except ToolError as error:
        said = str(error)
    for one in held:
        os.close(one)
    after = await spawn("echo well", cwd=folder, timeout_s=60, confinement=bounds(Widening()))
    print(said, after.output, sep="|", end="")

asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
"""


@needs_bubblewrap
@pytest.mark.parametrize("n_left", [0, 1, 2, 3, 5, 8, 12, 20])
def test_a_lack_of_file_descriptors_is_reported_and_the_next_command_runs(
    tmp_path: Path, n_left: int
) -> None:
    (tmp_path / "AGENTS.md").write_text("mine")
    (tmp_path / "src").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _FULL, str(tmp_path), str(n_left)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    said, _, after = done.stdout.partition("|")
    assert (after, done.stderr) == ("well\n", "")
    is_told = "as many files open" in said or "Too many open files" in said
    assert is_told or (n_left > 2 and said == "ran")
    assert (tmp_path / "AGENTS.md").read_text() == "mine"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["AGENTS.md", "src"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.EMFILE, "x"), "as many files open"),
        (OSError(errno.EAGAIN, "x"), "starts no more processes"),
        (RuntimeError("can't start new thread"), "starts no more threads"),
    ],
)
async def test_each_shortage_has_its_own_message(error: Exception, words: str) -> None:
    with pytest.raises(ToolError, match=words):
        async with shortages():
            raise error


async def test_an_error_that_is_not_a_shortage_stays_unchanged() -> None:
    with pytest.raises(OSError, match="denied"):
        async with shortages():
            raise OSError(errno.EACCES, "denied")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/fd is Linux's")
def test_a_folder_unlistable_for_lack_of_descriptors_does_not_count_as_missing(
    tmp_path: Path,
) -> None:
    (tmp_path / "a").touch()
    tree = Tree(tmp_path, lambda _path: True)
    held = []
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        with pytest.raises(OSError, match="Too many open files"):
            tree.look()
    finally:
        for one in held:
            os.close(one)
    assert [one.path for one in tree.look().found] == ["a"]
