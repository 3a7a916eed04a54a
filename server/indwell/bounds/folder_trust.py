"""Decides which workspace folders are trusted, by the user's answers and the content.

Without a readable answer, a folder is restricted.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from indwell import edges
from indwell.bounds.rules import UNREADABLE, TrustNow
from indwell.context.untrusted_text import one_line
from indwell.errors import SettingsError
from indwell.policy.paths import is_inside
from indwell.policy.trust import State, TrustStanding, is_unchanged, nearest
from indwell.sandbox.environment import own_installation
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder, trusted_folders
from indwell.settings.trust_store import TrustStore, unread
from indwell.settings.trusted_files import FolderAnswer, TrustedFile, digest_of
from indwell.workspace.executable_files import executables, folder_instructions, known_file
from indwell.workspace.executable_places import Executable
from indwell.workspace.git.repository import GitPlaces, git_places

UNSAID = "you have not trusted it"
MOST_MET = 300  # Digests of this many files take some 30 ms.


class _TrustKey(NamedTuple):
    """The inputs of ``TrustNow``; a check replaces the key's values and never changes them."""

    roots: tuple[Path, ...]
    real: tuple[Path, ...]
    standings: Mapping[str, TrustStanding]
    said_no: tuple[str, ...]
    git: Mapping[str, GitPlaces]

    def is_same(self, other: _TrustKey) -> bool:
        return self[:2] == other[:2] and all(map(operator.is_, self[2:], other[2:]))


def _trust_now(key: _TrustKey) -> TrustNow:
    unseen = TrustStanding("", "restricted", "")
    known = [key.standings.get(str(one)) or unseen for one in key.real]
    folders = tuple(zip(key.roots, key.real, known, strict=True))
    left = [(root, real) for root, real, one in folders if one.state != "trusted"]
    asked = [str(real) for _, real, one in folders if not (one.state == "trusted" and one.is_whole)]
    inner = [one for one in key.said_no if one not in asked and is_inside(one, tuple(asked))]
    places = [key.git.get(str(one), GitPlaces()) for one in key.real]
    unknown = [str(real) for _, real, one in folders if one.git_is_unknown]
    return TrustNow(
        tuple(root for root, _, one in folders if one.state == "trusted"),
        tuple(dict.fromkeys((*(str(one) for both in left for one in both), *inner))),
        tuple(dict.fromkeys(path for one in places for path in (*one.folders, *one.obeyed))),
        tuple(dict.fromkeys(path for one in places for path in one.holders)),
        tuple(dict.fromkeys(unknown)),
    )


