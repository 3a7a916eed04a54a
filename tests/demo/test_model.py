from __future__ import annotations

from pathlib import Path

import pytest

from demo.in_process import passes
from indwell.agent.core.events import EditApplied
from indwell.context.attachments import Selection
from indwell.policy.approvals import Answer
from indwell.prompt.system import task_words
from indwell.providers.scripted import CHECK, WHAT_IT_IS, _enclosing, demo_reply
from indwell.service.demo_project import Project, make_project
from indwell.tools.base import Tool, ToolContext, ToolTable
from indwell.tools.commands.bash import Shell
from indwell.tools.editing.edit import make_edit_file
from indwell.tools.read import make_read_file
from indwell.wiring.features import standard_tools
from indwell.workspace.base import Workspace
from indwell.workspace.disk import DiskWorkspace
from support.memory_workspace import MemoryWorkspace
from support.requests import request, user
from support.session import Named, World, a_tool, a_world, texts

ALWAYS: list[Answer] = ["once"] * 20


async def fix(world: World, project: Project) -> str:
    """Choose "Fix this" on the function with the bug; return the model's last text."""
    first, last = project.first_line, project.last_line
    lines = project.files[project.path].splitlines()[first - 1 : last]
    marked = Selection(project.path, first, last, "\n".join(lines))
    place = f"{project.path}, lines {first}-{last}"
    finished = await world.turn(task_words("fix", place=place), selection=marked)
    assert finished.ending == "done", finished.message
    await world.records()
    return finished.answer


def checking(project: Project, workspace: Workspace) -> Tool[Named]:
    """Return the project's check in this process as the tool ``bash``."""

    async def run(command: str, context: ToolContext) -> str:
        source = (await workspace.read(workspace.resolve(project.path))).text
        return "OK" if passes(project, source) else "FAILED"

    return a_tool("bash", run, effect="run")


class Renamed(ToolTable):
    """Converts the model's ``command`` to the made-up tool's ``name``."""

    def bind(self, name: str, arguments: str) -> object:  # type: ignore[override] # a Call
        return super().bind(name, arguments.replace('"command"', '"name"'))


@pytest.mark.parametrize("seed", range(24))
async def test_the_scripted_model_fixes_a_project_in_memory(tmp_path: Path, seed: int) -> None:
    project = make_project(seed)
    workspace = MemoryWorkspace(project.files)
    registry = Renamed([make_read_file(), make_edit_file(), checking(project, workspace)])
    async with a_world(
        tmp_path, demo_reply, workspace=workspace, registry=registry, answers=ALWAYS
    ) as world:
        said = await fix(world, project)
        assert said.endswith(f"The check passes: `{CHECK}`.")
        assert passes(project, workspace.files[Path("/workspace") / project.path])
        changed = {event.path for event in world.told(EditApplied)}
        assert changed == {project.path}


@pytest.mark.parametrize("seed", [1, 2, 5])
async def test_the_scripted_model_fixes_a_project_on_disk_with_the_real_tools(
    tmp_path: Path, seed: int
) -> None:
    project, folder = make_project(seed), tmp_path / "work"
    for name, text in project.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    workspace = DiskWorkspace([folder])
    registry = standard_tools(Shell(workspace.roots[0]))
    async with a_world(
        tmp_path, demo_reply, workspace=workspace, registry=registry, answers=ALWAYS
    ) as world:
        await fix(world, project)
        assert passes(project, (folder / project.path).read_text(encoding="utf-8"))
        assert {question.detail for question in world.approver.questions} == {CHECK}
        others = {name for name in project.files if name != project.path}
        assert {name: (folder / name).read_text(encoding="utf-8") for name in others} == {
            name: project.files[name] for name in others
        }


async def test_the_demo_model_changes_nothing_if_the_check_tool_is_missing(tmp_path: Path) -> None:
    project = make_project(1)
    workspace = MemoryWorkspace(project.files)
    registry = Renamed([make_read_file(), make_edit_file(), checking(project, workspace)])
    async with a_world(tmp_path, demo_reply, workspace=workspace, registry=registry) as world:
        assert "I cannot see what fails, so I changed nothing" in await fix(world, project)
        assert world.told(EditApplied) == []


async def test_the_demo_model_changes_no_project_without_errors(tmp_path: Path) -> None:
    project = make_project(1)
    workspace = MemoryWorkspace(project.files)

    async def fine(command: str, context: ToolContext) -> str:
        return "OK"

    registry = Renamed([make_read_file(), make_edit_file(), a_tool("bash", fine, effect="run")])
    async with a_world(
        tmp_path, demo_reply, workspace=workspace, registry=registry, answers=ALWAYS
    ) as world:
        assert "nothing to fix" in await fix(world, project)
        assert world.told(EditApplied) == []


async def test_the_demo_model_reports_failure_when_no_repair_helps(tmp_path: Path) -> None:
    project = make_project(1)
    workspace = MemoryWorkspace(project.files)

    async def hopeless(command: str, context: ToolContext) -> str:
        return "FAILED"

    registry = Renamed([make_read_file(), make_edit_file(), a_tool("bash", hopeless, effect="run")])
    async with a_world(
        tmp_path, demo_reply, workspace=workspace, registry=registry, answers=ALWAYS
    ) as world:
        assert "repairs and the check still fails" in await fix(world, project)


async def test_the_demo_model_fixes_the_same_selection_twice(tmp_path: Path) -> None:
    project = make_project(1)
    workspace = MemoryWorkspace(project.files)
    registry = Renamed([make_read_file(), make_edit_file(), checking(project, workspace)])
    async with a_world(
        tmp_path, demo_reply, workspace=workspace, registry=registry, answers=ALWAYS
    ) as world:
        await fix(world, project)
        assert "nothing to fix" in await fix(world, project)
        assert sum("<ide_selection>" in text for one in world.messages for text in texts(one)) == 1


def test_the_demo_model_answers_other_requests_with_its_description() -> None:
    assert demo_reply(request(user("Write a poem"))).text == WHAT_IT_IS


def test_the_demo_model_extends_a_one_line_selection_to_the_enclosing_function() -> None:
    lines = [
        "import x",
        "",
        "def f(a):",
        "    b = a",
        "",
        "    return b",
        "",
        "def g():",
        "    pass",
    ]
    assert _enclosing(lines, 4, 4) == (3, 6)
    assert _enclosing(lines, 3, 6) == (3, 6)
    assert _enclosing(lines, 9, 9) == (8, 9)
    assert _enclosing(lines, 1, 1) == (1, 1)
