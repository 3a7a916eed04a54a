"""A rule, mode or missing sandbox that should tighten a decision never loosens it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.policy.call_facts import Allow, Ask, CallFacts, Decision, Deny, Policy, rule_of
from indwell.policy.decide import decide
from indwell.policy.rules import NOTHING_MORE, PatternRules, Widening
from indwell.settings.credentials import SECRETS
from indwell.settings.model import FREEDOM

COMMANDS = (
    "ls", "cat a.txt | head", "git log", "git push origin main", "git commit -m x", "make test",
    "pytest -q", "rm -r build", "rm -rf /", "curl https://a.example/x", "npm install", "sudo ls",
    "echo x > out.txt", "echo x > .git/config", "cat .env", "cat private/k", "cat /etc/hosts",
    "touch ../x", "ssh host ls", "bash -c 'ls'", "FOO=1 make", "ls; curl x", "$(which ls)", "",
    "python3 a.py", "sed -i s/a/b/ a.txt", "for i in 1 2; do echo $i; done", "(", "ls *.lock",
)  # fmt: skip
PATTERNS = (
    "*", "ls", "git *", "git push *", "make *", "npm *", "curl", "rm *", "cat *", "echo *",
    "sudo *", "ssh *", "edit: **", "edit: *.lock", "read: **", "read: private/**",
    "tool: bash", "tool: *",
)  # fmt: skip
PATHS = ("a.txt", ".env", "private/k", ".git/config", "src/x.lock", "AGENTS.md")

patterns = st.lists(st.sampled_from(PATTERNS), max_size=3).map(tuple)
rules = st.builds(PatternRules, patterns, patterns, patterns)
wishes = st.sampled_from([NOTHING_MORE, NOTHING_MORE, Widening(hosts=("a.example",))])
calls = st.one_of(
    st.builds(
        lambda command, wants: CallFacts("bash", "run", command=command, cwd="/w", wants=wants),
        st.sampled_from(COMMANDS),
        wishes,
    ),
    st.builds(
        lambda effect, path: CallFacts(f"{effect}_file", effect, (path,), (f"/w/{path}",)),
        st.sampled_from(["read", "edit"]),
        st.sampled_from(PATHS),
    ),
)
policies = st.builds(
    Policy,
    mode=st.sampled_from(FREEDOM),
    deny=st.sampled_from([SECRETS, (*SECRETS, "private/**")]),
    rules=rules,
    roots=st.just(("/w",)),
    writes_confined=st.booleans(),
)


def strictness(decision: Decision) -> int:
    """Return 0 if the call runs, 1 for a question with a lasting answer, 2 without, 3 if denied."""
    match decision:
        case Allow():
            return 0
        case Ask(rule=rule):
            return 1 if rule else 2
        case Deny():
            return 3


def all_granted(asked: CallFacts, policy: Policy) -> Policy:
    """Grant every permanent answer that a question about this call could have stored."""
    decision = decide(asked, policy)
    offered = {decision.rule} if isinstance(decision, Ask) else set()
    return msgspec.structs.replace(policy, granted=frozenset({rule_of(asked), *offered}))


@given(calls, policies, patterns, patterns)
def test_adding_ask_or_deny_rules_never_loosens_a_decision(
    asked: CallFacts, policy: Policy, ask: tuple[str, ...], deny: tuple[str, ...]
) -> None:
    before = policy.rules
    more = PatternRules(before.allow, before.ask + ask, before.deny + deny)
    tighter = msgspec.structs.replace(policy, rules=more)
    assert strictness(decide(asked, tighter)) >= strictness(decide(asked, policy))


@given(calls, policies)
def test_a_stricter_mode_never_loosens_a_decision(asked: CallFacts, policy: Policy) -> None:
    decisions = [decide(asked, msgspec.structs.replace(policy, mode=mode)) for mode in FREEDOM]
    planned, *found = map(strictness, decisions)
    assert found == sorted(found, reverse=True)
    # `ask` confirms a build; in `plan` mode, the same build can change nothing
    if planned < found[0]:
        assert policy.writes_confined
        assert isinstance(decisions[0], Allow)
        assert decisions[0].widening == Widening(reads_only=True)
        assert found[-1] == 0


@given(calls, policies)
def test_a_missing_sandbox_never_loosens_a_decision(asked: CallFacts, policy: Policy) -> None:
    held, unheld = (
        decide(asked, msgspec.structs.replace(policy, writes_confined=one)) for one in (True, False)
    )
    # Whether an answer is stored is a separate matter: without a sandbox it grants no more access.
    assert isinstance(unheld, Deny) or not isinstance(held, Deny)
    assert not isinstance(unheld, Allow) or isinstance(held, Allow)


@given(calls, policies)
def test_no_stored_permission_overrides_a_denial_or_a_question_that_must_be_asked_each_time(
    asked: CallFacts, policy: Policy
) -> None:
    before = strictness(decide(asked, policy))
    after = strictness(decide(asked, all_granted(asked, policy)))
    assert after == (0 if before == 1 else before)


@given(calls, policies)
def test_a_run_outside_the_sandbox_always_needs_a_question(
    asked: CallFacts, policy: Policy
) -> None:
    decision = decide(asked, all_granted(asked, policy))
    if isinstance(decision, Allow):
        assert not decision.widening.unconfined
        assert not decision.widening.shows_secrets
        assert asked.wants == NOTHING_MORE


@pytest.mark.parametrize(
    "command",
    ["ssh host ls", "bash -c 'ls'", "sudo ls", "env ls", "unheard-of --do ls", "x 'a; ls'"],
)
def test_an_ask_rule_for_a_wrapper_does_not_weaken_a_deny_rule_for_its_command(
    command: str,
) -> None:
    asked = CallFacts("bash", "run", command=command, cwd="/w")
    for rules in (PatternRules(deny=("ls",)), PatternRules(ask=("*",), deny=("ls",))):
        for confined in (True, False):
            policy = Policy("ask", rules=rules, roots=("/w",), writes_confined=confined)
            decision = decide(asked, policy)
            assert isinstance(decision, Deny), (command, rules, confined)
