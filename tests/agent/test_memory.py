"""Facts through the real loop: proposed, allowed by the user, found in a later session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from indwell.agent.core.events import PermissionAnswered, PermissionAsked, ToolFinished
from indwell.agent.features.memory import NAME, make_remember, memory_feature
from indwell.context.attachments import OpenedFile, Selection
from indwell.context.memory import Fact
from indwell.context.tokens import tools_tokens
from indwell.messages import Text
from indwell.policy.call_facts import Policy
from indwell.policy.rules import PatternRules
from indwell.secrets import MARK
from indwell.sessions.records import Decided
from indwell.settings.memory_pages import MemoryPages
from support.made_secrets import made_secrets
from support.session import World, a_world, asks, call, says, with_parts

FACT = "Tests run with `just test`."
_, SECRET = made_secrets()["github"]
NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)


def pages_in(folder: Path) -> MemoryPages:
    return MemoryPages(folder / "memory", "shop")


def remember(fact: str = FACT, id_: str = "r1", **more: Any) -> Any:
    return call(NAME, id_, fact=fact, **more)


@asynccontextmanager
async def world(folder: Path, script: list[Any], **more: Any) -> AsyncIterator[World]:
    pages = pages_in(folder)
    tool = make_remember(pages, "s1", lambda: NOW)
    features = [memory_feature(pages, (tool,))]
    async with a_world(folder, script, features=features, **more) as made:
        yield made


def recalled(made: World) -> list[str]:
    """Return the reminders about remembered facts."""
    return [
        block.text
        for message in made.messages
        for block in message.blocks
        if isinstance(block, Text) and block.meta.source == "memory"
    ]


async def test_a_fact_is_kept_exactly_as_shown_in_the_question(tmp_path) -> None:
    script = [asks(remember()), says()]
    async with world(tmp_path, script, answers=["once"]) as made:
        await made.turn()
        (question,) = made.approver.questions
        assert question.title == "Remember this for later sessions in this workspace?"
        assert question.detail == f"+ {FACT}"
        assert (question.rule, question.kind) == ("", "other")
        assert made.results[0].text == "kept for later sessions in this workspace"
        (done,) = made.told(ToolFinished)
        assert (done.target, done.figure) == (FACT, "kept")
        records = [one for one in await made.records() if isinstance(one, Decided)]
        last = records[-1]
        assert (last.tool, last.rule, last.answer) == (NAME, "memory", "once")
        assert FACT in last.what, "`indwell audit` says what it was"
    kept = pages_in(tmp_path).facts("workspace")
    assert kept == (Fact(FACT, "workspace", "2026-11-22", "s1"),)


@pytest.mark.parametrize("mode", ["plan", "ask", "review", "auto"])
async def test_a_proposed_fact_needs_a_question_each_time_in_every_mode(tmp_path, mode) -> None:
    script = [asks(remember()), asks(remember("CI needs Python 3.12.", "r2")), says()]
    answers = ["always", "session"]
    rules = PatternRules(allow=(f"tool: {NAME}",))
    async with world(tmp_path, script, answers=answers, policy=Policy(mode, rules=rules)) as made:
        await made.turn()
        assert len(made.approver.questions) == 2
        assert made.rules == set(), "no answer stands"
        # The question only offered a yes for once, so a yes for the session counts as a no.
        assert [one.answer for one in made.told(PermissionAnswered)] == ["no", "no"]
    assert pages_in(tmp_path).facts("workspace") == ()


async def test_a_fact_that_the_user_refuses_is_not_kept(tmp_path) -> None:
    async with world(tmp_path, [asks(remember()), says()], answers=["no"]) as made:
        await made.turn()
        assert made.results[0].is_error
    assert not (tmp_path / "memory").exists()


async def test_a_user_rule_can_deny_remembering_without_a_question(tmp_path) -> None:
    policy = Policy("auto", rules=PatternRules(deny=(f"tool: {NAME}",)))
    async with world(tmp_path, [asks(remember()), says()], policy=policy) as made:
        await made.turn()
        assert made.approver.questions == []
        assert "denies it" in made.results[0].text


async def test_the_question_about_a_corrected_fact_shows_the_old_fact(tmp_path) -> None:
    pages_in(tmp_path).keep(Fact("The project needs Python 3.11 at least."))
    new = "The project needs Python 3.12 at least."
    async with world(tmp_path, [asks(remember(new)), says()], answers=["once"]) as made:
        await made.turn()
        (question,) = made.approver.questions
        assert question.detail == f"+ {new}\n- The project needs Python 3.11 at least."
        assert "instead of: The project needs Python 3.11" in made.results[0].text
    assert [one.text for one in pages_in(tmp_path).facts("workspace")] == [new]


async def test_a_page_that_changed_during_the_question_is_asked_about_again(tmp_path) -> None:
    class Meddling:
        async def ask(self, question: object) -> str:
            del question
            pages_in(tmp_path).keep(Fact("Tests run with `just tests`."))
            return "once"

    async with world(tmp_path, [asks(remember()), says()]) as made:
        object.__setattr__(made.session.parts, "approver", Meddling())
        await made.turn()
        assert "changed while the user was asked" in made.results[0].text
    assert len(pages_in(tmp_path).facts("workspace")) == 1


@pytest.mark.parametrize(
    ("fact", "why"),
    [
        (" \n ", "no words"),
        ("x" * 301, "longer than the 300"),
        ("hidden \u202e words", "do not show"),
        (f"the token is {SECRET}", "looks like a secret"),
        (f"the token is {MARK} x]", "looks like a secret"),
        ("TESTS run with just test", "remembered already"),
    ],
)
async def test_a_fact_that_may_not_be_stored_is_refused_without_a_question(
    tmp_path, fact, why
) -> None:
    pages_in(tmp_path).keep(Fact(FACT))
    async with world(tmp_path, [asks(remember(fact)), says()], answers=["once"]) as made:
        await made.turn()
        assert made.results[0].is_error
        assert why in made.results[0].text
        assert (made.approver.questions, made.told(PermissionAsked)) == ([], [])
    assert [one.text for one in pages_in(tmp_path).facts("workspace")] == [FACT]


async def test_a_fact_of_several_lines_is_stored_as_one_line(tmp_path) -> None:
    script = [asks(remember("Tests run\n- with a forged\nline")), says()]
    async with world(tmp_path, script, answers=["once"]) as made:
        await made.turn()
    texts = [one.text for one in pages_in(tmp_path).facts("workspace")]
    assert texts == ["Tests run - with a forged line"]


async def test_facts_about_the_user_are_included_in_every_workspace(tmp_path) -> None:
    script = [asks(remember("Answers are wanted in German.", scope="user")), says()]
    async with world(tmp_path, script, answers=["once"]) as made:
        await made.turn()
        assert "in every workspace" in made.approver.questions[0].title
    elsewhere = MemoryPages(tmp_path / "memory", "another-workspace")
    assert [one.text for one in elsewhere.facts("user")] == ["Answers are wanted in German."]
    assert elsewhere.facts("workspace") == ()


async def test_a_later_session_gets_the_fitting_facts_once(tmp_path) -> None:
    pages = pages_in(tmp_path)
    pages.keep(Fact(FACT))
    pages.keep(Fact("Deploys happen on Tuesdays."))
    script = [says()] * 4
    async with world(tmp_path, script) as made:
        await made.turn("rename the variable")
        assert recalled(made) == []
        await made.turn("run the tests")
        assert len(recalled(made)) == 1
        assert FACT in recalled(made)[0]
        assert "Tuesdays" not in recalled(made)[0]
        await made.turn("the tests again")
        assert len(recalled(made)) == 1
        await made.turn("tests, then deploy")
        assert len(recalled(made)) == 2
        assert "Tuesdays" in recalled(made)[1]
        assert FACT not in recalled(made)[1]
        await made.records()


@pytest.mark.parametrize(
    "along",
    [
        {"opened": OpenedFile("tests/test_shop.py", "python", 10)},
        {"selection": Selection("tests/test_shop.py", 1, 1, "assert True")},
    ],
)
async def test_files_included_in_a_prompt_recall_fitting_facts(tmp_path, along) -> None:
    pages_in(tmp_path).keep(Fact(FACT))
    async with world(tmp_path, [says()]) as made:
        await made.turn("fix this", **along)
        assert len(recalled(made)) == 1


async def test_a_secret_written_into_the_memory_page_is_not_sent(tmp_path) -> None:
    pages_in(tmp_path).keep(Fact(f"The tests use {SECRET} for the API."))
    async with world(tmp_path, [says()]) as made:
        with_parts(made.session, hide=lambda text: text.replace(SECRET, "[...]"))
        await made.turn("run the tests")
        assert SECRET not in recalled(made)[0]
        assert "[...]" in recalled(made)[0]


async def test_without_facts_memory_does_not_change_the_request(tmp_path) -> None:
    async with world(tmp_path, [says()]) as with_memory:
        await with_memory.turn("run the tests")
        messages = with_memory.messages
    async with a_world(tmp_path / "other", [says()]) as without:
        await without.turn("run the tests")
        assert without.messages == messages


def test_the_schema_of_the_memory_tool_is_short() -> None:
    spec = make_remember(pages_in(Path("nowhere")), "s1", lambda: NOW).spec
    assert tools_tokens((spec,)) <= 85, "an estimate that errs high"
