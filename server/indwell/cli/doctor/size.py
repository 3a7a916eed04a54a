"""Measures what every request begins with, in tokens: the system prompt and the tools."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from rich.console import Console

from indwell.cli.doctor.check import DoctorFinding, Findings
from indwell.cli.terminal.person import TerminalApprover
from indwell.context.conversation import Conversation
from indwell.context.tokens import estimate_tokens, tools_tokens
from indwell.errors import SettingsError
from indwell.files.private import scratch_folder
from indwell.service.user_settings import read_settings
from indwell.sessions.ids import RANDOM_B, new_id
from indwell.sessions.storage.writer import MemoryLog
from indwell.settings.model import Settings
from indwell.wiring.compose import SessionPlace, make_session
from indwell.wiring.model import make_model
from indwell.wiring.project.instructions import standing_instructions
from indwell.workspace.disk import DiskWorkspace

MOST = 3_000  # tokens, of both together, without what is the user's own


class PromptSizes(msgspec.Struct, frozen=True):
    """Estimated tokens, which err on the high side.

    Attributes:
        system: Of the system prompt, without the user's instructions.
        own: Of those.
        tools: Of each tool.
    """

    system: int
    own: int
    tools: Mapping[str, int]

    @property
    def together(self) -> int:
        """Of what Indwell itself sends."""
        return self.system + sum(self.tools.values())


async def beginning(environment: Mapping[str, str], folder: Path) -> tuple[Conversation, Settings]:
    """As a session would begin now in ``folder``, with all that can be on; none is begun.

    Raises:
        SettingsError: The settings cannot be used.
    """
    chosen = await asyncio.to_thread(lambda: read_settings(environment).settings)
    chosen = msgspec.structs.replace(chosen, provider="scripted", memory=True)
    place = SessionPlace(
        new_id(datetime.now(UTC), os.urandom(RANDOM_B)), MemoryLog(), scratch_folder()
    )
    session = make_session(
        place,
        DiskWorkspace([folder]),
        TerminalApprover(Console(stderr=True)),
        lambda: chosen,
        make_model(chosen),
        environment=environment,
    )
    await session.close()
    return session.conversation, chosen


async def sizes(environment: Mapping[str, str], folder: Path) -> PromptSizes:
    """Of that.

    Raises:
        SettingsError: The settings cannot be used.
    """
    talk, chosen = await beginning(environment, folder)
    own = estimate_tokens(standing_instructions(chosen)[0])
    system = sum(block.meta.tokens for block in talk.system) - own
    return PromptSizes(system, own, {one.name: tools_tokens((one,)) for one in talk.tools})


async def size(environment: Mapping[str, str], folder: Path) -> Findings:
    """The figures, part by part."""
    try:
        found = await sizes(environment, folder)
    except SettingsError:
        return ()  # said by the check of the settings
    parts = [f"system prompt {found.system:,}"]
    parts += [f"{name} {tokens:,}" for name, tokens in found.tools.items()]
    own = f"; your own instructions {found.own:,} more" if found.own else ""
    sentence = (
        f"about {found.together:,} tokens before your first word, of at most {MOST:,}: "
        f"{', '.join(parts)}{own}"
    )
    if found.together > MOST:
        return (
            DoctorFinding("prompt size", "warn", sentence, "remove skills that you do not use"),
        )
    return (DoctorFinding("prompt size", "ok", sentence),)
