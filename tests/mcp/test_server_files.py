"""Which servers a settings table, ``.mcp.json`` and ``.vscode/mcp.json`` define."""

from __future__ import annotations

from pathlib import Path

import pytest

from indwell.mcp.definition import HttpServer, OwnClient, ServerDefinition, StdioServer
from indwell.mcp.server_files import FoundServers, own_servers, project_servers

FOLDER = Path("/work/shop")


def of_project(text: str, file: str = ".mcp.json") -> FoundServers:
    return project_servers(file, text.encode(), FOLDER)


def test_a_user_table_can_set_every_option_of_a_server() -> None:
    found = own_servers(
        {
            "files": {
                "command": "npx",
                "args": ["-y", "server"],
                "env": {"DEBUG": "1"},
                "variables": ["TOKEN"],
                "cwd": "/tmp",
                "confined": False,
                "hosts": ["a.example"],
                "allow_sampling": True,
                "timeout_s": 5,
                "pinned": ["read"],
            },
            "docs": {"url": "https://host/mcp", "headers": {"X": "${Y}"}, "enabled": False},
        },
        "config.toml",
    )
    stdio = StdioServer("npx", ("-y", "server"), (("DEBUG", "1"), ("TOKEN", None)), "/tmp")
    files = ServerDefinition(
        "files",
        stdio,
        is_confined=False,
        hosts=("a.example",),
        timeout_s=5.0,
        pinned=("read",),
        may_sample=True,
    )
    docs = ServerDefinition(
        "docs", HttpServer("https://host/mcp", (("X", "${Y}"),)), is_enabled=False
    )
    assert found == FoundServers((files, docs))


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({}, "it needs either a 'command' or a 'url'"),
        ({"command": "a", "url": "https://b"}, "it needs either a 'command' or a 'url'"),
        ({"url": "ftp://b"}, "its 'url' 'ftp://b' is not an address such as 'https://host/mcp'"),
        ({"comand": "a"}, "object contains unknown field `comand`"),
        (
            {"url": "https://b", "client_id": "a", "client_secret": "hush"},
            (
                "its 'client_secret' is written out; put the secret into a variable, and write "
                "'${NAME}' with the name of that variable"
            ),
        ),
        ({"url": "https://b", "client_secret": "${A}"}, "its login needs a 'client_id'"),
        (
            {"url": "https://b", "client_id": "a", "grant": "client_credentials"},
            "its 'grant' needs a 'client_secret'",
        ),
        (
            {"command": "b", "client_id": "a"},
            "a program takes no 'client_id'; only a server with a 'url' wants a login",
        ),
        ({"command": ["a"]}, "expected `str`, got `array` for `command`"),
    ],
)
def test_an_invalid_server_table_is_reported_and_the_others_are_used(table, why) -> None:
    found = own_servers({"bad": table, "good": {"command": "a"}}, "config.toml")
    assert [one.name for one in found.servers] == ["good"]
    assert found.problems == (f"config.toml: [mcp.bad] is not used: {why}",)


def test_mcp_json_defines_servers_by_program_and_by_address() -> None:
    found = of_project(
        """{"mcpServers": {
          "Git_Hub": {"command": "uvx", "args": ["${workspaceFolder}/x"], "env": {"A": "${T:-b}"}},
          "far": {"type": "http", "url": "https://h/mcp", "headers": {"K": "${K}"}}
        }}"""
    )
    near = StdioServer("uvx", (f"{FOLDER}/x",), (("A", "${T:-b}"),), str(FOLDER))
    far = HttpServer("https://h/mcp", (("K", "${K}"),))
    assert found == FoundServers(
        (
            ServerDefinition("git-hub", near, source=".mcp.json"),
            ServerDefinition("far", far, source=".mcp.json"),
        )
    )


