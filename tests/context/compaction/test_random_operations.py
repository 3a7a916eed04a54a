"""Random work and compaction in any order lose nothing and keep calls with their results.

``tests/faults/context_operations.py`` runs more steps.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from indwell.context.compaction.presets import PRESETS
from support.context_machine import WINDOWS, ContextMachine, random_step


class Operations(RuleBasedStateMachine):
    """Hypothesis chooses the operations, and seeds for the exact texts."""

    machine: ContextMachine

    @initialize(
        preset=st.sampled_from(sorted(PRESETS)),
        window=st.sampled_from(WINDOWS),
        seed=st.integers(0, 1 << 16),
    )
    def start(self, preset: str, window: int, seed: int) -> None:
        self.machine = ContextMachine(Random(seed), preset, window)

    @rule(seed=st.integers(0, 1 << 16), rounds=st.integers(1, 8), force=st.booleans())
    def prompt(self, seed: int, rounds: int, *, force: bool) -> None:
        self.machine.dice.seed(seed)
        self.machine.prompt(rounds=rounds, force=force)

    @rule(seed=st.integers(0, 1 << 16))
    def queue(self, seed: int) -> None:
        self.machine.dice.seed(seed)
        self.machine.queue()

    @rule(seed=st.integers(0, 1 << 16), force=st.booleans())
    def compact(self, seed: int, *, force: bool) -> None:
        self.machine.dice.seed(seed)
        self.machine.compact(force=force)

    @rule(seed=st.integers(0, 1 << 16))
    def switch(self, seed: int) -> None:
        self.machine.dice.seed(seed)
        self.machine.switch()

    @rule()
    def restore(self) -> None:
        self.machine.restore()

    @invariant()
    def all_is_well(self) -> None:
        if hasattr(self, "machine"):
            self.machine.check()


class TestAnyOrder(Operations.TestCase):  # type: ignore[name-defined,misc]
    settings = settings(
        max_examples=30,
        stateful_step_count=20,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_forty_random_steps_of_each_ladder_keep_every_invariant(preset: str) -> None:
    n_replies = 0
    for seed in range(3):
        machine = ContextMachine(Random(seed), preset, WINDOWS[1 + seed])
        for _ in range(40):
            random_step(machine)
        n_replies += machine.tally["replies"]
    assert n_replies > 20
