"""Finds the instruction files of a workspace, and reads their trusted text.

A file is used only with the text that the user trusted, unless the user trusts all content of the
folder. A file is not used if a deny rule hides the file, or if the file has another hard link,
which could be a secret file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from indwell.agent.features.instructions.feature import NOTHING, FoundInstructions, Instruction
from indwell.bounds.rules import Trust
from indwell.bounds.secrets import visible_place
from indwell.errors import ToolError
from indwell.files.contents.reading import read_bytes
from indwell.files.disk_names import leads_abroad
from indwell.files.listing import exists, list_folder
from indwell.policy.paths import is_inside
from indwell.prompt.instruction_files import (
    AT_ROOT,
    FILE_NAME,
    IN_FOLDERS,
    MOST_IMPORT_DEPTH,
    RULES,
    InstructionRule,
    imports_files,
    imports_of,
    read_rule,
)
from indwell.prompt.reminders import LIMIT
from indwell.settings.model import Settings
from indwell.tools.searching.patterns import path_matcher
from indwell.workspace.base import Workspace
from indwell.workspace.paths import display

MOST_B = 1 << 20  # the limit of bytes for a file that is read; see also ``LIMIT``
MOST_FOLDERS = 1_000  # the limit of folders that are examined for a request, which takes 1 or 2 ms
MOST_RULES = 100  # the limit of rule files in one folder
MOST_RULE_DEPTH = 3
MOST_FILES = 200  # the limit of instruction files for one request, imports included
NEAR = 95  # Two texts count as copies if 95 % of their characters are equal.


class _Place(NamedTuple):
    """The path of an instruction file, and the folder that the file applies to."""

    root: Path
    folder: Path
    path: Path
    is_rule: bool = False
    may_import: bool = False


class ProjectInstructions:
    """Finds the instructions of a workspace.

    Args:
        workspace: The user's files.
        settings: Returns the current settings.
        trust: The user's trust in the workspace's folders.
    """

    def __init__(
        self, workspace: Workspace, settings: Callable[[], Settings], trust: Trust
    ) -> None:
        self._workspace = workspace
        self._settings = settings
        self._trust = trust
        self._compared: tuple[tuple[Instruction, ...], tuple[Instruction, ...]] = ((), ())

    async def own(self) -> str:
        """Return the text of the project's AGENTS.md, or empty if it is missing or not trusted."""
        if "agents" not in self._settings().instruction_files:
            return ""
        root = self._workspace.roots[0]
        return await self._text(root, root / FILE_NAME) or ""

    async def of_folders(self, files: Sequence[Path], told: Sequence[str]) -> FoundInstructions:
        """Return the instructions that apply to ``files``, or that ``told`` names, outermost first.

        Args:
            files: Absolute, resolved paths.
            told: The displayed paths of instruction files that the model has.
        """
        roots = self._workspace.roots
        kinds = self._settings().instruction_files
        if not kinds:
            return NOTHING
        above = {roots[0], *(path.parent for path in files)}
        above |= {(roots[0] / name).parent for name in told}
        places = await asyncio.to_thread(_places, tuple(above), roots, kinds)
        apart = self._trust.now(roots).restricted
        texts: list[Instruction] = []
        ignored: list[str] = []
        waiting = [(one, 0) for one in reversed(places) if not is_inside(str(one.path), apart)]
        done: set[Path] = set()
        while waiting and len(done) < MOST_FILES:
            place, depth = waiting.pop()
            if place.path in done:
                continue
            done.add(place.path)
            text = await self._text(place.root, place.path)
            shown = display(place.path, roots)
            if text is None:
                ignored.append(shown)
                continue
            if text.strip():
                texts += self._read(place, text, files, told)
            if depth < MOST_IMPORT_DEPTH:
                imported = await asyncio.to_thread(_imported, place, text)
                waiting += [(one, depth + 1) for one in reversed(imported)]
        return FoundInstructions(await self._once(tuple(texts)), tuple(ignored))

    def _read(
        self, place: _Place, text: str, files: Sequence[Path], told: Sequence[str]
    ) -> Iterator[Instruction]:
        """Yield the instructions in a file, if the file applies to ``files`` or is in ``told``."""
        roots = self._workspace.roots
        shown = display(place.path, roots)
        if not place.is_rule:
            whole = place.folder == roots[0]
            yield Instruction(shown, text, "" if whole else display(place.folder, roots))
            return
        rule = read_rule(text)
        if rule.is_always:
            yield Instruction(shown, rule.body)
        elif rule.globs and (shown in told or _is_about(rule, place.root, files)):
            yield Instruction(shown, rule.body, globs=rule.globs)
        elif rule.description and not rule.globs:
            words = f"(Read this file before a task that fits its description: {rule.description})"
            yield Instruction(shown, words)

    async def _once(self, texts: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
        """Leave out instruction files of other agents that repeat the text of an earlier file."""
        if texts != self._compared[0]:
            self._compared = texts, await asyncio.to_thread(_without_copies, texts)
        return self._compared[1]

    async def _text(self, root: Path, path: Path) -> str | None:
        """Return the editor's text or the trusted text, or None if the file may not be used."""
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
        if trust.obeys(root, name, data):
            return data.decode("utf-8-sig", "replace")
        trust.leave_out(root, name)
        return None


def _places(folders: Iterable[Path], roots: Sequence[Path], kinds: Sequence[str]) -> list[_Place]:
    """Return the instruction files in each of ``folders`` and in its parents. Blocks."""
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
    places: list[_Place] = []
    for folder in sorted(found, key=lambda one: (len(one.parts), one)):
        here = list(_in_folder(found[folder], folder, kinds))
        if folder == roots[0]:  # ``own`` already returns the AGENTS.md of this folder
            here = [one for one in here if one.path.name != FILE_NAME]
        places += here
    return places


def _in_folder(root: Path, folder: Path, kinds: Sequence[str]) -> Iterator[_Place]:
    """Yield a folder's instruction files in the user's order; if AGENTS.md is first, only that."""
    names = AT_ROOT if folder == root else IN_FOLDERS
    for at, kind in enumerate(kinds):
        for name in names.get(kind, ()):
            path = folder / name
            if not leads_abroad(path.parent, (root,)) and exists(path):
                yield _Place(root, folder, path, may_import=imports_files(name))
                if at == 0 and name == FILE_NAME:
                    return
        if folder == root and kind in RULES:
            place, suffix = RULES[kind]
            for path in _rules(root, root / place, suffix)[:MOST_RULES]:
                yield _Place(root, folder, path, is_rule=True)


def _rules(root: Path, folder: Path, suffix: str, depth: int = 0) -> list[Path]:
    if depth > MOST_RULE_DEPTH or not exists(folder):
        return []
    try:
        entries = list_folder(folder, [root])[: MOST_RULES * 2]
    except ToolError:
        return []
    found: list[Path] = []
    for one in entries:
        if one.is_folder:
            found += _rules(root, folder / one.name, suffix, depth + 1)
        elif one.name.endswith(suffix):
            found.append(folder / one.name)
    return found


def _imported(place: _Place, text: str) -> list[_Place]:
    """Return the existing files that an instruction file imports."""
    if not place.may_import:
        return []
    names = imports_of(text, place.path.relative_to(place.root).as_posix())
    paths = (place.root / name for name in names)
    near = [path for path in paths if not leads_abroad(path, (place.root,))]
    return [place._replace(path=path) for path in near if path.is_file()]


def _is_about(rule: InstructionRule, root: Path, files: Sequence[Path]) -> bool:
    names = [one.relative_to(root).as_posix() for one in files if one.is_relative_to(root)]
    for glob in rule.globs:
        try:
            matches = path_matcher(glob.removeprefix("./").removeprefix("/"))
        except ToolError:
            continue
        if any(map(matches, names)):
            return True
    return False


def _without_copies(texts: Sequence[Instruction]) -> tuple[Instruction, ...]:
    from rapidfuzz.fuzz import ratio  # noqa: PLC0415 - most workspaces have one file

    kept: list[tuple[Instruction, str]] = []
    for one in texts:
        plain = " ".join(one.text[:LIMIT].split())
        is_agents = one.path.rpartition("/")[2] == FILE_NAME
        if is_agents or not any(ratio(plain, other, score_cutoff=NEAR) for _, other in kept):
            kept.append((one, plain))
    return tuple(one for one, _ in kept)
