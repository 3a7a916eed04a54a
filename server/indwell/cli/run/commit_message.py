"""``indwell commit-message``: prints a message for the changes that git would commit."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
from rich.console import Console

from indwell.cli.run.session import LeanModels
from indwell.cli.terminal.front_door import TerminalDoor, TerminalPerson
from indwell.cli.terminal.interruptible_work import wait_for
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.telling import tell
from indwell.sandbox.environment import own_environment
from indwell.wiring.commit_message import CommitMessage
from indwell.wiring.service import Composition


class CommitOptions(msgspec.Struct, frozen=True):
    """The options of ``indwell commit-message``."""

    folder: Path
    model: str = ""
    trust: bool = False
    json: bool = False
    scripted: bool = False


def commit_message(wish: CommitOptions) -> int:
    """Print a commit message; return the exit code."""
    made = wait_for(_written(wish))
    if wish.json:
        data = {"message": made.text, "staged": made.is_staged}
        sys.stdout.write(json_line(data) + "\n")
        return 0
    print(made.text)
    if not made.is_staged:
        tell("nothing is staged, so this is about the changes of the tree", file=sys.stderr)
    return 0


async def _written(wish: CommitOptions) -> CommitMessage:
    console = Console(stderr=True)
    door = TerminalDoor(lambda _event: None, TerminalPerson(console), console)
    composition = Composition(
        own_environment(), scripted=wish.scripted, models=LeanModels(), is_trust_given=wish.trust
    )
    service = composition.service(door, is_resident=False)
    service.start((wish.folder,), {})
    service.sessions.workspace = composition.disk((wish.folder,))
    service.configuration.override(model=wish.model)
    try:
        await service.settle()
        return await composition.commit_message(service.workspace, service.settings)
    finally:
        await service.stop()
