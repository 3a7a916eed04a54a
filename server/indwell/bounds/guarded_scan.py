"""Scans the guarded files of a workspace before each command and again after it."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from indwell.bounds.git_obeyed_files import GitGuard
from indwell.bounds.planted_files import GuardedLook, settle, without
from indwell.files.disk_names import folds_case, resolved_here
from indwell.files.quarantine import Quarantine, error_reason, named
from indwell.files.spelling import quoted
from indwell.files.system.stub_folders import is_stub
from indwell.files.watch.installed_repositories import MOST_FOLDERS as MOST_INSTALLED
from indwell.files.watch.installed_repositories import MOST_PATH_B, Installed
from indwell.files.watch.new_names import MOST_WATCHED, POLL_S, Listener, NewNames
from indwell.files.watch.tree import MOST_FOLDERS, FoundChanges, Tree, found_at, listings_of
from indwell.policy.guarded_paths import (
    INSIDE,
    SHUT,
    is_bare,
    is_guarded,
    is_minor,
    is_obeyed_by_git,
    is_posing,
    is_repository_sign,
    kind_of,
    ordinary_of,
    topmost,
)
from indwell.policy.paths import is_at_root_unknown, is_installed, is_protected, is_unknown
from indwell.policy.protected_names import AT_ONCE
from indwell.sandbox.confine.strength import strength
from indwell.sandbox.confinement import Guarded, Hear, Hold

_MOST_BEHIND_S = 0.5
_TOO_FAST = (
    "the command created files faster than they could be checked, and could not be paused, so it "
    "was stopped"
)
_TOO_MANY = (
    "the command created more folders than can be watched for protected files, so it was stopped"
)
_TIMES_AFTER = 10
# The time limit, in seconds, for the first scan of installed files. The scan after the command
# continues from there.
_FIRST_S = 0.5


class FolderGuard:
    """Guards one folder of the workspace.

    Args:
        deny: Globs of files that are hidden from commands.
        edits: Globs of files that the user's rules protect from changes.
        harmless: Unknown names that begin with a dot and that the user declares harmless.
        most_folders: The limit of folders, above which no command can be confined.
        most_installed: The same limit, for folders of installed files and commands that may write.
        most_watched: The limit of folders that a command may create before the command is stopped.
        quarantine: The folder for files that a command created without permission.
    """

    def __init__(
        self,
        root: Path,
        deny: tuple[str, ...],
        edits: tuple[str, ...] = (),
        harmless: tuple[str, ...] = (),
        *,
        most_folders: int = MOST_FOLDERS,
        most_installed: int = MOST_INSTALLED,
        most_watched: int = MOST_WATCHED,
        quarantine: Quarantine | None = None,
    ) -> None:
        self._root = root
        self._most_folders = most_folders
        self._most_installed = most_installed
        self._quarantine = quarantine or Quarantine(roots=(root,))
        self._harmless = harmless
        self._folds = folds_case(str(root))
        self._kind = kind_of(deny, edits, harmless, folds=self._folds)
        self._is_ordinary = ordinary_of(deny, edits)
        self._tree = Tree(
            root,
            self._is_wanted,
            SHUT,
            is_ordinary=self._is_ordinary,
            listings=listings_of(root),
        )
        is_sign = functools.partial(is_repository_sign, folds=self._folds)
        self._installed = Installed(str(root), is_sign, most_folders=most_installed)
        self._git = GitGuard(root)
        self._gits: frozenset[str] = frozenset()  # the paths that git obeyed at the last scan
        # The files and folders at the last scan that could become repositories.
        self._repositories: frozenset[str] = frozenset()
        self._one_at_a_time = threading.RLock()
        self._names = NewNames(
            *(str(root), self._is_heard, self._is_entered, self._is_gits_own), most=most_watched
        )
        self._is_told_blind = False

    def close(self) -> None:
        """Stop watching the folder at the end of the session; blocks for a moment."""
        self._names.close()

    def look(
        self,
        *,
        only_git: bool = False,
        installs: bool = False,
        keeps_git: bool = False,
        is_writable: bool = True,
    ) -> Guarded:
        """Find the guarded paths; blocks for a millisecond per thousand folders.

        Args:
            only_git: Whether only the files that git obeys are protected.
            installs: Whether the command may change programs that are installed in the workspace.
            keeps_git: Whether the command may change nothing in git's own folders.
            is_writable: Whether the command may write in this folder.
        """
        before = _less_installed(self.seen(is_before=True), is_left_out=installs)
        self._names.follow(self._watched())
        if reason := self._why_not(before, is_writable=is_writable):
            return Guarded(refused=reason)
        open_ones = {path: one for path, one in before.found.items() if not before.is_closed(path)}
        hidden = [one for one in open_ones.values() if self._is_hidden(one)]
        # A commit changes a `.git` folder, so `before` lists the files that git obeys in it one by
        # one.
        shut = [
            one
            for path, one in open_ones.items()
            if not (_is_repository(one) or before.is_head(path))
            and one not in hidden
            and (not only_git or path in before.git or before.is_git(path) or self._is_denied(path))
        ]
        named = self._tree.other_names(open_ones.values())
        secret = {path for path, one in named.items() if one in hidden}
        others = {
            path for path, one in named.items() if one in shut and path not in open_ones
        } - secret
        gits = tuple(_gits_folders(before)) if keeps_git else ()
        kept = topmost([*(one.path for one in shut if not one.leads_to), *others, *gits])
        sure = {*before.git, *before.ends, *before.odd, *others, *gits}
        minor = [
            one for one in kept if (one not in sure and not _is_obeyed(one)) or _is_in_shut(one)
        ]
        major = [path for path in kept if path not in minor]
        copies = self._git.copies(open_ones, before.git)
        missing = () if only_git else tuple(one for one in AT_ONCE if one not in open_ones)

        # A command that cannot create these folders did not create the new ones, so the user did.
        unmade = missing if strength().is_whole else ()

        def look_so_far() -> GuardedLook:
            return _for_now(without(look_again(), unmade))

        def look_again() -> GuardedLook:
            return _less_installed(self.seen(), is_left_out=installs)

        def settle_now(*, so_far: bool) -> tuple[str, ...]:
            with self._one_at_a_time:  # Without the lock, two scans would move the same files.
                look = look_so_far if so_far else look_again
                notes = settle(
                    *(self._root, before, look, self._quarantine, copies),
                    only_git=only_git,
                    so_far=so_far,
                )
            return notes if so_far else (*notes, *self._blind_words())

        def settle_heard(paths: frozenset[str]) -> tuple[str, ...]:
            """Move reported files away before the full scan, which takes longer."""
            new = () if only_git else _new_ones(before, paths)

            def look_at_new() -> GuardedLook:
                look = without(self._with(before, new), unmade)
                return _less_installed(look, is_left_out=installs)

            with self._one_at_a_time:
                return settle(
                    *(self._root, before, look_at_new, self._quarantine, copies), so_far=True
                )

        def watched(hear: Hear, hold: Hold) -> AbstractContextManager[None]:
            listener = self._listener(before, hear, hold, settle_heard, settle_now)
            return self._names.heard_by(listener)

        return Guarded(
            protected=(
                *self._whole(major),
                *self._ends(one for one in shut if one.leads_to),
            ),
            minor=tuple(self._whole(minor)),
            missing=tuple(self._whole(missing)),
            hidden=(
                *self._whole(one.path for one in hidden if not one.leads_to),
                *self._ends(one for one in hidden if one.leads_to),
                *self._whole(secret),
                *self._whole(before.closed),
            ),
            settle=lambda: settle_now(so_far=False),
            settle_so_far=lambda: settle_now(so_far=True),
            watched=watched,
        )

    def seen(self, *, is_before: bool = False) -> GuardedLook:
        """Return all guarded paths, relative to the folder; blocks.

        Args:
            is_before: Whether a command is about to begin. Repositories among installed files are
                then taken from the last scan.
        """
        with self._one_at_a_time:
            return self._seen(is_before=is_before)

    def _seen(self, *, is_before: bool) -> GuardedLook:
        # A planted file can have any number of folders around it.
        look = self._tree.look(self._most_folders * (1 if is_before else _TIMES_AFTER))
        tops = self._tree.shut_folders()
        signs = self._installed.known(tops, _FIRST_S) if is_before else self._installed.look(tops)
        deep = (found_at(str(self._root), path) for path in signs.paths)
        wanted = [one for one in (*look.found, *filter(None, deep)) if not self._is_stub(one)]
        found = {one.path: one for one in wanted if self._is_listed(one)}
        odd = {one.path: one for one in _odd(wanted, self._harmless) if one.path not in found}
        led = dict(self._led_to(found.values()))
        repositories = self._git.names(found.values())
        names = frozenset(name for each in repositories.values() for name in each)
        self._gits = names
        self._repositories = frozenset(filter(self._may_begin_one, found))
        by_git = {one.path: one for one in self._git.there(names)}
        linked = dict(self._led_to(by_git.values()))
        there = {path: one for path, one in {**odd, **led, **linked}.items() if one is not None}
        return GuardedLook(
            found={**there, **found, **by_git},
            git=frozenset((*names, *by_git, *linked)),
            repositories=repositories,
            ends=frozenset(led),
            odd=frozenset(odd),
            todos=self._git.todos(names),
            closed=(*look.unreadable, *signs.closed),
            is_whole=(
                look.is_whole
                and look.n_folders <= self._most_folders
                and (is_before or (signs.is_whole and signs.n_folders <= self._most_installed))
            ),
            n_installed=signs.n_folders,
            too_deep=(*look.too_deep, *signs.too_deep),
            folds=self._folds,
        )

    def _led_to(self, found: Iterable[FoundChanges]) -> Iterator[tuple[str, FoundChanges | None]]:
        """Return the targets of protected links beneath the folder, even if they do not exist."""
        for one in found:
            if not one.leads_to or is_installed(one.path) or self._is_hidden(one):
                continue
            with contextlib.suppress(OSError, RuntimeError, ValueError):
                real = resolved_here(self._root / one.path, (self._root,))
                if real.is_relative_to(self._root) and real != self._root:
                    at = real.relative_to(self._root).as_posix()
                    yield at, found_at(str(self._root), at)

    def _watched(self) -> Iterator[str]:
        """Return the folders in which a file with a protected name could appear."""
        yield from self._tree.folders
        for name in self._gits:
            yield from (name.rpartition("/")[0], name)

    def _listener(
        self,
        before: GuardedLook,
        hear: Hear,
        hold: Hold,
        settle_heard: Callable[[frozenset[str]], tuple[str, ...]],
        settle_now: Callable[..., tuple[str, ...]],
    ) -> Listener:
        """Return the callbacks of the folder watch for one command."""

        def heard(paths: frozenset[str]) -> None:
            _tell(hear, lambda: settle_heard(paths))

        def look() -> bool:
            if self._names.is_full and before.is_whole:
                hear((_TOO_MANY,))
            _tell(hear, lambda: settle_now(so_far=True))
            return self._is_begun(before)

        def behind(seconds: float) -> None:
            if not hold(str(self._root), is_still=seconds > 0) and seconds > _MOST_BEHIND_S:
                hear((_TOO_FAST,))

        return Listener(heard, look, behind)

    def _is_begun(self, before: GuardedLook) -> bool:
        """Return whether there is a new or incomplete repository in which nothing runs yet."""
        return not self._repositories <= before.found.keys() or not self._gits <= before.git

    def _with(self, look: GuardedLook, paths: Iterable[str]) -> GuardedLook:
        """Return the scan's result, updated with the present state of these paths."""
        there = (found_at(str(self._root), one) for one in paths)
        found = {one.path: one for one in there if one is not None}
        return msgspec.structs.replace(look, found={**look.found, **found})

    def _is_heard(self, path: str) -> bool:
        """Return whether a full scan is needed when a file of this name appears."""
        if _is_in(self._gits, path):
            return True
        if all(map(self._is_ordinary, path.split("/"))):
            return False  # a command can create very many files with such a name
        if path in AT_ONCE and is_stub(self._root / path):
            return False  # Indwell itself created the folder for a command
        inner = _inside_git(path)
        if inner:
            return is_obeyed_by_git(inner) or inner.rpartition("/")[2].casefold() in _GITS_OWN
        return is_protected(path) or self._may_begin_one(path) or is_posing(path)

    def _may_begin_one(self, path: str) -> bool:
        return _is_git(path) or is_bare(path.rpartition("/")[2], folds=self._folds)

    def _is_entered(self, path: str) -> bool:
        """Return whether a file with a protected name could appear in a new folder of this path."""
        above, _, name = path.casefold().rpartition("/")
        if inner := _inside_git(path):
            first, is_deeper = inner.casefold().partition("/")[::2]
            is_gits = first in _WITH_NAMES and not is_deeper
            return is_gits or (first in _WITH_GITS and name not in _WITHOUT_NAMES)
        return not any(one in SHUT for one in above.split("/"))

    def _is_gits_own(self, folder: str) -> bool:
        """Return whether the files of this folder decide which programs git runs."""
        is_above = any(one.rpartition("/")[0] == folder for one in self._gits)
        return is_above or bool(_inside_git(f"{folder}/x"))

    def _blind_words(self) -> tuple[str, ...]:
        """Return a notice, only the first time, why new files in this folder are noticed late."""
        reason = self._names.blind
        if not reason or self._is_told_blind:
            return ()
        self._is_told_blind = True
        words = (
            f"new files are checked only every {POLL_S:g} s while commands run here: {reason}; a "
            "forbidden file stays until the next check; raise fs.inotify.max_user_watches to "
            "change that"
        )
        return (words,)

    def _why_not(self, before: GuardedLook, *, is_writable: bool) -> str:
        """Return the reason why commands cannot be confined in this folder, or an empty text."""
        if "" in before.closed:
            return f"{quoted(self._root)} cannot be read"
        if is_writable and before.n_installed > self._most_installed:
            return (
                f"{quoted(self._root)} holds more than {self._most_installed:,} folders of "
                "installed files (such as node_modules), which is too large to check for files "
                "that a command hides there; a command that only reads still runs"
            )
        if before.too_deep:
            return (
                f"{quoted(self._root)} contains a folder that is too deep to check, as its path "
                f"is longer than {MOST_PATH_B:,} bytes: {named(before.too_deep[0])}; the user can "
                "remove it or move it to another place"
            )
        if before.is_whole:
            return ""
        return (
            f"{quoted(self._root)} holds more than {MOST_FOLDERS:,} folders, or a million files, "
            "which is too large to check for secret and protected files"
        )

    def _is_wanted(self, path: str) -> bool:
        is_kind = bool(self._kind(path)) or self._kind(f"{path}/{INSIDE}") == "hidden"
        return is_kind or is_unknown(path.rpartition("/")[2]) or is_posing(path)

    def _is_listed(self, one: FoundChanges) -> bool:
        is_kind = bool(self._kind(one.path))
        return is_kind or (bool(one.leads_to) and self._kind(f"{one.path}/{INSIDE}") == "hidden")

    def _is_hidden(self, one: FoundChanges) -> bool:
        """Return whether the path is secret, or links to a folder with only secret content."""
        is_secret = self._is_secret(one.path)
        return is_secret or (bool(one.leads_to) and self._is_secret(f"{one.path}/{INSIDE}"))

    def _is_secret(self, path: str) -> bool:
        return self._kind(path) == "hidden"

    def _is_denied(self, path: str) -> bool:
        return self._kind(path) == "denied"

    def _is_stub(self, one: FoundChanges) -> bool:
        return one.path in AT_ONCE and one.is_folder and is_stub(self._root / one.path)

    def _whole(self, paths: Iterable[str]) -> Iterator[str]:
        return (str(self._root / path) for path in paths)

    def _ends(self, links: Iterable[FoundChanges]) -> Iterator[str]:
        """Return the targets in the workspace to which these links lead."""
        for one in (one for one in links if not (is_installed(one.path) or is_posing(one.path))):
            with contextlib.suppress(OSError, RuntimeError):
                real = resolved_here(self._root / one.path, (self._root,), strict=True)
                if real.is_relative_to(self._root) and real != self._root:
                    yield str(real)


