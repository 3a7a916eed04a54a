"""Rules for files and tools: deny before ask before allow, and decisions that no rule changes."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.policy.call_facts import Allow, Ask, CallFacts, Decision, Deny, Policy
from indwell.policy.decide import decide
from indwell.policy.rules import PatternRules, aimless, covers_files, file_rule, tool_rule
from indwell.settings.credentials import SECRETS
from indwell.settings.model import Mode

EDIT = CallFacts("edit_file", "edit", ("src/a.py",), resolved=("/w/src/a.py",))
READ = CallFacts("read_file", "read", ("src/a.py",))
MODES: tuple[Mode, ...] = ("plan", "ask", "review", "auto")


def word(decision: Decision) -> str:
    """Return the decision, and the deciding rule."""
    match decision:
        case Allow(by=by):
            return f"allow by {by}" if by else "allow"
        case Ask(by=by):
            return f"ask by {by}"
        case Deny(by=by):
            return f"deny by {by}"


def decided(asked: CallFacts, rules: PatternRules, mode: Mode = "review") -> str:
    return word(decide(asked, Policy(mode, SECRETS, rules=rules, roots=("/w",))))


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (PatternRules(), "allow by mode review"),
        (PatternRules(allow=("edit: src/**",)), "allow by allow: edit: src/**"),
        (PatternRules(ask=("edit: src/**",)), "ask by ask: edit: src/**"),
        (PatternRules(deny=("edit: *.py",)), "deny by deny: edit: *.py"),
        (PatternRules(allow=("edit: **",), ask=("edit: *.py",)), "ask by ask: edit: *.py"),
        (PatternRules(ask=("edit: *.py",), deny=("edit: src/",)), "deny by deny: edit: src/"),
        (PatternRules(deny=("read: *.py",)), "allow by mode review"),
        (PatternRules(deny=("tool: edit_*",)), "deny by deny: tool: edit_*"),
        (PatternRules(ask=("tool: EDIT_FILE",)), "ask by ask: tool: EDIT_FILE"),
        (PatternRules(ask=(" Edit :  *.py ",)), "ask by ask: edit: *.py"),
    ],
)
def test_deny_takes_precedence_over_ask_and_ask_over_allow(
    rules: PatternRules, expected: str
) -> None:
    assert decided(EDIT, rules) == expected


def test_an_allow_rule_for_edits_skips_only_the_question_of_ask_mode() -> None:
    rules = PatternRules(allow=("edit: src/**", "edit: .env", "edit: .git/**"))
    assert [decided(EDIT, rules, mode) for mode in MODES] == [
        "deny by plan",
        *["allow by allow: edit: src/**"] * 3,
    ]
    both = msgspec.structs.replace(EDIT, paths=("src/a.py", "lib/b.py"))
    assert decided(both, rules, "ask") == "ask by mode ask"
    for path in (".env", ".git/hooks/x"):
        guarded = msgspec.structs.replace(EDIT, paths=(path,))
        assert [decided(guarded, rules, mode)[:3] for mode in MODES] == ["den", "ask", "ask", "ask"]
    linked = msgspec.structs.replace(EDIT, has_other_names=True)
    assert decided(linked, rules) == "ask by other names"


def test_files_that_usually_hold_keys_need_a_question_and_the_users_list_denies_them() -> None:
    key = CallFacts("read_file", "read", ("conf/server.pem",))
    assert decided(key, PatternRules()) == "ask by secret: *.pem"
    assert decided(key, PatternRules(allow=("read: *.pem",))) == "allow by allow: read: *.pem"
    own = Policy("auto", (*SECRETS, "*.sqlite", ".env"))
    assert (
        word(decide(CallFacts("read_file", "read", ("x.sqlite",)), own)) == "deny by deny: *.sqlite"
    )
    assert word(decide(CallFacts("read_file", "read", (".env",)), own)) == "deny by deny: .env"
    spared = Policy("auto", (*SECRETS, "!.env.test"))
    assert decide(CallFacts("read_file", "read", (".env.test",)), spared) == Allow()


def test_a_file_behind_a_link_out_of_the_workspace_always_needs_a_question() -> None:
    out = CallFacts("read_file", "read", ("a",), resolved=("/etc/hosts",), leads_out=True)
    for rules in (PatternRules(), PatternRules(allow=("read: **",))):
        assert decided(out, rules) == "ask by link"
    assert decided(out, PatternRules(deny=("read: a",))) == "deny by deny: read: a"


@pytest.mark.parametrize("mode", MODES)
def test_no_allow_rule_overrides_a_denial(mode: Mode) -> None:
    everything = PatternRules(allow=("*", "edit: **", "read: **", "tool: *"))
    policy = Policy(mode, rules=everything, own=("/state",), restricted=("/w",), roots=("/w",))
    own = CallFacts("read_file", "read", ("x",), resolved=("/state/sessions/1",))
    calls = [own, EDIT, CallFacts("bash", "run", command="ls", cwd="/w/src")]
    assert [word(decide(one, policy))[:4] for one in calls] == ["deny"] * 3


def test_rules_for_commands_are_distinguished_from_rules_for_files_and_tools() -> None:
    rules = PatternRules(("git *", "edit: a"), ("read: b", "make: x"), ("tool: bash", "rm *"))
    assert rules.for_commands == PatternRules(("git *",), ("make: x",), ("rm *",))
    plain = PatternRules(("a",), ("b",), ("c",))
    assert plain.for_commands is plain


def test_a_rule_with_an_exclamation_mark_excludes_nothing() -> None:
    assert file_rule("read", ["a/x"], ("read: a/**", "read: !a/x")) == "read: a/**"
    assert covers_files("edit", ("a/x",), ("edit: !b",)) == ""
    assert covers_files("edit", (), ("edit: **",)) == ""


@given(st.text(), st.lists(st.text(max_size=12).map("tool:{}".format), max_size=3))
def test_no_name_and_no_pattern_breaks_the_decision(tool: str, patterns: list[str]) -> None:
    assert isinstance(tool_rule(tool, patterns), str)
    assert isinstance(file_rule("edit", [tool], tuple(patterns)), str)


def test_a_file_rule_applies_to_commands_that_name_the_file() -> None:
    rules = PatternRules(("*",), ("edit: db/**",), ("edit: *.lock", "read: private/**"))
    commands = {
        "rm x.lock": "deny by deny: edit: *.lock",
        "cat x.lock": "allow by allow: *",
        "cp a db/x": "ask by ask: edit: db/**",
        "cat private/a": "deny by deny: read: private/**",
        "tool --out=private/a": "deny by deny: read: private/**",
        "cp a *.l?ck": "ask by ask: edit",
        "cat *.l?ck": "allow by allow: *",
    }
    policy = Policy("auto", rules=rules, roots=("/w",), writes_confined=True)
    found = {
        one: word(decide(CallFacts("bash", "run", command=one, cwd="/w"), policy))
        for one in commands
    }
    assert found == commands


def test_a_command_that_names_a_denied_file_or_an_untrusted_folder_is_denied() -> None:
    policy = Policy(
        "auto", (*SECRETS, "*.sqlite"), roots=("/w", "/v"), restricted=("/v",), writes_confined=True
    )
    for command in ("cp x.sqlite y", "cp a /v/b", "cp a ../v"):
        asked = CallFacts("bash", "run", command=command, cwd="/w")
        assert isinstance(decide(asked, policy), Deny), command
    for command in ("ls *.sqlite", "cp a b"):
        asked = CallFacts("bash", "run", command=command, cwd="/w")
        assert not isinstance(decide(asked, policy), Deny), command


def test_rules_for_unknown_tools_are_reported() -> None:
    tools = ("read_file", "bash")
    assert aimless(PatternRules(allow=("tool: Read_*",), deny=("tool: bash", "git *")), tools) == ""
    assert aimless(PatternRules(deny=("tool: bassh", "tool: bash")), tools) == (
        "your rules name unknown tools: 'tool: bassh'; the tools are read_file, bash"
    )
