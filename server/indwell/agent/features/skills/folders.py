"""Finds, reads and watches the folders of skills."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from indwell import skills as package
from indwell.agent.features.skills.feature import Content, FoundSkills
from indwell.bounds.rules import UNREADABLE, Trust
from indwell.bounds.secrets import visible_place
from indwell.context.untrusted_text import one_line
from indwell.errors import ToolError, UserError
from indwell.files.contents.reading import read_bytes
from indwell.files.disk_names import leads_abroad
from indwell.files.listing import list_folder
from indwell.files.spelling import quoted
from indwell.files.system.access import why_foreign
from indwell.files.watch.file_watch import FolderWatch
from indwell.files.watch.tree import names_in
from indwell.policy.paths import is_beneath
from indwell.settings.model import Settings
from indwell.skills.front_matter import BadFrontMatter
from indwell.skills.skill import (
    FILE_NAME,
    Origin,
    Skill,
    SkillFile,
    command_name,
    read_command,
    read_skill,
)
from indwell.workspace.paths import display, visible

OF_WORKSPACE = (".indwell/skills", ".agents/skills", ".claude/skills")
COMMANDS = ((".claude/commands", ".md"), (".github/prompts", ".prompt.md"))
"""Folders with commands of Claude Code and Copilot, and the suffix of the commands' files."""
SHIPPED = Path(package.__file__).parent / "shipped"
MOST_B = 256 << 10  # the limit of bytes for a SKILL.md; for larger files, trust compares only times
MOST_SKILLS = 200  # the limit of skills in one folder
MOST_FILES = 40  # the limit of files next to a SKILL.md that are listed for the model
MOST_DEEP = 3
WATCHED_FROM = 2  # From this model call on, the folders are watched; see ``SkillFolders``.


class SkillFolders:
    """Finds, reads and watches a workspace's skills; implements ``SkillPlaces``.

    Args:
        roots: The workspace's folders.
        settings: Returns the current settings; denied files are not read.
        trust: The user's trust in the workspace's folders.
        watch: Reports changes between two scans. The watch begins with the second model call,
            because its imports take 0.1 s.
        own: The folders of the user's skills; the first takes precedence.
        private: Folders to which no skill of the user may link, such as Indwell's folders and the
            home folder.
    """

    def __init__(
        self,
        roots: Sequence[Path],
        settings: Callable[[], Settings],
        trust: Trust,
        *,
        watch: FolderWatch | None = None,
        own: Sequence[Path] = (),
        private: Sequence[str] = (),
    ) -> None:
        self._roots = tuple(roots)
        self._settings = settings
        self._trust = trust
        self._watch = watch
        self._own = tuple(own)
        self._private = (*private, str(Path.home().resolve()))
        self._n_asked = 0
        self._found: dict[str, Path] = {}  # the folder of each skill, by the skill's real path

    def look(self) -> FoundSkills:
        """Return all usable skills, the user's first; blocks for some milliseconds."""
        found: list[Skill] = []
        problems: list[str] = []
        places: dict[str, Path] = {}
        unread = [root for root in self._roots if not self._trust.is_trusted(root)]
        withheld = [name for root in unread for name in folder_names(root)]
        for folder, origin, root in self._folders():
            try:
                self._follow(self._real(folder, origin, root), origin)
                written = self._read(folder, origin, root)
            except (UserError, *UNREADABLE) as error:
                problems.append(f"the skill in {one_line(str(folder))!r} cannot be used: {error}")
                continue
            if written is None and origin == "workspace" and _is_there(_text_file(folder)):
                withheld.append(_name(folder))
            elif written is not None:
                found.append(written.skill)
                places.setdefault(written.skill.folder, folder)
        self._found = places
        left_out = tuple(dict.fromkeys(name.lower() for name in withheld))
        return FoundSkills(tuple(found), tuple(problems), left_out)

    def content(self, skill: Skill) -> Content:
        """Return the present content of a skill; blocks.

        Raises:
            ToolError: The skill cannot be read, or has changed since the user trusted it.
        """
        folder = self._found.get(skill.folder, Path(skill.folder))
        root = self._root_of(folder) if skill.origin == "workspace" else None
        try:
            written = self._read(folder, skill.origin, root)
        except BadFrontMatter as error:
            raise ToolError(f"{FILE_NAME} of the skill {skill.name!r}: {error}") from error
        if written is None:
            raise ToolError(
                f"the skill {skill.name!r} is gone, or not what the user trusted any more"
            )
        real = Path(skill.folder)
        if real.is_file():
            shown = display(real.parent, self._roots)
            tools = written.asks_for_tools
            return Content(written.body, shown, asks_for_tools=tools, file=real.name)
        shown = display(real, self._roots)
        files = tuple(map(visible, sorted(_files(real, root or real))))
        return Content(written.body, shown, files, written.asks_for_tools)

    def may_have_changed(self) -> bool:
        """Return whether the watch has reported a change."""
        if self._watch is None:
            return False
        self._n_asked += 1
        if self._n_asked <= WATCHED_FROM:
            # Scan the folders once more, and then begin to watch them.
            return self._n_asked == WATCHED_FROM
        return bool(self._watch.changed())

    def close(self) -> None:
        """Stop watching the folders."""
        if self._watch is not None:
            self._watch.close()

    def _folders(self) -> Iterator[tuple[Path, Origin, Path | None]]:
        """Yield each possible folder of a skill, with its owner and the root that contains it."""
        for place in self._own:
            yield from ((place / name, "user", None) for name in self._names(place))
        for root in self._roots:
            if not self._trust.is_trusted(root):
                continue
            for name in OF_WORKSPACE:
                place = root / name
                yield from ((place / one, "workspace", root) for one in self._names(place, root))
            for place, suffix in ((root / name, suffix) for name, suffix in COMMANDS):
                self._follow(place)
                yield from ((path, "workspace", root) for path in _commands(place, root, suffix))
        yield from ((SHIPPED / name, "indwell", None) for name in sorted(names_in(SHIPPED)))

    def _names(self, place: Path, root: Path | None = None) -> list[str]:
        self._follow(place)  # A file next to the skills' folders is not a skill.
        return [name for name in _listed(place, root) if not (place / name).is_file()]

    def _follow(self, folder: Path, origin: Origin = "user") -> None:
        if self._watch is not None and self._n_asked >= WATCHED_FROM and origin != "indwell":
            self._watch.follow_all(folder)

    def _root_of(self, folder: Path) -> Path | None:
        return next((one for one in self._roots if folder.is_relative_to(one)), None)

    def _read(self, folder: Path, origin: Origin, root: Path | None) -> SkillFile | None:
        """Read the skill in a folder; return None if the folder has no usable skill.

        Raises:
            BadFrontMatter: The skill cannot be used.
            ToolError: The skill's file is a link to another folder, or is unreadable.
        """
        if not _is_there(_text_file(folder)):
            return None
        real = self._real(folder, origin, root)
        is_project = origin == "workspace"
        if origin != "indwell" and (why := why_foreign(_text_file(real), is_project=is_project)):
            raise ToolError(why)
        if origin == "workspace" and root is not None:
            data = self._trusted(_text_file(folder), root)
        else:
            data = read_bytes(real / FILE_NAME, [real], MOST_B)
        if data is None:
            return None
        text = data.decode("utf-8-sig", "replace")
        if real.is_file():
            return read_command(text, file=real.as_posix(), origin=origin)
        return read_skill(text, folder=real.as_posix(), origin=origin)

    def _trusted(self, path: Path, root: Path) -> bytes | None:
        """Return the text of a file in the workspace, or None if untrusted or denied."""
        real = visible_place(path, self._roots, self._settings().deny)
        if real is None:
            return None
        data = read_bytes(real, [root], MOST_B)
        name = path.relative_to(root).as_posix()
        return data if self._trust.obeys(root, name, data) else None

    def _real(self, folder: Path, origin: Origin, root: Path | None) -> Path:
        """Return the real path of a skill's folder.

        Raises:
            ToolError: The folder is outside the workspace, or contains the user's private files.
        """
        if origin == "workspace" and root is not None and leads_abroad(folder, (root,)):
            raise ToolError("it is a link to a network share")
        real = folder.resolve()
        if origin == "workspace":
            if root is None or not real.is_relative_to(root):
                raise ToolError("it leads out of the workspace")
            return real
        if origin == "user" and any(is_beneath(one, (str(real),)) for one in self._private):
            raise ToolError(f"it leads to {quoted(real)}, which contains far more than a skill")
        if origin == "user" and self._root_of(real) and not self._root_of(folder):
            raise ToolError(
                "it leads into this workspace, where the agent writes; keep it elsewhere, or in "
                f"{OF_WORKSPACE[1]!r} of the workspace"
            )
        return real


