"""A skill's text is not sent again while the conversation contains the same text."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from indwell.agent.core.session_features import Features
from indwell.agent.features.skills.feature import (
    Content,
    FoundSkills,
    SkillCatalogue,
    make_load_skill,
    skills_feature,
)
from indwell.messages import ToolResult
from indwell.skills.skill import Skill
from indwell.tools.base import ToolTable
from support.session import World, a_world, asks, call, says


class OneSkill:
    """A folder with one skill, whose text a test may change."""

    def __init__(self) -> None:
        self.body = "Slowly."

    def look(self) -> FoundSkills:
        return FoundSkills((Skill("fix-it", "To do it.", "user", "/skills/fix-it"),))

    def content(self, skill: Skill) -> Content:
        return Content(self.body, skill.folder)

    def may_have_changed(self) -> bool:
        return False

    def close(self) -> None:
        pass


def shelved(world: World) -> OneSkill:
    place = OneSkill()
    skill_catalogue = SkillCatalogue(place)
    skill_catalogue.look_now()
    tools = ToolTable([make_load_skill(skill_catalogue)])
    features = Features((skills_feature(skill_catalogue),))
    world.session.parts = replace(world.session.parts, features=features, tools=tools)
    return place


def loading(*ids: str):
    return asks(*(call("load_skill", id_, name="fix-it") for id_ in ids))


WHOLE = '<skill name="fix-it" from="user">\nSlowly.\n</skill>'
POINTER = "The skill 'fix-it' is loaded: its text is above, unchanged; follow it."


async def test_loading_an_unchanged_skill_again_returns_a_pointer(tmp_path) -> None:
    async with a_world(
        tmp_path, [loading("a", "b"), loading("c"), says(), loading("d"), says()]
    ) as world:
        place = shelved(world)
        await world.turn()
        assert [one.text for one in world.results] == [WHOLE, POINTER, POINTER]
        place.body = "Fast."
        await world.turn()
        assert world.results[-1].text == WHOLE.replace("Slowly", "Fast")


async def test_a_skill_already_called_by_the_user_is_not_loaded_again(tmp_path) -> None:
    async with a_world(tmp_path, [loading("a"), says()]) as world:
        shelved(world)
        await world.turn("/fix-it the parser")
        assert [one.text for one in world.results] == [POINTER]


async def test_a_skill_removed_by_a_compaction_can_be_loaded_again(tmp_path) -> None:
    async with a_world(tmp_path, [loading("a"), says(), loading("b"), says()]) as world:
        shelved(world)
        await world.turn()
        now = world.session.conversation
        cut = tuple(
            msgspec.structs.replace(
                message,
                blocks=tuple(
                    msgspec.structs.replace(block, text="[shortened]")
                    if isinstance(block, ToolResult)
                    else block
                    for block in message.blocks
                ),
            )
            for message in now.messages
        )
        world.session.conversation = msgspec.structs.replace(now, messages=cut)
        await world.turn()
        assert world.results[-1].text == WHOLE
