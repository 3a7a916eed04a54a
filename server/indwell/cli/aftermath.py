"""What a confined command did to guarded files although it may not: put aside, and said.

Mounts hold what is there when a command begins. Names that it makes only then, and files whose
mount was lost because the editor saved them meanwhile, are looked at here.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

from indwell.errors import ToolError
from indwell.files.aside import put_aside, put_link
from indwell.files.listing import exists
from indwell.files.reading import read_bytes
from indwell.files.tree import Found
from indwell.policy.guarded import BARE, is_guarded, is_set_aside, set_aside_name, topmost
from indwell.workspace.git_config import executing

log = logging.getLogger(__name__)

_MOST_B = 1 << 20
SAMPLE = ".sample"  # git makes such hooks, and runs none


def settle(root: Path, before: Mapping[str, Found], after: Mapping[str, Found]) -> tuple[str, ...]:
    """Put aside what is new, and put back links; a sentence for each change. Blocks."""
    notes = tuple(_settled(root, before, after))
    for note in notes:
        log.warning("%s", note)
    return notes


def _settled(root: Path, before: Mapping[str, Found], after: Mapping[str, Found]) -> Iterator[str]:
    for path, was in before.items():
        now = after.get(path)
        if not is_guarded(path) or _is_same(was, now):
            continue
        if was.leads_to:
            yield _put_back(root, was, now)
        elif now is not None:
            yield f"{path!r} changed while the command ran, which it may not change; tell the user"
        elif not any(path.startswith(f"{one}/") and one not in after for one in before):
            yield f"{path!r} is gone, which commands may not remove; tell the user"
    for path in topmost(path for path in after if path not in before and is_guarded(path)):
        if _is_harmless(root, path, after):
            continue
        if is_set_aside(path):
            yield _put_aside(root, path)
        else:
            yield f"the command made {path!r}; look at it before anything obeys it"


def _is_same(was: Found, now: Found | None) -> bool:
    return now is not None and (now.stamp, now.leads_to) == (was.stamp, was.leads_to)


def _is_harmless(root: Path, path: str, after: Mapping[str, Found]) -> bool:
    """Is it a repository, or a part of one, that runs nothing?"""
    if path.rpartition("/")[2] == BARE:
        folder = path.removesuffix(BARE)
        is_elsewhere = exists(root / f"{folder}commondir")
        has_own = exists(root / f"{folder}config")
        return not is_elsewhere and (not has_own or _runs_nothing(root, f"{folder}config"))
    inside = [one for one in after if one == path or one.startswith(f"{path}/")]
    if ".git" not in path.split("/"):
        return False
    for one in inside:
        name = one.rpartition("/")[2]
        is_hook = "/hooks/" in one
        if is_hook and not name.endswith(SAMPLE):
            return False
        if name in {"commondir", "modules", "attributes"} or after[one].leads_to:
            return False
        if name in {"config", "config.worktree"} and not _runs_nothing(root, one):
            return False
        if name == ".git" and not after[one].is_folder:
            return False
    return True


def _runs_nothing(root: Path, path: str) -> bool:
    try:
        data = read_bytes(root / path, (root,), _MOST_B)
    except ToolError:
        return False
    return not executing(data.decode("utf-8", "replace")).lines


def _put_aside(root: Path, path: str) -> str:
    name = path.rpartition("/")[2]
    try:
        now = put_aside(root, path, set_aside_name(name))
    except (OSError, ToolError) as error:
        return (
            f"the command made {path!r}, which it may not, and it could not be put aside: {error}"
        )
    if now is None:
        return f"the command made {path!r}, which it may not; it is gone again"
    return (
        f"the command made {path!r}, which editors, agents, shells or git may obey, so it was "
        f"renamed to {now!r}; tell the user, who can give it back its name"
    )


def _put_back(root: Path, was: Found, now: Found | None) -> str:
    said = f"the link {was.path!r} was replaced, which commands may not do; it is as it was"
    with contextlib.suppress(OSError, ToolError):
        aside = None
        if now is not None:
            aside = put_aside(root, was.path, set_aside_name(was.path.rpartition("/")[2]))
        put_link(root, was.path, was.leads_to)
        return f"{said}, and what replaced it is now {aside!r}" if aside else said
    return f"the link {was.path!r} was replaced, which commands may not do; tell the user"
