"""The doctor and the first turn report sandbox, trust and permanent answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from indwell.bounds.command_bounds import home_words, notice_of, state_words
from indwell.cli.doctor.check import DoctorFinding
from indwell.cli.doctor.machine import EDITORS
from indwell.cli.doctor.project import language_servers, mcp_servers, sandbox, trust, writers
from indwell.cli.parser import EDITORS as KNOWN
from indwell.sandbox.confine.cages import strength_of
from indwell.sandbox.confine.strength import strength
from indwell.sandbox.confine.trial import Proof
from indwell.sandbox.confinement import Level, Strength
from indwell.sessions.storage.store import folder_name
from support.editing import Home
from support.platforms import posix_only
from support.terminal import indwell


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_sbx_16_a_sandbox_that_is_off_is_reported_with_the_reason() -> None:
    held = Strength("S1", "bubblewrap is not installed", "not sandboxed")
    assert notice_of(held) == (
        "sandbox: off (bubblewrap is not installed); commands are not sandboxed: commands known to "
        "only read run without a question; Indwell asks about all others"
    )


def test_the_doctor_reports_if_the_home_folder_is_not_hidden(home: Home) -> None:
    (finding,) = sandbox({"INDWELL_STATE": str(home.state)}, home.workspace)
    is_bare = not strength().hides_home
    assert ("nothing hides your home folder" in finding.sentence) is is_bare


@pytest.mark.parametrize(
    ("level", "is_said"), [("S3", False), ("S2", False), ("S2w", True), ("S1", True)]
)
def test_a_home_folder_that_nothing_hides_is_reported(level: Level, *, is_said: bool) -> None:
    assert ("nothing hides your home folder" in home_words(Strength(level))) is is_said


def test_each_bound_that_windows_enforces_or_lacks_is_reported() -> None:
    proof = Proof(frozenset(["writes", "processes"]), "it does not block network and secrets")
    held, _ = strength_of([("restricted", proof)])
    assert notice_of(held) == (
        "sandbox: limited (for a command that only reads, Windows blocks: writes, processes; it "
        "does not block: network and secrets, which needs administrator rights or other access "
        "lists on your files; every other command runs with your rights once you have allowed "
        "it); commands are partly sandboxed (a restricted token with low integrity): commands "
        "that only read run without a question; Indwell asks about all others"
    )
    bare, _ = strength_of([("low", Proof(reason="no command starts in it (Access denied.)"))])
    assert notice_of(bare) == (
        "sandbox: off (Windows confines no command here (low integrity: no command starts in it "
        "(Access denied.))); commands are not sandboxed: Indwell asks about every command"
    )


def test_sbx_25_every_command_needs_a_question_without_a_sandbox() -> None:
    held = Strength("S0", "Windows", "not sandboxed")
    assert notice_of(held).endswith("Indwell asks about every command")


def test_sbx_23_a_partial_sandbox_is_reported_and_a_full_sandbox_is_not() -> None:
    assert notice_of(Strength("S2", "no bwrap", "partly sandboxed")).startswith("sandbox: limited")
    assert notice_of(Strength("S3", "", "sandboxed (bubblewrap), no network")) == ""
    assert state_words(Strength("S3", "", "sandboxed")).startswith("commands are sandboxed: ")


def test_an_unknown_folder_is_restricted_and_how_to_trust_it_is_reported(home) -> None:
    (finding,) = trust({"INDWELL_STATE": str(home.state)}, home.folder / "new")
    assert finding.state == "skipped"
    assert "restricted" in finding.sentence
    assert "indwell trust" in finding.fix


@posix_only("modes")
def test_a_folder_in_which_others_may_write_is_reported(home) -> None:
    environment = {"INDWELL_STATE": str(home.state)}
    assert writers(environment, home.folder) == ()
    home.folder.chmod(0o777)
    (finding,) = writers(environment, home.folder)
    assert finding == DoctorFinding(
        "folder",
        "warn",
        f"others can write {str(home.folder)!r}, and so change what Indwell reads, and what your "
        "tools run, in this folder",
        f"if others use this machine, run `chmod go-w {home.folder}`",
    )


async def test_rules_and_permanent_answers_are_counted_and_a_broken_file_is_reported(home) -> None:
    home.configure('[rules]\nallow = ["git fetch *", "npm test"]\ndeny = ["curl"]\n')
    path = home.state / "permissions" / f"{folder_name(home.workspace.resolve())}.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(b'["bash in .: make"]')
    state, sentence, fix = await allowed(home)
    assert state == "ok"
    assert sentence == "1 always allowed here, 2 by `rules_allow`, 1 denied by `rules_deny`"
    lists, _, stand = fix.partition("; ")
    assert lists == "`indwell permissions` lists what is always allowed"
    assert stand.startswith("your rules are in "), "which that command does not list"
    assert stand.endswith("config.toml")
    path.unlink()
    assert (await allowed(home))[2] == stand
    path.write_bytes(b"{")
    assert (await allowed(home))[0] == "warn"


async def allowed(home: Home) -> tuple[str, str, str]:
    ended = await indwell(
        "doctor",
        "--offline",
        "--json",
        environment=home.environment(),
        folder=home.workspace,
    )
    findings = json.loads(ended.stdout)["findings"]
    (one,) = (one for one in findings if one["name"] == "allowed")
    return one["state"], one["sentence"], one["fix"]


def test_the_described_effect_of_the_sandbox_depends_on_mode_and_trust() -> None:
    held = Strength("S3", "", "sandboxed")
    assert "none runs in this folder, which is restricted" in state_words(held, is_restricted=True)
    assert "Indwell asks about all others; the mode is `ask`" in state_words(held, mode="ask")
    assert "builds and tests that then write nothing" in state_words(held, mode="plan")
    assert "builds" not in state_words(Strength("S1", "x", ""), mode="plan")


def test_an_unusable_trust_store_is_reported_with_a_fix(home) -> None:
    path = home.state / "trust" / "answers.json"
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_bytes(b"{}")
    path.chmod(0o666)
    (finding,) = trust({"INDWELL_STATE": str(home.state)}, home.workspace)
    assert (finding.state, f"chmod go-w {path}" in finding.sentence) == ("warn", True)
    assert "indwell trust" not in finding.fix


async def test_a_relative_trusted_folder_is_a_settings_error(home) -> None:
    home.configure('trusted = ["rel"]\n')
    home.trusted = ()
    environment = {**home.environment()}
    environment.pop("INDWELL_TRUSTED")
    ended = await indwell(
        "doctor", "--offline", "--json", environment=environment, folder=home.workspace
    )
    failed = [one for one in json.loads(ended.stdout)["findings"] if one["state"] == "fail"]
    assert [one["name"] for one in failed if "'rel'" in one["sentence"]] == ["settings"]


def test_the_doctor_names_the_editors_that_setup_supports() -> None:
    assert {one.setup for one in EDITORS} <= set(KNOWN)


def test_servers_that_wait_or_lack_their_program_are_reported(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.configure(
        f"trusted = [{json.dumps(str(home.workspace))}]\n"
        '[mcp.here]\ncommand = "git"\n'
        '[mcp.gone]\ncommand = "no-such-program"\n'
        '[language_servers.typed]\ncommand = ["no-such-server"]\nlanguages = ["python"]\n'
    )
    (home.workspace / ".mcp.json").write_text('{"mcpServers": {"theirs": {"command": "git"}}}')
    for name, value in home.environment().items():
        monkeypatch.setenv(name, value)
    environment = home.environment()
    mcp = mcp_servers(environment, home.workspace)
    assert [(one.name, one.state, one.sentence) for one in mcp] == [
        ("MCP servers", "ok", "here, gone"),
        ("MCP server", "skipped", "theirs of .mcp.json waits for your approval"),
        ("MCP server", "warn", "the program of gone is missing: no-such-program"),
    ]
    assert [one.fix for one in mcp[1:]] == [
        "look at it and decide: `indwell mcp approve theirs`",
        "try it: `indwell mcp test gone`",
    ]
    named = language_servers(environment, home.workspace)
    assert [(one.name, one.state, one.sentence) for one in named] == [
        ("language servers", "ok", "typed"),
        ("language server", "warn", "the program of typed is missing: no-such-server"),
    ]