class FolderTrust:
    """Checks whether folders are trusted, and stores the user's answers.

    Args:
        environment: The process's environment variables, which may name the state folder.
        is_given: Whether an option of the command line trusts all folders for this process.
    """

    def __init__(self, environment: Mapping[str, str], *, is_given: bool = False) -> None:
        self._environment = environment
        self._is_given = is_given
        self._held_back = ""
        self._bare: Mapping[str, str] = {}
        self._here: dict[str, FolderAnswer] = {}  # the answers that apply to this process only
        # The user's folder for each worktree, with the file ``.git`` that git made.
        self._copies: dict[str, tuple[Path, Executable | None]] = {}
        self._standings: dict[str, TrustStanding] = {}
        self._said_no: tuple[str, ...] = ()
        self._git: dict[str, GitPlaces] = {}
        # Names of instruction files of subfolders that the agent met and left out, by folder.
        self._met: dict[str, frozenset[str]] = {}
        self._known: tuple[_TrustKey, TrustNow] | None = None

    def hold_back(self, why: str) -> None:
        """Treat every folder as untrusted from now on, because of the editor's restricted mode."""
        self._held_back = why

    def let_edit(self, roots: Sequence[Path], by: str) -> None:
        """Let these folders be changed, and commands run, if the user has not declined.

        Indwell obeys and starts nothing of these folders before the user's own answer (TRU-12). A
        folder that a link leads to later does not count.

        Args:
            roots: The folders.
            by: Who trusts the folders, in words.
        """
        self._bare = {**self._bare, **{str(root.resolve()): by for root in roots}}

    def trust_copy(self, worktree: Path, folder: Path, pointer: Path | None = None) -> None:
        """Trust a worktree like its folder, while hooks, settings and instructions are equal.

        Args:
            worktree: The folder of a session.
            folder: The user's folder that was copied.
            pointer: The file ``.git`` of the copy, which the caller has checked.
        """
        root = worktree.resolve()
        made = None
        if pointer is not None:
            made = known_file(root, pointer, "programs", [pointer.parent])
        self._copies = {**self._copies, str(root): (folder.resolve(), made)}

    def is_copy(self, folder: str) -> bool:
        """Return whether a folder, a real path, is a worktree; see ``trust_copy``."""
        return folder in self._copies

    def lets_edit(self, folder: str) -> bool:
        """Return whether the editor's user trusts this folder, a real path; see ``let_edit``."""
        return folder in self._bare

    def look(self, roots: Sequence[Path], settings: Settings) -> tuple[TrustStanding, ...]:
        """Examine folders and remember the result; blocks for a few milliseconds per folder.

        Raises:
            SettingsError: The user's setting ``trusted`` is invalid.
        """
        named = trusted_folders(settings.trusted)
        found = tuple(self._look(root.resolve(), named) for root in roots)
        # Set the git paths first, because a concurrent decision must not trust a folder without
        # them.
        self._git = {**self._git, **{one.folder: _git_of(Path(one.folder)) for one in found}}
        self._standings = {**self._standings, **{one.folder: one for one in found}}
        return found

    def shown(self, standing: TrustStanding) -> TrustStanding:
        """Add the instruction files of subfolders to the trust ``standing``, for a question."""
        return with_folders(standing, self._said_no_in(standing.folder))

    def answer(self, standing: TrustStanding, *, trusted: bool, keep: bool = True) -> None:
        """Store the user's answer for the folder with the content in ``standing``.

        Raises:
            SettingsError: The answer cannot be stored; it applies only while this process runs.
        """
        said = answer_of(standing, trusted=trusted)
        if standing.is_bare and not keep:
            return  # nobody answered, so the files stay left out
        self._here[standing.folder] = said
        if keep:
            self._store().keep(Path(standing.folder), said)
            del self._here[standing.folder]

    def now(self, roots: Sequence[Path]) -> TrustNow:
        """Return the trust in the folders ``roots``, as last examined."""
        # the path may be a link whose target has changed
        real = tuple(root.resolve() for root in roots)
        key = _TrustKey(tuple(roots), real, self._standings, self._said_no, self._git)
        if self._known is None or not key.is_same(self._known[0]):
            self._known = key, _trust_now(key)
        return self._known[1]

    def is_trusted(self, root: Path) -> bool:
        """Return whether the folder was trusted when it was last examined."""
        return self._standing(root).state == "trusted"

    def obeys(self, root: Path, name: str, data: bytes) -> bool:
        """Return whether instructions in a file of ``root`` with this content are trusted."""
        standing = self._standing(root)
        if standing.state != "trusted" or standing.is_bare:
            return False
        digest = digest_of(data)
        if standing.is_whole or any(
            one.name == name and one.seen.digest == digest for one in standing.items
        ):
            return True
        # The file may be a subfolder's instructions, which the user trusted.
        kept = (standing.before or {}).get(name)
        return kept is not None and kept.digest == digest

    def leave_out(self, root: Path, name: str) -> None:
        """Remember an instruction file that was not obeyed, so that the user can decide about it.

        Only a folder that the editor's user trusts has a place for that decision (TRU-12).
        """
        folder = str(root.resolve())
        met = self._met.get(folder, frozenset())
        if folder in self._bare and len(met) < MOST_MET:
            self._met = {**self._met, folder: met | {name}}

    def may_start(self, root: Path) -> bool:
        """Return whether Indwell may start checks and servers by itself in the folder.

        Indwell may not do so while the user has not decided on the folder's own files.
        """
        standing = self._standing(root)
        return standing.state == "trusted" and not (standing.is_bare and standing.items)

    def is_whole(self, root: Path) -> bool:
        """Return whether the user trusts the folder with any content."""
        standing = self._standing(root)
        return standing.state == "trusted" and standing.is_whole

    def _standing(self, root: Path) -> TrustStanding:
        folder = str(root.resolve())
        return self._standings.get(folder) or TrustStanding(folder, "restricted", "not looked at")

    def _look(self, root: Path, named: Sequence[Path]) -> TrustStanding:
        folder = str(root)
        if (copied := self._copies.get(folder)) is not None:
            of, pointer = copied
            return self._look_at_copy(root, self._look(of, named), pointer)
        if self._held_back:
            return TrustStanding(
                folder, "restricted", self._held_back, remedy="trust it in the editor"
            )
        if self._is_given:
            return TrustStanding(folder, "trusted", "--trust", is_whole=True)
        if any(root.is_relative_to(one) for one in named):
            return TrustStanding(folder, "trusted", "`trusted` in your settings", is_whole=True)
        try:
            kept = self._store().read()
        except SettingsError as error:
            kept = unread(error)
        if kept.problem and folder not in self._here:
            return TrustStanding(folder, "restricted", kept.problem, remedy=kept.remedy)
        answers = {**kept.folders, **self._here}
        decided = {one: said for one, said in answers.items() if not said.is_left_out}
        self._said_no = tuple(one for one, said in decided.items() if not said.trusted)
        try:
            standing = standing_of(root, decided)
        except UNREADABLE as error:
            words = f"its files could not be checked ({one_line(str(error))})"
            return TrustStanding(
                folder, "restricted", words, remedy="look at its `.git` and settings"
            )
        return self._bared(standing, answers.get(folder))

    def _look_at_copy(
        self, root: Path, of: TrustStanding, pointer: Executable | None
    ) -> TrustStanding:
        """Return the trust in a worktree; ``of`` is the trust in the folder that was copied."""
        folder = str(root)
        if of.state != "trusted" or of.is_whole:
            state: State = "trusted" if of.state == "trusted" else "restricted"
            return msgspec.structs.replace(of, folder=folder, state=state)
        said = {**self._store().read().folders, **self._here}.get(folder)
        if said is not None:
            return standing_of(root, {folder: said})
        try:
            items = executables(root)
        except UNREADABLE as error:
            return TrustStanding(folder, "restricted", one_line(str(error)))
        by = Path(of.folder)
        # Git's files have relative names in the folder, and absolute names in the worktree.
        at = {str(by / one.name): one.seen for one in of.items}
        before = {one.name: seen for one in items if (seen := at.get(str(by / one.name)))}
        if pointer is not None:
            before[pointer.name] = pointer.seen
        if is_unchanged(before, items):
            return msgspec.structs.replace(of, folder=folder, items=items, before=before, met=())
        return TrustStanding(folder, "open", "its files changed in the worktree", items, before)

    def _bared(self, standing: TrustStanding, said: FolderAnswer | None) -> TrustStanding:
        """Return the trust that the editor reports; an answer to Indwell takes precedence."""
        by = self._bare.get(standing.folder)
        if by is None or standing.state == "restricted":
            return standing
        met = self._met_in(standing)
        if standing.state == "trusted":
            before = standing.before or {}
            new = tuple(one for one in met if not is_unchanged(before, (one,)))
            return msgspec.structs.replace(standing, met=new)
        is_left_out = said is not None and said.is_left_out
        files = said.files if said is not None else {}
        return TrustStanding(
            standing.folder,
            "trusted",
            by,
            standing.items,
            standing.before,
            is_bare=True,
            is_settled=is_left_out and is_unchanged(files, (*standing.items, *met)),
            met=met,
        )

    def _met_in(self, standing: TrustStanding) -> tuple[Executable, ...]:
        """Return the met instruction files as they are now, which no list of names contains."""
        folder, known = Path(standing.folder), {one.name for one in standing.items}
        names = sorted(self._met.get(standing.folder, frozenset()) - known)
        shut = self._said_no_in(standing.folder)
        paths = (folder / name for name in names if not is_inside(str(folder / name), shut))
        found = (known_file(folder, path, "instructions") for path in paths)
        return tuple(one for one in found if one is not None)

    def _said_no_in(self, folder: str) -> tuple[str, ...]:
        """Return the folders below ``folder`` that the user declined."""
        return tuple(one for one in self._said_no if one != folder and is_inside(one, (folder,)))

    def _store(self) -> TrustStore:
        return TrustStore(state_folder(self._environment))


