"""Settings and skills that other users may have written are refused, with a remedy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from indwell.agent.features.skills.folders import SkillFolders
from indwell.bounds.folder_trust import FolderTrust
from indwell.errors import SettingsError
from indwell.files.system.access import why_foreign
from indwell.service.user_settings import FOREIGN, read_settings
from indwell.settings.model import Settings
from indwell.settings.paths import user_file
from indwell.settings.tighten import ASK_ALL, STRICTEST
from indwell.wiring.project_files import user_folders

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are those of Unix")
only_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away"
)
NOBODY = 65_534
SKILL = "---\nname: mine\ndescription: To do it.\n---\nDo it.\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    user_file().parent.mkdir(parents=True, mode=0o700)
    return home


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def test_settings_that_others_can_write_are_not_used() -> None:
    path = put(user_file(), 'mode = "plan"\n')
    assert read_settings({}).settings.mode == "plan"
    path.chmod(0o666)
    with pytest.raises(SettingsError, match=f"others can write '{path}'; run `chmod go-w {path}`"):
        read_settings({})
    path.chmod(0o600)
    path.parent.chmod(0o777)
    with pytest.raises(SettingsError, match=f"run `chmod go-w {path.parent}`"):
        read_settings({})


@only_root
def test_settings_of_another_owner_are_not_used() -> None:
    path = put(user_file(), 'mode = "auto"\n')
    os.chown(path, NOBODY, NOBODY)
    with pytest.raises(SettingsError, match=f"belongs to another user.*`sudo chown root {path}`"):
        read_settings({})


def test_a_linked_settings_file_is_judged_by_the_link_target(tmp_path: Path) -> None:
    real = put(tmp_path / "dotfiles" / "config.toml", 'mode = "plan"\n')
    user_file().symlink_to(real)
    assert read_settings({}).settings.mode == "plan"
    real.chmod(0o666)
    with pytest.raises(SettingsError, match="others can write"):
        read_settings({})


def test_a_projects_settings_that_others_can_write_stay_stricter_and_are_reported(
    tmp_path: Path,
) -> None:
    root = tmp_path / "work"
    path = put(root / ".indwell" / "config.toml", 'mode = "plan"\n')
    trust = FolderTrust({"INDWELL_TRUSTED": str(root)})
    environment = {"INDWELL_TRUSTED": str(root)}
    assert read_settings(environment, roots=(root,), trust=trust).settings.mode == "plan"
    path.chmod(0o666)
    found = read_settings(environment, roots=(root,), trust=trust)
    assert found.settings.mode == "plan"
    (notice,) = found.notices
    assert notice == FOREIGN.format(
        ".indwell/config.toml", f"others can write '{path}'; run `chmod go-w {path}`"
    )


@pytest.mark.parametrize("kind", ["link", "folder", "large"])
def test_a_projects_settings_that_cannot_be_read_make_indwell_ask_about_everything(
    kind: str, tmp_path: Path
) -> None:
    root = tmp_path / "work"
    path = put(root / ".indwell" / "config.toml", "#" * (1 << 20) + "#")
    if kind != "large":
        path.unlink()
    if kind == "link":
        path.symlink_to(put(tmp_path / "elsewhere.toml", ""))
    if kind == "folder":
        path.mkdir()
    environment = {"INDWELL_TRUSTED": str(root)}
    found = read_settings(environment, roots=(root,))
    assert (found.settings.mode, found.settings.rules_ask) == ("ask", ASK_ALL)
    assert found.notices[0].startswith(".indwell/config.toml cannot be read: ")
    assert found.notices[1] == STRICTEST.format(".indwell/config.toml")
    (path.rmdir if kind == "folder" else path.unlink)()
    assert read_settings(environment, roots=(root,)).notices == ()


def test_skills_that_others_can_write_are_not_used(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "work"
    folder = root / ".agents" / "skills" / "theirs"
    put(folder / "SKILL.md", SKILL.replace("mine", "theirs"))
    mine = put(home / ".agents" / "skills" / "mine" / "SKILL.md", SKILL)
    settings = Settings(trusted=(str(root),))
    trust = FolderTrust({})
    trust.look((root,), settings)
    folders = SkillFolders((root,), lambda: settings, trust, own=user_folders())

    def names() -> set[str]:
        return {one.name for one in folders.look().skills if one.origin != "indwell"}

    assert names() == {"mine", "theirs"}
    mine.chmod(0o666)
    folder.chmod(0o777)
    assert names() == set()
    first, second = folders.look().problems
    assert f"run `chmod go-w {mine}`" in first
    assert f"run `chmod go-w {folder}`" in second


def test_a_file_of_the_user_in_a_sticky_shared_folder_is_not_foreign(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    assert why_foreign(put(folder / "file", "x")) == ""
