"""Attachments of a prompt are sent with its text or not at all: a stopped prompt leaves nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from indwell.agent.core.feature import Feature
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.core.session_features import Features
from indwell.agent.features.memory import memory_feature
from indwell.agent.features.skills.feature import (
    Content,
    FoundSkills,
    SkillCatalogue,
    skills_feature,
)
from indwell.agent.loop.turn import run_turn
from indwell.context.attachments import (
    FileProblems,
    Listing,
    NamedPicture,
    OpenedFile,
    PastedText,
    Problem,
    Selection,
)
from indwell.messages import Image
from indwell.settings.memory_pages import MemoryPages
from indwell.settings.table_types import Hook
from indwell.skills.skill import Skill
from support.bubblewrap import needs_bubblewrap
from support.checked_project import a_project
from support.session import START, SURROUNDINGS, World, a_world, says, texts

MARK = "zebra"  # a word that every attachment of the first prompt contains
PROBLEM = Problem(3, "error", f"{MARK} is not defined")

BESIDE: Mapping[str, Mapping[str, Any]] = {
    "selection": {"selection": Selection("a.py", 1, 2, MARK)},
    "opened file": {"opened": OpenedFile(f"{MARK}.py", "python", 10)},
    "mentioned file": {"mentioned": (Selection("a.py", 1, 2, MARK),)},
    "mentioned folder": {"folders": (Listing("src", (MARK,)),)},
    "problems": {"problems": (PROBLEM,)},
    "attached problems": {"reported": (FileProblems("a.py", (PROBLEM,)),)},
    "attached text": {"texts": (PastedText("log", MARK),)},
}
"""Attachments of a prompt by the editor and the user, by name."""

OF_THE_MOMENT = ("instructions", "surroundings", "memory", "time", "skill")
"""Blocks that Indwell adds to a prompt."""


class OneSkill:
    """A folder of the user with one skill."""

    def look(self) -> FoundSkills:
        return FoundSkills((Skill("mend", "To mend.", "user", "/skills/mend"),), ())

    def content(self, skill: Skill) -> Content:
        return Content(f"Mend the {MARK}.", skill.folder, (), asks_for_tools=False)

    def may_have_changed(self) -> bool:
        return False

    def close(self) -> None:
        pass


def give(made: World, feature: Feature[Session]) -> None:
    object.__setattr__(made.session.parts, "features", Features((feature,)))


def set_up(made: World, folder: Path, kind: str) -> Callable[[], None]:
    """Let Indwell add one kind of block to the next prompt; return a function that removes it."""
    match kind:
        case "instructions":
            made.instructions = MARK
        case "surroundings":
            made.surroundings = msgspec.structs.replace(SURROUNDINGS, branch=MARK)
        case "memory":
            (folder / "memory").mkdir(mode=0o700)
            page = folder / "memory" / "shop.md"
            page.write_bytes(f"- The {MARK} is striped.\n".encode())
            page.chmod(0o600)
            give(made, memory_feature(MemoryPages(page.parent, "shop"), ()))
        case "time":
            made.session.spending.answered_at = START - timedelta(days=3)
        case "skill":
            give(made, skills_feature(SkillCatalogue(OneSkill())))

    def undo() -> None:
        made.instructions, made.surroundings = "", SURROUNDINGS
        made.session.spending.answered_at = None

    return undo


STOPS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "an unknown command": ("/nope", {}),
    "a command of ours": ("/compact", {}),
    "a picture for a model that takes none": (
        "go",
        {"pictures": (NamedPicture("p", "image/png", ""),)},
    ),
}
"""Prompts that never reach the model, by the reason: the words, and the attachments."""


def cases() -> list[Any]:
    return [
        pytest.param(kind, stop, id=f"{kind}: {stop}")
        for kind in (*BESIDE, *OF_THE_MOMENT)
        for stop in STOPS
        # These blocks depend on the prompt's text.
        if kind not in {"memory", "skill"} or STOPS[stop][0] == "go"
    ]


@pytest.mark.parametrize(("kind", "stop"), cases())
async def test_attachments_of_an_unsent_prompt_are_not_sent(
    tmp_path: Path, kind: str, stop: str
) -> None:
    words, more = STOPS[stop]
    if kind in {"memory", "skill"}:
        words = {"memory": f"Where is the {MARK}?", "skill": "/mend"}[kind]
    async with a_world(tmp_path, [says()]) as made:
        undo = set_up(made, tmp_path, kind)
        first = await made.turn(words, **{**BESIDE.get(kind, {}), **more})
        if stop != "a command of ours":
            assert first.ending == "failed"
        assert made.provider.requests == []
        undo()
        assert (await made.turn("something else")).ending == "done"
        assert not _is_said(kind, made)


def _is_said(kind: str, made: World) -> bool:
    """Does the newest request contain the block?"""
    blocks = [block for one in made.provider.requests[-1].messages for block in one.blocks]
    assert not any(isinstance(block, Image) for block in blocks)
    said = "\n".join(text for one in made.provider.requests[-1].messages for text in texts(one))
    return "days have passed" in said if kind == "time" else MARK in said


@pytest.mark.parametrize("kind", [*BESIDE, *OF_THE_MOMENT])
async def test_a_sent_prompt_includes_every_attached_part(tmp_path: Path, kind: str) -> None:
    words = {"memory": f"Say where the {MARK} is.", "skill": "/mend"}.get(kind, "go")
    async with a_world(tmp_path, [says()]) as made:
        set_up(made, tmp_path, kind)
        assert (await made.turn(words, **BESIDE.get(kind, {}))).ending == "done"
        assert _is_said(kind, made)


@needs_bubblewrap
@pytest.mark.parametrize("kind", [*BESIDE, "what another hook adds"])
async def test_attachments_of_a_prompt_that_a_hook_stopped_are_not_sent(
    tmp_path: Path, kind: str
) -> None:
    adds = Hook("prompt_submitted", f'grep -q \'"words":"first"\' && echo {MARK}; true')
    stops = Hook("prompt_submitted", 'grep -q \'"words":"first"\' && exit 2; true')
    async with a_project(tmp_path, [says(), says()], hooks=(adds, stops)) as project:
        prompt = Prompt("first", **BESIDE.get(kind, {}))
        stopped = await run_turn(project.session, prompt, project.events.append)
        assert (stopped.ending, stopped.draft) == ("failed", "first")
        assert "your prompt was not sent" in stopped.message
        assert project.provider.requests == []
        assert (await project.turn("second")).ending == "done"
        (request,) = project.provider.requests
        assert MARK not in "\n".join(text for one in request.messages for text in texts(one))
