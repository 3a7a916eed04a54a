"""The ladder: which layer runs next on a conversation, and what a step makes of it (H18). Pure.

The driver (``agent.fit``, ``replay``) asks for the next action until there is none: it writes a
step's spills and takes the step, or has a summary written and takes the step made of it.
"""

from __future__ import annotations

from typing import assert_never

import msgspec

from indwell.context.compaction.digesting.digest import digest
from indwell.context.compaction.exchanges import freed
from indwell.context.compaction.facts import Facts
from indwell.context.compaction.micro import micro
from indwell.context.compaction.preset import (
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
from indwell.context.compaction.slide import slide
from indwell.context.compaction.snip import snip
from indwell.context.compaction.step import Action, Step
from indwell.context.compaction.summarising.collapse import collapse, cut_results
from indwell.context.compaction.summarising.regions import regions
from indwell.context.compaction.summarising.summarise import summarise
from indwell.context.compaction.view import View, full_tokens
from indwell.context.conversation import Conversation
from indwell.context.fullness import counted
from indwell.context.history import spliced
from indwell.context.pairing import problems
from indwell.context.tally import Tally


def next_action(conversation: Conversation, preset: Preset, facts: Facts) -> Action | None:
    """What should be done before the next call; None if it can be made as things are."""
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
        )
        for layer in _layers(rung):
            action = act(layer, view) if layer_name(layer) not in facts.failed else None
            if isinstance(action, Step) and freed(conversation.messages, action.splices) <= 0:
                continue
            if action is not None:
                return action
    return None


def _layers(rung: Rung) -> tuple[Layer, ...]:
    """What a rung may do: where no summary gives anything more, the results are cut (H29)."""
    return (rung.layer, Trim()) if isinstance(rung.layer, Collapse) else (rung.layer,)


def trigger(rung: Rung, budget: int) -> float:
    """Tokens from which on a rung may run."""
    return float(rung.at_tokens) if rung.at_tokens else rung.at * budget


def take(conversation: Conversation, step: Step) -> Conversation:
    """The conversation after a step; every call still has its result (H24)."""
    messages, history = spliced(conversation.messages, conversation.history, step.splices)
    wrong = problems(messages)
    assert not wrong, (step.layer, wrong)
    return counted(
        msgspec.structs.replace(conversation, messages=messages, history=history, tally=Tally())
    )


def layer_name(layer: Layer) -> str:
    """As events and logs call it."""
    return type(layer).__name__.lower()


def act(layer: Layer, view: View) -> Action | None:
    """What one layer wants."""
    match layer:
        case Digest():
            return digest(layer, view)
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
