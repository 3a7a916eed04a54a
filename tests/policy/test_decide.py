from __future__ import annotations

from itertools import product
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.policy.call_facts import Allow, Ask, CallFacts, Decision, Deny, Effect, Policy, rule_of
from indwell.policy.decide import decide
from indwell.policy.rules import PatternRules
from indwell.settings.credentials import SECRETS
from indwell.settings.model import Mode

READ = CallFacts("read_file", "read", ("src/a.py",))
EDIT = CallFacts("edit_file", "edit", ("src/a.py",))
GUARDED = CallFacts("edit_file", "edit", (".vscode/settings.json",))
RUN = CallFacts("bash", "run", command="pytest -q", cwd="/w")
SECRET_READ = CallFacts("read_file", "read", (".env",))
SECRET_EDIT = CallFacts("write_file", "edit", ("alias.txt", "conf/.env"))
OWN_READ = CallFacts("read_file", "read", ("private/a",))
DENIED = (*SECRETS, "private/**")


def word(decision: Decision) -> str:
    """Return a decision as one word: ``ask!`` is a question without a permanent answer."""
    match decision:
        case Allow():
            return "allow"
        case Ask(rule=""):
            return "ask!"
        case Ask():
            return "ask"
        case Deny():
            return "deny"


TABLE = """
          plan    ask     review  auto
read      allow   allow   allow   allow
edit      deny    ask     allow   allow
guarded   deny    ask!    ask!    ask!
run       deny    ask     ask     ask
secret    ask!    ask!    ask!    ask!
rewrite   deny    ask!    ask!    ask!
own       deny    deny    deny    deny
"""
CALLS = {
    "read": READ,
    "edit": EDIT,
    "guarded": GUARDED,
    "run": RUN,
    "secret": SECRET_READ,
    "rewrite": SECRET_EDIT,
    "own": OWN_READ,
}


def table(granted: frozenset[str]) -> str:
    """Return the decision on each call in each mode, in the form of ``TABLE``."""
    modes: tuple[Mode, ...] = ("plan", "ask", "review", "auto")
    rows = [" " * 10 + "".join(f"{mode:8}" for mode in modes).rstrip()]
    for name, asked in CALLS.items():
        words = [word(decide(asked, Policy(mode, DENIED, granted))) for mode in modes]
        rows.append(f"{name:10}" + "".join(f"{one:8}" for one in words).rstrip())
    return "\n" + "\n".join(rows) + "\n"


def test_every_mode_decides_on_every_kind_of_call() -> None:
    assert table(frozenset()) == TABLE


def test_a_stored_permission_covers_exactly_its_rule_and_no_protected_or_secret_file() -> None:
    granted = frozenset(rule_of(asked) for asked in CALLS.values())
    expected = TABLE.replace("deny    ask     allow", "deny    allow   allow").replace(
        "deny    ask     ask     ask\n", "deny    allow   allow   allow\n"
    )
    assert table(granted) == expected


def test_a_stored_permission_equals_exactly_one_call() -> None:
    asked = decide(RUN, Policy("review"))
    assert isinstance(asked, Ask)
    assert asked.rule == "bash in /w: pytest -q"
    policy = Policy("review", granted=frozenset([rule_of(RUN)]))
    assert isinstance(decide(RUN, policy), Allow)
    others = [
        msgspec.structs.replace(RUN, command="pytest -q; rm -r x"),
        msgspec.structs.replace(RUN, command="pytest"),
        msgspec.structs.replace(RUN, command="PYTEST -q"),
        msgspec.structs.replace(RUN, command="pytest -q "),
        msgspec.structs.replace(RUN, cwd="/w/sub"),
        msgspec.structs.replace(RUN, tool="shell"),
    ]
    assert [word(decide(other, policy)) for other in others] == ["ask"] * len(others)


names = st.text(st.sampled_from("ab: ,'\"\\\n"), min_size=1, max_size=6)


@given(st.tuples(names, names), st.tuples(names, names))
def test_no_folder_name_can_imitate_another_command_in_a_rule(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    first, second = (
        rule_of(CallFacts("bash", "run", cwd=cwd, command=run)) for cwd, run in (one, other)
    )
    assert (first == second) == (one == other)


@given(st.frozensets(names, min_size=1, max_size=3), st.frozensets(names, min_size=1, max_size=3))
def test_no_file_name_can_imitate_several_files_in_a_rule(
    one: frozenset[str], other: frozenset[str]
) -> None:
    first, second = (
        rule_of(CallFacts("edit_file", "edit", tuple(paths))) for paths in (one, other)
    )
    assert (first == second) == (one == other)


def test_a_path_is_checked_as_written_and_as_resolved() -> None:
    alias = CallFacts("read_file", "read", ("notes.txt", "secrets/key"))
    assert decide(alias, Policy("auto", ("secrets/**",))) == Deny(
        "'secrets/key' matches 'secrets/**', which the user keeps from you; do without it, or ask "
        "the user for what is needed from it",
        by="deny: secrets/**",
    )
    link = CallFacts("edit_file", "edit", ("notes.txt", ".git/config"))
    assert decide(link, Policy("auto")) == Ask(
        "'.git/config' configures tools that run on this machine (loaded by: git)",
        rule="",
        by="protected",
    )


@pytest.mark.parametrize(("mode", "effect"), list(product(get_args(Mode), get_args(Effect))))
def test_a_deny_rule_overrides_every_grant_in_every_mode(mode: Mode, effect: Effect) -> None:
    asked = CallFacts("tool", effect, ("src/a.py", "private/a"), command="x", cwd="/w")
    policy = Policy(mode, DENIED, frozenset([rule_of(asked)]))
    assert word(decide(asked, policy)) == "deny"


def test_claims_in_the_models_arguments_grant_no_permission() -> None:
    claims = '{"command":"x","with_escalated_permissions":true,"trust":true,"approved":"always"}'
    asked = CallFacts("bash", "run", command="x", cwd="/w", arguments=claims)
    assert word(decide(asked, Policy("auto"))) == "ask"


@pytest.mark.parametrize(
    ("command", "rules", "keeps_git"),
    [
        ("pytest -q", (), True),
        ("mkdir a && mv b a", (), True),
        ("pytest -q && git commit -am x", (), False),
        ("env git add a", (), False),
        ("./release.sh", ("./release.sh",), False),
        ("cat a", (), False),  # the command may write nowhere
    ],
)
def test_only_git_and_commands_that_the_user_allowed_may_change_a_git_folder(
    command: str, rules: tuple[str, ...], *, keeps_git: bool
) -> None:
    policy = Policy("auto", writes_confined=True, rules=PatternRules(allow=rules), roots=("/w",))
    decision = decide(CallFacts("bash", "run", command=command, cwd="/w"), policy)
    assert isinstance(decision, Allow)
    assert decision.widening.keeps_git is keeps_git
