from __future__ import annotations

from pathlib import Path

import pytest
from support.session import Named, World, a_tool, a_world

from indwell.context.ide import Selection
from indwell.demo.model import WHAT_IT_IS, answer
from indwell.demo.project import CHECK, Project, make_project
from indwell.messages import Request
from indwell.policy.approvals import Answer
from indwell.prompt.tasks import task_words
from indwell.tools.base import Registry, Tool, ToolContext
from indwell.tools.bash import Shell
from indwell.tools.edit import make_edit_file
from indwell.tools.glob import make_glob
from indwell.tools.read import make_read_file
from indwell.tools.table import standard_tools
from indwell.workspace.base import Workspace
from indwell.workspace.disk import DiskWorkspace
from indwell.workspace.memory import MemoryWorkspace

from .test_project import passes


def selection_of(project: Project) -> Selection:
    lines = project.files[project.path].splitlines()
    text = "\n".join(lines[project.first_line - 1 : project.last_line])
    return Selection(project.path, project.first_line, project.last_line, text)


async def fix(world: World, project: Project) -> None:
    marked = selection_of(project)
    place = f"{marked.path}, lines {marked.first_line}-{marked.last_line}"
    finished = await world.turn(task_words("fix", place=place), selection=marked)
    assert finished.ending == "done"


def checking(project: Project, workspace: Workspace) -> Tool[Named]:
    """``bash`` as far as the scripted model needs it: the project's check, in this process."""

    async def run(command: str, context: ToolContext) -> str:
        assert command == CHECK
        source = (await workspace.read(workspace.resolve(project.path))).text
        return "OK\nexit code 0" if passes(project, source) else "FAILED\nexit code 1"

    return a_tool("bash", run, effect="run")


@pytest.mark.parametrize("seed", range(0, 60, 4))
async def test_it_mends_the_project_in_memory(tmp_path: Path, seed: int) -> None:
    project = make_project(seed)
    workspace = MemoryWorkspace(project.files)

    def told(request: Request) -> object:
        reply = answer(request)
        return reply

    bash = checking(project, workspace)
    registry = Registry([make_read_file(), make_edit_file(), make_glob(), bash])
    always: list[Answer] = ["once"] * 20
    async with a_world(
        tmp_path, told, workspace=workspace, registry=registry, answers=always
    ) as world:
        await fix(world, project)
        assert passes(project, workspace.files[Path("/workspace") / project.path])
        await world.records()
