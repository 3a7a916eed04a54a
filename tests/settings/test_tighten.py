from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.policy.paths import matches_any
from indwell.settings.credentials import SECRETS, Secret
from indwell.settings.load import load
from indwell.settings.model import FREEDOM, Settings
from indwell.settings.tighten import RULES, STRICTEST, Tightened, strictest, tighten
from indwell.settings.values import TYPES

USERS = Settings(
    model="mine",
    models=("mine", "small"),
    api_key=Secret("k"),
    base_url="https://home/v1",
    round_limit=50,
    attach_diagnostics=False,
)

FOREIGN = "is ignored: only your own settings can set it"
LIMITS = "(50 globs without '!', up to 100 characters and 4 '*', of which one '**')"

globs = st.sampled_from(["*.db", "!*.pem", "!.env", "x/**", "!", "a" * 200, "**/**/**/x", ""])
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | globs,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
fitting = st.one_of(
    st.sampled_from([*FREEDOM, "mine", "small", "foreign", "https://evil/v1", "scripted"]),
    st.booleans(),
    st.integers(0, 200_000),
    st.floats(0, 100_000),
    st.lists(globs, max_size=4),
)
names = st.sampled_from([*TYPES, "attach", "price", "hooks"])
tables = st.dictionaries(
    names, json | fitting | st.dictionaries(st.sampled_from(["selection", "in"]), fitting)
)
users = st.builds(
    Settings,
    model=st.sampled_from(["", "mine"]),
    models=st.sampled_from([(), ("small",)]),
    api_key=st.none() | st.just(Secret("k")),
    mode=st.sampled_from(FREEDOM),
    max_output=st.integers(1, 10_000),
    round_limit=st.integers(1, 200),
    attach_selection=st.booleans(),
    attach_opened_file=st.booleans(),
    attach_diagnostics=st.booleans(),
    deny=st.sampled_from([(), SECRETS, ("*.db",)]),
    command_timeout_s=st.floats(1, 1_000),
    budget_turn=st.none() | st.floats(0, 10),
    budget_turn_tokens=st.none() | st.integers(1, 10),
)


WAITS = {one for one in TYPES if one.endswith("_timeout_s")} - {"first_token_timeout_s"}


def is_no_wider(settings: Settings, than: Settings, *, may_choose: bool) -> bool:  # noqa: C901 - one table
    """Compare every field; an unknown field must be equal."""
    for name in TYPES:
        now, before = getattr(settings, name), getattr(than, name)
        match name:
            case "mode":
                fits = FREEDOM.index(now) <= FREEDOM.index(before)
            case "deny" | "rules_ask" | "rules_deny":
                added = now[len(before) :]
                fits = now[: len(before)] == before and not any(g.startswith("!") for g in added)
            case "model":
                fits = now == before or (may_choose and now in than.models)
            case _ if name.startswith("attach_") or name in {"check_edits", "memory"}:
                fits = before or not now
            case _ if name in {"max_output", "round_limit", "agent_rounds"} or name in WAITS:
                fits = now <= before
            case "redact_secrets":
                fits = now or not before
            case "question_pause_s":
                fits = now >= before
            case (
                "budget_turn"
                | "budget_session"
                | "budget_day"
                | "budget_turn_tokens"
                | "agent_budget_tokens"
                | "first_token_timeout_s"
            ):
                fits = now == before if now is None else before is None or now <= before
            case _:  # hints are only a display option
                fits = now == before or name == "review_hints"
        if not fits:
            return False
    return True


@given(users, tables, st.booleans())
def test_no_table_from_editor_or_workspace_makes_settings_laxer(
    settings: Settings, table: Mapping[str, Any], chooses: Literal[True, False]
) -> None:
    result = tighten(settings, table, "s", chooses=chooses).settings
    assert is_no_wider(result, settings, may_choose=chooses)


