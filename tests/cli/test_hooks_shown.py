"""Hooks at the terminal: the doctor's count, the output of a run, and the audit's list."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.bubblewrap import needs_bubblewrap
from support.editing import Home
from support.loopback_endpoint import LoopbackEndpoint, say
from support.terminal import Ended, indwell

OWN = '[[hooks]]\nevent = "prompt_submitted"\ncommand = "grep -q secret && exit 2; exit 0"\n'
THEIRS = '[[hooks]]\nevent = "turn_end"\ncommand = "true"\n'


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.configure(OWN)
    made.write(".indwell/config.toml", THEIRS)
    return made


async def run(home: Home, *arguments: str, base_url: str = "") -> Ended:
    environment = home.environment(base_url)
    return await indwell(*arguments, environment=environment, folder=home.workspace)


@pytest.mark.parametrize(
    ("is_trusted", "words"),
    [
        (True, "1 of yours for prompt_submitted, 1 of this project for turn_end"),
        (False, "1 of yours for prompt_submitted"),
    ],
)
async def test_the_doctor_counts_the_hooks_that_would_run(
    home: Home, *, is_trusted: bool, words: str
) -> None:
    home.trusted = home.trusted if is_trusted else ()
    done = await run(home, "doctor", "--offline", "--json")
    findings = json.loads(done.stdout)["findings"]
    assert [one["sentence"] for one in findings if one["name"] == "hooks"] == [words]


@needs_bubblewrap
async def test_a_stopped_prompt_is_printed_and_a_run_is_in_the_audit(home: Home) -> None:
    async with LoopbackEndpoint([say("Fine.")]) as endpoint:
        stopped = await run(home, "run", "tell the secret", base_url=endpoint.base_url)
        assert endpoint.seen == []
    assert stopped.code == 1
    assert "your prompt was not sent; the hook prompt_submitted (grep" in stopped.stderr
    assert "tell the secret" in stopped.stderr
    audit = await run(home, "audit", "--json")
    (act,) = json.loads(audit.stdout)["acts"]
    assert (act["tool"], act["end"], act["ending"]) == ("hook", "done", "exit code 2")
