"""No program obeys a planted file: its command is stopped, and the file is moved away."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from indwell.bounds.command_bounds import confiner
from indwell.policy.rules import Widening
from indwell.sandbox import Finished, spawn
from indwell.settings.model import Settings
from support.bubblewrap import needs_bubblewrap

pytestmark = needs_bubblewrap

LONG_S = 180
EVIL = "[core]\\n\\tfsmonitor = touch ran; false\\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    git(tmp_path, "init", "-q", str(folder))
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_bytes(b"x = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def git(cwd: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(
        ["git", *who, *words], check=True, cwd=cwd, capture_output=True, text=True
    )
    return done.stdout


async def run(workspace: Path, command: str, widening: Widening | None = None) -> Finished:
    above = workspace.parent
    bounds = confiner((workspace,), Settings, home=above / "home", quarantine=above / "quarantine")
    confinement = bounds(widening or Widening())
    return await spawn(command, cwd=workspace, timeout_s=LONG_S, confinement=confinement)


PLANTS = {
    "a file at the top": ("echo evil >AGENTS.md", "AGENTS.md"),
    "a file in a new folder": ("mkdir -p a/b/c; echo evil >a/b/c/.mcp.json", "a/b/c/.mcp.json"),
    "a folder that is renamed": ("mkdir x; echo {} >x/tasks.json; mv x src/.vscode", "src/.vscode"),
    "another name of a file in a folder that is renamed": (
        "mkdir q; mv q r; mkdir r/s; mv r/s r/t; echo evil >r/t/plain; ln r/t/plain r/t/.lvimrc",
        "r/t/.lvimrc",
    ),
    "a link": ("ln -s src src/.idea", "src/.idea"),
    "git's way to another configuration": ("echo ../evil >.git/commondir", ".git/commondir"),
    "a repository that runs something": (
        f"git init -q sub; printf '{EVIL}' >>sub/.git/config",
        "sub/.git/config",
    ),
    "one in two steps": (
        f"mkdir -p b/objects b/refs; printf '{EVIL}' >b/config; echo ref: refs/heads/x >b/HEAD",
        "b/config",
    ),
    "one that is one only when its last name appears": (
        (
            "mkdir b; echo ref: refs/heads/x >b/HEAD; sleep 1; mkdir b/objects b/refs; "
            f"printf '{EVIL}' >b/config"
        ),
        "b/config",
    ),
    "a way to one, in a file that was empty": (
        (
            f"touch src/.git; git init -q --bare b; printf '{EVIL}' >c; sleep 1; cp c b/config; "
            "echo gitdir: ../b >src/.git"
        ),
        "b/config",
    ),
    "a hook of a new repository": (
        "git init -q sub; echo evil >sub/.git/hooks/post-checkout",
        "sub/.git/hooks/post-checkout",
    ),
    "a file of git that names another place": ("echo gitdir: ../evil >src/.git", "src/.git"),
}


@pytest.mark.parametrize("kind", PLANTS)
async def test_a_command_that_plants_a_file_and_removes_it_later_is_stopped(
    workspace: Path, kind: str
) -> None:
    plant, path = PLANTS[kind]
    began = time.monotonic()
    finished = await run(
        workspace,
        f"{plant}; echo planted; sleep {LONG_S // 2}; rm -rf {path}; rm -rf sub b; echo cleaned",
    )
    assert finished.stopped
    assert "cleaned" not in finished.output
    assert time.monotonic() - began < LONG_S / 3
    assert not (workspace / path).exists()
    assert not (workspace / path).is_symlink()
    assert [note for note in finished.notes if Path(path).parts[0] in note or path in note]
    git(workspace, "status")
    assert not (workspace / "ran").exists()


COMMIT = "git -c user.name=a -c user.email=a@b commit -qm x"
WORK = {
    "git init": f"git init -q lib && cd lib && echo x >a && git add a && {COMMIT} && git status -s",
    "git clone": "git clone -q . other && cd other && git log --oneline",
    "git rebase": f"git switch -qc b && echo x >a && git add a && {COMMIT} && git rebase -q HEAD~1",
    "git stash": "echo x >>src/a.py && git stash -q && git stash pop -q && git stash list",
    "git worktree": "git worktree add -q ../workspace/tree && git -C tree status -s",
    "git gc": "git gc -q && git pack-refs --all && git tag v1 && git branch -q c && git merge -q c",
    "venv": "python3 -m venv --without-pip env && env/bin/python -c 'print(1)'",
    "installed": "mkdir -p node_modules/p && echo x | tee node_modules/p/{package.json,.npmrc}",
    "elsewhere": "d=$(mktemp -d) && mkdir $d/.vscode && echo {} >$d/.vscode/settings.json",
}


@pytest.mark.parametrize("kind", WORK)
async def test_ordinary_commands_are_not_stopped(workspace: Path, kind: str) -> None:
    installs = Widening(installs=kind == "venv")
    finished = await run(workspace, WORK[kind], installs)
    assert (finished.stopped, finished.exit_code, finished.notes) == (False, 0, ()), finished.output


async def test_a_command_other_than_git_changes_no_git_folder_without_a_question(
    workspace: Path,
) -> None:
    git(workspace, "init", "-q", "--bare", "bare")
    git(workspace, "worktree", "add", "-q", "tree")
    before = sorted(workspace.rglob("*"))
    finished = await run(
        workspace,
        "for one in .git bare .git/worktrees/tree; do for name in commondir config.worktree new "
        "info/attributes hooks/post-checkout; do echo x >$one/$name && echo made; done; done; "
        "mv .git moved && echo made; mv bare moved && echo made; "
        "git add src/a.py && echo made; git status -s; echo x >new",
        Widening(keeps_git=True),
    )
    assert ("made" in finished.output, finished.stopped, finished.notes) == (False, False, ())
    assert sorted(workspace.rglob("*")) == sorted([*before, workspace / "new"])
    (note,) = (await run(workspace, "git add new", Widening(keeps_git=True))).notes
    assert "run git in a command of its own" in note
    assert (await run(workspace, "git add new")).exit_code == 0
