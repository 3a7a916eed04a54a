"""Any turn of a compacted session can be restored, including pairs of calls and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from indwell.agent.core.session import Session
from indwell.agent.restore import past_of
from indwell.context.compaction.presets import PRESETS
from indwell.context.conversation import Tally, with_input
from indwell.context.pairing import problems
from indwell.context.request.assemble import assemble
from indwell.messages import Reply, Request
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.encoder import RequestEncoder
from indwell.sessions.branches import lived, up_to
from indwell.sessions.conversation_restore import folded, rebuilt
from indwell.sessions.forking import fork_session
from indwell.sessions.records import CompactionRecord, Prefixed, RequestRecord, Rewound
from indwell.tools.base import ToolTable
from support.session import START, a_tool, a_world, call, with_parts

LINES = "\n".join(f"line {number} of a report about cart {number}.py" for number in range(250))
TURNS = 5
ROUNDS = 4  # a turn with tool calls makes this many model calls


async def report(name: str, context: object) -> str:
    return f"{name}\n{LINES}"


def a_prefix(session: Session) -> Prefixed:
    """Return the record that the composition root writes at the beginning of a log."""
    talk = session.conversation
    return Prefixed(tuple(one.text for one in talk.system), "digest", "t", talk.tools)


def reads() -> Callable[[Request], Reply]:
    """Return a model that reads some reports in each turn, and summarises in one sentence."""
    made: Counter[int] = Counter()

    def answer(request: Request) -> Reply:
        if request.tool_choice == "none" or not request.tools:
            return Reply("The report names carts; nothing was changed yet.")
        turn = request.messages[-1].turn
        made[turn] += 1
        if made[turn] > ROUNDS:
            return Reply(f"done with turn {turn}")
        name = f"r{turn}-{made[turn]}"
        return Reply("", (call("report", f"c-{name}", name=name),), finish="tool_calls")

    return answer


@pytest.mark.parametrize("preset", ["default", "regions-d", "auto-b"])
async def test_a_branch_at_any_turn_restores_the_conversation_and_continues_with_equal_bytes(
    tmp_path: Path, preset: str
) -> None:
    registry = ToolTable([a_tool("report", report)])
    then = {}
    async with a_world(tmp_path, reads(), registry=registry, window=16_000) as world:
        session, store = world.session, world.store
        with_parts(session, preset=PRESETS[preset])
        session.parts.log.append(a_prefix(session))
        for turn in range(1, TURNS + 1):
            finished = await world.turn(f"read reports {turn}")
            assert finished.ending == "done"
            now = session.conversation
            then[turn] = (now.messages, now.history, session.spending.requests)
        records = await world.records()
    assert any(isinstance(one, CompactionRecord) for one in records)
    for turn, (messages, history, n_requests) in then.items():
        back = folded(up_to(records, turn))
        assert (back.messages, back.history, back.notices) == (messages, history, ())
        rewound = folded(lived((*records, Rewound(turn, "small", "t"))))
        assert (rewound.messages, rewound.history) == (messages, history)

        made = await fork_session(store, session.id, turn, now=START + timedelta(hours=turn))
        copied = store.open(made.session).records
        past = past_of(copied)
        assert (past.messages, past.history, past.notes) == (messages, history, ())
        assert problems(past.messages) == ()
        assert past.cache_key == session.id
        assert past.requests == n_requests
        # The fork's next request begins with the bytes of the last request of that turn.
        last = rebuilt(copied, n_requests).request
        assert last == rebuilt(records, n_requests).request
        started = msgspec.structs.replace(
            session.conversation, messages=past.messages, history=past.history, tally=Tally()
        )
        following = assemble(with_input(started, words="and now", turn=turn + 1))
        before, after = (RequestEncoder().encode(one, Dialect()) for one in (last, following))
        pairs = enumerate(zip(before, after, strict=False))
        n_equal = next(at for at, (old, new) in pairs if old != new)
        assert before[:n_equal].count(b'"role":') >= len(last.messages)
    assert max(one.number for one in records if isinstance(one, RequestRecord)) == then[TURNS][2]
