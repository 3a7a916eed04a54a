"""Several features with the same slot: all results are used, in the order of the features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from indwell.agent.core.feature import Feature, Moment
from indwell.agent.core.session import Session
from indwell.messages import ToolUse
from indwell.tools.base import Outcome
from indwell.workspace.base import AppliedChange
from support.session import a_world, asks, call, says


def saying(name: str, about: str, heard: list[tuple[str, ...]]) -> Feature[Session]:
    """Return a feature that adds a text to the call ``about`` after each reply."""

    async def after_reply(
        _moment: Moment[Session], _uses: Sequence[ToolUse], outcomes: Mapping[str, Outcome]
    ) -> Mapping[str, str]:
        heard.append(tuple(outcomes))
        return {about: f"{name} was here"} if about in outcomes else {}

    return Feature(name=name, after_reply=after_reply)


async def test_notes_of_two_features_join_the_result_of_one_call(tmp_path: Path) -> None:
    heard: list[tuple[str, ...]] = []
    features = [saying("first", "c2", heard), saying("second", "c2", heard)]
    reads = [call("read_file", id_, path="a.py") for id_ in ("c1", "c2")]
    script = [asks(*reads), says()]
    async with a_world(tmp_path, script, files={"a.py": "one\n"}, features=features) as world:
        await world.turn()
        plain, told = (result.text for result in world.results)
    assert "was here" not in plain
    assert told.endswith("\nfirst was here\nsecond was here")
    assert sorted(heard[0]) == ["c1", "c2"]
    assert heard[0] == heard[1]


async def test_a_feature_is_told_about_the_changes_of_an_edit_but_not_about_a_read(
    tmp_path: Path,
) -> None:
    heard: list[str] = []

    async def after_edit(_moment: Moment[Session], changes: Sequence[AppliedChange]) -> None:
        heard.extend(change.path.name for change in changes)

    feature: Feature[Session] = Feature(name="edits", after_edit=after_edit)
    script = [
        asks(call("read_file", "c1", path="a.py")),
        asks(call("write_file", "c2", path="b.py", content="two\n")),
        says(),
    ]
    async with a_world(tmp_path, script, files={"a.py": "one\n"}, features=[feature]) as world:
        await world.turn()
    assert heard == ["b.py"]
