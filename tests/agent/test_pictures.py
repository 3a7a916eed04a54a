"""A picture read by a tool goes to a model that accepts pictures, after the results (H45, H11)."""

from __future__ import annotations

import base64
from pathlib import Path

import msgspec
import pytest

from indwell.agent.core.events import Notice, Steered
from indwell.context.request.assemble import without_pictures
from indwell.context.tokens import IMAGE_TOKENS
from indwell.errors import NotText, RequestRejected, ToolError
from indwell.messages import Image, Reply, Request, Text, ToolResult
from indwell.providers.wires.chat import message_entries
from indwell.providers.wires.dialect import Dialect
from indwell.tools.read import PICTURE_B
from indwell.workspace.disk import DiskWorkspace
from support.session import World, a_world, asks, call, says, texts
from tools.calling import Agent

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
LOOK = asks(call("read_file", "r1", path="b.png"), call("read_file", "r2", path="a.txt"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    (root / "b.png").write_bytes(PNG)
    (root / "a.txt").write_bytes(b"words\n")
    return root


async def after_a_look(tmp_path: Path, folder: Path, *, takes: bool) -> World:
    async with a_world(
        tmp_path, [LOOK, says("I see.")], workspace=DiskWorkspace([folder])
    ) as world:
        config = world.session.conversation.config
        world.session.conversation = msgspec.structs.replace(
            world.session.conversation,
            config=msgspec.structs.replace(config, takes_pictures=takes),
        )
        await world.turn("look")
        return world


async def test_a_picture_follows_all_results_of_its_round(tmp_path: Path, folder: Path) -> None:
    world = await after_a_look(tmp_path, folder, takes=True)
    told = world.messages[2].blocks
    assert [type(block) for block in told] == [ToolResult, ToolResult, Image]
    picture = told[2]
    assert isinstance(picture, Image)
    assert (picture.media_type, base64.b64decode(picture.data)) == ("image/png", PNG)
    assert (picture.meta.tier, picture.meta.tool_use_id) == (3, "r1")
    assert picture.meta.tokens == IMAGE_TOKENS
    assert isinstance(told[0], ToolResult)
    assert told[0].text == f"b.png is a picture (image/png, {len(PNG)} bytes); it is shown below"
    entries = message_entries(world.messages[2], Dialect(), marked=False)
    assert [entry["role"] for entry in entries] == ["tool", "tool", "user"]
    url = f"data:image/png;base64,{picture.data}"
    assert entries[2]["content"] == [{"type": "image_url", "image_url": {"url": url}}]


async def test_a_model_without_picture_support_gets_the_kind_and_size_of_a_picture(
    tmp_path: Path, folder: Path
) -> None:
    world = await after_a_look(tmp_path, folder, takes=False)
    told = world.messages[2].blocks
    assert [type(block) for block in told] == [ToolResult, ToolResult]
    assert isinstance(told[0], ToolResult)
    assert (told[0].is_error, told[0].text) == (
        True,
        f"'b.png' is not a text but a PNG image of {len(PNG)} bytes",
    )


async def test_a_model_without_picture_support_gets_a_placeholder_for_each_attached_picture(
    tmp_path: Path, folder: Path
) -> None:
    world = await after_a_look(tmp_path, folder, takes=True)
    block = without_pictures(world.session.conversation).messages[2].blocks[2]
    assert isinstance(block, Text)
    assert block.text == "(a picture, image/png, stood here; the model in use takes none)"
    assert block.meta.tokens < 30


async def test_a_resumed_session_still_has_its_picture(tmp_path: Path, folder: Path) -> None:
    world = await after_a_look(tmp_path, folder, takes=True)
    assert [
        block
        for record in world.store.open(world.session.id).records
        for block in getattr(getattr(record, "message", None), "blocks", ())
        if isinstance(block, Image)
    ] == [world.messages[2].blocks[2]]


async def test_an_invalid_or_too_large_picture_is_refused(tmp_path: Path, folder: Path) -> None:
    agent = Agent(DiskWorkspace([folder]), tmp_path / "spill")
    agent.context = msgspec.structs.replace(agent.context, takes_pictures=True)
    (folder / "c.png").write_bytes(b"\0\1\2")
    (folder / "d.png").write_bytes(PNG + bytes(PICTURE_B))
    with pytest.raises(NotText, match="'c.png' is not a text but a binary file"):
        await agent.call("read_file", path="c.png")
    with pytest.raises(ToolError, match="larger than the 3,750,000 bytes"):
        await agent.call("read_file", path="d.png")


async def test_pictures_that_an_endpoint_refuses_are_left_out_and_the_session_continues(
    tmp_path: Path, folder: Path
) -> None:
    def refuse(_request: Request) -> Reply:
        raise RequestRejected("the endpoint refused the request: could not process image")

    script = [LOOK, refuse, says("I cannot see it.")]
    async with a_world(tmp_path, script, workspace=DiskWorkspace([folder])) as world:
        config = world.session.conversation.config
        world.session.conversation = msgspec.structs.replace(
            world.session.conversation, config=msgspec.structs.replace(config, takes_pictures=True)
        )
        finished = await world.turn("look")
        assert (finished.ending, finished.answer) == ("done", "I cannot see it.")
        last = world.provider.requests[-1]
        assert not [one for m in last.messages for one in m.blocks if isinstance(one, Image)]
        assert [event for event in world.events if isinstance(event, Notice)] == [
            Notice(1, "warning", "pictures were left out, because the endpoint refused them")
        ]


async def test_steering_messages_of_a_request_refused_for_pictures_are_sent_with_later_messages(
    tmp_path: Path, folder: Path
) -> None:
    def look(_request: Request) -> Reply:
        world.session.steer("use tabs")
        return LOOK

    def refuse(_request: Request) -> Reply:
        world.session.steer("and be brief")
        raise RequestRejected("the endpoint refused the request: could not process image")

    script = [look, refuse, says("Tabs it is.")]
    async with a_world(tmp_path, script, workspace=DiskWorkspace([folder])) as world:
        config = world.session.conversation.config
        world.session.conversation = msgspec.structs.replace(
            world.session.conversation, config=msgspec.structs.replace(config, takes_pictures=True)
        )
        assert (await world.turn("look")).draft == ""
        assert texts(world.messages[2])[-2:] == ["use tabs", "and be brief"]
        assert world.told(Steered) == [
            Steered(1, "use tabs", delivered=True),
            Steered(1, "and be brief", delivered=True),
        ]
        await world.records()
