"""Which MCP servers may run: the user's servers, and approved servers of a project."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from indwell.bounds.folder_trust import FolderTrust
from indwell.errors import UserError
from indwell.mcp.offers import McpError
from indwell.mcp.server_book import ServerBook, question_about, server_named
from indwell.settings.model import Settings

DEFINED = '{"mcpServers": {"a": {"command": "python3", "args": ["server.py"]}}}'


class World:
    """A trusted project with one server, and a user."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        self.environment = {"INDWELL_STATE": str(folder / "state")}
        self.own: dict[str, Mapping[str, object]] = {}
        self.define(DEFINED)
        self.write("server.py", "print(1)\n")

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)

    def define(self, text: str) -> None:
        self.write(".mcp.json", text)

    def book(self, *, trusted: bool = True) -> ServerBook:
        settings = Settings(mcp=self.own, trusted=(str(self.root),) if trusted else ())
        trust = FolderTrust(self.environment)
        trust.look((self.root,), settings)
        return ServerBook(lambda: (self.root,), lambda: settings, trust, self.environment)

    def standing(self, name: str = "a", *, trusted: bool = True) -> str:
        return server_named(self.book(trusted=trusted).look(), name).standing

    def say(self, *, approved: bool) -> None:
        book = self.book()
        book.answer(server_named(book.look(), "a"), approved=approved)


@pytest.fixture
def world(tmp_path) -> World:
    return World(tmp_path)


def test_a_server_of_a_project_waits_for_the_user(world) -> None:
    assert world.standing() == "open"
    assert world.book().usable() == ()


@pytest.mark.parametrize(("approved", "standing"), [(True, "usable"), (False, "declined")])
def test_an_answer_about_a_server_is_stored(world, approved, standing) -> None:
    world.say(approved=approved)
    assert world.standing() == standing
    assert [one.name for one in world.book().usable()] == (["a"] if approved else [])


@pytest.mark.parametrize(
    "changed",
    [
        DEFINED.replace("python3", "python3.11"),
        DEFINED.replace("server.py", "other.py"),
        DEFINED.replace('"args"', '"env": {"NODE_OPTIONS": "-r x"}, "args"'),
        DEFINED.replace('"args"', '"cwd": "sub", "args"'),
        '{"mcpServers": {"a": {"url": "https://host/mcp"}}}',
    ],
)
def test_mcp_01_a_changed_definition_is_asked_about_again(world, changed) -> None:
    world.say(approved=True)
    world.define(changed)
    assert world.standing() == "open"
    world.define(DEFINED)
    assert world.standing() == "usable"


def test_a_changed_script_of_the_command_line_is_asked_about_again(world) -> None:
    world.say(approved=True)
    world.write("server.py", "print(2)\n")
    assert world.standing() == "open"


@pytest.mark.parametrize("changed", ["server.py", ".mcp.json"])
def test_a_server_that_changed_since_its_approval_is_not_started_again(world, changed) -> None:
    world.say(approved=True)
    book = world.book()
    (definition,) = book.usable()
    assert book.inspect(definition, world.root) == book.inspect(definition, world.root)
    world.write(changed, DEFINED.replace("server.py", "other.py"))
    with pytest.raises(McpError, match="run `indwell mcp approve a`"):
        book.inspect(definition, world.root)


def test_an_answer_about_a_server_applies_only_to_its_folder(world, tmp_path) -> None:
    world.say(approved=True)
    (tmp_path / "other").mkdir()
    other = World(tmp_path / "other")
    other.environment = world.environment
    assert other.standing() == "open"


def test_mcp_02_no_server_of_a_restricted_folder_runs_despite_earlier_answers(world) -> None:
    world.say(approved=True)
    world.own = {"near": {"command": "x"}, "far": {"url": "https://host/mcp"}}
    assert world.standing(trusted=False) == "restricted"
    assert world.standing("near", trusted=False) == "restricted"
    assert world.standing("far", trusted=False) == "usable"  # no program is started for this server


def test_the_users_own_servers_need_no_answer_and_precede_a_projects(world) -> None:
    world.own = {"a": {"command": "x"}}
    found = world.book().look()
    assert [(one.name, one.source, one.standing) for one in found.servers] == [
        ("a", "your settings", "usable")
    ]
    assert found.problems == (
        ".mcp.json: the server 'a' is not used: your settings has one of the same name",
    )


def test_a_broken_file_of_answers_approves_no_server_and_is_reported(world) -> None:
    world.say(approved=True)
    (path,) = (Path(world.environment["INDWELL_STATE"]) / "mcp").glob("*.json")
    path.write_text("{")
    assert world.standing() == "open"
    assert "cannot be read" in world.book().look().problems[0]
    with pytest.raises(UserError, match="cannot be read"):
        world.say(approved=True)


def test_the_question_shows_the_command_and_the_variables_of_a_server(world) -> None:
    world.define(
        '{"mcpServers": {"a": {"command": "uvx", "args": ["x\\u202e"], '
        '"env": {"TOKEN": "${GH_TOKEN}", "A": "1"}}}}'
    )
    words = question_about(server_named(world.book().look(), "a"))
    assert "│ uvx x\\u202e\n" in words
    assert "Its variables: TOKEN=${GH_TOKEN}, A=1\n" in words
    assert "It gets the values of your variables GH_TOKEN.\n" in words


def test_the_question_shortens_long_blanks_and_warns_about_missing_encryption(world) -> None:
    blank = " " * 300
    world.define(DEFINED.replace("server.py", f"x{blank} evil"))
    shown = question_about(server_named(world.book().look(), "a"))
    assert "blanks …]" in shown
    assert blank not in shown
    world.define('{"mcpServers": {"a": {"url": "http://remote.example/mcp"}}}')
    assert "is not encrypted" in question_about(server_named(world.book().look(), "a"))


@pytest.mark.parametrize(
    ("args", "file"),
    [
        ('["-m", "pkg.run"]', "pkg/run.py"),
        ('["-m", "pkg"]', "pkg/__main__.py"),
        ('["pkg"]', "pkg/index.js"),
        ('["./server"]', "server.js"),
    ],
)
def test_a_changed_module_of_a_server_is_asked_about_again(world, args, file) -> None:
    (world.root / "pkg").mkdir()
    world.write(file, "1")
    world.define(DEFINED.replace('["server.py"]', args))
    world.say(approved=True)
    assert world.standing() == "usable"
    world.write(file, "2")
    assert world.standing() == "open"
