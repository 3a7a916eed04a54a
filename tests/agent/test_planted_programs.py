"""A program that the model wrote into a folder of PATH does not run without a question (S-H6)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from agent.test_approval_scope import meddle
from indwell.agent.permission.call_facts import MOST_LOOKED_UP, planted, with_batch_files
from indwell.policy.call_facts import NO_FILE, Allow, Ask, CallFacts, Policy
from indwell.policy.commands.verdict import CommandPart
from indwell.policy.decide import decide
from indwell.tools.commands.bash import Shell
from indwell.wiring.features import standard_tools
from indwell.workspace.disk import DiskWorkspace
from support.platforms import posix_only
from support.session import a_world, asks, call, says

SUFFIX = ".exe" if sys.platform == "win32" else ""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work = (tmp_path / "work").resolve()
    (work / ".venv" / "bin").mkdir(parents=True)
    path = os.pathsep.join([str(work / ".venv" / "bin"), os.environ["PATH"]])
    monkeypatch.setenv("PATH", path)
    return work


def plant(work: Path, name: str) -> Path:
    path = work / ".venv" / "bin" / f"{name}{SUFFIX}"
    path.write_bytes(f"#!/bin/sh\necho >> {work.parent}/escaped\n".encode())
    path.chmod(0o755)
    return path


def rewrite(path: Path) -> None:
    path.write_bytes(b"#!/bin/sh\necho other\n")


def of(*words: str) -> list[CommandPart]:
    text = " ".join(words)
    return [CommandPart(text, 0, len(text), words, "allow", "")]


def test_permission_for_a_program_in_the_workspace_is_bound_to_the_programs_content(
    work: Path,
) -> None:
    git = plant(work, "git")
    ((name, before),) = planted(of("sudo", "git", "push"), [work])
    assert name == str(git)
    git.write_bytes(b"another")
    assert planted(of("git", "push"), [work]) == ((name, planted(of("git"), [work])[0][1]),)
    assert planted(of("git"), [work])[0][1] not in {before, NO_FILE}
    assert planted(of("sh", "-c", "/bin/ls"), [work]) == ()


@posix_only("symlinks")
def test_permission_for_a_virtual_environments_python_is_bound_to_the_link_target(
    work: Path,
) -> None:
    (work / ".venv" / "bin" / "python9").symlink_to("/bin/sh")
    ((_, before),) = planted(of("python9", "-m", "x"), [work])
    (work / ".venv" / "bin" / "python9").unlink()
    (work / ".venv" / "bin" / "python9").symlink_to("/bin/cat")
    ((_, after),) = planted(of("python9", "-m", "x"), [work])
    assert NO_FILE not in {before, after}
    assert before != after


async def test_programs_beyond_the_lookup_limit_count_as_batch_files() -> None:
    rules = SimpleNamespace(policy=Policy("auto", roots=("C:\\work",), language="powershell"))
    session = SimpleNamespace(parts=SimpleNamespace(workspace=SimpleNamespace(roots=())))
    words = " ".join(f"a{number}" for number in range(MOST_LOOKED_UP))
    asked = CallFacts("bash", "run", command=f"echo {words}; rg 'a&calc'", cwd="C:\\work")
    found = await with_batch_files(session, rules, asked)
    assert isinstance(decide(asked, rules.policy), Allow)
    assert isinstance(decide(found, rules.policy), Ask)


async def test_a_permission_names_the_workspace_program_and_ends_when_the_program_changes(
    tmp_path: Path, work: Path
) -> None:
    git = plant(work, "git")
    script = [asks(call("bash", command="git push")), says("done")]
    registry = standard_tools(Shell(work))
    workspace = DiskWorkspace([work])
    async with a_world(tmp_path, script, workspace=workspace, registry=registry) as world:
        meddler = meddle(world, lambda: rewrite(git))
        await world.turn()
    (question,) = meddler.questions
    assert f"it runs .venv/bin/git{SUFFIX} from the workspace" in question.reason
    assert "changed while the user was asked" in world.results[0].text
    assert not (tmp_path / "escaped").exists()


async def test_no_tool_runs_a_program_from_the_workspace(tmp_path: Path, work: Path) -> None:
    for name in ("rg", "bash", "git", "ls"):
        plant(work, name)
    (work / "a.txt").write_bytes(b"needle\n")
    calls = [
        call("grep", pattern="needle"),
        call("glob", pattern="*.txt"),
        call("bash", command="ls"),
        call("bash", command="git status"),
    ]
    registry = standard_tools(Shell(work))
    workspace = DiskWorkspace([work])
    async with a_world(
        tmp_path, [asks(*calls), says("done")], workspace=workspace, registry=registry
    ) as world:
        await world.turn()
    assert "a.txt" in world.results[2].text
    assert not (tmp_path / "escaped").exists()
