"""The way back of edits of files that are too large to be kept: the bytes of the changed places.

A patch is found by the digest of what its edit left, and leads to what was there before. It is
taken only where both digests are right, so it never makes anything else of a file. Blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from indwell.errors import ToolError
from indwell.files import make_private_folder, read_own, write_durable
from indwell.files.bodies import digest_of
from indwell.files.removing import remove_own
from indwell.workspace.large import Splice

MOST_B = 8 << 20  # of the changed places of one edit
MOST_STEPS = 100  # edits that are taken back at once


class Patch(msgspec.Struct, frozen=True):
    """What leads back.

    Attributes:
        before: Digest of what the file held.
        splices: From and to of each place, and what stood there; ascending.
    """

    before: str
    splices: tuple[tuple[int, int, bytes], ...]


class Patches:
    """A folder of patches; it may be that of the copies.

    Args:
        folder: In the user's state; made when it is needed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(
        self, before: str, after: str, splices: Sequence[Splice], hide: Callable[[str], str]
    ) -> bool:
        """Keep what leads from ``after`` to ``before``, both digests of bytes; False if it is not.

        What holds secrets is not written down, nor what is as good as the whole file.

        Raises:
            OSError: The system refuses.
        """
        texts = [one.data.decode("latin-1") for one in splices]
        if sum(map(len, texts)) > MOST_B or any(hide(text) is not text for text in texts):
            return False
        patch = Patch(before, tuple((one.start, one.stop, one.data) for one in splices))
        make_private_folder(self._folder)
        place = self._place(after)
        remove_own(place)
        write_durable(place, msgspec.json.encode(patch))
        return True

    def led_back(self, data: bytes, wanted: str) -> bytes | None:
        """What ``data`` was when its digest was ``wanted``; None if that is not known."""
        digest = digest_of(data)
        for _ in range(MOST_STEPS):
            patch = self._found(digest)
            if patch is None:
                return None
            data = _applied(patch, data)
            digest = digest_of(data)
            if digest != patch.before or digest == wanted:
                break
        return data if digest == wanted else None

    def _found(self, digest: str) -> Patch | None:
        try:
            return msgspec.json.decode(read_own(self._place(digest), 2 * MOST_B), type=Patch)
        except (OSError, ToolError, msgspec.MsgspecError):
            return None

    def _place(self, digest: str) -> Path:
        return self._folder / f"back-from-{digest}"


def _applied(patch: Patch, data: bytes) -> bytes:
    parts: list[bytes] = []
    at = 0
    for start, stop, was in patch.splices:
        parts += [data[at:start], was]
        at = stop
    return b"".join([*parts, data[at:]])
