"""Compaction of a replayed conversation, as ``agent.fit`` drives it. Pure where summaries are."""

from __future__ import annotations

from collections import Counter

import msgspec

from indwell.context.compaction.digesting.repeats import repeats
from indwell.context.compaction.ladder import (
    Climb,
    Restraint,
    after_run,
    climbed,
    failed,
    layer_name,
    next_step,
    take,
    trigger,
)
from indwell.context.compaction.presets import Preset
from indwell.context.compaction.prospect import Refusal, nothing_pays, refusal
from indwell.context.compaction.step import Facts, Spill, Step
from indwell.context.conversation import Conversation, prompt_tokens
from indwell.replay.summaries import Summarise

MOST_ACTIONS = 24  # before one request; more than the layers of any ladder may take is a loop


class Done(msgspec.Struct, frozen=True):
    """What was done before one request.

    Attributes:
        layers: That made a step, in order.
        spills: Files that they wrote.
        summary_price: Of the summariser's calls, in prices of ``Facts.rates``, per million.
        troubles: Why no model wrote a summary that one should have written.
        is_loop: It did not come to an end.
    """

    layers: tuple[str, ...] = ()
    spills: tuple[Spill, ...] = ()
    summary_price: float = 0.0
    troubles: tuple[str, ...] = ()
    is_loop: bool = False


class Driver:
    """What the driver of a session remembers between its requests."""

    def __init__(self, preset: Preset, facts: Facts, summarise: Summarise) -> None:
        self._preset, self._facts, self._summarise = preset, facts, summarise
        self._restraint = Restraint()
        self._refusal: Refusal | None = None

    def fit(
        self, conversation: Conversation, incoming: int, *, is_cached: bool
    ) -> tuple[Conversation, Done]:
        """Let compaction run to its end.

        Args:
            conversation: Before what is new joins it.
            incoming: Tokens of that.
            is_cached: Does a cache hold the last request still?
        """
        preset, budget = self._preset, conversation.config.budget
        if preset.repeats and (pointing := repeats(conversation.messages)):
            conversation = take(conversation, pointing)
        begun = prompt_tokens(conversation) + incoming
        lowest = min((trigger(rung, budget) for rung in preset.rungs), default=float("inf"))
        if not (preset.every_call or begun > lowest):
            return conversation, Done()
        facts = msgspec.structs.replace(self._facts, incoming=incoming, is_cached=is_cached)
        if nothing_pays(conversation, preset, facts, self._refusal):
            return conversation, Done()
        climb = Climb(begun, out=failed(self._restraint, begun) if begun <= budget else frozenset())
        gains: Counter[str] = Counter()
        done = Done(is_loop=True)
        for _ in range(MOST_ACTIONS):
            action = next_step(climb, conversation, preset, facts)
            if action is None:
                self._refusal = refusal(conversation, preset, facts)
                done = msgspec.structs.replace(done, is_loop=False)
                break
            if isinstance(action, Step):
                step = action
            else:
                written = self._summarise(conversation, action, facts, preset)
                step = written.step
                done = _paid(done, written.price, written.trouble)
            before = prompt_tokens(conversation)
            shorter = take(conversation, step)
            gain = max(0, before - prompt_tokens(shorter))
            if gain:
                conversation = shorter
                gains[step.layer] += gain
                done = _made(done, step)
            climb = climbed(climb, action.layer, before=before + incoming, gain=gain)
        self._remember(gains, begun)
        return conversation, done

    def _remember(self, gains: Counter[str], begun: int) -> None:
        always = layer_name(self._preset.rungs[0].layer) if self._preset.every_call else ""
        for layer in gains.keys() - {always}:
            self._restraint = after_run(self._restraint, layer, begun, begun - gains[layer])


def _paid(done: Done, price: float, trouble: str) -> Done:
    troubles = (*done.troubles, trouble) if trouble else done.troubles
    return msgspec.structs.replace(
        done, summary_price=done.summary_price + price, troubles=troubles
    )


def _made(done: Done, step: Step) -> Done:
    return msgspec.structs.replace(
        done, layers=(*done.layers, step.layer), spills=(*done.spills, *step.spills)
    )
