from __future__ import annotations

import asyncio
import json

import pytest

from indwell.cli.demo.command import IN_A_PROJECT
from indwell.providers.scripted import CHECK, DEMO_MODEL
from indwell.service.demo_project import make_project
from support.editing import MODEL, USAGE, Home, bash, results, texts_of
from support.loopback_endpoint import LoopbackEndpoint, refuse, say
from support.terminal import indwell

SEEDS = (0, 3)  # ``tests/demo`` tests every kind of project
KEYS = {
    "ok",
    "model",
    "diff",
    "before",
    "after",
    "turns",
    "rounds",
    "tokens",
    "cost",
    "seconds",
    "message",  # a failure has a reason here; otherwise it is empty
}


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def test_the_demo_fixes_every_made_up_project(home) -> None:
    assert len({make_project(seed).path for seed in SEEDS}) == len(SEEDS)
    shows = await asyncio.gather(
        *(
            indwell(
                "demo",
                "--json",
                "--seed",
                str(seed),
                environment=home.environment(),
                folder=home.workspace,
            )
            for seed in SEEDS
        )
    )
    for seed, shown in zip(SEEDS, shows, strict=True):
        assert (shown.code, shown.stderr) == (0, "")
        (report,) = shown.events
        assert set(report) == KEYS
        assert set(report["tokens"]) == {"input", "cached", "output"}
        path = make_project(seed).path
        assert report["diff"].startswith(f"--- a/{path}\n+++ b/{path}\n@@ ")
        told = ("ok", "model", "before", "after", "turns", "cost", "message")
        assert {key: report[key] for key in told} == {
            "ok": True,
            "model": DEMO_MODEL,
            "before": "failed",
            "after": "passed",
            "turns": 1,
            "cost": 0.0,
            "message": "",
        }
        assert report["rounds"] >= 5
        assert report["tokens"]["input"] > report["tokens"]["output"] > 0
        assert 0 < report["seconds"] < 30
    assert home.files.keys() == {"shop.py"}
    assert len(set((home.state / "sessions").iterdir())) == len(SEEDS)


async def test_the_demo_sends_nobody_to_a_review_of_its_deleted_project(home) -> None:
    shown = await indwell("demo", environment=home.environment(), folder=home.workspace)
    assert (shown.code, "change to review: indwell review" in shown.stdout) == (0, False)
    assert IN_A_PROJECT in " ".join(shown.stdout.split())


SEED = 1
FAULT, REPAIR = "    return amount > limit", "    return amount >= limit"


async def test_the_demo_works_with_a_real_endpoint(home) -> None:
    project = make_project(SEED)
    assert FAULT in project.files[project.path]
    edit = {"path": project.path, "edits": [{"old": FAULT, "new": REPAIR}]}
    script = [
        say("I look.", calls=[("read_file", json.dumps({"path": project.path}))], usage=USAGE),
        bash(CHECK),
        say(calls=[("edit_file", json.dumps(edit))], usage=USAGE),
        bash(CHECK),
        say("It is mended.", usage=USAGE),
    ]
    async with LoopbackEndpoint(script) as endpoint:
        shown = await indwell(
            "demo",
            "--json",
            "--seed",
            str(SEED),
            environment=home.environment(endpoint.base_url),
            folder=home.workspace,
        )
    assert (shown.code, shown.stderr) == (0, "")
    (report,) = shown.events
    seconds, diff = report.pop("seconds"), report.pop("diff")
    assert report == {
        "ok": True,
        "model": MODEL,
        "before": "failed",
        "after": "passed",
        "turns": 1,
        "rounds": 5,
        "tokens": {"input": 50, "cached": 0, "output": 10},
        "cost": None,
        "message": "",
    }
    assert (f"-{FAULT}\n+{REPAIR}\n" in diff, 0 < seconds < 30) == (True, True)
    lines = f"The user selected lines {project.first_line}-{project.last_line} of {project.path}:"
    assert lines in texts_of(endpoint.seen[0].body["messages"])
    checked = [text for text in results(endpoint.seen[-1]) if "exit code" in text]
    assert ["exit code 1" in checked[0], "exit code 0" in checked[1]] == [True, True]


async def test_the_demo_does_not_use_a_stored_model(home) -> None:
    async with LoopbackEndpoint(lambda _seen: refuse(401)) as endpoint:
        home.configure(f'model = "dear"\nbase_url = "{endpoint.base_url}"\n')
        shown = await indwell(
            "demo",
            "--json",
            "--seed",
            str(SEED),
            environment=home.environment(OPENAI_API_KEY="sk-of-other-programs"),
            folder=home.workspace,
        )
        assert endpoint.seen == []
    (report,) = shown.events
    assert (shown.code, report["model"]) == (0, DEMO_MODEL)


async def test_the_demo_reports_failure_if_the_model_fixes_nothing(home) -> None:
    async with LoopbackEndpoint(lambda _seen: say("I would rather not.")) as endpoint:
        shown = await indwell(
            "demo",
            "--json",
            environment=home.environment(endpoint.base_url),
            folder=home.workspace,
        )
    (report,) = shown.events
    assert (shown.code, report["message"]) == (
        1,
        "the turn ended, and the check still fails; another model may do better",
    )


async def test_a_failed_demo_reports_the_reason_and_fails(home) -> None:
    async with LoopbackEndpoint(lambda _seen: refuse(401)) as endpoint:
        shown = await indwell(
            "demo",
            "--json",
            "--seed",
            str(SEED),
            environment=home.environment(endpoint.base_url),
            folder=home.workspace,
        )
    (report,) = shown.events
    assert (shown.code, report["ok"], report["after"]) == (1, False, "failed")
    assert report["message"] == (
        f"the API key is missing or not accepted at {endpoint.base_url}; `indwell login` stores "
        "another, or set OPENAI_API_KEY"
    )