def _tell(hear: Hear, look: Callable[[], tuple[str, ...]]) -> None:
    """Scan, and pass the resulting sentences to ``hear``."""
    try:
        if notes := look():
            hear(notes)
    except Exception as error:  # noqa: BLE001 - the look at the end tries again, or shuts the gate
        hear((f"new files could not be checked so far ({error_reason(error)})",))


def _new_ones(look: GuardedLook, paths: Iterable[str]) -> tuple[str, ...]:
    """Return new paths that are guarded by name alone; new repositories are skipped."""
    new = (one for one in paths if one not in look.found)
    return tuple(
        one for one in new if (is_protected(one) and not look.is_git(one)) or _is_in(look.git, one)
    )


def _is_in(names: Collection[str], path: str) -> bool:
    """Return whether the path is one of these files, or in one of these folders."""
    return path in names or path.rpartition("/")[0] in names


def _for_now(look: GuardedLook) -> GuardedLook:
    """Return the result without unknown names at the root, which are checked after the command."""
    found = {
        path: one
        for path, one in look.found.items()
        if path in look.git or is_protected(path) or not is_at_root_unknown(path)
    }
    return msgspec.structs.replace(look, found=found)


_GITS_OWN = frozenset({"head", "git-rebase-todo"})
_WITH_NAMES = frozenset({"hooks", "info", "rebase-merge"})
_WITH_GITS = frozenset({"modules", "worktrees"})
_WITHOUT_NAMES = frozenset({"objects", "refs", "logs"})


