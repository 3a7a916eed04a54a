"""What ``run --allow-commands`` is a yes to, and what it is none to."""

from __future__ import annotations

import msgspec
import pytest

from indwell.policy.approvals import why_uncovered
from indwell.policy.call_facts import Ask, CallFacts, Policy
from indwell.policy.commands.verdict import CommandPart
from indwell.policy.decide import decide
from indwell.policy.rules import PatternRules, Widening
from indwell.settings.model import SECRETS

RUN = CallFacts("bash", "run", command="x", cwd="/w")
ASK = Ask("it needs a yes", rule="", by="writes")


def run(command: str, **policy: object) -> str:
    """Why the flag does not cover a command, as the rules ask about it; its words if it runs."""
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
def test_what_commands_may_do_with_a_yes_is_covered(command: str, confined: bool) -> None:  # noqa: FBT001
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
def test_protected_files_and_secrets_are_not(command: str, confined: bool) -> None:  # noqa: FBT001
    assert run(command, writes_confined=confined) != ""


def test_what_would_leave_the_sandbox_is_not_but_where_there_is_none_nothing_leaves_it() -> None:
    outside = msgspec.structs.replace(ASK, widening=Widening(unconfined=True))
    assert why_uncovered(RUN, outside, is_held=True) == "it would run outside the sandbox"
    assert why_uncovered(RUN, outside, is_held=False) == ""
    assert run("docker ps", writes_confined=True) != ""


def test_git_taking_up_another_state_is_not_where_a_sandbox_keeps_protected_files() -> None:
    other = msgspec.structs.replace(ASK, widening=Widening(writes_protected=True))
    assert why_uncovered(RUN, other, is_held=True) == "it could change protected files"


def test_what_the_users_own_rules_ask_about_is_not() -> None:
    rules = PatternRules(ask=("git push",))
    assert "rule of the user's" in run("git push", rules=rules, writes_confined=True)
    assert "rule of the user's" in run("rm -r build; git push", rules=rules, writes_confined=True)


def test_what_is_not_a_command_and_what_the_model_wants_is_not() -> None:
    edit = CallFacts("write_file", "edit", ("AGENTS.md",))
    assert why_uncovered(edit, ASK, is_held=True) == "it is no command"
    read = CallFacts("read_file", "read", (".env",))
    assert why_uncovered(read, ASK, is_held=True) == "it is no command"
    wants = msgspec.structs.replace(RUN, wants=Widening(hosts=("example.org",)))
    assert why_uncovered(wants, ASK, is_held=True) != ""
    shown = msgspec.structs.replace(ASK, widening=Widening(shows_secrets=True))
    assert why_uncovered(RUN, shown, is_held=False) != ""


def test_a_part_that_touches_a_protected_file_by_any_word_is_not() -> None:
    part = CommandPart("foo .mcp.json", 0, 13, ("foo", ".mcp.json"), "ask", "unknown")
    ask = msgspec.structs.replace(ASK, risky=(part,))
    assert why_uncovered(RUN, ask, is_held=True) != ""
