"""The log of a sub-agent: a file of its own; its decisions also go to its parent's log.

So ``indwell audit`` of a session tells all that was done in it, who opens it again sees it in the
card of the call that it was done for, and after a crash a call of a sub-agent that had begun to
change something counts as unknown, as any other does.
"""

from __future__ import annotations

import msgspec

from indwell.agent.core.log import Log
from indwell.sessions.acts import DONE
from indwell.sessions.records import Intent, Record
from indwell.sessions.told import CallEnded, Decided


class ChildLog:
    """Writes to both; implements ``Log``. Closing it closes the sub-agent's own file alone.

    Args:
        own: Of the sub-agent.
        above: Of the session that it works for.
        call: The call that it works for, as it is written there before the first of its doings.
        begun: That the call may change something; written before the first change.
    """

    def __init__(self, own: Log, above: Log, call: Decided, begun: Intent) -> None:
        self._own = own
        self._above = above
        self._within = call.tool_use_id
        self._call: Decided | None = call
        self._begun: Intent | None = begun
        self._decided: dict[str, Decided] = {}

    def append(self, record: Record) -> None:
        """Queue a record, and a copy above if it is about what is done."""
        self._own.append(record)
        match record:
            case Intent():
                if self._begun is not None:
                    self._above.append(msgspec.structs.replace(self._begun, at=record.at))
                    self._begun = None
                self._above.append(record)
            case Decided():
                if self._call is not None:
                    self._above.append(msgspec.structs.replace(self._call, at=record.at))
                    self._call = None
                # Checks and hooks, which the sub-agent did not want, are no calls of its card.
                within = self._within if record.agent else ""
                decided = msgspec.structs.replace(record, within=within)
                self._decided[record.tool_use_id] = decided
                self._above.append(decided)
            case CallEnded(tool_use_id=call):
                wanted = self._decided.pop(call, None)
                if wanted is not None:
                    end = record.figure or DONE
                    self._above.append(msgspec.structs.replace(wanted, ending=end, at=record.at))
                self._above.append(msgspec.structs.replace(record, within=self._within))
            case _:
                pass

    async def commit(self) -> None:
        """Make both durable: an edit begins only when the session's log says so too.

        Raises:
            SessionError: The disk does not take it.
        """
        await self._above.commit()
        await self._own.commit()

    def commit_soon(self) -> None:
        """Let it become durable without waiting."""
        self._own.commit_soon()

    async def close(self) -> None:
        """Let go of the sub-agent's file."""
        await self._own.close()
