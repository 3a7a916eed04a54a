"""VS Code's question of trust is the one question, and Indwell's own waits in the panel."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from indwell.policy.trust import LEAVE, STAY, TRUST, USE
from support.editing import EDIT, MENDED, READ, SERVE, SOURCE, Home, bash, results
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, say
from support.raw_client import HATCHED, RawClient, raw_client

ASKS = (*SERVE, "--editor-trust")
QUESTION = "window/showMessageRequest"


@pytest.fixture
def home(tmp_path) -> Home:
    made = Home(tmp_path)
    made.trusted = ()
    return made


class Script:
    """Read, edit and run a command in every turn, and then answer with a word."""

    def __init__(self, command: str = "touch ran") -> None:
        self._tries: Sequence[Answer] = (say(calls=[READ]), say(calls=[EDIT]), bash(command))
        self._left: list[Answer] = []

    def __call__(self, seen: Seen) -> Answer:
        if seen.body["messages"][-1]["role"] == "user":
            self._left = [*self._tries, say("Well.")]
        return self._left.pop(0)


@asynccontextmanager
async def window(
    home: Home,
    endpoint: LoopbackEndpoint,
    *,
    claim: object = True,
    command: Sequence[str] = ASKS,
    answer: str = STAY,
    **more: Any,
) -> AsyncIterator[RawClient]:
    """Open a window of an editor that claims trust; ``answer`` is the user's to each question."""
    ours = {"events": True, "permission": True, "trusted": claim}
    workspace = {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}
    capabilities = {"experimental": {"indwell": ours}, "workspace": workspace}
    variables = home.environment(endpoint.base_url)
    async with raw_client(home, environment=variables, hello=False, command=command) as client:
        client.replies[QUESTION] = lambda _params: {"title": answer}
        await client.initialize(capabilities=capabilities, **more)
        yield client


async def status(client: RawClient) -> dict[str, Any]:
    result: dict[str, Any] = (await client.request("indwell/status", {}))["result"]
    return result


async def decide(client: RawClient) -> object:
    command = {"command": "indwell.trust", "arguments": []}
    return (await client.request("workspace/executeCommand", command))["result"]


def sent(endpoint: LoopbackEndpoint) -> str:
    return "".join(one.raw.decode() for one in endpoint.seen)


async def test_a_trusted_window_works_without_a_question_and_obeys_nothing_of_the_folder(
    home,
) -> None:
    home.write("AGENTS.md", "OBEY-ME\n")
    home.write(
        ".indwell/config.toml", 'mode = "plan"\n[hooks.x]\nevent = "turn"\ncommand = "touch PWN"\n'
    )
    home.write(".mcp.json", '{"mcpServers": {"x": {"command": "touch", "args": ["PWN"]}}}\n')
    async with LoopbackEndpoint(Script()) as endpoint, window(home, endpoint) as client:
        await client.prompt("mend it")
        assert client.of(QUESTION) == []
        now = await status(client)
    assert home.shop.read_text(encoding="utf-8") == MENDED
    assert (home.workspace / "ran").exists()
    assert not (home.workspace / "PWN").exists()
    assert "OBEY-ME" not in sent(endpoint)
    assert now["trusted"] is True
    assert now["undecided"] == "1 file of settings, 1 file of instructions and 1 file of servers"


@pytest.mark.parametrize(
    ("command", "claim"), [(HATCHED, True), (ASKS, None)], ids=["no flag", "no claim"]
)
async def test_tru_12_neither_the_claim_nor_the_flag_alone_grants_trust(
    home, command, claim
) -> None:
    options = {"editorTrust": True, "editor_trust": True, "trusted": True}
    more: dict[str, Any] = {"initializationOptions": options}
    async with LoopbackEndpoint(Script()) as endpoint:
        variables = home.environment(endpoint.base_url)
        ours = {} if claim is None else {"trusted": claim}
        async with raw_client(home, environment=variables, hello=False, command=command) as client:
            client.replies[QUESTION] = lambda _params: {"title": STAY}
            await client.initialize(capabilities={"experimental": {"indwell": ours}}, **more)
            await client.prompt("mend it")
            assert len(client.of(QUESTION)) == 1
    assert home.shop.read_text(encoding="utf-8") == SOURCE


@pytest.mark.parametrize("claim", [False, "true", 1, {}])
async def test_tru_11_a_window_that_is_not_trusted_stays_restricted(home, claim) -> None:
    async with (
        LoopbackEndpoint(Script()) as endpoint,
        window(home, endpoint, claim=claim, answer=TRUST) as client,
    ):
        await client.prompt("mend it")
        assert client.of(QUESTION) == []
        assert await decide(client) is False
        assert client.of(QUESTION) == []
    assert home.shop.read_text(encoding="utf-8") == SOURCE


async def test_a_revoked_trust_restricts_the_next_server(home) -> None:
    async with LoopbackEndpoint(Script()) as endpoint:
        async with window(home, endpoint) as client:
            await client.prompt("mend it")
        home.shop.write_bytes(SOURCE.encode())
        async with window(home, endpoint, claim=False) as client:
            await client.prompt("mend it")
            assert client.of(QUESTION) == []
    assert home.shop.read_text(encoding="utf-8") == SOURCE


