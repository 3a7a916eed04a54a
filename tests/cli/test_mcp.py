"""``indwell mcp``: its output, the stored settings, and its exit codes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from support.doc_examples import examples
from support.editing import Home
from support.file_keyring import held, variables
from support.login_server import browse, login_server
from support.loopback_endpoint import LoopbackEndpoint, say
from support.terminal import Ended, indwell

PAPER = Path(__file__).parents[1] / "support" / "mcp_server.py"


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def mcp(home: Home, *arguments: str) -> Ended:
    return await indwell("mcp", *arguments, environment=home.environment(), folder=home.workspace)


async def states(home: Home) -> dict[str, str]:
    told = json.loads((await mcp(home, "list", "--json")).stdout)
    return {one["name"]: one["state"] for one in told["servers"]}


async def test_a_server_is_added_listed_and_removed(home) -> None:
    added = await mcp(home, "add", "files", "--env", "A=1", "--env", "B", "--", "npx", "-y", "x")
    assert (added.code, added.stderr) == (0, "")
    assert (
        await mcp(home, "add", "docs", "--url", "https://h/mcp", "--header", "K: ${K}")
    ).code == 0
    listed = await mcp(home)
    assert listed.stdout == (
        "files: used (your settings)\n  npx -y x\ndocs: used (your settings)\n  https://h/mcp\n"
    )
    assert (await mcp(home, "remove", "files")).code == 0
    assert await states(home) == {"docs": "usable"}
    gone = await mcp(home, "remove", "files")
    assert gone.code == 2
    assert (
        gone.stderr == "indwell mcp: there is no MCP server 'files' here; the servers are: docs\n"
    )


async def test_an_incomplete_or_contradictory_mcp_command_is_refused(home) -> None:
    assert (await mcp(home, "add", "files")).code == 2
    assert (await mcp(home, "add", "files", "--url", "https://h", "--", "npx")).code == 2
    assert (await mcp(home, "add", "files", "--url", "https://h", "--header", "K")).code == 2
    wrong = await mcp(home, "add", "My Files", "--", "npx")
    assert wrong.code == 1
    assert "its name cannot be the beginning of tools' names" in wrong.stderr
    assert await states(home) == {}


async def test_a_server_of_the_project_is_approved_by_the_command(home) -> None:
    home.write(".mcp.json", '{"mcpServers": {"a": {"command": "x"}}}')
    assert await states(home) == {"a": "open"}
    asked = await mcp(home, "approve", "a")
    assert asked.code == 2
    assert "│ x\n" in asked.stdout
    assert asked.stderr == "to use it, add --yes; to refuse it, add --no\n"
    assert (await mcp(home, "approve", "a", "--yes")).stdout == "a: used\n"
    assert await states(home) == {"a": "usable"}
    assert (await mcp(home, "approve", "a", "--no")).stdout == "a: not approved\n"
    kept = await mcp(home, "remove", "a")
    assert (kept.code, await states(home)) == (1, {"a": "declined"})


async def test_a_server_of_a_restricted_folder_cannot_be_approved(home) -> None:
    home.write(".mcp.json", '{"mcpServers": {"a": {"command": "x"}}}')
    home.trusted = ()
    refused = await mcp(home, "approve", "a", "--yes")
    assert refused.code == 1
    assert "is not started in a folder that you have not trusted" in refused.stderr
    assert await states(home) == {"a": "restricted"}


async def test_a_broken_mcp_file_is_reported_and_other_servers_still_work(home) -> None:
    home.write(".mcp.json", "{")
    listed = await mcp(home)
    assert (listed.code, listed.stdout) == (
        0,
        "there are no MCP servers here; add one with `indwell mcp add`\n",
    )
    assert listed.stderr.startswith(".mcp.json is not used: line 1 is not JSON")


def test_the_documented_mcp_example_works(home) -> None:
    environment = home.environment()
    beside = str(Path(sys.executable).parent)
    environment["PATH"] = os.pathsep.join((beside, environment["PATH"]))
    done = subprocess.run(
        ["bash", "-euc", examples("mcp.md", "sh")[0].text],
        cwd=home.workspace,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    config = home.config / "indwell" / "config.toml"
    promised = examples("mcp.md", "text")[0].text.replace("CONFIG", str(config))
    assert (done.stderr, done.stdout) == ("", promised)
    written = tomllib.loads(config.read_text("utf-8"))
    assert written == tomllib.loads(examples("mcp.md", "toml")[0].text)


async def test_a_login_client_is_added_with_the_name_of_the_variable_for_its_secret(home) -> None:
    options = ("--client-id", "me", "--client-secret", "${SECRET}", "--client-credentials")
    await mcp(home, "add", "docs", "--url", "https://docs.example/mcp", *options)
    written = tomllib.loads((home.config / "indwell" / "config.toml").read_text("utf-8"))
    assert written["mcp"]["docs"] == {
        "url": "https://docs.example/mcp",
        "client_id": "me",
        "client_secret": "${SECRET}",
        "grant": "client_credentials",
    }


async def test_a_login_in_the_browser_is_stored_and_can_be_deleted(home) -> None:
    async with login_server() as server:
        await mcp(home, "add", "vault", "--url", server.url)
        environment = home.environment(**variables(home.folder))
        words = ("mcp", "login", "vault")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "indwell", *words),
            env=environment,
            cwd=home.workspace,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        told = [(await process.stderr.readline()).decode().strip() for _ in range(2)]
        assert told[0] == "open this address in your browser; log in there:"
        await browse(told[1])
        out, err = await process.communicate()
        assert (process.returncode, out, err) == (0, b"logged in to 'vault'\n", b"")
        (kept,) = held(home.folder).items()
        assert kept[0] == f"indwell mcp:{server.url}"
        forgot = await indwell(*words, "--forget", environment=environment, folder=home.workspace)
        assert (forgot.code, forgot.stdout) == (0, "the login is deleted\n")
        assert held(home.folder) == {}


@pytest.mark.skipif(sys.platform == "win32", reason="the browser of this test is a POSIX script")
async def test_a_login_opens_the_browser(home) -> None:
    browser = home.folder / "browser.py"
    browser.write_text(
        f"#!{sys.executable}\nimport sys, urllib.request\nurllib.request.urlopen(sys.argv[1])\n",
        "utf-8",
    )
    browser.chmod(0o755)
    async with login_server() as server:
        await mcp(home, "add", "vault", "--url", server.url)
        environment = home.environment(BROWSER=str(browser), **variables(home.folder))
        ended = await indwell(
            "mcp", "login", "vault", environment=environment, folder=home.workspace
        )
    assert (ended.code, ended.stdout) == (0, "logged in to 'vault'\n")
    assert ended.stderr.startswith("your browser opens this address; log in there:\n")


async def test_a_server_that_is_a_program_needs_no_login(home) -> None:
    await mcp(home, "add", "files", "--", "npx")
    refused = await mcp(home, "login", "files")
    assert (refused.code, refused.stderr) == (
        1,
        "the MCP server 'files' is a program, and needs no login\n",
    )


async def test_mcp_test_connects_and_lists_the_offers_of_the_server(home) -> None:
    program = (sys.executable, str(PAPER))
    await mcp(home, "add", "paper", "--not-confined", "--", *program)
    tried = await mcp(home, "test", "paper")
    assert (tried.code, tried.stdout.splitlines()[:2]) == (
        0,
        ["paper works: paper 1.2", "  tool add: Add two numbers."],
    )
    assert tried.stdout.endswith(
        "  resource note://today: The note of today.\n  prompt letter: Write a letter.\n"
    )
    told = json.loads((await mcp(home, "test", "paper", "--json")).stdout)
    assert (told["resources"], told["prompts"]) == (["note://today"], ["letter"])


async def test_mcp_test_reports_why_a_server_does_not_work(home) -> None:
    await mcp(home, "add", "bad", "--not-confined", "--", "no-such-program")
    tried = await mcp(home, "test", "bad")
    assert tried.code == 1
    (line,) = tried.stderr.splitlines()
    assert line.startswith("the MCP server 'bad' does not run: ")
    exits = (sys.executable, "-c", "import sys; sys.exit('no\\ttray\\npaper')")
    await mcp(home, "add", "torn", "--not-confined", "--", *exits)
    *wrote, line = (await mcp(home, "test", "torn")).stderr.splitlines()
    assert wrote[0] == "the server wrote:"
    assert [one.partition("[stderr] ")[2] for one in wrote[1:]] == ["no\ttray", "paper"]
    assert "it ended with exit code 1; its last words: paper" in line
    home.write(".mcp.json", '{"mcpServers": {"a": {"command": "x"}}}')
    tried = await mcp(home, "test", "a")
    assert tried.code == 1
    assert "is not used until you approve it" in tried.stderr


async def test_a_prompt_of_a_server_is_called_in_the_terminal(home) -> None:
    await mcp(home, "add", "paper", "--not-confined", "--", sys.executable, str(PAPER))
    async with LoopbackEndpoint([say("Dear Ann.")]) as endpoint:
        environment = home.environment(endpoint.base_url)
        words = ("run", "/paper:letter to=Ann", "--json")
        done = await indwell(*words, environment=environment, folder=home.workspace)
        assert done.code == 0
        sent = json.dumps(endpoint.seen[0].body["messages"])
        assert "Write a letter to Ann." in sent
        lacking = await indwell(
            "run", "/paper:letter", "--json", environment=environment, folder=home.workspace
        )
    assert lacking.code == 1
    assert "needs 'to'; write `/paper:letter to=…`" in lacking.stdout
    assert len(endpoint.seen) == 1


async def test_a_run_with_an_unapproved_server_says_how_to_approve_it(home) -> None:
    home.write(".mcp.json", '{"mcpServers": {"a": {"command": "x"}}}')
    async with LoopbackEndpoint([say("Hello.")]) as endpoint:
        done = await indwell(
            *("run", "hello", "--json"),
            environment=home.environment(endpoint.base_url),
            folder=home.workspace,
        )
    assert done.code == 0
    notices = [one["message"] for one in done.events if one["type"] == "notice"]
    assert any("run `indwell mcp approve a` here" in one for one in notices)