@given(tables, tables)
def test_editor_and_workspace_settings_together_never_widen_the_users_settings(
    options: Mapping[str, Any], workspace: Mapping[str, Any]
) -> None:
    first = load({}, editor_options=options).settings
    second = tighten(first, workspace, "w", chooses=False).settings
    assert is_no_wider(second, Settings(), may_choose=True)


@given(users, st.sampled_from(sorted(set(TYPES) - {"model"})), fitting)
def test_a_rejected_setting_is_always_reported(
    settings: Settings, name: str, value: object
) -> None:
    result = tighten(settings, {name: value}, "s", chooses=False)
    is_taken = result.settings != settings
    try:
        is_same = msgspec.convert(value, TYPES[name]) == getattr(settings, name)
    except (msgspec.ValidationError, TypeError):
        is_same = False
    adds = name in {"deny", "rules_ask", "rules_deny"}
    if adds and isinstance(value, list):
        is_same = set(value) <= set(getattr(settings, name))
    if not is_taken and not (is_same and name in RULES):
        assert len(result.notices) == 1
        assert name in result.notices[0]
    if is_taken and result.is_complete and not adds:
        assert result.notices == ()


def test_a_workspace_can_make_every_setting_stricter() -> None:
    table = {
        "mode": "ask",
        "max_output": 100,
        "round_limit": 3,
        "attach": {"selection": False, "opened_file": False, "diagnostics": False},
        "deny": ["*.db", "private/"],
        "apply_edit_timeout_s": 1,
        "answer_timeout_s": 1,
        "question_pause_s": 3,
        "command_timeout_s": 1,
        "stall_timeout_s": 1,
    }
    assert tighten(USERS, table, "w", chooses=False) == Tightened(
        msgspec.structs.replace(
            USERS,
            mode="ask",
            max_output=100,
            round_limit=3,
            attach_selection=False,
            attach_opened_file=False,
            attach_diagnostics=False,
            deny=(*SECRETS, "*.db", "private/**"),
            apply_edit_timeout_s=1,
            answer_timeout_s=1,
            question_pause_s=3,
            command_timeout_s=1,
            stall_timeout_s=1,
        )
    )


@pytest.mark.parametrize(
    ("table", "notice"),
    [
        *[({name: "x"}, f"{name!r} in w {FOREIGN}") for name in sorted(set(TYPES) - set(RULES))],
        (
            {"mode": "auto"},
            "mode = 'auto' in w is ignored: it may only be tighter than your 'review'",
        ),
        (
            {"round_limit": 51},
            "round_limit = 51 in w is ignored: it may only be lower than your 50",
        ),
        (
            {"attach": {"diagnostics": True}},
            "attach_diagnostics = True in w is ignored: you have turned it off",
        ),
        (
            {"deny": ["!.env"]},
            (
                "deny = (list) in w is ignored: '!.env' is more than it may add "
                f"{LIMITS}; the others apply"
            ),
        ),
    ],
)
def test_a_setting_that_would_extend_permissions_is_ignored_and_reported(
    table: Mapping[str, Any], notice: str
) -> None:
    assert tighten(USERS, table, "w", chooses=False) == Tightened(USERS, (notice,))


@pytest.mark.parametrize(
    ("table", "rules"),
    [
        ({"mode": "free"}, ()),
        ({"rules": {"deny": "rm *"}}, ()),
        ({"rules": {"deny": ["rm *", "", "mv *"]}}, ("rm *", "mv *")),
        ({"rules": {"deny": ["rm *", "x" * 101]}}, ("rm *",)),
        ({"redact_secrets": "yes"}, ()),
        ({"deny": ["x" * 101]}, ()),
    ],
)
def test_an_unreadable_entry_that_may_forbid_something_makes_indwell_ask_about_everything(
    table: Mapping[str, Any], rules: tuple[str, ...]
) -> None:
    result = tighten(USERS, table, "w", chooses=False)
    denied = msgspec.structs.replace(USERS, rules_deny=rules)
    assert (result.settings, result.is_complete) == (strictest(denied), False)
    assert result.notices[-1] == STRICTEST.format("w")
    assert len(result.notices) == 2


