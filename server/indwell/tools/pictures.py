"""A picture in a file, for a model that takes some (H45)."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

from indwell.errors import NotText
from indwell.files import read_bytes
from indwell.tools.base import Outcome, Picture, ToolContext
from indwell.workspace.paths import display

PICTURE_B = 3_750_000  # 5 MB as base64, which is what the strictest of the large providers takes


async def read_picture(path: Path, found: NotText, context: ToolContext) -> Outcome:
    """The file as a picture.

    Raises:
        NotText: ``found``, if it is none, or the model takes none.
        ToolError: It is too large for a request.
    """
    if not found.media_type or not context.takes_pictures:
        raise found
    roots = (*context.workspace.roots, *context.read_roots)
    data = await asyncio.to_thread(read_bytes, path, roots, PICTURE_B)
    encoded = await asyncio.to_thread(base64.b64encode, data)
    name = display(path, context.workspace.roots)
    return Outcome(
        text=f"{name} is a picture ({found.media_type}, {len(data):,} bytes); it is shown below",
        figure="picture",
        pictures=(Picture(media_type=found.media_type, data=encoded.decode()),),
    )
