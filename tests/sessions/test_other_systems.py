"""A session recorded on another operating system can be resumed, without confusing files.

The logs in ``of_systems`` come from ``indwell run`` on Linux and on Windows' Python.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from indwell.sessions.storage.store import folder_name, review_folder
from support.editing import MENDED, SOURCE, USAGE, Home
from support.loopback_endpoint import LoopbackEndpoint, say
from support.strict_chat import strictly
from support.terminal import indwell

pytestmark = pytest.mark.timeout(200)
RECORDED = Path(__file__).parent / "of_systems"
HERE = "windows" if sys.platform == "win32" else "linux"
FOLDERS = {"linux": "/srv/work", "windows": r"C:\work"}


class Moved:
    """A user's folders, with a state folder that was recorded on another operating system."""

    def __init__(self, folder: Path, system: str) -> None:
        self.home = Home(folder)
        self.home.write("shop.py", MENDED)
        self.system = system
        log = (RECORDED / f"{system}-log.jsonl").read_bytes()
        self.session = json.loads(log.partition(b"\n")[0] or log.split(b"\n")[1])["session"]
        place = self.home.state / "sessions" / folder_name(self.home.workspace) / self.session
        place.mkdir(parents=True)
        (place / "log.jsonl").write_bytes(log)
        self.changes = review_folder(self.home.state, self.home.workspace) / "changes.jsonl"
        self.changes.parent.mkdir()
        shutil.copy(RECORDED / f"{system}-changes.jsonl", self.changes)

    async def run(self, *words: str, base_url: str = "") -> tuple[int, str]:
        environment = self.home.environment(base_url)
        ended = await indwell(*words, environment=environment, folder=self.home.workspace)
        assert "Traceback" not in ended.stderr
        return ended.code, ended.stdout + ended.stderr

    def other_files(self) -> list[str]:
        """Return all files except those of the state folder."""
        files = [one for one in self.home.folder.rglob("*") if one.is_file()]
        return [one.name for one in files if self.home.state not in one.parents]


@pytest.mark.parametrize("system", FOLDERS)
async def test_a_session_of_any_system_is_listed_and_can_continue(
    tmp_path: Path, system: str
) -> None:
    moved = Moved(tmp_path, system)
    assert "Mend the sum." in (await moved.run("sessions"))[1]
    async with LoopbackEndpoint(strictly([say("Yes.", usage=USAGE)])) as endpoint:
        code, said = await moved.run(
            "run", "--continue", "Is it right?", base_url=endpoint.base_url
        )
    assert code == 0, said
    (seen,) = endpoint.seen
    sent = json.dumps(seen.body["messages"])
    assert "It added one too many." in sent
    assert "Is it right?" in sent
    assert f"The workspace is '{moved.home.workspace.as_posix()}'" in sent
    assert moved.other_files() == ["shop.py"]


@pytest.mark.parametrize("system", [one for one in FOLDERS if one != HERE])
async def test_changes_of_another_system_are_not_rejected_and_this_is_reported(
    tmp_path: Path, system: str
) -> None:
    moved = Moved(tmp_path, system)
    kept = moved.changes.read_bytes()
    for words in (("review", "--reject", "--all"), ("run", "--continue", "--turn", "0", "--files")):
        _, said = await moved.run(*words)
        assert "the review log has changes of another system" in said
        assert "neither shown nor rejected here" in said
    assert moved.changes.read_bytes() == kept
    assert moved.home.shop.read_bytes() == MENDED.encode()
    assert moved.other_files() == ["shop.py"]


async def test_changes_of_this_system_are_rejected(tmp_path: Path) -> None:
    """As a control, the log has the workspace's current path."""
    moved = Moved(tmp_path, HERE)
    before, now = (json.dumps(one)[1:-1] for one in (FOLDERS[HERE], str(moved.home.workspace)))
    moved.changes.write_bytes(moved.changes.read_bytes().replace(before.encode(), now.encode()))
    code, said = await moved.run("review", "--reject", "--all")
    assert code == 0, said
    assert moved.home.shop.read_bytes() == SOURCE.encode()
