"""``indwell tasks`` at a terminal: the example of the docs, runs, and refusals."""

from __future__ import annotations

import json

import pytest

from support.doc_examples import examples
from support.editing import Home, bash, texts_of
from support.loopback_endpoint import LoopbackEndpoint, refuse, say
from support.terminal import Ended, indwell


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def tasks(home: Home, *arguments: str, base_url: str = "") -> Ended:
    return await indwell(
        "tasks", *arguments, environment=home.environment(base_url), folder=home.workspace
    )


async def test_the_documented_example_prints_the_documented_output(home) -> None:
    (example,) = examples("tasks.md", "sh")
    (promised,) = examples("tasks.md", "text")
    printed = ""
    for line in example.text.strip().splitlines():
        words = line.removeprefix("indwell tasks ").split()
        printed += (await tasks(home, *words)).stdout
    assert printed == promised.text


async def test_tasks_run_in_sessions_of_their_own_and_in_their_order(home) -> None:
    await tasks(home, "add", "First", "--text", "Do the first thing.")
    await tasks(home, "add", "Second", "--after", "t1")
    async with LoopbackEndpoint([say("One."), say("Two.")]) as endpoint:
        ended = await tasks(home, "run", "--json", base_url=endpoint.base_url)
    assert ended.code == 0, ended.stderr
    steps = ["t1 running: First", "t1 done: First", "t2 running: Second", "t2 done: Second"]
    assert [line for line in ended.stderr.splitlines() if line in steps] == steps
    rows = json.loads(ended.stdout)["tasks"]
    assert [one["state"] for one in rows] == ["done", "done"]
    assert len({one["session"] for one in rows}) == 2
    first, second = (texts_of(one.body["messages"]) for one in endpoint.seen)
    assert "Do the first thing." in first
    assert "Do the first thing." not in second
    assert len(home.logs()) == 2


async def test_a_failed_task_ends_the_run_with_1_and_says_why(home) -> None:
    await tasks(home, "add", "First")
    await tasks(home, "add", "Second", "--after", "t1")
    async with LoopbackEndpoint([refuse(400, "no such model")]) as endpoint:
        ended = await tasks(home, "run", base_url=endpoint.base_url)
    assert ended.code == 1
    assert "no such model" in ended.stdout
    assert "t2  after t1  Second" in ended.stdout


async def test_without_a_terminal_a_task_gets_no_permission(home) -> None:
    await tasks(home, "add", "Clean")
    script = [bash("rm -f shop.py"), say("Not allowed.")]
    async with LoopbackEndpoint(script) as endpoint:
        ended = await tasks(home, "run", base_url=endpoint.base_url)
    assert ended.code == 0
    assert "Clean" in ended.stderr
    assert home.shop.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show", "t1"), "there is no task 't1'"),
        (("run",), "there is no task to run"),
        (("add", " "), "a task needs a title"),
    ],
)
async def test_an_impossible_task_command_is_refused_with_a_message(home, words, message) -> None:
    ended = await tasks(home, *words)
    assert ended.code == 1
    assert message in ended.stderr
