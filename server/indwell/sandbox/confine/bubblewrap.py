"""Builds bubblewrap's arguments for a command: namespaces, and mounts in order. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

import msgspec

from indwell.errors import ToolError
from indwell.sandbox.confinement import Confinement

MOST_MOUNTS = 500
"""The limit of protected and hidden paths together, with the folders above them.

If there are more, no command runs. 20 paths take 2 ms, 64 take 11, 150 take 43, 300 take 140, 500
take 350, because bubblewrap reads the list of all mounts again for each path.
"""

_EMPTY_B = 4096
# A temporary file system has at most 512 MiB, because the limits do not count its memory.
_TEMPORARY_B = 512 << 20
_SCRATCH = "/tmp"  # noqa: S108 - the path in the sandbox, private there

ENVIRONMENT: Mapping[str, str] = {
    "TMPDIR": _SCRATCH,
    "XDG_CACHE_HOME": f"{_SCRATCH}/.cache",
    "GOCACHE": f"{_SCRATCH}/.cache/go-build",
    "UV_CACHE_DIR": f"{_SCRATCH}/.cache/uv",
    "npm_config_cache": f"{_SCRATCH}/.cache/npm",
}
"""Folders in which programs can write their own files, because the home folder is read-only."""


class SandboxHost(msgspec.Struct, frozen=True):
    """The properties of this machine that bubblewrap's arguments depend on.

    Attributes:
        bwrap: The bubblewrap program.
        covers: Parts of /proc to cover, because root can write there without any capability.
        temporary: Folders that get an empty file system, such as /run and /var/tmp.
        kept: Folders inside ``temporary`` folders or /tmp that contain programs.
        binds_handles: Whether bubblewrap can mount open descriptors, so that no path can be
            replaced by a link.
    """

    bwrap: str
    covers: tuple[str, ...] = ("/proc/sys",)
    temporary: tuple[str, ...] = ("/run", "/var/tmp")  # noqa: S108 - in the sandbox
    kept: tuple[str, ...] = ()
    binds_handles: bool = False


def arguments(
    host: SandboxHost,
    bounds: Confinement,
    folders: frozenset[str],
    *,
    cwd: str,
    filter_fd: int,
    handles: Mapping[str, int] | None = None,
    status_fd: int | None = None,
) -> tuple[str, ...]:
    """Build the arguments that precede a confined command.

    Args:
        host: This machine.
        bounds: The command's bounds.
        folders: The hidden paths that are folders.
        cwd: The command's working directory.
        filter_fd: The descriptor to read the system-call filter from.
        handles: Open descriptors of ``bound_places``; paths without a descriptor are left out. With
            None, bubblewrap cannot take descriptors and gets paths.
        status_fd: The descriptor for bubblewrap's status report.
    """
    status = () if status_fd is None else ("--json-status-fd", str(status_fd))
    before, after = _split(bounds.hidden, (*_visible(bounds), *bounds.writable))
    layers = (*_layers(bounds, before, folders), *_guard(bounds, after, folders, handles))
    return (
        host.bwrap,
        *("--ro-bind", "/", "/", "--dev", "/dev", "--perms", "1777", "--size", str(_TEMPORARY_B)),
        *("--tmpfs", "/dev/shm", "--remount-ro", "/dev", "--proc", "/proc"),  # noqa: S108 - inside
        *_each("--ro-bind", host.covers),
        *_scratch(bounds, host.kept),
        *_empty(host.temporary),
        *_each("--ro-bind", host.kept),
        *layers,
        *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *("--unshare-net", "--cap-drop", "ALL", "--new-session", "--die-with-parent"),
        *status,
        *("--seccomp", str(filter_fd), "--chdir", cwd, "--"),
    )


def fitting(bounds: Confinement) -> Confinement:
    """Keep as many minor protected paths as the limit allows.

    Raises:
    ToolError: The other paths alone exceed the limit.
    """
    taken = set(bound_places(bounds))
    n_hidden, room = len(bounds.hidden), MOST_MOUNTS - len(taken) - len(bounds.hidden)
    if room < 0:
        raise ToolError(
            f"nothing was run: {n_hidden:,} hidden and {len(bounds.protected):,} protected files "
            f"are more than the sandbox can hold ({MOST_MOUNTS}, with the folders above them); ask "
            "for it outside the sandbox, or let the user move them, or take names out of `deny` by "
            "patterns with `!` in front"
        )
    held: list[str] = []
    for path in sorted(bounds.minor, key=_depth):
        new = {path, *_above(path, bounds)} - taken
        if len(new) > room:
            break
        held.append(path)
        taken |= new
        room -= len(new)
    return msgspec.structs.replace(bounds, protected=(*bounds.protected, *held), minor=())


def _depth(path: str) -> tuple[int, str]:
    return (path.count("/"), path)


def _layers(bounds: Confinement, before: Sequence[str], folders: frozenset[str]) -> Iterator[str]:
    """Yield hidden folders and the visible folders in them; deeper paths come later."""
    mounts = [(path, 0, tuple(_hide([path], folders, bounds.mask))) for path in before]
    read = [one for one in dict.fromkeys(bounds.readable) if one not in bounds.writable]
    mounts += [(path, 1, ("--ro-bind", path, path)) for path in read]
    for path in dict.fromkeys(bounds.shown):
        # A workspace folder covers hidden paths around it, unless the hidden path is inside it
        # again.
        outer = [one for one in bounds.writable if is_in(path, one)]
        if not outer or any(is_in(path, one) and one not in outer for one in before):
            mounts.append((path, 1, ("--ro-bind-try", path, path)))
    mounts += [(path, 2, ("--bind", path, path)) for path in bounds.writable]
    for _, _, mount in sorted(mounts, key=lambda one: (one[0].split("/"), one[1])):
        yield from mount


def _split(hidden: Sequence[str], writable: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split hidden paths by mount order: those that contain workspace folders come first."""
    before = [one for one in hidden if any(is_in(root, one) for root in writable)]
    return before, [one for one in hidden if one not in before]


