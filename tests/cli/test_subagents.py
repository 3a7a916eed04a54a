"""Named sub-agents from files: the example of the docs, and untrusted files."""

from __future__ import annotations

import asyncio
import json
import shlex
from pathlib import Path

import pytest

from indwell.bounds.folder_trust import FolderTrust
from indwell.settings.model import Settings
from indwell.wiring.subagents import (
    MOST_FILE_B,
    MOST_FILES,
    WORKSPACE_FOLDERS,
    AgentLogs,
    find_agents,
)
from support.doc_examples import examples
from support.editing import USAGE, Home, results
from support.loopback_endpoint import LoopbackEndpoint, Seen, say
from support.terminal import indwell

TASK = {"task": "look at shop.py", "name": "critic"}


async def test_the_documented_sub_agent_example_works(tmp_path: Path) -> None:
    home = Home(tmp_path)
    folder = home.configure("").parent / "agents"
    folder.mkdir()
    (page,) = examples("agents.md", "markdown")
    (folder / "critic.md").write_bytes(page.text.encode())
    (line,) = examples("agents.md", "sh")
    program, *arguments = shlex.split(line.text)
    assert program == "indwell"
    asked: list[Seen] = []

    def script(seen: Seen):
        asked.append(seen)
        if "# You are a sub-agent" in str(seen.body["messages"]):
            return say("shop.py:2 adds one too many", usage=USAGE)
        if len(asked) == 1:
            return say(calls=[("agent", json.dumps(TASK))], usage=USAGE)
        return say("It found one.", usage=USAGE)

    async with LoopbackEndpoint(script) as endpoint:
        environment = home.environment(endpoint.base_url)
        ended = await indwell(*arguments, environment=environment, folder=home.workspace)
    assert ended.code == 0, ended.stderr
    assert "▸ agent critic: look at shop.py" in ended.stderr
    assert "It found one." in ended.stdout
    first, child, last = asked
    assert "critic (only reads): finds what is wrong with a change, and proves it" in str(
        first.body["tools"]
    )
    assert "Look for what is wrong" in child.body["messages"][0]["content"]
    tools = [one["function"]["name"] for one in child.body["tools"]]
    assert tools == ["read_file", "glob", "grep"]
    assert results(last) == ["shop.py:2 adds one too many"]
    doctor = await indwell(
        "doctor", "--offline", "--json", environment=environment, folder=home.workspace
    )
    found = json.loads(doctor.stdout)["findings"]
    told = [one["sentence"] for one in found if one["name"] == "sub-agents"]
    assert told == ["critic, explore"]
    audit = await indwell("audit", environment=environment, folder=home.workspace)
    assert "nothing was changed" in audit.stdout


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create the folder of the user's own sub-agents."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "config" / "indwell" / "agents"
    folder.mkdir(parents=True)
    return folder


def trusting(*, is_given: bool, root: Path) -> FolderTrust:
    trust = FolderTrust({"INDWELL_STATE": str(root / "state")}, is_given=is_given)
    trust.look([root], Settings())
    return trust


def test_unusable_sub_agent_files_are_named_and_the_others_are_used(
    config: Path, tmp_path: Path
) -> None:
    (config / "good.md").write_bytes(b"Be good.")
    (config / "notes.txt").write_bytes(b"no sub-agent")
    (config / "bytes.md").write_bytes(b"\xff\xfe")
    (config / "huge.md").write_bytes(b"x" * (MOST_FILE_B + 1))
    (config / "Bad Name.md").write_bytes(b"Be bad.")
    (config / "folder.md").mkdir()
    found = find_agents()
    assert list(found.known) == ["good", "explore"]
    names = sorted(Path(one.partition(": ")[0]).name for one in found.problems)
    assert names == ["Bad Name.md", "bytes.md", "folder.md", "huge.md"]


def test_the_number_of_sub_agent_files_read_is_limited(config: Path, tmp_path: Path) -> None:
    for number in range(MOST_FILES + 20):
        (config / f"a{number:03}.md").write_bytes(b"x")
    found = find_agents()
    assert len(found.known) == MOST_FILES + 1


