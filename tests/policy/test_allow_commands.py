"""The commands that ``run --allow-commands`` approves, and those that the flag does not approve."""

from __future__ import annotations

import msgspec
import pytest

from indwell.policy.approvals import why_uncovered
from indwell.policy.call_facts import Ask, CallFacts, Policy
from indwell.policy.commands.verdict import CommandPart
from indwell.policy.decide import decide
from indwell.policy.rules import PatternRules, Widening
from indwell.settings.credentials import SECRETS

RUN = CallFacts("bash", "run", command="x", cwd="/w")
ASK = Ask("it needs a yes", rule="", by="writes")


def run(command: str, **policy: object) -> str:
    """Return why the flag does not cover a command, or empty if the command runs."""
    asked = msgspec.structs.replace(RUN, command=command)
    told = Policy("review", SECRETS, roots=("/w",), **policy)  # type: ignore[arg-type]
    decision = decide(asked, told)
    assert isinstance(decision, Ask), (command, decision)
    return why_uncovered(asked, decision, is_held=told.writes_confined)


@pytest.mark.parametrize(
    "command",
    ["rm -r build", "make && rm -r build", "npm ci", "curl https://example.org", "touch a; rm b"],
)
@pytest.mark.parametrize("confined", [True, False])
def test_advance_approval_covers_ordinary_commands(command: str, confined: bool) -> None:  # noqa: FBT001
    assert run(command, writes_confined=confined) == ""


@pytest.mark.parametrize("confined", [True, False])
@pytest.mark.parametrize(
    "command",
    [
        "echo x >> .git/hooks/pre-commit",
        "cp evil AGENTS.md",
        "cat .env",
        "rm -r build; tee -a .vscode/tasks.json",
    ],
)
def test_advance_approval_covers_no_protected_or_secret_file(command: str, confined: bool) -> None:  # noqa: FBT001
    assert run(command, writes_confined=confined) != ""


def test_a_command_that_leaves_the_sandbox_is_covered_only_without_a_sandbox() -> None:
    outside = msgspec.structs.replace(ASK, widening=Widening(unconfined=True))
    assert why_uncovered(RUN, outside, is_held=True) == "it would run outside the sandbox"
    assert why_uncovered(RUN, outside, is_held=False) == ""
    assert run("docker ps", writes_confined=True) != ""


def test_advance_approval_excludes_git_checkouts_in_a_sandbox() -> None:
    other = msgspec.structs.replace(ASK, widening=Widening(writes_protected=True))
    assert why_uncovered(RUN, other, is_held=True) == "it could change protected files"


def test_a_command_that_the_users_rules_ask_about_is_not_covered() -> None:
    rules = PatternRules(ask=("git push",))
    assert "rule of the user" in run("git push", rules=rules, writes_confined=True)
    assert "rule of the user" in run("rm -r build; git push", rules=rules, writes_confined=True)


def test_edits_reads_and_wider_access_for_the_model_are_not_covered() -> None:
    edit = CallFacts("write_file", "edit", ("AGENTS.md",))
    assert why_uncovered(edit, ASK, is_held=True) == "it is not a command"
    read = CallFacts("read_file", "read", (".env",))
    assert why_uncovered(read, ASK, is_held=True) == "it is not a command"
    wants = msgspec.structs.replace(RUN, wants=Widening(hosts=("example.org",)))
    assert why_uncovered(wants, ASK, is_held=True) != ""
    shown = msgspec.structs.replace(ASK, widening=Widening(shows_secrets=True))
    assert why_uncovered(RUN, shown, is_held=False) != ""


def test_a_command_with_a_protected_file_in_any_word_is_not_covered() -> None:
    part = CommandPart("foo .mcp.json", 0, 13, ("foo", ".mcp.json"), "ask", "unknown")
    ask = msgspec.structs.replace(ASK, risky=(part,))
    assert why_uncovered(RUN, ask, is_held=True) != ""