async def test_a_folder_that_the_user_declined_stays_restricted_until_the_user_decides(
    home,
) -> None:
    async with LoopbackEndpoint(Script()) as endpoint:
        async with window(home, endpoint, command=HATCHED, answer=STAY) as client:
            await client.prompt("mend it")
        async with window(home, endpoint, answer=TRUST) as client:
            await client.prompt("mend it")
            assert client.of(QUESTION) == []
            assert (await status(client))["trusted"] is False
            assert home.shop.read_text(encoding="utf-8") == SOURCE
            assert await decide(client) is True
            await client.prompt("mend it")
    assert home.shop.read_text(encoding="utf-8") == MENDED


async def test_tru_10_a_declined_folder_of_a_trusted_window_stays_restricted(home) -> None:
    other = home.folder / "other"
    other.mkdir()
    async with LoopbackEndpoint(Script(f"cd {other} && touch ran")) as endpoint:
        folder = {"uri": other.as_uri(), "name": "other"}
        async with window(
            home, endpoint, command=HATCHED, rootUri=folder["uri"], workspaceFolders=[folder]
        ) as client:
            await client.prompt("mend it")
        both = [{"uri": home.workspace.as_uri(), "name": "work"}, folder]
        async with window(home, endpoint, workspaceFolders=both) as client:
            await client.prompt("mend it")
            assert client.of(QUESTION) == []
        *_, run = results(endpoint.seen[-1])
    assert home.shop.read_text(encoding="utf-8") == MENDED
    assert run.startswith("not allowed: it names a folder that is not trusted")
    assert not (other / "ran").exists()


@pytest.mark.parametrize(("answer", "obeyed"), [(USE, True), (LEAVE, False)])
async def test_the_question_about_the_files_comes_only_when_the_user_asks_for_it(
    home, answer, obeyed
) -> None:
    home.write("AGENTS.md", "OBEY-ME\n")
    async with (
        LoopbackEndpoint(Script()) as endpoint,
        window(home, endpoint, answer=answer) as client,
    ):
        await client.prompt("mend it")
        assert client.of(QUESTION) == []
        assert await decide(client) is True
        (asked,) = client.of(QUESTION)
        assert [one["title"] for one in asked["actions"]] == [LEAVE, USE]
        assert "AGENTS.md" in asked["message"]
        assert (await status(client))["undecided"] == ""
        await client.prompt("mend it again")
    assert ("OBEY-ME" in sent(endpoint)) is obeyed
    assert home.shop.read_text(encoding="utf-8") == MENDED


@pytest.mark.parametrize(("answer", "obeyed"), [(USE, True), (LEAVE, False)])
async def test_a_nested_instruction_file_comes_up_when_the_agent_meets_it(
    home, answer, obeyed
) -> None:
    nested = home.write("src/AGENTS.md", "OBEY-ME\n")
    home.write("src/part.py", "x = 1\n")
    read = ("read_file", json.dumps({"path": "src/part.py"}))

    def script(seen: Seen) -> Answer:
        is_new = seen.body["messages"][-1]["role"] == "user"
        return say(calls=[read]) if is_new else say("Well.")

    async with (
        LoopbackEndpoint(script) as endpoint,
        window(home, endpoint, answer=answer) as client,
    ):
        assert (await status(client))["undecided"] == ""
        await client.prompt("read it")
        assert client.of(QUESTION) == []
        assert (await status(client))["undecided"] == "1 file of instructions"
        assert await decide(client) is True
        (asked,) = client.of(QUESTION)
        assert "src/AGENTS.md" in asked["message"]
        assert (await status(client))["undecided"] == ""
        await client.prompt("read it again")
        assert ("OBEY-ME" in sent(endpoint)) is obeyed
        nested.write_text("OBEY-ME-TOO\n", encoding="utf-8")
        await client.prompt("read it once more")
        assert "OBEY-ME-TOO" not in sent(endpoint)
        assert (await status(client))["undecided"] == "1 file of instructions"


async def test_git_asks_where_it_would_run_a_hook_that_the_user_has_not_seen(home) -> None:
    home.write(".git/HEAD", "ref: refs/heads/main\n")
    home.write(".git/hooks/pre-commit", "#!/bin/sh\ntouch PWN\n").chmod(0o755)
    async with (
        LoopbackEndpoint(Script("git status")) as endpoint,
        window(home, endpoint, answer=USE) as client,
    ):
        await client.prompt("mend it")
        assert len(client.of("indwell/permission")) == 1
        await decide(client)
        await client.prompt("mend it")
        assert len(client.of("indwell/permission")) == 1


def test_the_flag_is_refused_where_any_program_could_connect() -> None:
    words = [*SERVE[:-1], "--tcp", "127.0.0.1:0", "--editor-trust"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "--editor-trust cannot be used with --tcp" in done.stderr