def test_the_file_of_vscode_has_comments_and_inputs() -> None:
    found = of_project(
        """{
          // asked once
          "inputs": [{"type": "promptString", "id": "key", "password": true},
                     {"type": "promptString", "id": "level", "default": "low"}],
          "servers": {"a": {"type": "stdio", "command": "x", "cwd": "sub", /* why */
                            "env": {"K": "${input:key}", "L": "${input:level}", "U": "http://a"},
                            },},
        }""",
        ".vscode/mcp.json",
    )
    env = (("K", "${input:key}"), ("L", "${input:level:-low}"), ("U", "http://a"))
    stdio = StdioServer("x", (), env, str(FOLDER / "sub"))
    assert found == FoundServers((ServerDefinition("a", stdio, source=".vscode/mcp.json"),))


@pytest.mark.parametrize(
    "extra",
    [
        '"confined": false',
        '"allow_sampling": true',
        '"hosts": ["far.example"]',
        '"pinned": ["everything"]',
        '"autoApprove": ["*"]',
        '"trust": true',
    ],
)
def test_a_project_cannot_raise_the_permissions_of_its_server(extra) -> None:
    found = of_project(f'{{"mcpServers": {{"a": {{"command": "x", {extra}}}}}}}')
    plain = of_project('{"mcpServers": {"a": {"command": "x"}}}')
    assert found.servers == plain.servers
    assert "is ignored: only your own settings can set it" in found.problems[0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "line 1 is not JSON"),
        ("[]", "it is not a JSON object"),
        ('{"mcpServers": []}', "'mcpServers' is not a table of servers"),
        ("[" * 100_000, "it is nested too deep"),
        (" " * 300_000, "it is longer than 256 kB"),
    ],
)
def test_a_broken_server_file_is_reported_and_defines_no_server(text, why) -> None:
    found = of_project(text)
    assert found.servers == ()
    assert why in found.problems[0]


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ('{"type": "sse", "url": "https://h"}', "it speaks 'sse'; Indwell speaks"),
        ('{"command": "x", "envFile": ".env"}', "it takes variables from an 'envFile'"),
        ('{"command": "x", "cwd": "../../etc"}', "is outside of the folder"),
        ('{"command": "${input:no}"}', "it names the input 'no', which the file does not define"),
        ("7", "expected `object`, got `int`"),
    ],
)
def test_an_unusable_server_entry_is_reported_with_its_reason(entry, why) -> None:
    found = of_project(f'{{"mcpServers": {{"a": {entry}}}}}')
    assert found.servers == ()
    assert why in found.problems[0]
    assert found.problems[0].startswith(".mcp.json: the server 'a' is not used: ")


def test_the_variables_in_a_definition_are_listed() -> None:
    (server,) = of_project(
        '{"mcpServers": {"a": {"command": "x", "args": ["${A}"], "env": {"B": "${env:C:-d}"}}}}'
    ).servers
    assert server.named_variables() == ("A", "C")


@pytest.mark.parametrize(
    "url", ["https://good.example@evil.example/", "https://g\u043eod.example/"]
)
def test_an_address_that_looks_like_another_address_is_not_used(url: str) -> None:
    found = of_project(f'{{"mcpServers": {{"a": {{"url": "{url}"}}}}}}')
    assert found.servers == ()
    assert "plain ASCII host" in found.problems[0]


def test_only_the_user_can_define_the_client_of_a_login() -> None:
    table = {
        "url": "https://h/mcp",
        "client_id": "me",
        "client_secret": "${SECRET}",
        "grant": "client_credentials",
    }
    (docs,) = own_servers({"docs": table}, "config.toml").servers
    assert docs.transport == HttpServer(
        "https://h/mcp", client=OwnClient("me", "${SECRET}", "client_credentials")
    )
    assert docs.named_variables() == ("SECRET",)
    given = docs.expanded({"SECRET": "value"}).transport
    assert isinstance(given, HttpServer)
    assert given.client == OwnClient("me", "value", "client_credentials")
    assert (
        docs.fingerprint()
        != own_servers({"docs": {"url": "https://h/mcp"}}, "config.toml").servers[0].fingerprint()
    )
    found = of_project(
        '{"mcpServers": {"docs": {"url": "https://h/mcp", "client_secret": "${SECRET}"}}}'
    )
    assert found.servers[0].transport == HttpServer("https://h/mcp")
    assert "only your own settings can set it" in found.problems[0]