def folder_names(root: Path) -> tuple[str, ...]:
    """Return the folder names of a workspace's skills, without reading them."""
    places = [root / name for name in OF_WORKSPACE]
    names = [name for place in places for name in _listed(place, root)]
    for place, suffix in COMMANDS:
        names += [_name(path) for path in _commands(root / place, root, suffix)]
    return tuple(dict.fromkeys(names))


def _text_file(place: Path) -> Path:
    """Return the file with a skill's text: a folder's ``SKILL.md``, or a command's file."""
    return place if _is_command(place) else place / FILE_NAME


def _is_there(path: Path) -> bool:
    """Return whether the path exists; a link to another network share does not count."""
    return not leads_abroad(path, (path.parent,)) and path.exists()


def _is_command(place: Path) -> bool:
    """Return whether the path is a command's file, not a skill's folder."""
    return _is_there(place) and place.is_file()


def _name(place: Path) -> str:
    return command_name(place.name) if _is_command(place) else place.name


def _commands(place: Path, root: Path, suffix: str, depth: int = 0) -> list[Path]:
    """Return the command files of a folder and of its subfolders."""
    try:
        entries = list_folder(place, [root])
    except ToolError:
        return []
    found: list[Path] = []
    for one in entries[:MOST_SKILLS]:
        if one.name.startswith("."):
            continue
        if one.is_folder and depth < MOST_DEEP:
            found += _commands(place / one.name, root, suffix, depth + 1)
        elif one.name.endswith(suffix):
            found.append(place / one.name)
    return found[:MOST_SKILLS]


def _listed(place: Path, root: Path | None) -> list[str]:
    names: Iterable[str]
    if root is None:
        names = names_in(place)
    else:
        try:
            names = [one.name for one in list_folder(place, [root])]
        except ToolError:
            return []
    return [one for one in sorted(names) if not one.startswith(".")][:MOST_SKILLS]


def _files(folder: Path, root: Path) -> Iterator[str]:
    """Yield names of files next to a ``SKILL.md``, up to a limit, without links."""
    waiting, n_found = [(folder, 0)], 0
    while waiting:
        at, depth = waiting.pop(0)
        try:
            entries = list_folder(at, [root])
        except ToolError:
            continue
        for entry in entries:
            path = at / entry.name
            if entry.name.startswith(".") or path.is_symlink() or path == folder / FILE_NAME:
                continue
            if entry.is_folder and depth < MOST_DEEP:
                waiting.append((path, depth + 1))
            elif not entry.is_folder:
                n_found += 1
                if n_found > MOST_FILES:
                    yield "… and more"
                    return
                yield path.relative_to(folder).as_posix()
