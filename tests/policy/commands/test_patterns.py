from __future__ import annotations

import pytest

from indwell.policy.commands.judge import judge
from indwell.policy.commands.path_rules import Situation
from indwell.policy.rules import PatternRules


def judged(
    command: str, *, allow: str = "", deny: str = "", ask: str = "", confined: bool = False
) -> str:
    rules = PatternRules(*(tuple(one.split("|")) if one else () for one in (allow, ask, deny)))
    return judge(command, Situation(rules=rules, writes_confined=confined)).decision


@pytest.mark.parametrize(
    ("pattern", "command", "covers"),
    [
        ("npm *", "npm install x", True),
        ("npm *", "npm", True),
        ("npm *", "npx x", False),
        ("npm", "npm run x", True),
        ("npm install", "npm install", True),
        ("npm install", "npm install x", False),
        ("npm run *", "npm  run   x", True),
        ("npm *", "NPM install", False),
        ("npm *", "./npm install", False),
        ("npm *", "/usr/bin/npm install", False),
        ("make te?t", "make test", True),
        ("make te?t", "make teest", False),
        ("make *", "make 'a b'", True),
        ("make all", "'make all'", False),
        ("make 'a b'", "make 'a b'", True),
        ("make a b", "make 'a b'", False),
        ("*", "anything at all", True),
        ("edit: *", "edit: x", False),
        ("npm *", "npm x; npm y", True),
        ("npm *", "npm x && evil", False),
        ("npm *", "npm x | evil", False),
        ("npm *", "npm x > f", False),
        ("npm *", "npm x > /dev/null", True),
        ("npm *", "npm x\nnpm y", False),
        ("npm *", "npm $(evil)", False),
        ("npm *", "npm $(ls)", False),
        ("npm *|ls", "npm $(ls)", True),
        ("npm *", "npm x &", False),
        ("npm *", "x=1 npm x", False),
        ("npm *", "$npm x", False),
        ("*", "npm x > f", False),
        ("*", "x=(a b); for i in a; do make; done", True),
        ("*", 'echo "${x@P}"', False),
        ("*", "echo ${!x}", False),
        ("*", "cat <<<$(whoami)", False),
        ("*", "echo =(cat x)", False),
        ("*", "ls *(e:whoami:)", False),
        ("timeout *", "timeout 5 make", False),
        ("bash *", "bash -c 'make'", False),
        ("find *", "find . -exec rm {} +", False),
    ],
)
def test_pol_11_an_allowing_pattern_covers_every_part_exactly(
    pattern: str,
    command: str,
    covers: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert (judged(command, allow=pattern) == "allow") is covers


def test_pol_11_a_pattern_for_one_form_of_a_command_allows_only_that_form() -> None:
    assert judged("ls -la", allow="ls -l?") == "allow"
    assert judged("ls -lah", allow="ls -l?") == "ask"
    assert judged("git status", allow="git log *") == "allow"


def test_pol_12_a_deny_pattern_applies_to_the_hundredth_part() -> None:
    assert judged("ls; " * 100 + "rm x", deny="rm *") == "deny"
    assert judged(" && ".join(["ls"] * 120) + " | git push", deny="git push", allow="*") == "deny"


@pytest.mark.parametrize(
    "command",
    [
        *(
            "git push",
            "git push origin",
            "GIT PUSH",
            "/usr/bin/git push",
            "env git push",
            "git 'push'",
        ),
        *("ls | git push", "bash -c 'git push'", 'git "pu"sh x', "sudo git push", "(git push)"),
    ],
)
def test_pol_13_deny_patterns_outweigh_ask_and_ask_outweighs_allow(command: str) -> None:
    assert judged(command, deny="git push *", ask="git *", allow="*") == "deny"
    assert judged(command, ask="git push *", allow="*|git push *") == "ask"
    assert judged(command, ask="git push *", allow="*|git push *", confined=True) == "ask"


def test_a_command_that_a_deny_pattern_might_match_needs_a_question() -> None:
    assert judged("git $x", deny="git push *", allow="*") == "ask"
    assert judged("$x push", deny="git push *", allow="*") == "ask"
    assert judged("npm run $x", deny="git push *", allow="npm *") == "allow"


def test_a_users_pattern_does_not_remove_questions_about_secrets() -> None:
    rules = PatternRules(allow=("cat *", "*"))
    assert judge("cat .env", Situation(rules=rules, secrets=(".env",))).rule == "secret"
