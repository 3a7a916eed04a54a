"""When a changed list of tools is put into the request, and when a reminder is cheaper."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from indwell.agent.requests.request_blocks import (
    ToolChanges,
    change_words,
    changes_between,
    is_rebuild_cheaper,
)
from indwell.context.compaction.step import TokenRates
from indwell.context.tokens import estimate_tokens
from indwell.messages import ToolSpec

A, B = ToolSpec("a", "To a.", "{}"), ToolSpec("b", "To b.", "{}")
OTHER_A = ToolSpec("a", "To a, but better.", "{}")
SPECS = st.lists(
    st.builds(ToolSpec, st.sampled_from("abc"), st.text(max_size=9), st.just("{}")),
    unique_by=lambda spec: spec.name,
)


@given(SPECS, SPECS)
def test_the_reported_changes_turn_one_list_of_tools_into_the_other(
    sent: list[ToolSpec], now: list[ToolSpec]
) -> None:
    changes = changes_between(sent, now)
    gone = {spec.name for spec in changes.departed}
    made = {spec.name: spec for spec in sent if spec.name not in gone}
    made |= {spec.name: spec for spec in changes.added}
    assert made == {spec.name: spec for spec in now}
    assert not {spec.name for spec in changes.added} & gone
    assert (changes == ToolChanges()) == (set(sent) == set(now))


def test_the_tool_reminder_names_added_and_removed_tools() -> None:
    words = change_words(changes_between([A, B], [OTHER_A]))
    assert "No longer available: b." in words
    assert words.endswith("call them by name like the others:\na: To a, but better.\n  {}")
    assert "again exactly those" in change_words(ToolChanges())


def decided(changes: ToolChanges, cached: int, rates: TokenRates = TokenRates()) -> bool:  # noqa: B008
    reminder = estimate_tokens(change_words(changes))
    return is_rebuild_cheaper(changes, cached=cached, reminder=reminder, rates=rates)


def test_tool_changes_rebuild_the_prompt_only_if_the_cache_is_cold() -> None:
    added = ToolChanges((A,))
    assert decided(added, 0)
    assert not decided(added, 5_000)
    assert not is_rebuild_cheaper(added, cached=5_000, reminder=0, rates=TokenRates())
    assert is_rebuild_cheaper(added, cached=0, reminder=0, rates=TokenRates())


def test_a_cache_that_costs_as_much_as_no_cache_is_not_kept() -> None:
    same = TokenRates(input=1.0, cached=1.0, cache_write=1.0)
    assert decided(ToolChanges((A,)), 50_000, same)


def test_many_removed_tools_are_worth_a_rebuild_of_a_short_conversation() -> None:
    large = tuple(ToolSpec(f"t{number}", "word " * 300, "{}") for number in range(20))
    assert decided(ToolChanges((), large), 8_000)
    assert not decided(ToolChanges((), large), 100_000)