def is_in(path: str, folder: str) -> bool:
    """Return whether ``path`` is ``folder`` or lies inside it."""
    return folder in {"/", path} or path.startswith(f"{folder}/")


def _each(option: str, paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        yield from (option, path, path)


def _visible(bounds: Confinement) -> tuple[str, ...]:
    """Return folders that the command may read, even inside hidden folders."""
    return (*bounds.readable, *bounds.shown)


def _scratch(bounds: Confinement, kept: Sequence[str]) -> tuple[str, ...]:
    """Choose the mount for /tmp: the session's folder, unless it contains mount points.

    A command could put links into the session's folder, which the next command's mounts would
    follow.
    """
    places = (*_visible(bounds), *bounds.writable, *bounds.protected, *bounds.hidden, *kept)
    if bounds.scratch and not any(is_in(path, _SCRATCH) for path in places):
        return ("--bind", bounds.scratch, _SCRATCH)
    return ("--size", str(_TEMPORARY_B), "--tmpfs", _SCRATCH)


def _empty(paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        yield from ("--size", str(_TEMPORARY_B), "--tmpfs", path)


def _hide(paths: Sequence[str], folders: frozenset[str], mask: str) -> Iterator[str]:
    """Replace hidden folders by empty folders, and hidden files by an unreadable file."""
    for path in paths:
        if path in folders:
            # A read-only mount on top would be a second mount, so none is added.
            yield from ("--perms", "0500", "--size", str(_EMPTY_B), "--tmpfs", path)
        else:
            yield from ("--ro-bind", mask or "/dev/null", path)


def bound_places(bounds: Confinement) -> Mapping[str, str]:
    """Map the workspace paths that need a separate mount to the mount's option.

    The paths are the protected and missing paths, and the folders above protected, missing and
    hidden paths.
    """
    shut = dict.fromkeys((*bounds.protected, *bounds.missing), "--ro-bind")
    above = [one for path in (*shut, *bounds.hidden) for one in _above(path, bounds)]
    # In a read-only folder, a separate mount would make the path writable again.
    opened = [path for path in above if not any(is_in(path, one) for one in bounds.protected)]
    return {**dict.fromkeys(opened, "--bind"), **shut}


def _guard(
    bounds: Confinement,
    hidden: Sequence[str],
    folders: frozenset[str],
    handles: Mapping[str, int] | None,
) -> Iterator[str]:
    """Mount protected, missing and hidden paths after the folders above them."""
    mounts: dict[str, tuple[str, ...]] = {}
    for path, option in bound_places(bounds).items():
        if handles is None:
            mounts[path] = (f"{option}-try", path, path)
        elif path in handles:
            mounts[path] = (f"{option}-fd", str(handles[path]), path)
    mounts |= {path: tuple(_hide([path], folders, bounds.mask)) for path in hidden}
    for _, mount in sorted(mounts.items(), key=lambda one: one[0].split("/")):
        yield from mount


def _above(path: str, bounds: Confinement) -> Iterator[str]:
    """Yield the folders between a path and the outermost workspace folder that contains it."""
    for parent in map(str, PurePosixPath(path).parents):
        if not any(is_in(parent, root) and parent != root for root in bounds.writable):
            return
        yield parent
