"""The state of a running turn."""

from __future__ import annotations

from dataclasses import dataclass, field

from indwell.agent.core.prompt import Prompt
from indwell.messages import Block, Text, Usage
from indwell.workspace.base import AppliedChange


@dataclass(slots=True)
class TurnState:
    """The state of a running turn.

    Attributes:
        number: The turn's number in its session, from 1.
        words: The words for the model: the user's, or where to read them if they are too long.
        draft: The user's words until the model has received them, then empty.
        steered: Steering words in the current request, as typed.
        steered_sent: The same words as the model reads them.
        n_told: How many of them were reported as delivered; a request may be sent again.
        gathered: Context from the editor, the project and hooks. It joins the conversation once
            every check has let the words pass.
        along: The user's attachments; like the words, they are dropped if no model receives them.
        prompt: The prompt that began the turn; None for a sub-agent.
        streamed: Pieces of the current reply.
        thought: Pieces of the current reasoning.
        spent: US dollars of the calls whose price was known; budgets count these.
        n_agents: Number of sub-agents started.
        agents: Number of sub-agents started, by name; it numbers those of one name.
        held: Tokens and US dollars reserved for calls under way, including sub-agents' calls.
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
