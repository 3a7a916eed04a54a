"""Decides which compaction layer runs next, and when compaction stops. Pure.

The caller (``agent.compaction.fit`` or ``replay``) asks for the next action until no action is
left. If the action is a step, the caller writes the cut texts to files and applies the step. If the
action is a summary, the caller asks a model to write it, and applies the resulting step.

Each layer acts at most ``MOST_RUNS`` times before one model call. A layer that saved too little
waits until the conversation has grown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

import msgspec

from indwell.context.compaction.cuts import micro, slide, snip
from indwell.context.compaction.digesting.digest import digest
from indwell.context.compaction.digesting.line_choice import LineChooser, chosen
from indwell.context.compaction.digesting.transcript_index import TranscriptIndex
from indwell.context.compaction.presets import (
    Collapse,
    Digest,
    Layer,
    Micro,
    Preset,
    Regions,
    Rung,
    Slide,
    Snip,
    Summarise,
    Trim,
)
from indwell.context.compaction.step import (
    Action,
    CompactionFacts,
    CompactionStep,
    SummarySpan,
    View,
    full_tokens,
    kept_from,
)
from indwell.context.compaction.summarising.span import collapse, cut_results, regions, summarise
from indwell.context.conversation import Conversation, Tally, counted
from indwell.context.history import freed, spliced, transcript
from indwell.context.pairing import problems


def next_action(
    conversation: Conversation,
    preset: Preset,
    facts: CompactionFacts,
    index: TranscriptIndex | None = None,
    *,
    choose: LineChooser = chosen,
) -> Action | None:
    """Return the action to take before the next call, or None if the call can be made now.

    The result does not depend on ``index``. Without the session's index, a decision reads the whole
    transcript.
    """
    tokens = full_tokens(conversation, facts)
    budget = conversation.config.budget
    for number, rung in enumerate(preset.rungs):
        is_always = preset.every_call and number == 0
        if not (is_always or facts.force or tokens > trigger(rung, budget)):
            continue
        view = View(
            conversation=conversation,
            facts=facts,
            tokens=tokens,
            goal=0 if is_always else int(rung.aim * budget),
            must=rung.when == "always" or facts.force,
            changeable=kept_from(conversation, preset),
        )
        for layer in _layers(rung):
            if layer_name(layer) in facts.failed:
                continue
            action = act(layer, view, index, choose=choose)
            if (
                isinstance(action, CompactionStep)
                and freed(conversation.messages, action.splices) <= 0
            ):
                continue
            if isinstance(action, SummarySpan) and index is not None:
                index.grow_work(transcript(conversation.messages, conversation.history))
            if action is not None:
                return action
    return None


def _layers(rung: Rung) -> tuple[Layer, ...]:
    """Return the layers of a ladder's rung; a summary layer is followed by a cutting layer."""
    return (rung.layer, Trim()) if isinstance(rung.layer, Collapse) else (rung.layer,)


def trigger(rung: Rung, budget: int) -> float:
    """Return the number of tokens at which a rung may start to run."""
    return float(rung.at_tokens) if rung.at_tokens else rung.at * budget


def take(conversation: Conversation, step: CompactionStep) -> Conversation:
    """Apply a step; every call still has its result afterwards."""
    messages, history = spliced(conversation.messages, conversation.history, step.splices)
    wrong = problems(messages)
    assert not wrong, (step.layer, wrong)
    return counted(
        msgspec.structs.replace(conversation, messages=messages, history=history, tally=Tally())
    )


def layer_name(layer: Layer) -> str:
    """Return a layer's name for events and logs."""
    return type(layer).__name__.lower()


def act(
    layer: Layer,
    view: View,
    index: TranscriptIndex | None = None,
    *,
    choose: LineChooser = chosen,
) -> Action | None:
    """Return what one compaction layer would change, or None if nothing."""
    match layer:
        case Digest():
            return digest(layer, view, index, choose=choose)
        case Micro():
            return micro(layer, view)
        case Snip():
            return snip(layer, view)
        case Summarise():
            return summarise(layer, view)
        case Regions():
            return regions(layer, view)
        case Collapse():
            return collapse(layer, view)
        case Trim():
            return cut_results(view, "trim")
        case Slide():
            return slide(layer, view)
        case _:
            assert_never(layer)


