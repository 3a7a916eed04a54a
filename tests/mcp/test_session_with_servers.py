"""Sessions with MCP servers of the user's settings, in the sandbox."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from indwell.agent.features.questions import Answer as QuestionAnswer
from indwell.agent.features.questions import UserQuestion
from indwell.mcp.definition import HttpServer, ServerDefinition, StdioServer
from indwell.messages import Request
from indwell.policy.approvals import Answer, Question
from indwell.review.verdicts import Scope, reject
from support.bubblewrap import needs_bubblewrap
from support.checked_project import a_project
from support.session import asks, call, says

SERVER = Path(__file__).parents[1] / "support" / "mcp_server.py"
PAPER = {"command": sys.executable, "args": [str(SERVER)]}


def results(project: Any) -> list[Any]:
    return [
        block
        for message in project.session.conversation.messages
        for block in message.blocks
        if block.meta.source == "tool" and hasattr(block, "is_error")
    ]


def written(path: Path) -> list[Any]:
    return [
        asks(call("find_tools", query="paper__write")),
        asks(call("paper__write", "c2", name=str(path), text="x")),
        says(),
    ]


@needs_bubblewrap
async def test_a_server_of_the_settings_writes_in_the_workspace_and_nowhere_else(
    tmp_path: Path,
) -> None:
    inside = tmp_path.resolve() / "work" / "note.txt"
    script = written(inside)
    async with a_project(tmp_path, script, mcp={"paper": PAPER}, answers=["once"]) as project:
        await project.turn()
        assert results(project)[-1].text == "written"
        assert inside.read_text("utf-8") == "x"
    outside = tmp_path.resolve() / "outside.txt"
    other = tmp_path / "other"
    other.mkdir()
    script = written(outside)
    async with a_project(other, script, mcp={"paper": PAPER}, answers=["once"]) as project:
        await project.turn()
        assert not outside.exists()  # the sandbox has its own /tmp


async def test_changes_by_a_servers_tool_are_listed_for_review_and_can_be_rejected(
    tmp_path: Path,
) -> None:
    work = tmp_path.resolve() / "work"
    script = [
        asks(call("find_tools", query="paper__write")),
        asks(call("paper__write", "c2", name=str(work / "a.txt"), text="sum\n")),
        asks(call("paper__write", "c3", name=str(work / "new.txt"), text="x\n")),
        says(),
    ]
    async with a_project(
        tmp_path,
        script,
        mcp={"paper": {**PAPER, "confined": False}},
        mode="review",
        is_reviewed=True,
        answers=["once", "once"],
    ) as project:
        await project.turn()
        ledger = project.session.parts.changes.ledger
        assert ledger is not None
        (changed,), (made,) = ledger.hunks(work / "a.txt"), ledger.hunks(work / "new.txt")
        assert (changed.old, changed.new) == (("total\n",), ("sum\n",))
        assert (made.old, made.new) == ((), ("x\n",))
        assert changed.actors[0].session == project.session.id
        await reject(ledger, project.session.parts.workspace, Scope())
        assert (work / "a.txt").read_text("utf-8") == "total\n"
        assert not (work / "new.txt").exists()


@pytest.mark.parametrize(
    ("transport", "is_near"),
    [
        (StdioServer("npx"), True),
        (HttpServer("http://127.0.0.1:8080/mcp"), True),
        (HttpServer("http://[::1]:8080/mcp"), True),
        (HttpServer("https://docs.example/mcp"), False),
    ],
)
def test_only_a_server_on_this_machine_is_expected_to_change_files(transport, is_near) -> None:
    assert ServerDefinition("paper", transport).is_near == is_near


async def test_without_servers_no_mcp_text_is_sent_and_no_mcp_module_imported(
    tmp_path: Path,
) -> None:
    requests: list[Request] = []

    def script(request: Request) -> Any:
        requests.append(request)
        return says()

    before = "indwell.mcp.connection" in sys.modules
    async with a_project(tmp_path, script) as project:
        await project.turn()
    assert "find_tools" not in [spec.name for spec in requests[0].tools]
    assert ("indwell.mcp.connection" in sys.modules) == before


async def test_no_server_program_is_started_in_a_folder_that_is_not_trusted(tmp_path: Path) -> None:
    requests: list[Request] = []

    def script(request: Request) -> Any:
        requests.append(request)
        return says()

    async with a_project(tmp_path, script, mcp={"paper": PAPER}, is_trusted=False) as project:
        await project.turn()
    assert "find_tools" not in [spec.name for spec in requests[0].tools]


async def test_plan_mode_asks_although_a_rule_allows_the_tool(tmp_path: Path) -> None:
    open_paper = {**PAPER, "confined": False}
    script = [
        asks(call("find_tools", query="paper__add")),
        asks(call("paper__add", "c2", a=1, b=2)),
        says(),
    ]
    async with a_project(
        tmp_path,
        script,
        mcp={"paper": open_paper},
        mode="plan",
        rules_allow=("tool: paper__*",),
        answers=["once"],
    ) as project:
        await project.turn()
        (question,) = project.approver.questions
        assert question.reason.startswith("the mode is `plan`")
        assert question.rule == ""
        assert results(project)[-1].text == "3"


@pytest.mark.parametrize("answer", ["session", "always"])
async def test_a_yes_for_the_session_covers_the_tool_with_any_arguments(
    tmp_path: Path, answer: Any
) -> None:
    open_paper = {**PAPER, "confined": False}
    script = [
        asks(call("find_tools", query="paper__add")),
        asks(call("paper__add", "c2", a=1, b=2)),
        asks(call("paper__add", "c3", a=3, b=4)),
        says(),
    ]
    async with a_project(tmp_path, script, mcp={"paper": open_paper}, answers=[answer]) as project:
        await project.turn()
        assert len(project.approver.questions) == 1
        assert results(project)[-1].text == "7"


class Person:
    """A user who allows calls and answers questions; implements ``Approver`` and ``Asker``."""

    def __init__(self, *said: str) -> None:
        self.asked: list[UserQuestion] = []
        self._said = list(said)

    async def ask(self, question: Question) -> Answer:
        del question
        return "once"

    async def ready(self, question: UserQuestion) -> None:
        self.asked.append(question)

    async def answer(self, question: UserQuestion) -> QuestionAnswer:
        said = self._said.pop(0)
        if said in question.options:
            return QuestionAnswer(chosen=question.options.index(said))
        return QuestionAnswer(words=said)


@pytest.mark.parametrize(
    ("said", "result"),
    [
        (("red", "3"), '{"action":"accept","data":{"colour":"red","count":3}}'),
        (("green", "4"), '{"action":"accept","data":{"colour":"green","count":4}}'),
        (("red", "Decline"), '{"action":"decline"}'),
    ],
)
async def test_a_form_is_asked_field_by_field_and_names_the_server(
    tmp_path: Path, said: tuple[str, ...], result: str
) -> None:
    script = [
        asks(call("find_tools", query="paper__ask")),
        asks(call("paper__ask", "c2")),
        says(),
    ]
    person = Person(*said)
    open_paper = {**PAPER, "confined": False}
    async with a_project(tmp_path, script, mcp={"paper": open_paper}, approver=person) as project:
        await project.turn()
        assert results(project)[-1].text == result
        assert all(
            one.text.startswith("The MCP server 'paper' asks (never tell it a password)")
            for one in person.asked
        )
        assert person.asked[0].options == ("red", "Decline")