def _inside_git(path: str) -> str:
    """Return a path relative to the innermost `.git` folder that contains it, or an empty text."""
    parts = path.split("/")
    at = max((at for at, one in enumerate(parts) if one.casefold() == ".git"), default=len(parts))
    return "/".join(parts[at + 1 :])


def _is_in_shut(path: str) -> bool:
    """Return whether the path is in a folder of installed files, which may be very large."""
    *folders, _ = path.split("/")
    return any(name in SHUT and name != ".git" for name in folders)


def _is_repository(one: FoundChanges) -> bool:
    return one.is_folder and _is_git(one.path)


def _is_obeyed(path: str) -> bool:
    """Return whether some program loads the file at this path automatically."""
    return is_guarded(path) and not is_minor(path)


def _odd(found: Sequence[FoundChanges], harmless: tuple[str, ...]) -> Iterator[FoundChanges]:
    """Return paths that need a scan: dot names of nested repositories, and moved programs."""
    roots = {one.path.rpartition("/")[0] for one in found if _is_git(one.path)}
    for one in found:
        folder, _, name = one.path.rpartition("/")
        is_led = is_posing(one.path) and not one.is_folder
        if is_led or (folder in roots and is_unknown(name, harmless)):
            yield one


def _less_installed(look: GuardedLook, *, is_left_out: bool) -> GuardedLook:
    """Return the result without the programs that the command is allowed to install."""
    if not is_left_out:
        return look
    found = {
        path: one for path, one in look.found.items() if not (is_installed(path) or is_posing(path))
    }
    return msgspec.structs.replace(look, found=found)


def _gits_folders(look: GuardedLook) -> Iterator[str]:
    """Return git's own folders beneath the root, whatever their names."""
    for path, one in look.found.items():
        folder, _, name = path.rpartition("/")
        is_head = is_bare(name, folds=look.folds)
        if _is_repository(one) or (is_head and f"{folder}/config" in look.git):
            yield path if one.is_folder else folder


def _is_git(path: str) -> bool:
    return path.rpartition("/")[2] == ".git"