MOST_RUNS = 3
"""The limit of runs of one layer before one call.

A layer's first run frees all that the layer can reach. Further runs help if the user's texts divide
the old exchanges into several parts.
"""
# A layer that saves a smaller share of the prompt is not run again before this call.
LEAST_STEP = 0.01
FORCED_AIM = 0.5  # a forced compaction aims at this share of the size at the start


class Climb(msgspec.Struct, frozen=True):
    """The progress of compaction before one model call.

    Attributes:
        begun: The tokens of the whole prompt at the start, with the text of the next call.
        force: Whether the prompt must shrink to half, even if it seems to fit.
        out: The layers that are not tried again before this call.
        runs: The number of times that each layer has acted.
    """

    begun: int
    force: bool = False
    out: frozenset[str] = frozenset()
    runs: Mapping[str, int] = {}


def next_step(
    climb: Climb,
    conversation: Conversation,
    preset: Preset,
    facts: CompactionFacts,
    index: TranscriptIndex | None = None,
    *,
    choose: LineChooser = chosen,
) -> Action | None:
    """Return the next action, or None if compaction is done.

    A forced compaction treats the conversation as if it filled the window, so that every rung can
    remove something.
    """
    known = msgspec.structs.replace(facts, failed=climb.out, force=climb.force)
    limit = climb.begun if climb.force else 0
    return next_action(_narrowed(conversation, limit), preset, known, index, choose=choose)


def climbed(climb: Climb, layer: str, *, before: int, gain: int) -> Climb:
    """Return the progress after ``layer`` saved ``gain`` of the prompt's ``before`` tokens.

    For an action that was not carried out, ``gain`` is 0.
    """
    runs = {**climb.runs, layer: climb.runs.get(layer, 0) + 1}
    is_out = runs[layer] >= MOST_RUNS or gain < max(1.0, LEAST_STEP * before)
    return Climb(
        begun=climb.begun,
        force=climb.force and before - gain > FORCED_AIM * climb.begun,
        out=climb.out | {layer} if is_out else climb.out,
        runs=runs,
    )


def _narrowed(conversation: Conversation, limit: int) -> Conversation:
    """Return the conversation with a window of ``limit`` tokens; 0 keeps the window.

    Values that depend on the real window do not change, such as the space for the user's text.
    """
    config = conversation.config
    if not 0 < limit < config.budget:
        return conversation
    config = msgspec.structs.replace(config, max_output=config.window - limit)
    return msgspec.structs.replace(conversation, config=config)


LEAST_GAIN = 0.1  # A layer saved too little if it saved a smaller share of the tokens.
POOR_RUNS = 2  # the number of consecutive runs with too little saving, after which a layer stops
GROWN = 1.1  # A stopped layer runs again when the prompt has grown by this factor.


class Restraint(msgspec.Struct, frozen=True):
    """Counts the runs in which layers saved too little.

    Attributes:
        poor: The number of consecutive runs that saved too little, by the layer's name.
        stopped: The prompt tokens at which a layer stopped, by the layer's name.
    """

    poor: Mapping[str, int] = {}
    stopped: Mapping[str, int] = {}


def failed(restraint: Restraint, tokens: int) -> frozenset[str]:
    """Return the layers that are not tried for a prompt of ``tokens``."""
    return frozenset(name for name, at in restraint.stopped.items() if tokens < at * GROWN)


def after_run(restraint: Restraint, layer: str, before: int, after: int) -> Restraint:
    """Return the restraint after all steps of ``layer`` before one model call.

    Args:
        restraint: The restraint before the steps.
        layer: The name of the layer.
        before: The tokens of the whole prompt when the layer began.
        after: The tokens of the prompt without those that the layer saved.
    """
    poor, stopped = dict(restraint.poor), dict(restraint.stopped)
    stopped.pop(layer, None)
    if before - after >= LEAST_GAIN * before:
        poor.pop(layer, None)
    else:
        poor[layer] = poor.get(layer, 0) + 1
    if poor.get(layer, 0) >= POOR_RUNS:
        stopped[layer] = after
        poor.pop(layer)
    return Restraint(poor, stopped)
