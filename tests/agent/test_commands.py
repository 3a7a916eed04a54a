"""Words that begin like a command: done, refused with a sentence, or a prompt after all."""

from __future__ import annotations

from pathlib import Path

import pytest

from indwell.agent.compacting import is_compact, no_command
from support.session import a_world, says


@pytest.mark.parametrize("words", ["/usr/bin", "/tmp is full", "x /compact", "", "/", "/a1", "a/b"])
def test_what_only_begins_so_is_a_prompt(words) -> None:
    assert no_command(words) == ""
    assert not is_compact(words)


@pytest.mark.parametrize("words", ["/compact keep the limits", " /Compact\nplease", "/foo", "/fo "])
async def test_no_model_hears_a_command_that_cannot_be(tmp_path: Path, words) -> None:
    async with a_world(tmp_path, [says()]) as world:
        finished = await world.turn(words)
        assert (finished.ending, finished.draft, finished.rounds) == ("failed", "", 0)
        assert finished.message == no_command(words)
        assert world.provider.requests == []
        await world.records()
        assert (await world.turn("go on")).ending == "done"