def test_valid_globs_next_to_a_refused_glob_are_used() -> None:
    result = tighten(USERS, {"deny": ["!.env", "*.db"]}, "w", chooses=False)
    assert result.settings.deny == (*SECRETS, "*.db")


@pytest.mark.parametrize("glob", ["x" * 100, "*a*a*a*", "**/a*", "a/**/b*c*d"])
def test_a_glob_within_the_limits_is_added(glob: str) -> None:
    result = tighten(USERS, {"deny": [glob]}, "w", chooses=False)
    assert result == Tightened(msgspec.structs.replace(USERS, deny=(*SECRETS, glob)))


@pytest.mark.parametrize("glob", ["x" * 101, "*a*a*a*a*", "**/a/**"])
def test_an_oversized_deny_glob_is_replaced_by_questions(glob: str) -> None:
    result = tighten(USERS, {"deny": [glob]}, "w", chooses=False)
    assert result.settings == strictest(USERS)
    assert len(result.notices) == 2


def test_the_number_of_globs_from_a_workspace_is_limited() -> None:
    result = tighten(USERS, {"deny": [f"g{n}" for n in range(51)]}, "w", chooses=False)
    assert result.settings.deny == (*SECRETS, *(f"g{n}" for n in range(50)))
    assert not result.is_complete


def test_setting_an_equal_value_gives_no_notice() -> None:
    same = {"mode": "review", "round_limit": 50, "attach": {"diagnostics": False}, "deny": [".env"]}
    assert tighten(USERS, same, "w", chooses=False) == Tightened(USERS)


def test_an_editor_can_choose_only_the_users_models() -> None:
    def choose(model: str) -> Tightened:
        return tighten(USERS, {"model": model}, "e", chooses=True)

    assert choose("small") == Tightened(msgspec.structs.replace(USERS, model="small"))
    assert choose("mine") == Tightened(USERS)
    assert choose("dear") == Tightened(
        USERS,
        ("model = 'dear' in e is ignored: add it to 'models' in your own settings to allow it",),
    )


def test_a_budget_can_be_set_and_lowered_but_never_raised_or_removed() -> None:
    limited = msgspec.structs.replace(USERS, budget_day=2.0)
    wishes = {"budget": {"turn": 0.5, "day": 3.0, "session": None}}
    assert tighten(limited, wishes, "w", chooses=False) == Tightened(
        msgspec.structs.replace(limited, budget_turn=0.5),
        ("budget_day = 3.0 in w is ignored: it may only be lower than your 2",),
    )


def test_a_null_from_an_editor_counts_as_unset() -> None:
    assert tighten(USERS, {"mode": None, "base_url": None}, "e", chooses=True) == Tightened(USERS)


def test_many_ignored_settings_are_summarised_in_one_sentence() -> None:
    result = tighten(USERS, {f"x{n}": n for n in range(50_000)}, "w", chooses=False)
    assert len(result.notices) == 102
    assert result.notices[-2:] == (
        "49,900 more entries in w are ignored",
        STRICTEST.format("w"),
    )
    whole = tighten(USERS, {f"x{n}": n for n in range(100)}, "w", chooses=False)
    assert len(whole.notices) == 100


def test_no_glob_from_a_workspace_slows_the_matcher_down() -> None:
    hostile = [
        *("**/a/" * n + "c" for n in range(1, 8)),
        *("*a" * n + "*c" for n in range(1, 20)),
        *("*[ab]" * n + "c" for n in range(1, 20)),
        "a" * 10_000,
    ]
    deny = tighten(USERS, {"deny": hostile}, "w", chooses=False).settings.deny
    before = time.process_time()
    assert not matches_any("a/" * 200 + "a" * 255 + "d", deny)
    assert time.process_time() - before < 2  # without the limit it takes hours
