"""What a running turn has gathered so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from indwell.agent.core.prompt import Prompt
from indwell.messages import Block, Text, Usage
from indwell.workspace.base import AppliedChange


@dataclass(slots=True)
class TurnState:
    """What a running turn has gathered.

    Attributes:
        number: Of the turn in its session, 1-based.
        words: What goes to the model; the user's words, or where they are if they are too long.
        draft: The user's words, until the model has them.
        steered: Words of the middle of the turn that are in the request under way, as typed.
        steered_sent: The same as the model reads them.
        n_told: How many of them were told as delivered: a request may be made more than once.
        gathered: What the editor, the project and hooks put beside the words. It joins the
            conversation once every check has let the words pass.
        along: What the user attached to the words; like them it is lost if no model hears it.
        prompt: What the turn began with; None for a sub-agent's.
        streamed: Pieces of the reply that is under way.
        thought: The same of its reasoning.
        spent: US dollars of the calls whose price was known: what budgets count.
        n_agents: Sub-agents that it has begun.
        agents: How many of each name it wanted; they number those of one name.
        held: Tokens and US dollars that calls under way may take, its sub-agents' too.
    """

    number: int
    words: str
    draft: str
    rounds: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    spent: float = 0.0
    n_agents: int = 0
    agents: dict[str, int] = field(default_factory=dict)
    answer: str = ""
    steered: tuple[str, ...] = ()
    steered_sent: tuple[str, ...] = ()
    n_told: int = 0
    gathered: tuple[Text, ...] = ()
    along: tuple[Block, ...] = ()
    prompt: Prompt | None = None
    streamed: list[str] = field(default_factory=list)
    thought: list[str] = field(default_factory=list)
    held: list[tuple[int, float]] = field(default_factory=list)
    changes: list[AppliedChange] = field(default_factory=list)
