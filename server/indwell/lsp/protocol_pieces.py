"""Typed messages of what a turn of a session shows: its words, its calls, those of sub-agents.

Field names are single words, so they are the same here and on the wire.
"""

from __future__ import annotations

import attrs

from indwell.lsp.values import Value
from indwell.sessions.transcript import Kind


@attrs.frozen(eq=False, repr=False)
class InnerRow(Value):
    """A call of a sub-agent, in the card of the ``agent`` call that began it.

    ``id``, ``name``, ``target``, ``error``, ``figure``, ``seconds`` and ``message`` are those of
    ``toolFinished``, ``diff`` that of ``editApplied``; its result stayed with the sub-agent.
    ``ended`` is false if the log has no end of it. ``cut`` counts characters left out.
    """

    id: str
    name: str
    target: str
    error: bool
    figure: str
    seconds: float | None
    message: str
    diff: str
    ended: bool
    cut: int


@attrs.frozen(eq=False, repr=False)
class PieceRow(Value):
    """One thing to show of a turn.

    ``kind`` ``tool`` is a card: ``source`` is the tool, ``arguments`` what the model wrote,
    ``text`` its result; ``answered`` is false while there is none: results of one reply come
    together, when the last call has ended. ``target``, ``figure`` and ``seconds`` are those of
    ``toolFinished``, ``diff`` that of ``editApplied``; empty, or null, where the log does not know
    them. ``inner`` has the calls of the sub-agent that it began. Of an ``image``, ``text`` is its
    type and ``target`` its label. ``cut`` counts characters left out.
    """

    kind: Kind
    text: str
    source: str
    id: str
    arguments: str
    error: bool
    answered: bool
    cut: int
    target: str
    figure: str
    seconds: float | None
    diff: str
    inner: tuple[InnerRow, ...]