def test_sub_agent_definitions_are_not_read_through_links_or_from_denied_files(
    config: Path, tmp_path: Path
) -> None:
    root = tmp_path / "work"
    agents = root / ".indwell" / "agents"
    agents.mkdir(parents=True)
    outside = tmp_path / "outside.md"
    outside.write_bytes(b"the user's own notes")
    (agents / "theirs.md").symlink_to(outside)
    (agents / "ours.md").write_bytes(b"Be ours.")
    (agents / "hard.md").hardlink_to(outside)
    (agents / "denied.md").write_bytes(b"Be denied.")
    (root / ".env").write_bytes(b"TOKEN=made up")
    (root / "secret").mkdir()
    (root / "secret" / "notes.md").write_bytes(b"for nobody")
    (agents / "by-link.md").symlink_to(root / ".env")
    (agents / "by-folder.md").symlink_to(root / "secret" / "notes.md")
    (root / "twice.md").write_bytes(b"Be two.")
    (root / "twin.md").hardlink_to(root / "twice.md")
    (agents / "to-twin.md").symlink_to(root / "twin.md")
    (root / ".claude").symlink_to(tmp_path)
    trust = trusting(is_given=True, root=root)
    found = find_agents([root], trust, (".indwell/agents/denied*", ".env", "secret/**"))
    assert list(found.known) == ["explore", "ours"]
    assert config.exists()


def test_an_untrusted_project_has_no_sub_agents(config: Path, tmp_path: Path) -> None:
    agents = tmp_path / ".indwell" / "agents"
    agents.mkdir(parents=True)
    (agents / "ours.md").write_bytes(b"Be ours.")
    assert list(find_agents([tmp_path], trusting(is_given=False, root=tmp_path)).known) == [
        "explore"
    ]
    assert list(find_agents([tmp_path], trusting(is_given=True, root=tmp_path)).known) == [
        "explore",
        "ours",
    ]
    assert config.exists()


def test_project_sub_agents_are_used_only_as_the_user_trusted_them(
    config: Path, tmp_path: Path
) -> None:
    """TRU-13: the rule holds even before the folder is examined again."""
    root = tmp_path / "work"
    for place in WORKSPACE_FOLDERS:
        (root / place).mkdir(parents=True)
        for name in ("same", "changed"):
            (root / place / f"{name}{place[1]}.md").write_bytes(b"Be good.")
    trust = FolderTrust({"INDWELL_STATE": str(tmp_path / "state")})
    (standing,) = trust.look([root], Settings())
    trust.answer(standing, trusted=True)
    trust.look([root], Settings())
    assert len(find_agents([root], trust).known) == 5
    for place in WORKSPACE_FOLDERS:
        (root / place / f"changed{place[1]}.md").write_bytes(b"Be evil.")
        (root / place / f"new{place[1]}.md").write_bytes(b"Be evil.")
    assert list(find_agents([root], trust).known) == ["explore", "samec", "samei"]
    assert config.exists()


async def test_sub_agent_log_numbers_continue_after_a_restart(tmp_path: Path) -> None:
    class Named:
        id = "s"

        def timestamp(self) -> str:
            return "2026-11-21T09:00:00.000+00:00"

    numbers = []
    for _ in range(2):
        logs = AgentLogs(tmp_path, tmp_path)
        at_once = (logs(Named(), "m") for _ in range(3))  # type: ignore[arg-type] # enough of one
        for number, log in await asyncio.gather(*at_once):
            numbers.append(number)
            await log.close()
    assert sorted(numbers) == [1, 2, 3, 4, 5, 6], "no two have one log"
    assert len(list((tmp_path / "agents").iterdir())) == 6


async def test_a_sub_agent_works_without_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    class Named:
        id = "s"

        def timestamp(self) -> str:
            return ""

    (tmp_path / "agents").write_bytes(b"a file in the way")
    number, log = await AgentLogs(tmp_path, tmp_path)(Named(), "m")  # type: ignore[arg-type] # as above
    await log.commit()
    assert number == 1


async def test_sub_agents_of_a_trusted_project_are_reported_once_as_data(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write(".indwell/agents/scout.md", "---\ndescription: Looks around.\n---\nLook.")
    told = []
    async with LoopbackEndpoint([say("Well.", usage=USAGE)] * 3) as endpoint:
        for is_trusted, more in ((False, ()), (True, ()), (True, ("--continue",))):
            home.trusted = (home.workspace,) if is_trusted else ()
            environment = home.environment(endpoint.base_url)
            ended = await indwell(
                "run", *more, "go", environment=environment, folder=home.workspace
            )
            assert ended.code == 0, ended.stderr
            messages = endpoint.seen[-1].body["messages"]
            told.append(json.dumps([one for one in messages if one["role"] != "system"]))
            assert "scout" not in json.dumps(messages[0]) + str(endpoint.seen[-1].body["tools"])
    line = r"scout: Looks around.\n</available-agents>"
    assert [one.count(line) for one in told] == [0, 1, 1]
