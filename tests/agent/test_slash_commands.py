"""Prompts that begin with a slash: a command, an error, or an ordinary prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from indwell.agent.compaction.fit import is_compact, no_command
from support.session import a_world, says


@pytest.mark.parametrize("words", ["/usr/bin", "/tmp is full", "x /compact", "", "/", "/a1", "a/b"])
def test_text_that_only_begins_like_a_command_counts_as_a_prompt(words) -> None:
    assert no_command(words) == ""
    assert not is_compact(words)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("/write-test for shop.py", "/write-tests"),
        ("/Write-tets", "/write-tests"),
        ("/compat now", "/compact"),
    ],
)
def test_a_mistyped_command_is_refused_with_a_suggestion(words, meant) -> None:
    assert f"did you mean `{meant}`? Nothing was sent" in no_command(words, ["write-tests"])


@pytest.mark.parametrize(
    "words", ["/write-tests for shop.py", "/tests fail", "/tmp is full", "/usr/bin", "/etc/x y"]
)
def test_a_skill_a_path_and_a_sentence_count_as_prompts(words) -> None:
    assert no_command(words, ["write-tests"]) == ""


@pytest.mark.parametrize("words", ["/compact keep the limits", " /Compact\nplease", "/foo", "/fo "])
async def test_an_unknown_command_never_reaches_the_model(tmp_path: Path, words) -> None:
    async with a_world(tmp_path, [says()]) as world:
        finished = await world.turn(words)
        assert (finished.ending, finished.draft, finished.rounds) == ("failed", "", 0)
        assert finished.message == no_command(words)
        assert world.provider.requests == []
        await world.records()
        assert (await world.turn("go on")).ending == "done"