def _git_of(root: Path) -> GitPlaces:
    """Return the files that git runs or obeys in a folder, and Indwell's installation there."""
    try:
        places = git_places(root)
    except UNREADABLE:
        # There are too many repositories, so the user is asked about each change.
        return GitPlaces(obeyed=(str(root),))
    obeyed = (*places.obeyed, *map(str, own_installation([root])))
    return msgspec.structs.replace(places, obeyed=obeyed)


def standing_of(root: Path, answers: Mapping[str, FolderAnswer]) -> TrustStanding:
    """Return the trust in a folder, from the user's answers about the folder and its parents."""
    folder, items = str(root), executables(root)
    unknown = next((one.name for one in items if not one.seen.digest), "")
    if unknown:
        return TrustStanding(
            folder,
            "restricted",
            f"{unknown!r} is too large to check",
            items,
            remedy="look at it, and name the folder in `trusted` of your settings",
        )
    by = nearest(folder, answers)
    if by is None:
        return TrustStanding(folder, "open", UNSAID, items)
    said = answers[by]
    if not said.trusted:
        return TrustStanding(folder, "restricted", f"your answer of {said.at[:10]}", items)
    if by == folder:
        if is_unchanged(said.files, items):
            return TrustStanding(
                folder, "trusted", f"your answer of {said.at[:10]}", items, said.files
            )
        return TrustStanding(
            folder, "open", "its files changed since you trusted it", items, said.files
        )
    # The parent's trusted content is unchanged, and this folder has no other files to trust.
    own = [one for one in items if not Path(one.name).is_absolute()]
    if not own and is_unchanged(said.files, executables(Path(by))):
        return TrustStanding(folder, "trusted", f"your answer about {by}", items)
    return TrustStanding(folder, "open", UNSAID, items)


def with_folders(standing: TrustStanding, apart: tuple[str, ...] = ()) -> TrustStanding:
    """Add the instruction files of all subfolders to the trust ``standing``, for a question.

    ``apart`` are absolute folders whose files stay ignored, whatever the answer is.
    """
    if standing.is_whole:
        return standing
    folder, known = Path(standing.folder), {one.name for one in standing.items}
    nested = {one.name: one for one in (*standing.met, *folder_instructions(folder))}
    found = (
        one
        for one in nested.values()
        if one.name not in known and not is_inside(str(folder / one.name), apart)
    )
    items = sorted((*standing.items, *found), key=lambda one: one.name)
    return msgspec.structs.replace(standing, items=tuple(items))


def answer_of(standing: TrustStanding, *, trusted: bool) -> FolderAnswer:
    """Return the stored form of an answer, with the content that is trusted."""
    at = edges.now().isoformat(timespec="seconds")
    is_left_out = standing.is_bare and not trusted
    files: Mapping[str, TrustedFile] = (
        {one.name: one.seen for one in standing.items} if trusted or is_left_out else {}
    )
    return FolderAnswer(trusted, at, files, is_left_out)
