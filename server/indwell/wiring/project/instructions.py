"""The AGENTS.md files of the user, of a trusted project, and of its folders."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from indwell.agent.features.instructions import NOTHING, FoundInstructions, Instruction
from indwell.bounds.folder_trust import FolderTrust
from indwell.errors import SettingsError, ToolError
from indwell.files.listing import exists, has_other_names
from indwell.files.reading import read_bytes
from indwell.files.spelling import quoted
from indwell.policy.paths import is_inside, matches_any
from indwell.prompt.reminders import FILE_NAME, LIMIT
from indwell.settings.model import Settings
from indwell.settings.paths import read_user_file, user_file
from indwell.workspace.base import Workspace
from indwell.workspace.paths import display


def visible_place(path: Path, roots: Sequence[Path], deny: tuple[str, ...]) -> Path | None:
    """Return where the file at ``path`` really is; None if no model may see it.

    The file's own name counts, and the name of its target. A file with several names (hard links)
    is kept back, because one of the names could be that of a secret file. Blocks for a moment.

    Args:
        path: The absolute path as it was found.
        roots: The workspace's folders.
        deny: Globs of what no model may see, such as secret files.
    """
    real = path.resolve()
    names = (display(one, tuple(roots)) for one in (path, real))
    if any(matches_any(name, deny) for name in names) or has_other_names(real):
        return None
    return real


MOST_B = 1 << 20  # bytes; a longer file is not read at all; see also ``instructions.LIMIT``
MOST_FOLDERS = 1_000  # folders examined for a request; a millisecond or two


def standing_instructions(settings: Settings) -> tuple[str, str]:
    """Return the user's own instructions, from settings and AGENTS.md, and their problems."""
    path = user_file().parent / FILE_NAME
    try:
        text = (read_user_file(path) or "").strip().removeprefix("\N{BYTE ORDER MARK}")
    except SettingsError as error:
        return settings.instructions, f"your own {FILE_NAME} is left out: {error}"
    problem = ""
    if len(text) > LIMIT:
        problem = (
            f"{quoted(path)} has {len(text):,} characters, of which the first {LIMIT:,} go to the "
            "model; shorten it"
        )
    return "\n\n".join(filter(None, (settings.instructions.strip(), text[:LIMIT]))), problem


class ProjectInstructions:
    """Finds and reads the instructions of a workspace.

    A file counts only as it was trusted, unless its folder is trusted whatever it holds. No deny
    rule may hide it, and it may have no other name, which could be that of a secret file.

    Args:
        workspace: The user's files.
        settings: Returns the current settings.
        trust: The user's trust in its folders.
    """

    def __init__(
        self, workspace: Workspace, settings: Callable[[], Settings], trust: FolderTrust
    ) -> None:
        self._workspace = workspace
        self._settings = settings
        self._trust = trust

    async def own(self) -> str:
        """Return the project's own instructions; empty if none count."""
        root = self._workspace.roots[0]
        return await self._text(root, root / FILE_NAME) or ""

    async def of_folders(self, files: Sequence[Path], told: Sequence[str]) -> FoundInstructions:
        """Return the instructions of the folders above ``files``, and old ones; outermost first.

        Args:
            files: Absolute, resolved paths.
            told: Instruction files that the model has, as shown.
        """
        first, *others = self._workspace.roots
        above = {path.parent for path in files if path.parent != first}
        above |= {(first / name).parent for name in told}
        if not above:
            return NOTHING
        places = await asyncio.to_thread(_present, tuple(above), (first, *others))
        apart = self._trust.now((first, *others)).restricted
        texts, ignored = [], []
        for root, path in places:
            if is_inside(str(path), apart):
                continue
            text = await self._text(root, path)
            shown = display(path, self._workspace.roots)
            if text is None:
                ignored.append(shown)
            elif text.strip():
                texts.append(Instruction(shown, text))
        return FoundInstructions(tuple(texts), tuple(ignored))

    async def _text(self, root: Path, path: Path) -> str | None:
        """Return the text as the editor shows it or as it was trusted; None if it may not count."""
        workspace, trust = self._workspace, self._trust
        if not trust.is_trusted(root):
            return None
        try:
            real = visible_place(path, workspace.roots, self._settings().deny)
            if real is None:
                return None
            data = await asyncio.to_thread(read_bytes, real, [root], MOST_B)
            if trust.is_whole(root):
                return (await workspace.read(real)).text
        except ToolError:
            return None
        name = path.relative_to(root).as_posix()
        return data.decode("utf-8-sig", "replace") if trust.obeys(root, name, data) else None


def _present(folders: Iterable[Path], roots: Sequence[Path]) -> list[tuple[Path, Path]]:
    """Return instruction files between a root and each of ``folders``, with that root. Blocks."""
    found: dict[Path, Path] = {}
    for folder in folders:
        inside = [root for root in roots if folder.is_relative_to(root)]
        if not inside:
            continue
        root = max(inside, key=lambda one: len(one.parts))
        at = folder
        while at not in found:
            found[at] = root
            if at == root:
                break
            at = at.parent
        if len(found) > MOST_FOLDERS:
            break
    own = roots[0]  # its file goes with the first words
    ordered = sorted(found, key=lambda one: (len(one.parts), one))
    paths = ((found[one], one / FILE_NAME) for one in ordered if one != own)
    return [(root, path) for root, path in paths if exists(path)]
