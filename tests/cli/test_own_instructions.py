"""The user's own AGENTS.md is in the system prompt, limited, and never prevents a start."""

from __future__ import annotations

from pathlib import Path

import pytest

from indwell.agent.features.instructions.project import ProjectInstructions
from indwell.bounds.folder_trust import FolderTrust
from indwell.prompt.reminders import LIMIT
from indwell.settings.model import Settings
from indwell.wiring.conversation import standing_instructions
from indwell.workspace.disk import DiskWorkspace

SETTINGS = Settings(instructions="Answer in German.", trusted=(Path("/").absolute().as_posix(),))


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("WIN_PD_OVERRIDE_LOCAL_APPDATA", str(tmp_path / "config"))
    folder = tmp_path / "config" / "indwell"
    folder.mkdir(parents=True)
    return folder / "AGENTS.md"


def test_the_users_own_file_joins_the_instructions_of_the_settings(own: Path) -> None:
    assert standing_instructions(SETTINGS) == ("Answer in German.", "")
    own.write_text("\ufeffUse tabs.\n", "utf-8")
    assert standing_instructions(SETTINGS) == ("Answer in German.\n\nUse tabs.", "")
    assert standing_instructions(Settings()) == ("Use tabs.", "")


def test_instructions_that_are_too_long_are_cut_and_reported(own: Path) -> None:
    own.write_text("x" * (LIMIT + 1), "utf-8")
    text, problem = standing_instructions(Settings())
    assert text == "x" * LIMIT
    assert "has 16,001 characters, of which the first 16,000 go to the model" in problem


def test_instructions_that_cannot_be_read_are_left_out_and_reported(own: Path) -> None:
    own.write_bytes(b"\xff\xfe broken")
    text, problem = standing_instructions(SETTINGS)
    assert text == "Answer in German."
    assert problem.startswith("your own AGENTS.md is left out: AGENTS.md is not UTF-8 text")


async def test_each_workspace_root_has_its_own_instructions_and_parent_folders_are_ignored(
    tmp_path: Path,
) -> None:
    for name in ("", "one", "one/lib", "two", "two/lib", "three"):
        folder = tmp_path / "roots" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "AGENTS.md").write_bytes(f"of {name}\n".encode())
    roots = [tmp_path / "roots" / name for name in ("one", "two")]
    workspace = DiskWorkspace(roots)
    trust = FolderTrust({"INDWELL_STATE": str(tmp_path / "state")}, is_given=True)
    trust.look(workspace.roots, SETTINGS)
    found = ProjectInstructions(workspace, lambda: SETTINGS, trust)
    assert await found.own() == "of one\n"
    files = [tmp_path / "roots" / name / "a.py" for name in ("one/lib", "two/lib", "three")]
    told = await found.of_folders(files, [])
    assert [one.text for one in told.texts] == ["of two\n", "of one/lib\n", "of two/lib\n"]
    assert [one.path for one in told.texts][1] == "lib/AGENTS.md"
    assert told.texts[0].path == (tmp_path / "roots" / "two" / "AGENTS.md").as_posix()
