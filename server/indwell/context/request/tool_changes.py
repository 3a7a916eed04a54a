"""Decides how the model learns that its tools have changed. Pure.

The tools stand at the beginning of every request, so other tools there cost the prompt cache of
the whole conversation. Until that is cheap, a reminder at the end of the conversation describes
what has changed. The reminder always compares with the tools of the request, so the newest one
replaces all earlier ones, and a compacted, resumed or rewound conversation needs no other record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from indwell.context.compaction.step import TokenRates
from indwell.context.tokens import tools_tokens
from indwell.messages import ToolSpec

CALLS_TO_COME = 36
"""Model calls that follow: half of the 73 that one of the 129 recorded sessions has on average."""

_HEAD = "Your tools have changed since the list of functions in front of this conversation."
_ADDED = "These are new or have changed; call them by name like the others:"
_SAME = "Your tools are again exactly those of the list of functions in front of this conversation."


class ToolChanges(NamedTuple):
    """What the tools of a request lack, compared with the tools of the moment.

    Attributes:
        added: Tools that the request lacks, or has with another description or schema.
        departed: Tools of the request that can no longer be called.
    """

    added: tuple[ToolSpec, ...] = ()
    departed: tuple[ToolSpec, ...] = ()


def changes_between(sent: Sequence[ToolSpec], now: Sequence[ToolSpec]) -> ToolChanges:
    """Compare the tools of the request with the tools of the moment; their order does not count."""
    before = {spec.name: spec for spec in sent}
    names = {spec.name for spec in now}
    return ToolChanges(
        tuple(spec for spec in now if before.get(spec.name) != spec),
        tuple(spec for spec in sent if spec.name not in names),
    )


def change_words(changes: ToolChanges) -> str:
    """The reminder for the model; without changes it says that earlier reminders no longer hold."""
    added, departed = changes
    if not added and not departed:
        return _SAME
    parts = [_HEAD]
    if departed:
        parts.append(f"No longer available: {', '.join(spec.name for spec in departed)}.")
    if added:
        parts.append(_ADDED)
        parts += [f"{one.name}: {one.description}\n  {one.parameters}" for one in added]
    return "\n".join(parts)


def is_rebuild_cheaper(
    changes: ToolChanges, *, cached: int, reminder: int, rates: TokenRates
) -> bool:
    """Whether the request should have the new tools, rather than a reminder of the changes.

    A rebuilt request writes to the cache again what the cache holds. A reminder keeps the departed
    tools in each of the calls to come. If the cache holds nothing, a rebuild loses nothing.

    Args:
        changes: What the reminder would describe.
        cached: Tokens that the next request could read from the cache if its tools stayed.
        reminder: Tokens of the reminder; 0 if the conversation has it already.
        rates: The prices of the model's tokens.
    """
    lost = cached * (rates.cache_write - rates.cached)
    if lost <= 0:
        return True
    kept = rates.cached * CALLS_TO_COME
    added, departed = tools_tokens(changes.added), tools_tokens(changes.departed)
    rebuild = lost + added * (rates.cache_write + kept)
    remind = reminder * (rates.cache_write + kept) + departed * kept
    return rebuild < remind
