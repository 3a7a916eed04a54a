"""The bounds of a session's commands, with real commands in a real workspace."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest

from indwell.bounds.command_bounds import confiner
from indwell.bounds.guarded_scan import FolderGuard
from indwell.policy.rules import Widening
from indwell.sandbox import Finished, spawn
from indwell.settings.credentials import SECRETS
from indwell.settings.model import Mode, Settings
from support.bubblewrap import needs_bubblewrap
from support.moved_away import moved_away
from support.unheard import unheard

pytestmark = needs_bubblewrap

NOTHING = Widening()


async def test_a_sessions_own_tmp_is_removed_at_its_end(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = workspace.parent / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    bounds = confiner((workspace,), lambda: Settings(mode="auto"), home=workspace.parent / "home")
    for _ in range(2):  # a late command after the end gets a new folder
        ended = await spawn(
            "touch /tmp/x", cwd=workspace, timeout_s=60, confinement=bounds(NOTHING)
        )
        assert (ended.exit_code, len(list(temporary.iterdir()))) == (0, 1)
        bounds.close()
        assert list(temporary.iterdir()) == []


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    for repository in (folder, folder / "pkg" / "a"):
        repository.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(repository)], check=True)
    (folder / "AGENTS.md").write_bytes(b"be good")
    (folder / "CLAUDE.md").symlink_to("AGENTS.md")
    (folder / ".env").write_bytes(b"KEY=canary-secret")
    (folder / "also").hardlink_to(folder / ".env")
    (tmp_path / "home" / ".ssh").mkdir(parents=True)
    (tmp_path / "home" / ".ssh" / "id").write_bytes(b"canary-key")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "log").write_bytes(b"canary-own")
    return folder


async def run(
    workspace: Path,
    command: str,
    widening: Widening = NOTHING,
    mode: Mode = "auto",
    *,
    is_heard: bool = True,
) -> Finished:
    above = workspace.parent
    bounds = confiner(
        (workspace,),
        lambda: Settings(mode=mode),
        own=(str(above / "state"),),
        home=above / "home",
        quarantine=above / "state" / "quarantine",
    )
    confinement = bounds(widening) if is_heard else unheard(bounds(widening))
    return await spawn(command, cwd=workspace, timeout_s=60, confinement=confinement)


async def test_a_sandboxed_command_can_edit_and_commit(workspace: Path) -> None:
    finished = await run(
        workspace,
        "mkdir src && echo x >src/a && git add src && "
        "git -c user.name=a -c user.email=a@b commit -qm x && git log --oneline | wc -l",
    )
    assert (finished.output, finished.notes) == ("1\n", ())


async def test_sbx_03_04_repositories_are_kept_with_the_folders_above_them(workspace: Path) -> None:
    finished = await run(
        workspace,
        "mv .git g; mv pkg p; mv pkg/a pkg/b; echo x >>.git/config; echo x >.git/hooks/pre-commit; "
        "rm -rf pkg/a/.git/hooks; echo evil >AGENTS.md; rm AGENTS.md; echo evil >CLAUDE.md",
    )
    assert finished.notes == ()
    assert (workspace / "AGENTS.md").read_text(encoding="utf-8") == "be good"
    assert "x" not in (workspace / ".git" / "config").read_text(encoding="utf-8").split()
    assert not (workspace / ".git" / "hooks" / "pre-commit").exists()
    assert (workspace / "pkg" / "a" / ".git" / "hooks").is_dir()


async def test_tru_18_sbx_05_missing_configuration_of_agents_is_moved_away_and_reported(
    workspace: Path,
) -> None:
    finished = await run(
        workspace,
        "mkdir .agent src .vscode; echo evil >.agent/mcp.json; echo evil >.mcp.json; "
        "echo evil >src/GEMINI.md; echo evil >.vscode/settings.json; echo evil >.git/commondir; "
        "mkdir -p .git/info; echo evil >.git/info/attributes; echo evil >package.json",
        is_heard=False,
    )
    assert len(finished.notes) == 6
    moved = moved_away(workspace.parent / "state" / "quarantine", workspace)
    assert (moved[".agent"][0] / "mcp.json").read_text(encoding="utf-8") == "evil\n"
    files = {".mcp.json", "package.json", "src/GEMINI.md", ".git/commondir", ".git/info/attributes"}
    assert moved.keys() == {".agent", *files}
    assert {moved[path][0].read_text(encoding="utf-8") for path in files} == {"evil\n"}
    for name in (".vscode", ".indwell", ".agent", ".mcp.json", ".git/commondir"):
        assert not (workspace / name).exists()
    assert (await run(workspace, "true")).notes == ()


async def test_a_new_repository_is_removed_if_its_config_or_hooks_run_programs(
    workspace: Path,
) -> None:
    finished = await run(
        workspace,
        "git init -q fine; git init -q evil; git -C evil config core.fsmonitor x; "
        "git init -q hooked; echo x >hooked/.git/hooks/post-checkout",
        is_heard=False,
    )
    assert len(finished.notes) == 2
    assert (workspace / "fine" / ".git" / "config").exists()
    assert not (workspace / "evil" / ".git").exists()
    assert not (workspace / "hooked" / ".git").exists()


async def test_a_folder_turned_into_a_repository_that_runs_programs_is_undone(
    workspace: Path,
) -> None:
    bare = "mkdir -p objects refs; echo ref: refs/heads/x >HEAD; printf '[core]\\n{}\\n' >config"
    evil = bare.format("worktree = .\\nfsmonitor = touch ran; false")
    finished = await run(
        workspace,
        f"rm .git/HEAD; {evil}; git init -q --bare fine; mkdir below; cd below; {evil}; cd ..; "
        "mkdir none; echo x >none/HEAD",
        is_heard=False,
    )
    assert len(finished.notes) == 3
    moved = moved_away(workspace.parent / "state" / "quarantine", workspace)
    assert moved.keys() >= {"HEAD", "below/HEAD"}
    assert (workspace / "fine" / "HEAD").exists()
    assert (workspace / "none" / "HEAD").exists()
    for folder in (workspace, workspace / "below"):
        await spawn("git status", cwd=folder, timeout_s=60)
        assert not (folder / "ran").exists()


async def test_sbx_12_a_protected_link_that_is_replaced_is_restored(workspace: Path) -> None:
    finished = await run(workspace, "rm CLAUDE.md; echo evil >CLAUDE.md", is_heard=False)
    assert ((workspace / "CLAUDE.md").readlink(), len(finished.notes)) == (Path("AGENTS.md"), 1)
    moved = moved_away(workspace.parent / "state" / "quarantine", workspace)
    assert moved["CLAUDE.md"][0].read_text(encoding="utf-8") == "evil\n"


async def test_secrets_are_hidden_by_every_name_unless_the_user_shows_them(
    workspace: Path,
) -> None:
    above = workspace.parent
    reading = f"cat .env also {above}/home/.ssh/id; ls {above}/home/.ssh; cat {above}/state/log"
    assert "canary" not in (await run(workspace, reading)).output
    shown = (await run(workspace, reading, Widening(shows_secrets=True))).output
    assert ("canary-secret" in shown, "canary-own" in shown) == (True, False)


async def test_a_command_in_plan_mode_can_read_and_cannot_write(workspace: Path) -> None:
    finished = await run(workspace, "cat AGENTS.md; echo x >new", mode="plan")
    assert finished.output.startswith("be good")
    assert "Read-only" in finished.output
    assert not (workspace / "new").exists()


async def test_a_home_folder_as_workspace_is_not_writable(tmp_path: Path) -> None:
    bounds = confiner((tmp_path,), Settings, home=tmp_path)(NOTHING)
    assert bounds is not None
    assert (bounds.writable, bounds.readable) == ((), (str(tmp_path.resolve()),))


def test_only_an_unconfined_command_has_no_bounds(tmp_path: Path) -> None:
    bounds = confiner((tmp_path,), Settings, home=tmp_path / "home")
    assert bounds(Widening(unconfined=True)) is None
    assert bounds(NOTHING) is not None
    hosts = bounds(Widening(hosts=("example.com",)))
    assert hosts is not None
    assert hosts.hosts == ("example.com",)


def test_the_sessions_temporary_folder_is_removed_with_the_session(tmp_path: Path) -> None:
    bounds = confiner((tmp_path,), Settings, home=tmp_path / "home")
    confinement = bounds(NOTHING)
    assert confinement is not None
    assert confinement.look is not None
    scratch = Path(confinement.look().scratch)
    assert scratch.is_dir()
    del bounds, confinement
    import gc  # noqa: PLC0415

    gc.collect()
    assert not scratch.exists()


def test_a_repeated_scan_of_ten_thousand_files_takes_milliseconds(tmp_path: Path) -> None:
    for number in range(100):
        folder = tmp_path / f"d{number}"
        folder.mkdir()
        for name in range(20):
            (folder / f"f{name}.py").touch()
    (tmp_path / "d1" / ".env").write_bytes(b"")
    guard = FolderGuard(tmp_path, SECRETS)
    assert guard.look().hidden == (str(tmp_path / "d1" / ".env"),)
    assert guard.look().hidden == (str(tmp_path / "d1" / ".env"),)
