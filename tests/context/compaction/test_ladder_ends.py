"""Compaction before a model call always ends, although the caller sets no limit."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.context.compaction.ladder import (
    MOST_RUNS,
    Climb,
    climbed,
    layer_name,
    next_action,
    next_step,
)
from indwell.context.compaction.presets import PRESETS, Collapse, Preset, Rung
from indwell.context.compaction.step import CompactionFacts, CompactionStep, SummarySpan
from indwell.context.conversation import Conversation, prompt_tokens
from indwell.context.history import freed
from support.context_driver import fitted
from support.long_talks import FACTS, code, empty, turned

LAYERS = ("digest", "regions", "collapse", "trim")


@given(st.lists(st.tuples(st.sampled_from(LAYERS), st.integers(-50, 3_000)), max_size=200))
def test_a_compaction_layer_acts_at_most_three_times(actions) -> None:
    climb, tokens, taken = Climb(100_000, force=True), 100_000, list[str]()
    for layer, gain in actions:
        if layer in climb.out:
            continue
        taken.append(layer)
        after = climbed(climb, layer, before=tokens, gain=gain)
        assert after.out >= climb.out, "a layer that is out comes back"
        assert gain >= tokens // 100 or layer in after.out, "a layer that gains nothing goes on"
        assert climb.force or not after.force
        climb, tokens = after, tokens - max(0, gain)
    assert len(taken) <= MOST_RUNS * len(LAYERS)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_an_excluded_layer_does_not_run_even_under_force(preset: str, *, force: bool) -> None:
    now = long_talk(8_000)
    names = {layer_name(rung.layer) for rung in PRESETS[preset].rungs}
    facts = msgspec.structs.replace(FACTS, force=force)
    for name in names:
        without = msgspec.structs.replace(facts, failed=frozenset(names - {name}))
        action = next_action(now, PRESETS[preset], without)
        assert action is None or action.layer in {name, "trim"}
    everything = msgspec.structs.replace(facts, failed=frozenset(names | {"trim"}))
    assert next_action(now, PRESETS[preset], everything) is None


def test_results_of_the_tail_are_cut_if_no_summary_saves_more() -> None:
    now = turned(empty(4_000), 1, [code(20), code(400)])
    assert prompt_tokens(now) > now.config.budget
    facts = msgspec.structs.replace(FACTS, failed=frozenset({"regions", "collapse"}))
    action = next_action(now, PRESETS["regions-d"], facts)
    assert isinstance(action, CompactionStep)
    assert action.layer == "trim"
    assert prompt_tokens(fitted(now, PRESETS["regions-d"], FACTS)) <= now.config.budget


@pytest.mark.parametrize("preset", sorted(PRESETS.keys() - {"none"}))
def test_each_compaction_step_frees_tokens_and_a_forced_compaction_halves_the_prompt(
    preset: str,
) -> None:
    now, steps = long_talk(64_000), list[tuple[int, int]]()

    def watch(
        before: Conversation, action: object, step: CompactionStep, after: Conversation
    ) -> None:
        assert freed(before.messages, step.splices) > 0
        steps.append((prompt_tokens(before), prompt_tokens(after)))

    after = fitted(now, PRESETS[preset], msgspec.structs.replace(FACTS, force=True), watch=watch)
    assert steps
    assert all(one > other for one, other in steps)
    # A layer that removes one region at a time may leave a little more than half.
    assert prompt_tokens(after) < 0.75 * prompt_tokens(now)
    assert next_step(
        Climb(prompt_tokens(after), out=frozenset(map(layer_name, _layers(PRESETS[preset])))),
        after, PRESETS[preset], CompactionFacts(),
    ) is None  # fmt: skip


def test_a_forced_compaction_sizes_user_text_by_the_window_not_the_prompt() -> None:
    now = empty(64_000)
    for turn in range(1, 11):
        now = turned(now, turn, [code(60)] * 2, words=f"Number {turn}: " + "mind it. " * 120)
    tokens = prompt_tokens(now)
    plan = next_step(
        Climb(tokens, force=True), now, Preset("", (Rung(Collapse(), 0.5, 0.3),)), FACTS
    )
    assert isinstance(plan, SummarySpan)
    words = [one for one in plan.kept if one.meta.source == "user"]
    assert tokens // 8 < sum(one.meta.tokens for one in words) < 64_000 // 8
    assert plan.spills == ()


def long_talk(window: int) -> Conversation:
    now = empty(window)
    for turn in range(1, 7):
        now = turned(now, turn, [code(120, f"t{turn}")] * 4, reply=f"Done {turn}.")
    return now


def _layers(preset: Preset) -> list[object]:
    return [rung.layer for rung in preset.rungs]
