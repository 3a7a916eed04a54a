"""The question about a folder at a terminal; where there is none, the folder stays restricted."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec
from rich.console import Console

from indwell.agent.events import Listener, Notice
from indwell.cli.stdin import is_typed
from indwell.cli.typed_line import chosen
from indwell.errors import SettingsError
from indwell.policy.approvals import visible
from indwell.policy.trust import Standing, restricted_words
from indwell.service.folder_trust import FolderTrust
from indwell.service.user_settings import read_settings
from indwell.settings.model import Settings
from indwell.workspace.executable import instruction_files

MEANINGS: Mapping[str, bool] = {
    **dict.fromkeys(("t", "trust"), True),
    **dict.fromkeys(("", "r", "restricted", "stay", "stay restricted", "n", "no"), False),
}


async def settled_settings(
    roots: Sequence[Path],
    trust: FolderTrust,
    view: Listener,
    environment: Mapping[str, str],
) -> Settings:
    """The settings, after the question whether the folder is trusted, if it is to be asked.

    Raises:
        SettingsError: The user's own cannot be used.
    """
    read = partial(read_settings, environment, roots=tuple(roots), trust=trust)
    loaded = await asyncio.to_thread(read)
    (standing,) = await asyncio.to_thread(trust.look, roots, loaded.settings)
    told = ""
    if standing.state != "trusted":
        told = await settle(trust, standing, Console(stderr=True))
        loaded = await asyncio.to_thread(read)
    for notice in filter(None, (*loaded.notices, told)):
        view(Notice(0, "warning", notice))
    return loaded.settings


async def settle(trust: FolderTrust, standing: Standing, console: Console) -> str:
    """Ask if nobody has said anything of the folder as it is now; gives what to tell the user.

    Enter and ``r`` leave it restricted, which is stored. So does no answer, for this time only.
    """
    problem = ""
    if standing.state == "open" and can_ask():
        standing = await asyncio.to_thread(trust.shown, standing)
        trusted = await is_trusted_at_terminal(standing, console)
        if trusted is None:
            return await _restricted(msgspec.structs.replace(standing, by="nobody answered"), "")
        try:
            trust.answer(standing, trusted=trusted)
        except SettingsError as error:
            problem = f"{error}; your answer counts for this time"
        if trusted:
            return problem
        standing = msgspec.structs.replace(
            standing, by=f"your answer of {datetime.now(UTC):%Y-%m-%d}"
        )
    if standing.state == "trusted":
        return ""
    return await _restricted(standing, problem)


async def _restricted(standing: Standing, problem: str) -> str:
    ignored = len(await asyncio.to_thread(instruction_files, Path(standing.folder)))
    return "; ".join(filter(None, (restricted_words(standing, ignored), problem)))


def can_ask() -> bool:
    """Does somebody sit at a terminal who sees the question?"""
    return is_typed() and sys.stderr is not None and sys.stderr.isatty()


async def is_trusted_at_terminal(standing: Standing, console: Console) -> bool | None:
    """Show the question and wait for an answer; Enter is no. None if there is no answer."""
    console.print(
        visible(standing.question), markup=False, emoji=False, highlight=False, soft_wrap=True
    )
    return await chosen(
        "stay [R]estricted (Enter), or [T]rust? ",
        MEANINGS,
        lambda: console.print("Type t to trust the folder, or r (or Enter) to stay restricted."),
    )
