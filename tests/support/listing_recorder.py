"""Records which folders this process lists."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_recording: list[list[str]] = []
_installed: list[bool] = []


def _listen(event: str, arguments: tuple[object, ...]) -> None:
    if event == "os.scandir" and _recording:
        at = arguments[0]
        path = str(Path(f"/dev/fd/{at}").readlink()) if isinstance(at, int) else os.fspath(str(at))
        for one in tuple(_recording):
            one.append(os.path.normpath(path))


@contextmanager
def listed_folders() -> Iterator[list[str]]:
    """Yield the folders that the block lists; a folder occurs once for each listing."""
    if not _installed:
        _installed.append(True)
        sys.addaudithook(_listen)
    heard: list[str] = []
    _recording.append(heard)
    try:
        yield heard
    finally:
        _recording.remove(heard)
