"""Attempts of a hostile workspace or command to bypass the protection, with real commands."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from indwell.bounds.command_bounds import confiner
from indwell.bounds.guarded_scan import FolderGuard
from indwell.errors import ToolError
from indwell.files.quarantine import Quarantine
from indwell.policy.rules import Widening
from indwell.sandbox import Finished, spawn
from indwell.sandbox.confine.bubblewrap import MOST_MOUNTS
from indwell.settings.credentials import SECRETS
from indwell.settings.model import Settings
from support.bubblewrap import needs_bubblewrap
from support.moved_away import moved_away
from support.unheard import unheard

pytestmark = needs_bubblewrap

EVIL = "[core]\\n\\tfsmonitor = touch ran; false\\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    git(tmp_path, "init", "-q", str(folder))
    (folder / ".env").write_bytes(b"KEY=canary-secret")
    (tmp_path / "home" / ".ssh").mkdir(parents=True)
    (tmp_path / "home" / ".ssh" / "id").write_bytes(b"canary-key")
    return folder


def git(cwd: Path, *words: str) -> None:
    subprocess.run(["git", *words], check=True, cwd=cwd, capture_output=True)


def beside(workspace: Path) -> Quarantine:
    """Return the folder for files that are moved away."""
    return Quarantine(workspace.parent / "quarantine", (workspace,))


def moved(workspace: Path, path: str) -> Path:
    """Return the only file that was moved away from this path."""
    (one,) = moved_away(workspace.parent / "quarantine", workspace)[path]
    return one


async def run(
    workspace: Path,
    command: str,
    widening: Widening | None = None,
    restricted: Sequence[Path] = (),
    deny: tuple[str, ...] = (),
    *,
    harmless: tuple[str, ...] = (),
    is_heard: bool = True,
) -> Finished:
    home = workspace.parent / "home"
    bounds = confiner(
        (workspace,),
        lambda: Settings(rules_deny=deny, harmless_names=harmless),
        home=home,
        restricted=restricted,
        quarantine=workspace.parent / "quarantine",
    )
    confinement = bounds(widening or Widening())
    if not is_heard:
        confinement = unheard(confinement)
    return await spawn(command, cwd=workspace, timeout_s=60, confinement=confinement)


async def test_sbx_01_many_decoy_secret_files_do_not_reveal_a_real_secret(workspace: Path) -> None:
    for number in range(70):
        (workspace / f"!{number}.pem").touch()
    home = workspace.parent / "home"
    finished = await run(workspace, f"cat .env {home}/.ssh/id; echo x >>.git/config")
    assert "canary" not in finished.output
    assert "x" not in (workspace / ".git" / "config").read_text(encoding="utf-8").split()


async def test_sbx_01_no_command_runs_with_more_secret_files_than_the_sandbox_can_hide(
    workspace: Path,
) -> None:
    for number in range(MOST_MOUNTS):
        (workspace / f"!{number}.pem").touch()
    with pytest.raises(ToolError, match="more than the sandbox can hold"):
        await run(workspace, "cat .env")


def test_no_command_runs_in_a_workspace_too_large_to_scan(workspace: Path) -> None:
    (workspace / "zz" / "app").mkdir(parents=True)
    (workspace / "zz" / "app" / ".env").touch()
    guard = FolderGuard(workspace, SECRETS, most_folders=20, quarantine=beside(workspace))
    before = guard.look()
    assert (before.refused, str(workspace / "zz" / "app" / ".env") in before.hidden) == ("", True)
    for number in range(30):
        (workspace / f"d{number}").mkdir()
    (workspace / "d9" / ".nvim.lua").touch()
    notes = before.settle()
    assert not (workspace / "d9" / ".nvim.lua").exists()
    assert [note for note in notes if "gone" in note or "renamed" in note] == []
    assert "no command runs in the sandbox" in notes[0]
    assert "more than" in guard.look().refused


def test_too_many_installed_folders_allow_only_read_only_commands(workspace: Path) -> None:
    guard = FolderGuard(workspace, SECRETS, most_installed=20, quarantine=beside(workspace))
    before = guard.look()
    assert not before.refused
    for number in range(30):
        (workspace / "node_modules" / f"p{number:02}").mkdir(parents=True)
    deep = workspace / "node_modules" / "p29" / "deep"
    git(workspace, "init", "-q", str(deep))
    with (deep / ".git" / "config").open("a") as file:
        file.write("[core]\n\tfsmonitor = touch ran\n")
    notes = before.settle()
    assert not (deep / ".git").exists(), "behind many folders it was not looked for"
    assert any("no command runs in the sandbox" in note for note in notes)
    refused = guard.look().refused
    assert "more than 20 folders of installed files (such as node_modules)" in refused
    assert not guard.look(is_writable=False).refused
    shutil.rmtree(workspace / "node_modules")
    assert not guard.look().refused


async def test_files_named_by_gits_configuration_stay_unchanged(workspace: Path) -> None:
    (workspace / ".githooks").mkdir()
    (workspace / ".githooks" / "pre-commit").write_bytes(b"true")
    (workspace / "git-settings").write_bytes(b"[core]\n")
    (workspace / "later").mkdir()
    git(workspace, "config", "core.hooksPath", ".githooks")
    git(workspace, "config", "include.path", "../git-settings")
    git(workspace, "config", "--add", "include.path", "../later/more")
    finished = await run(
        workspace,
        f"echo evil >>.githooks/pre-commit; echo evil >.githooks/post-checkout; mv .githooks x; "
        f"printf '{EVIL}' | tee -a git-settings >later/more; ls -A .githooks",
    )
    assert (workspace / ".githooks" / "pre-commit").read_text(encoding="utf-8") == "true"
    assert not (workspace / ".githooks" / "post-checkout").exists()
    assert (workspace / "git-settings").read_text(encoding="utf-8") == "[core]\n"
    assert not (workspace / "later" / "more").exists()
    assert len(finished.notes) == 1


async def test_a_git_folder_with_another_name_is_protected_and_git_commands_work(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "workspace"
    git(tmp_path, "init", "-q", f"--separate-git-dir={folder}/real", str(folder))
    git(tmp_path, "init", "-q", "--bare", str(folder / "other"))
    before = (folder / "real" / "config").read_text(encoding="utf-8")
    finished = await run(
        folder,
        f"for at in real other; do printf '{EVIL}' | tee -a $at/config; echo evil >$at/commondir; "
        "mkdir -p $at/hooks; echo evil >$at/hooks/post-checkout; done",
        is_heard=False,
    )
    assert len(finished.notes) == 2
    finished = await run(
        folder,
        "echo x >a; git add a; git -c user.name=a -c user.email=a@b commit -qm x; "
        "git switch -qc b; git log --oneline b",
    )
    assert (finished.output[7:], finished.notes) == (" x\n", ())
    assert (folder / "real" / "config").read_text(encoding="utf-8") == before
    for name in ("real", "other"):
        assert not (folder / name / "commondir").exists()
        assert not (folder / name / "hooks" / "post-checkout").exists()


async def test_a_repository_that_runs_programs_made_in_two_steps_is_removed(
    workspace: Path,
) -> None:
    assert (await run(workspace, "mkdir b; echo ref: refs/heads/x >b/HEAD")).notes == ()
    finished = await run(workspace, f"mkdir b/objects b/refs; printf '{EVIL}' >b/config")
    assert len(finished.notes) == 1
    assert not (workspace / "b" / "config").exists()


async def test_targets_of_protected_links_stay_unchanged(workspace: Path) -> None:
    (workspace / ".vscode").mkdir()
    (workspace / "conf").mkdir()
    (workspace / "conf" / "s.json").write_bytes(b"{}")
    (workspace / "pc.sh").write_bytes(b"true")
    (workspace / ".vscode" / "settings.json").symlink_to("../conf/s.json")
    (workspace / ".git" / "hooks" / "pre-commit").unlink(missing_ok=True)
    (workspace / ".git" / "hooks" / "pre-commit").symlink_to("../../pc.sh")
    (workspace / ".husky").symlink_to("nowhere")
    finished = await run(
        workspace, "echo evil >conf/s.json; echo evil >pc.sh; mkdir nowhere; echo evil >nowhere/x"
    )
    assert (workspace / "conf" / "s.json").read_text(encoding="utf-8") == "{}"
    assert (workspace / "pc.sh").read_text(encoding="utf-8") == "true"
    assert not (workspace / "nowhere").exists()
    assert len(finished.notes) == 1


async def test_repositories_in_folders_of_installed_files_are_found(workspace: Path) -> None:
    finished = await run(
        workspace,
        "mkdir -p node_modules/.vscode; git init -q node_modules; "
        "git -C node_modules config core.fsmonitor x",
        is_heard=False,
    )
    assert len(finished.notes) == 2
    assert not (workspace / "node_modules" / ".git").exists()


async def test_a_configuration_of_git_that_lost_its_mount_is_restored(workspace: Path) -> None:
    config = workspace / ".git" / "config"
    before = config.read_text(encoding="utf-8")
    quarantine = Quarantine(workspace.parent / "quarantine", (workspace,))
    guarded = FolderGuard(workspace, SECRETS, quarantine=quarantine).look()
    config.unlink()
    config.write_bytes(f'{before}[branch "a"]\n\tmerge = refs/heads/a\n'.encode())
    assert guarded.settle() == ()
    config.write_bytes(f"{before}[core]\n\tfsmonitor = x\n".encode())
    (note,) = guarded.settle()
    assert "it is as it was" in note
    assert config.read_text(encoding="utf-8") == before
    assert "fsmonitor" in moved(workspace, ".git/config").read_text(encoding="utf-8")
    config.unlink()
    guarded.settle()
    assert config.read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    "name", ["branches/origin", "remotes/origin", "info/grafts", "objects/info/alternates"]
)
async def test_files_that_send_git_to_other_objects_or_hosts_are_removed(
    workspace: Path, name: str
) -> None:
    text = f"git status --short; mkdir -p .git/{name}; rmdir .git/{name}; echo ../x >.git/{name}"
    await run(workspace, text)
    assert not (workspace / ".git" / name).exists()


async def test_a_rebase_todo_may_not_contain_commands(workspace: Path) -> None:
    todo = workspace / ".git" / "rebase-merge" / "git-rebase-todo"
    assert (await run(workspace, f"mkdir {todo.parent}; echo pick 0123 >{todo}")).notes == ()
    finished = await run(workspace, f"echo exec touch ran >>{todo}")
    assert (len(finished.notes), todo.exists()) == (1, False)


@pytest.mark.parametrize("name", [".npmrc", ".env", ".env.local", ".envrc", ".netrc", ".pypirc"])
async def test_a_planted_configuration_file_is_quarantined_even_if_secret(
    workspace: Path, name: str
) -> None:
    (workspace / ".env").unlink()
    command = f"mkdir sub; echo script-shell=./x | tee {name} sub/{name}"
    finished = await run(workspace, command, is_heard=False)
    assert len(finished.notes) == 2
    for path in (name, f"sub/{name}"):
        assert not (workspace / path).exists()
        assert moved(workspace, path).read_text(encoding="utf-8") == "script-shell=./x\n"
        assert str(moved(workspace, path)) in "".join(finished.notes)


async def test_files_with_names_declared_harmless_stay(workspace: Path) -> None:
    command = "git init -q sub; mkdir .acme .vim sub/.acme; echo x | tee .acme/x .vim/x sub/.acme/x"
    told = (await run(workspace, command)).notes
    assert [(workspace / one).exists() for one in (".acme", ".vim", "sub/.acme")] == [False] * 3
    named = [one for one in told if "add the name to `harmless_names`" in one]
    assert ["acme" in one for one in named] == [True, True], told
    told = (await run(workspace, command, harmless=(".ac*", ".vim"))).notes
    assert [(workspace / one).exists() for one in (".acme", ".vim", "sub/.acme")] == [
        True, False, True,
    ]  # fmt: skip
    assert len(told) == 1


async def test_a_folder_linked_under_a_secret_name_is_hidden(workspace: Path) -> None:
    for name in ("real", ".ssh"):
        (workspace / name).mkdir()
        (workspace / name / "data").write_bytes(b"canary")
    (workspace / ".aws").symlink_to("real")
    finished = await run(workspace, "cat .aws/data real/data .ssh/data")
    assert "canary" not in finished.output


async def test_a_flood_of_forbidden_files_is_reported_in_a_few_lines(
    workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    command = "for i in {1..300}; do mkdir d$i; echo evil >d$i/AGENTS.md; done"
    finished = await run(workspace, command, is_heard=False)
    where = f"what was moved away is in {str(workspace.parent / 'quarantine')!r}"
    assert len(finished.notes) == 21
    assert finished.notes[-1] == f"and 280 more of this kind; {where}"
    assert len(caplog.messages) == 6, "the terminal and the editor's log get them"
    assert caplog.messages[-1] == "and 295 more of this kind"
    assert len(moved_away(workspace.parent / "quarantine", workspace)) == 300
    assert not list(workspace.glob("d*/AGENTS.md"))


async def test_folders_that_are_not_trusted_are_read_only_and_their_secrets_hidden(
    workspace: Path,
) -> None:
    below, beside = workspace / "sub", workspace.parent / "beside"
    for folder in (below, beside):
        folder.mkdir()
        (folder / ".env").write_bytes(b"canary-secret")
        (folder / "a").write_bytes(b"kept")
    finished = await run(
        workspace,
        f"for at in sub {beside}; do cat $at/.env $at/a; echo x >$at/a; echo x >$at/new; done; "
        "mv sub other; echo x >fine",
        restricted=(below, beside),
    )
    assert "canary" not in finished.output
    assert finished.output.count("kept") == 2
    for folder in (below, beside):
        assert (sorted(one.name for one in folder.iterdir())) == [".env", "a"]
        assert (folder / "a").read_text(encoding="utf-8") == "kept"
    assert (workspace / "fine").exists()


async def test_a_permitted_command_may_change_protected_files_but_not_git_configuration(
    workspace: Path,
) -> None:
    (workspace / "package.json").write_bytes(b"old")
    finished = await run(
        workspace,
        "echo new >package.json; echo new >AGENTS.md; mkdir .vscode; echo x >.vscode/tasks.json; "
        f"printf '{EVIL}' | tee -a .git/config; echo x >.git/hooks/post-checkout; cat .env",
        Widening(writes_protected=True),
    )
    assert (workspace / "package.json").read_text(encoding="utf-8") == "new\n"
    assert (workspace / "AGENTS.md").read_text(encoding="utf-8") == "new\n"
    assert (workspace / ".vscode" / "tasks.json").exists()
    assert "fsmonitor" not in (workspace / ".git" / "config").read_text(encoding="utf-8")
    assert not (workspace / ".git" / "hooks" / "post-checkout").exists()
    assert "canary" not in finished.output


async def test_git_does_not_report_a_changed_type_for_a_hidden_file(workspace: Path) -> None:
    git(workspace, "add", "-f", ".env")
    git(workspace, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
    finished = await run(
        workspace,
        "stat -c %F .env; cat .env; git -c user.name=a -c user.email=a@b commit -aqm y; "
        "git show --stat --format=%s",
    )
    assert "regular empty file" in finished.output
    assert "ermission denied" in finished.output
    assert "canary" not in finished.output
    assert finished.output.rstrip().splitlines()[-1].startswith(" 1 file changed, 1 insertion")


async def test_output_that_imitates_a_sandbox_error_counts_as_a_run(workspace: Path) -> None:
    finished = await run(workspace, "echo 'bwrap: x'; exit 1")
    assert (finished.output, finished.exit_code, finished.notes) == ("bwrap: x\n", 1, ())


async def test_the_model_is_told_which_file_was_hidden_when_a_command_fails(
    workspace: Path,
) -> None:
    finished = await run(workspace, "cat .env")
    (note,) = finished.notes
    assert note.startswith("'.env' may contain secrets and is hidden from commands")
    assert (await run(workspace, "echo .env; exit 1")).notes == ()


async def test_pol_12_no_command_changes_or_reads_files_that_the_users_rules_deny(
    workspace: Path,
) -> None:
    for name in ("docs/deep/a", "private/a", "src/a.lock"):
        (workspace / name).parent.mkdir(parents=True)
        (workspace / name).write_bytes(b"canary")
    (workspace / "package.json").write_bytes(b"canary")
    finished = await run(
        workspace,
        "cd docs; echo x >deep/a; echo x >b; cd ..; mv docs d; cat private/a; echo x >src/a.lock; "
        "echo fine >src/b; echo x >package.json",
        Widening(shows_secrets=True, writes_protected=True),
        deny=("edit: docs/**", "read: private/**", "edit: *.lock", "edit: package.json"),
    )
    assert "canary" not in finished.output
    assert (workspace / "docs" / "deep" / "a").read_text(encoding="utf-8") == "canary"
    assert not (workspace / "docs" / "b").exists()
    assert (workspace / "src" / "a.lock").read_text(encoding="utf-8") == "canary"
    assert (workspace / "src" / "b").exists()
    assert (workspace / "package.json").read_text(encoding="utf-8") == "canary"


def test_an_unreadable_folder_is_hidden_whole_and_user_files_in_it_stay_visible() -> None:
    """Root can open any folder, so another user scans."""
    done = subprocess.run(
        [sys.executable, "-c", CLOSED],
        check=True,
        capture_output=True,
        text=True,
        cwd="/",
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "server")},
    )
    assert done.stdout.split("\n") == ["True True", "()", "True True", "is True", ""]


CLOSED = """
import os, pathlib, sys, tempfile
from indwell.bounds.guarded_scan import FolderGuard
from indwell.settings.credentials import SECRETS
from wcmatch import glob
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
with tempfile.TemporaryDirectory() as name:
    root = pathlib.Path(name).resolve()
    closed = root / "closed"
    (closed / "sub" / ".git").mkdir(parents=True)
    (closed / "sub" / "AGENTS.md").write_text("")
    (closed / ".env").write_text("")
    closed.chmod(0o311)
    guard = FolderGuard(root, SECRETS)
    look = guard.look()
    print(str(closed) in look.hidden, look.protected == ())
    closed.chmod(0o755)
    print(look.settle())
    open_look = guard.look()
    print(str(closed / ".env") in open_look.hidden, (closed / "sub" / "AGENTS.md").exists())
    closed.chmod(0o311)
    (closed / "sub" / "AGENTS.md").unlink()
    print(open_look.settle()[0].split()[1], os.listdir(closed) != [])
