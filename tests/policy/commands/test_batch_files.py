"""Batch files of Windows, whose arguments ``cmd.exe`` parses a second time."""

from __future__ import annotations

import msgspec
import pytest

from indwell.policy.call_facts import Allow, Ask, CallFacts, Deny, Policy
from indwell.policy.commands.judge import judge
from indwell.policy.commands.path_rules import Situation
from indwell.policy.decide import decide
from indwell.policy.rules import PatternRules

WINDOWS = Policy("auto", roots=("C:\\work",), language="powershell")
BASH = Situation(cwd="C:/work", roots=("C:/work",), system="win32")


def decided(
    command: str, *batch_files: str, rules: PatternRules | None = None
) -> Allow | Ask | Deny:
    asked = CallFacts(
        "bash", "run", command=command, cwd="C:\\work", batch_files=tuple(batch_files)
    )
    return decide(asked, msgspec.structs.replace(WINDOWS, rules=rules or PatternRules()))


@pytest.mark.parametrize(
    "word",
    [
        *("'a&calc'", "'a|calc'", "'a<b'", "'a>b'", "'a^b'", "'%PATH%'", "'a!b!'", "'a\nb'"),
        *("$x", '"$x"', "~", "(Get-Date)"),
    ],
)
def test_a_reader_that_is_a_batch_file_asks_about_arguments_that_cmd_would_obey(word: str) -> None:
    decision = decided(f"rg {word}", "rg")
    assert isinstance(decision, Ask)
    if word.startswith("'"):
        assert decision.by == "batch file"
        assert "'rg' is a batch file: cmd.exe reads its words once more" in decision.reason


def test_the_question_names_the_character_that_cmd_would_obey() -> None:
    decision = decided("rg 'a&calc'", "rg")
    assert isinstance(decision, Ask)
    assert decision.reason == (
        "'rg' is a batch file: cmd.exe reads its words once more, and '&' in them may start "
        "another command"
    )


@pytest.mark.parametrize("command", ["rg 'a&calc'", "RG.exe 'a|b'", "rg '100%'"])
def test_a_program_that_is_not_a_batch_file_gets_its_arguments_unchanged(command: str) -> None:
    assert isinstance(decided(command), Allow)


@pytest.mark.parametrize("command", ["rg needle", "rg -n 'two words' src", "RG needle"])
def test_a_batch_file_with_plain_arguments_needs_no_question(command: str) -> None:
    assert isinstance(decided(command, "rg"), Allow)


def test_special_arguments_of_another_command_have_no_effect_on_a_batch_file() -> None:
    assert isinstance(decided("rg needle; echo 'a&b'", "rg"), Allow)


@pytest.mark.parametrize("command", ["rg.cmd 'a&calc'", "& 'rg.BAT' 'a&calc'", "RG 'a&calc'"])
def test_every_spelling_of_a_batch_file_is_recognised(command: str) -> None:
    assert isinstance(decided(command, "rg"), Ask)


def test_no_pattern_of_the_user_covers_what_cmd_would_read_from_its_arguments() -> None:
    allowing = PatternRules(allow=("npm *",))
    assert isinstance(decided("npm run build", "npm", rules=allowing), Allow)
    decision = decided("npm run 'a&calc'", "npm", rules=allowing)
    assert isinstance(decision, Ask)
    assert decision.by == "batch file"
    everything = PatternRules(allow=("*",), deny=("calc *",))
    assert isinstance(decided("npm run 'a&calc x'", "npm", rules=everything), Ask)


def test_a_denial_outweighs_the_batch_file_question() -> None:
    denying = PatternRules(deny=("npm *",))
    assert isinstance(decided("npm run 'a&calc'", "npm", rules=denying), Deny)


@pytest.mark.parametrize(
    ("command", "is_asked"),
    [
        ("rg.cmd 'a&calc'", True),
        ("env rg.cmd 'a&calc'", True),
        ('rg.cmd "$x"', True),
        ("rg 'a&calc'", False),
    ],
)
def test_bash_on_windows_starts_a_batch_file_by_its_full_name(
    command: str, *, is_asked: bool
) -> None:
    patterns = msgspec.structs.replace(BASH, rules=PatternRules(allow=("rg*", "env*")).for_commands)
    found = judge(command, patterns)
    assert (found.rule == "batch file") == is_asked


def test_only_windows_has_batch_files() -> None:
    elsewhere = msgspec.structs.replace(BASH, system="linux", cwd="/w", roots=("/w",))
    elsewhere = msgspec.structs.replace(elsewhere, writes_confined=True)
    assert judge("./gradlew.bat 'a&b'", elsewhere).decision == "allow"
