"""Rules for files and untrusted folders apply to commands that name these files."""

from __future__ import annotations

import msgspec
import pytest

from indwell.policy.call_facts import Allow, Ask, CallFacts, Decision, Deny, Policy
from indwell.policy.commands.verdict import CommandPart, CommandVerdict
from indwell.policy.decide import decide
from indwell.policy.file_rules import by_file_rules
from indwell.policy.rules import PatternRules, Widening

HELD = Policy("auto", roots=("/w", "/b"), writes_confined=True)
TWO = msgspec.structs.replace(HELD, restricted=("/b", "/w/sub"))


def run(command: str, policy: Policy = HELD) -> Decision:
    return decide(CallFacts("bash", "run", command=command, cwd="/w"), policy)


@pytest.mark.parametrize(
    "command",
    [
        "git -C /b diff",
        "cd /b && git diff",
        "cd sub; git status",
        "env git -C sub log",
        "git -C ./sub/../sub show",
        "GIT_DIR=/b/.git git diff",
        "git --git-dir=sub/.git diff",
        "make -C sub test",
        "cp x.py s''ub/z",
        "cd sub && make",
    ],
)
def test_every_command_in_an_untrusted_folder_needs_a_question_even_read_only_git(
    command: str,
) -> None:
    assert not isinstance(run(command, TWO), Allow)
    assert isinstance(run("cat sub/a.py /b/README", TWO), Allow)  # reading does no harm
    assert isinstance(run("git diff", TWO), Allow)


def test_a_rule_for_files_follows_cd() -> None:
    part = CommandPart("echo x > y", 0, 0, ("y",), "allow", "workspace-write", folders=("docs",))
    verdict = CommandVerdict("allow", "workspace-write", parts=(part,))
    asked = CallFacts("bash", "run", command="cd docs && echo x > y", cwd="/w")
    denied = msgspec.structs.replace(HELD, rules=PatternRules(deny=("edit: docs/**",)))
    assert by_file_rules(verdict, asked, denied).decision == "deny"
    unknown = msgspec.structs.replace(part, folders=())
    verdict = msgspec.structs.replace(verdict, parts=(unknown,))
    assert by_file_rules(verdict, asked, denied).decision == "ask"


def test_the_name_of_a_program_is_not_a_file_of_the_folder() -> None:
    denied = msgspec.structs.replace(
        HELD, rules=PatternRules(deny=("edit: *.py", "edit: x", "edit: 2"))
    )
    assert isinstance(
        run("x", msgspec.structs.replace(denied, rules=PatternRules(deny=("read: x",)))), Ask
    )
    for command in ("touch x", "echo > x", "echo 2>2", "echo >x"):
        assert isinstance(run(command, denied), Deny), command


def test_a_command_classified_as_reading_may_write_nowhere() -> None:
    for policy in (HELD, msgspec.structs.replace(HELD, mode="ask", writes_confined=False)):
        found = run("cat a.py | head", policy)
        assert isinstance(found, Allow)
        assert found.widening == Widening(reads_only=True)
    built = run("make all")
    assert isinstance(built, Allow)
    assert not built.widening.reads_only


@pytest.mark.parametrize(
    ("mode", "rule", "command"),
    [
        ("auto", "git fetch *", "git fetch origin; python3 -c 'print(1)'"),
        ("auto", "git pull *", "git pull origin | ./x"),
        ("ask", "npm test", "npm test; touch X"),
    ],
)
def test_a_file_pattern_for_one_part_covers_no_other_part(
    mode: str, rule: str, command: str
) -> None:
    policy = msgspec.structs.replace(HELD, mode=mode, rules=PatternRules(allow=(rule,)))
    assert isinstance(run(command, policy), Ask)


def test_an_allow_pattern_for_a_whole_command_covers_its_network_access() -> None:
    policy = msgspec.structs.replace(HELD, rules=PatternRules(allow=("git ls-remote *",)))
    found = run("git ls-remote https://github.com/a/b | head", policy)
    assert isinstance(found, Allow)
    assert found.widening.hosts == ("github.com",)


def test_a_command_that_may_replace_protected_files_always_needs_a_question() -> None:
    asked = CallFacts("bash", "run", command="git switch feat", cwd="/w")
    policy = msgspec.structs.replace(HELD, rules=PatternRules(allow=("git switch *",)))
    found = decide(asked, policy)
    assert isinstance(found, Ask)
    assert (found.rule, found.widening.writes_protected) == ("", True)


def test_a_denial_names_its_rule() -> None:
    for rule, asked in (
        ("edit: docs/**", CallFacts("write_file", "edit", ("docs/a",))),
        ("tool: write_file", CallFacts("write_file", "edit", ("a",))),
        # ``write`` means the same as ``edit``
        ("write: docs/**", CallFacts("write_file", "edit", ("docs/a",))),
    ):
        found = decide(asked, Policy("auto", rules=PatternRules(deny=(rule,))))
        assert isinstance(found, Deny)
        assert rule.replace("write: ", "edit: ") in found.reason
    kept = decide(CallFacts("read_file", "read", ("private/a",)), Policy("auto", ("private/**",)))
    assert isinstance(kept, Deny)
    assert "'private/**', which the user keeps from you" in kept.reason