"""


async def test_unknown_hidden_folders_are_read_only_at_each_root_and_build_folders_are_writable(
    workspace: Path,
) -> None:
    (workspace / "sub" / ".git").mkdir(parents=True)
    (workspace / ".old-agent").mkdir()
    (workspace / "sub" / ".old-agent").mkdir()
    finished = await run(
        workspace,
        "mkdir -p .new-agent/hooks sub/.new-agent .pytest_cache sub/.cache other/.new-agent; "
        "touch .old-agent/x sub/.old-agent/x .coverage .new-agent/hooks/start; true",
    )
    assert finished.output.count("Read-only file system") == 2
    for gone in (".new-agent", "sub/.new-agent", ".old-agent/x", "sub/.old-agent/x"):
        assert not (workspace / gone).exists(), gone
    for kept in (".pytest_cache", ".coverage", "sub/.cache", "other/.new-agent"):
        assert (workspace / kept).exists(), kept
    assert len(finished.notes) == 2


async def test_only_installing_commands_may_change_programs_that_editors_start(
    workspace: Path,
) -> None:
    for name in (".venv/bin", "node_modules/.bin", "p/a/node_modules/.bin"):
        (workspace / name).mkdir(parents=True)
        (workspace / name / "tool").write_bytes(b"old")
    change = "for one in .venv node_modules p/a/node_modules; do echo new | tee $one/*in/tool; "
    change = change.replace("*in", "*bin") + "echo new | tee $one/.bin/tool; done; ln -s x venv"
    await run(workspace, change)
    tools = [
        workspace / name / "tool"
        for name in (".venv/bin", "node_modules/.bin", "p/a/node_modules/.bin")
    ]
    assert [one.read_text(encoding="utf-8") for one in tools] == ["old", "old", "old"]
    assert not (workspace / "venv").is_symlink()
    finished = await run(workspace, change, Widening(installs=True))
    assert [one.read_text(encoding="utf-8") for one in tools] == ["new\n", "new\n", "new\n"]
    assert (workspace / "venv").is_symlink()
    assert finished.notes == ()
