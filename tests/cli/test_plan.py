"""Plans in the terminal: the example of the docs runs unchanged."""

from __future__ import annotations

import asyncio
import json
import shlex

import pytest

from support.doc_examples import examples
from support.editing import EDIT, MENDED, READ, SOURCE, USAGE, Home, results, texts_of
from support.loopback_endpoint import LoopbackEndpoint, say
from support.terminal import Ended, indwell

STEPS = "1. Take one off the total\n2. Look at it"
PROPOSED = say("I looked.", calls=[("plan", json.dumps({"text": STEPS}))], usage=USAGE)
WORK = (say(calls=[READ], usage=USAGE), say(calls=[EDIT], usage=USAGE), say("Mended.", usage=USAGE))
PLANNING, CARRYING = examples("plan.md", "sh")[0].text.splitlines()


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def typed(home: Home, line: str, base_url: str = "") -> Ended:
    """Run a line of the page as a shell would."""
    program, *arguments = shlex.split(line)
    assert program == "indwell"
    variables = home.environment(base_url)
    return await indwell(*arguments, environment=variables, folder=home.workspace)


async def test_the_documented_plan_example_waits_and_carries_out_the_users_plan(home) -> None:
    async with LoopbackEndpoint([PROPOSED, *WORK]) as endpoint:
        planned = await typed(home, PLANNING, endpoint.base_url)
        assert (planned.code, home.shop.read_text(encoding="utf-8")) == (0, SOURCE)
        assert planned.stdout == "1. Take one off the total\n2. Look at it\nI looked.\n"
        assert "indwell run --continue --approve-plan" in planned.stderr
        (document,) = home.state.rglob("*-plan.md")
        assert str(document) in planned.stderr.replace("\n", "")
        await asyncio.to_thread(document.write_text, "1. Take one off, no more\n")
        done = await typed(home, CARRYING, endpoint.base_url)
        assert (done.code, home.shop.read_text(encoding="utf-8")) == (0, MENDED)
        sent = texts_of(endpoint.seen[1].body["messages"])
    assert "<approved-plan>\n1. Take one off, no more\n</approved-plan>" in sent
    assert "The plan is approved: carry it out." in sent


async def test_a_prompt_beside_an_approval_is_sent_with_the_approval(home) -> None:
    async with LoopbackEndpoint([PROPOSED, say("Well.", usage=USAGE)]) as endpoint:
        await typed(home, PLANNING, endpoint.base_url)
        await typed(home, f'{CARRYING} "but slowly"', endpoint.base_url)
        sent = texts_of(endpoint.seen[1].body["messages"])
    assert "The plan is approved: carry it out.\n\nbut slowly" in sent


async def test_approving_a_plan_changes_the_plan_setting_to_review_mode(home) -> None:
    async with LoopbackEndpoint([PROPOSED, *WORK]) as endpoint:
        home.configure(
            f'mode = "plan"\nbase_url = "{endpoint.base_url}"\nmodel = "loopback-model"\n'
        )
        await typed(home, 'indwell run "Mend it"')
        done = await typed(home, f"{CARRYING} --json")
    assert (done.code, home.shop.read_text(encoding="utf-8")) == (0, MENDED)
    assert done.events[0]["mode"] == "review"
    assert [one["state"] for one in done.events if one["type"] == "planChanged"] == [
        "approved",
        "done",
    ]


async def test_approving_without_a_plan_fails_and_sends_no_request(home) -> None:
    async with LoopbackEndpoint([say("Well.", usage=USAGE)]) as endpoint:
        await typed(home, "indwell run hello", endpoint.base_url)
        refused = await typed(home, CARRYING, endpoint.base_url)
        assert len(endpoint.seen) == 1
    assert refused.code == 1
    assert "there is no plan; ask for one in mode `plan`" in " ".join(refused.stderr.split())


@pytest.mark.parametrize("line", ["indwell run --approve-plan", f"{CARRYING} --mode plan"])
async def test_a_contradictory_plan_command_is_refused(home, line) -> None:
    refused = await typed(home, line)
    assert refused.code == 2
    assert "approve-plan" in refused.stderr or "no words" in refused.stderr


async def test_the_todo_list_is_printed_with_the_steps_that_each_step_waits_for(home) -> None:
    items = [{"text": "Read", "state": "doing"}, {"text": "Test", "after": [1]}]
    todo = say(calls=[("todo", json.dumps({"items": items}))], usage=USAGE)
    async with LoopbackEndpoint([todo, say("Well.", usage=USAGE)]) as endpoint:
        ended = await typed(home, "indwell run hello", endpoint.base_url)
    assert "  1. [~] Read\n  2. [ ] Test (waits for 1)\n" in ended.stderr


@pytest.mark.parametrize("mode", ["plan", "auto"])
async def test_the_model_cannot_change_what_the_user_will_approve(home, mode) -> None:
    async with LoopbackEndpoint([PROPOSED]) as endpoint:
        await typed(home, PLANNING, endpoint.base_url)
    (document,) = home.state.rglob("*-plan.md")
    path = str(document)
    tries = [
        ("read_file", {"path": path}),
        ("write_file", {"path": path, "content": "1. Delete all"}),
        ("edit_file", {"path": path, "edits": [{"old": "Take one", "new": "Take all"}]}),
        ("bash", {"command": f"echo '1. Delete all' > {shlex.quote(path)}"}),
        ("bash", {"command": f"rm {shlex.quote(path)}; ln -s /etc/passwd {shlex.quote(path)}"}),
    ]
    calls = [say(calls=[(name, json.dumps(one))], usage=USAGE) for name, one in tries]
    async with LoopbackEndpoint([*calls, say("Well.", usage=USAGE)]) as endpoint:
        line = f"indwell run --continue --mode {mode} --allow-commands 'go on'"
        assert (await typed(home, line, endpoint.base_url)).code == 0
        heard = results(endpoint.seen[-1])
    assert document.read_text(encoding="utf-8") == f"{STEPS}\n"
    assert not document.is_symlink()
    assert "Take one off" in heard[1]
    assert len(heard) == 1 + len(tries)
