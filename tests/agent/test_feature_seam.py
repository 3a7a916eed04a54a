"""The example feature of docs/adding-a-feature.md works in a real session."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from indwell.agent.requests.request_blocks import forthcoming
from indwell.messages import Text
from indwell.sessions.branches import lived
from indwell.sessions.records import Rewound
from support.session import World, a_world, asks, call, says

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-feature.md"


def notes() -> Any:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    namespace: dict[str, Any] = {"__name__": "notes"}
    exec(compile(code, str(PAGE), "exec"), namespace)  # noqa: S102 - our own page
    return namespace["Notes"]().feature()


def reminders(made: World) -> list[str]:
    return [
        block.text
        for message in made.messages
        for block in message.blocks
        if isinstance(block, Text) and "Your notes" in block.text
    ]


KEEP = asks(call("note", "n1", text="the port is 8080"))


async def test_a_feature_adds_a_tool_a_reminder_and_a_state(tmp_path: Path) -> None:
    script = [KEEP, says("kept"), says("well"), says("again")]
    async with a_world(tmp_path, script, features=[notes()]) as made:
        await made.turn("look")
        assert made.results[0].text == "1 notes are kept"
        assert reminders(made) == []
        made.session.parts.features.compacted()
        assert "the port is 8080" in (await forthcoming(made.session)).behind[-1].text
        await made.turn("go on")
        await made.turn("go on")
        (reminder,) = reminders(made)
        assert "- the port is 8080" in reminder
        records = await made.records()
    features = made.session.parts.features
    assert features.read(lived(records), records)["note"] == ["the port is 8080"]
    back = (*records, Rewound(0, "", "t"))
    assert features.read(lived(back), back)["note"] == []

    (tmp_path / "next").mkdir()
    async with a_world(tmp_path / "next", [says("fine")], features=[notes()]) as again:
        again.session.parts.features.restore({"note": ["the port is 8080"]})
        await again.turn("where were we?")
        assert len(reminders(again)) == 1
