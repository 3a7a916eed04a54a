"""The names of the files in a place, as ripgrep tells them; what ignore files name is left out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from indwell.service.mentions.chat_names import SUFFIX
from indwell.tools.searching.ripgrep import listen

TIMEOUT_S = 10.0


async def files_below(place: str, root: Path, roots: Sequence[Path], *, enough: int) -> list[str]:
    """Names relative to ``root``, in no order; those of chats are left out.

    Args:
        place: In ``root``, as ripgrep takes it.
        root: The folder that it runs in.
        roots: The workspace's; no program in them is believed to be ripgrep.
        enough: Names after which it is stopped; some more may come.

    Raises:
        ToolError: There is no ripgrep, or it failed.
    """
    found: list[str] = []
    rest = b""

    def take(data: bytes) -> bool:
        nonlocal rest
        *names, rest = (rest + data).split(b"\0")
        found.extend(os.fsdecode(name).removeprefix("./") for name in names)
        return len(found) >= enough

    await listen(
        ["--files", "--null", "--glob=!.git", f"--glob=!*{SUFFIX}", place],
        cwd=root,
        never_in=roots,
        timeout_s=TIMEOUT_S,
        take=take,
    )
    return found
