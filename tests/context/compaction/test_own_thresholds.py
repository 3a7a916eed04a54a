"""The user's thresholds, turns and tokens to keep change a preset, if they make sense."""

from __future__ import annotations

import msgspec
import pytest

from indwell.context.compaction.ladder import act, next_action
from indwell.context.compaction.presets import PRESETS, Preset, Trim, adjusted
from indwell.context.compaction.step import (
    CompactionFacts,
    CompactionStep,
    SummarySpan,
    View,
    kept_from,
)
from indwell.context.conversation import Config, Conversation
from indwell.errors import SettingsError
from indwell.messages import Message
from support.requests import assistant, result, use, user

TURNS = 12


def long_conversation(window: int = 12_000) -> Conversation:
    messages: list[Message] = []
    for turn in range(1, TURNS + 1):
        read = f"line of file {turn}\n" * 100
        texts = (
            user(f"Do number {turn}"),
            assistant(use(id_=f"c{turn}")),
            user(result(read, id_=f"c{turn}")),
            assistant(f"Did {turn}."),
        )
        messages += [msgspec.structs.replace(one, turn=turn) for one in texts]
    return Conversation(Config("m", window, 0), (), messages=tuple(messages))


def test_the_published_ladder_is_one_line_of_settings() -> None:
    assert adjusted("ladder-50-70-90") == PRESETS["ladder-a"]
    assert [one.at for one in adjusted("ladder-50-70-90").rungs] == [0.5, 0.7, 0.9]


@pytest.mark.parametrize("name", PRESETS)
def test_without_values_of_the_user_a_preset_is_unchanged(name: str) -> None:
    assert adjusted(name) == PRESETS[name]


def test_values_of_the_user_replace_those_of_the_preset() -> None:
    own = adjusted("default", thresholds=(0.6, 0.85), aim=0.4)
    assert [one.at for one in own.rungs] == [0.6, 0.85, 0.95, 0.97, 0.98]
    assert [one.aim for one in own.rungs] == [0.4, 0.4, 0.4, 0.4, 0.9]
    by_tokens = adjusted("auto-b", thresholds=(0.5, 0.6))
    assert (by_tokens.every_call, by_tokens.rungs[1].at_tokens) == (False, 0)
    assert all(one.aim <= one.at for one in adjusted("default", thresholds=(0.3,)).rungs)


@pytest.mark.parametrize(
    ("name", "thresholds", "aim", "words"),
    [
        ("default", (0.9, 0.5), None, "each must be above"),
        ("default", (0.5, 0.96), None, "each must be above"),
        ("ladder-a", (0.1, 0.2, 0.3, 0.4), None, "has 3 steps"),
        ("none", (0.5,), None, "has 0 steps"),
        ("ladder-a", (), 0.6, "not below the threshold 0.5"),
    ],
)
def test_senseless_values_are_refused(
    name: str, thresholds: tuple[float, ...], aim: float | None, words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        adjusted(name, thresholds=thresholds, aim=aim)


@pytest.mark.parametrize("name", sorted(set(PRESETS) - {"none"}))
def test_no_layer_changes_the_turns_that_the_user_keeps(name: str) -> None:
    conversation = long_conversation()
    own = adjusted(name, keep_turns=4)
    first = kept_from(conversation, own)
    assert {one.turn for one in conversation.messages[first:]} >= {9, 10, 11, 12}
    n_actions = 0
    facts = CompactionFacts(force=True, is_cached=False)
    for rung in own.rungs:
        if isinstance(rung.layer, Trim):
            continue
        view = View(conversation, facts, 12_000, 2_000, must=True, changeable=first)
        action = act(rung.layer, view)
        n_actions += action is not None
        if isinstance(action, CompactionStep):
            assert all(one.stop <= first + 1 for one in action.splices)
        elif isinstance(action, SummarySpan):
            assert action.stop <= first
    assert n_actions


def test_the_newest_tokens_are_kept_but_at_most_half_of_the_budget() -> None:
    conversation = long_conversation()
    some, all_ = (adjusted("default", keep_tokens=one) for one in (2_000, 10**6))
    many: Preset = adjusted("default", keep_turns=100)
    assert kept_from(conversation, PRESETS["default"]) == len(conversation.messages)
    assert kept_from(conversation, many) == kept_from(conversation, all_)
    assert 0 < kept_from(conversation, all_) < kept_from(conversation, some)
    tail = conversation.messages[kept_from(conversation, all_) :]
    assert sum(block.meta.tokens for one in tail for block in one.blocks) <= 6_000


def test_the_ladder_runs_from_the_users_threshold_on() -> None:
    conversation = long_conversation(window=20_000)
    facts = CompactionFacts()
    assert next_action(conversation, PRESETS["slide"], facts) is None
    own = adjusted("slide", thresholds=(0.2,), aim=0.1)
    assert next_action(conversation, own, facts) is not None
