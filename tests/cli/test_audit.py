"""``indwell audit``: the decisions in the log of a session."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from indwell.cli.safety.permissions import decided_words
from indwell.messages import Message, Meta, ToolResult
from indwell.sessions.audit_trail import Act
from indwell.sessions.records import Decided, Intent, MessageRecord, Record, TurnStartRecord
from indwell.sessions.storage.store import SessionStore, timestamp
from support.editing import EDIT, READ, USAGE, Home, bash
from support.loopback_endpoint import LoopbackEndpoint, say
from support.terminal import Ended, indwell

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
AT = timestamp(NOW)
META = Meta(tier=2, source="tool", tokens=1, turn=1)
RECORDS: tuple[Record, ...] = (
    TurnStartRecord(1, "go", AT),
    Decided(
        turn=1,
        tool_use_id="c1",
        tool="bash",
        what="npm ci \x1b[2J\u202e",
        cwd="/w",
        decision="ask",
        rule="network",
        reason="it needs the network",
        answer="once",
        widening="with network to registry.example",
        sandbox="sandboxed (bubblewrap)",
        at=AT,
    ),
    Intent(1, "c1", "bash", "{}", AT),
    MessageRecord(Message("user", (ToolResult("c1", "ok\nexit code 0", META),), 1), AT),
    TurnStartRecord(2, "more", AT),
    Decided(2, "c2", "bash", "rm -rf /", "deny", AT, rule="dangerous", reason="it removes all"),
)
ASKED = (
    "  asked by network: it needs the network; you said once, sandboxed (bubblewrap), with network "
    "to registry.example → done"
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def keep(home: Home, folder: Path, *records: Record) -> str:
    name, writer = SessionStore(home.state, folder).create(model="m", now=NOW)
    for record in records:
        writer.append(record)
    await writer.close()
    return name


async def audit(home: Home, *arguments: str) -> Ended:
    return await indwell("audit", *arguments, environment=home.environment(), folder=home.workspace)


async def test_the_newest_session_of_this_folder_is_reported_as_text_with_nothing_hidden(
    home,
) -> None:
    name = await keep(home, home.workspace, *RECORDS)
    ended = await audit(home)
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == [
        f"{name}  {home.workspace.resolve()}",
        "",
        "Turn 1",
        f"▸ bash  in /w  {AT}",
        "    npm ci \\u001b[2J\\u202e",
        ASKED,
        "    exit code 0",
        "",
        "Turn 2",
        f"▸ bash  {AT}",
        "    rm -rf /",
        "  denied by dangerous: it removes all → not run",
        "",
        "2 calls, 1 asked for: 1 denied, 1 done; reads are not listed",
    ]


async def test_json_audit_has_the_same_data_and_can_be_limited_to_a_turn(home) -> None:
    name = await keep(home, home.folder / "other", *RECORDS)
    data = json.loads((await audit(home, name[:-1], "--json", "--turn", "2")).stdout)
    assert (data["session"], data["sums"], data["notices"]) == (name, {"denied": 1}, [])
    (act,) = data["acts"]
    assert (act["decision"], act["end"], act["what"]) == ("deny", "denied", "rm -rf /")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "this folder has no session"),
        (("nonsense",), "there is no session 'nonsense'"),
    ],
)
async def test_a_missing_session_is_reported(home, arguments, said) -> None:
    ended = await audit(home, *arguments)
    assert ended.code == 2
    assert said in ended.stderr


async def test_a_missing_turn_is_reported(home) -> None:
    await keep(home, home.workspace, *RECORDS)
    ended = await audit(home, "--turn", "7")
    assert (ended.code, "has no turn 7; its turns are 1 to 2" in ended.stderr) == (2, True)


async def test_the_audit_of_a_session_without_calls_reports_no_actions(home) -> None:
    await keep(home, home.workspace, TurnStartRecord(1, "go", AT))
    assert "nothing was changed, run, asked for or denied" in (await audit(home)).stdout


async def test_a_real_turn_is_audited_with_the_rule_that_won(home) -> None:
    script = [bash("ls"), bash("rm shop.py"), say(calls=[READ, EDIT], usage=USAGE), say("Done.")]
    async with LoopbackEndpoint(script) as endpoint:
        environment = home.environment(endpoint.base_url)
        await indwell("run", "go", environment=environment, folder=home.workspace)
    acts = json.loads((await audit(home, "--json")).stdout)["acts"]
    assert [(act["what"], act["decision"], act["rule"], act["end"]) for act in acts] == [
        ("ls", "allow", "read-only", "done"),
        ("rm shop.py", "ask", "removes", "refused"),  # no user can be asked
        ("shop.py", "allow", "mode review", "done"),
    ]
    assert home.shop.exists()


WANTED = "with network to x.org"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("once", f"; you said once, sandboxed (bubblewrap), {WANTED}"),
        ("beforehand", f"; allowed by --allow-commands, sandboxed (bubblewrap), {WANTED}"),
        ("no", f"; it was to run {WANTED}; you said no"),
        ("uncovered", f"; it was to run {WANTED}; not covered by --allow-commands"),
        ("", f"; it was to run {WANTED}; no answer is on record"),
    ],
)
def test_a_refused_call_is_reported_with_the_requested_access(answer: str, words: str) -> None:
    act = Act(
        1,
        "c",
        AT,
        "bash",
        "x",
        decision="ask",
        rule="network",
        reason="why",
        answer=answer,
        widening=WANTED,
        sandbox="sandboxed (bubblewrap), no network",
    )
    assert decided_words(act) == f"asked by network: why{words}"


def test_a_command_that_ran_outside_the_sandbox_is_reported_once_as_such() -> None:
    act = Act(1, "c", AT, "bash", "x", decision="ask", answer="once", sandbox="not sandboxed")
    act = msgspec.structs.replace(act, widening="outside the sandbox")
    assert decided_words(act) == "asked; you said once, outside the sandbox"
