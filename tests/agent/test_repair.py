from __future__ import annotations

from pathlib import Path

import msgspec

from indwell.context.pairing import problems
from support.session import a_world, asks, call, says


async def test_an_orphaned_tool_result_is_repaired_before_the_request_and_logged(
    tmp_path: Path,
) -> None:
    script = [asks(call("read_file", path="a.py")), says("read"), says("on")]
    async with a_world(tmp_path, script, files={"a.py": "x\n"}) as world:
        await world.turn()
        session = world.session
        first, asked, _results, *_rest = session.conversation.messages
        torn = msgspec.structs.replace(session.conversation, messages=(first, asked))
        session.conversation = torn
        finished = await world.turn("go on")
        assert (finished.ending, finished.answer) == ("done", "on")
        assert problems(session.conversation.messages) == ()
        await session.parts.log.commit()
    log = next(tmp_path.rglob("log.jsonl")).read_text(encoding="utf-8")
    assert log.count('"type":"repaired"') == 1
