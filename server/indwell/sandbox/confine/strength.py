"""Detects, once for each process, how strongly this machine can confine commands (SBX-16)."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from indwell import edges
from indwell.files import beneath
from indwell.prepared_types import prepared
from indwell.sandbox.confine import landlock, seatbelt
from indwell.sandbox.confine.bubblewrap import SandboxHost, arguments, is_in
from indwell.sandbox.confine.cages import Cage
from indwell.sandbox.confine.restricted_token import (
    are_open_to_containers,
    container_here,
    strength_here,
)
from indwell.sandbox.confine.seccomp import filter_pipe, has_filter
from indwell.sandbox.confine.trial import ALL_HELD, STARTED, TrialPlace, proof_of
from indwell.sandbox.confinement import Confinement, Strength
from indwell.sandbox.environment import clean_environment
from indwell.sandbox.shells import command_shell

_PLACES = (
    *("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"),
    *("/run/wrappers/bin/bwrap", "/nix/var/nix/profiles/default/bin/bwrap"),
)
"""The possible paths of bubblewrap.

PATH is not searched, because it may lead into a workspace. Ubuntu's AppArmor lets the first path
create namespaces.
"""

_TRY_S = 5.0
_TRIAL_SHELL = ("/bin/bash", "--norc", "--noprofile", "-c")
# Bubblewrap itself covers irq and bus.
_COVERED = ("acpi", "driver", "fs", "scsi", "sys", "sysrq-trigger")
_TEMPORARY = ("/run", "/var/tmp", "/var/lock")  # noqa: S108 - emptied in the sandbox
# NixOS keeps programs in these folders.
_KEPT = ("/run/current-system", "/run/wrappers", "/run/opengl-driver")
_BEST = Strength("S3", words="sandboxed (bubblewrap), no network")
_BEST_ON_MACOS = Strength("S3m", words="sandboxed (Seatbelt), no network")


def strength() -> Strength:
    """Return how strongly commands are confined here; the first call blocks for about 20 ms."""
    if not edges.current().uses_cassette:
        return strength_of_process()

    def compute() -> str:
        return msgspec.json.encode(strength_of_process()).decode()

    return msgspec.json.decode(
        edges.current().value("sandbox", compute, is_fixed=True), type=prepared(Strength)
    )


@functools.cache
def strength_of_process() -> Strength:
    """Find the strength, once for each process."""
    if sys.platform == "win32":
        return of_windows()[0]
    if sys.platform == "darwin":
        reason = why_no_seatbelt()
        return Strength("S1", reason, "not sandboxed") if reason else _BEST_ON_MACOS
    if not sys.platform.startswith("linux"):
        return Strength("S1", f"there is no sandbox for {sys.platform} yet", "not sandboxed")
    reason = why_no_bubblewrap(find_bwrap())
    return without_bubblewrap(reason, landlock.why_not()) if reason else _BEST


@functools.cache
def of_windows() -> tuple[Strength, Cage | None]:
    """Try the cages (tokens, AppContainer) of Windows with the shell, and return the best cage."""
    return strength_here(_greeting())


def cage_for(folders: Sequence[str]) -> Cage | None:
    """Return the cage for a command that reads these folders on Windows, or None.

    An AppContainer is tried once, when a folder is open to AppContainers for the first time; this
    blocks.
    """
    best = of_windows()[1]
    if best is None or not are_open_to_containers(folders):
        return best
    return "container" if container_here(_greeting()).held == frozenset(ALL_HELD) else best


def _greeting() -> tuple[str, ...]:
    """Return the command that makes the shell print ``STARTED``; without a shell, return ``()``."""
    shell = command_shell()
    return tuple(shell.argv(f"echo {STARTED}")) if shell.path else ()


def without_bubblewrap(reason: str, no_landlock: str) -> Strength:
    """Return the next best confinement on Linux; each argument says why a better one is missing."""
    if no_landlock:
        return Strength("S1", f"{reason}; {no_landlock}", "not sandboxed")
    limits = "; ".join(landlock.LIMITS)
    words = "partly sandboxed (Landlock), no network"
    return Strength("S2", f"{reason}; until then Landlock confines commands: {limits}", words)


def why_no_bubblewrap(bwrap: str) -> str:
    """Try bubblewrap with all features that commands need; return a problem and a fix, if any."""
    if not bwrap:
        return "bubblewrap is not installed; install the package `bubblewrap`"
    if not has_filter(platform.machine()):
        return f"there is no filter of system calls for {platform.machine()}"
    try:
        done = _tried(bwrap)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{bwrap} cannot be used: {error}"
    return "" if done.returncode == 0 else _in_words(done.stderr.decode("utf-8", "replace"))


def why_no_seatbelt(program: str = seatbelt.PROGRAM) -> str:
    """Try each restriction of Seatbelt; return the failure as a clause, or an empty text."""
    if not os.access(program, os.X_OK):
        return f"{program}, which comes with macOS, is missing"

    def confined(place: TrialPlace, script: str) -> bytes:
        bounds = Confinement(writable=(), hidden=(str(place.secret),))
        words = seatbelt.argv(bounds, str(place.inside))[1:]
        return _output_of((program, *words, *_TRIAL_SHELL, script), place)

    def unconfined(place: TrialPlace, script: str) -> bytes:
        return _output_of((*_TRIAL_SHELL, script), place)

    proof = proof_of(confined, unconfined=unconfined, dialect="sh")
    return f"{program} does not confine commands here: {proof.reason}" if proof.reason else ""


def _output_of(words: Sequence[str], place: TrialPlace) -> bytes:
    done = subprocess.run(  # noqa: S603 - our own words
        words,
        check=False,
        cwd=place.folder,
        env=clean_environment(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        timeout=_TRY_S,
    )
    return done.stdout


@functools.cache
def find_bwrap() -> str:
    """Return the path of the system's bubblewrap, or an empty text if there is none."""
    return next((place for place in _PLACES if os.access(place, os.X_OK)), "")


@functools.cache
def host() -> SandboxHost:
    """Return the properties of this machine that bubblewrap's arguments depend on."""
    return SandboxHost(
        bwrap=find_bwrap(),
        covers=_covers() if sys.platform != "win32" and os.geteuid() == 0 else (),
        temporary=tuple(path for path in _TEMPORARY if _is_folder(path)),
        kept=(*(path for path in _KEPT if _is_folder(path)), *_own_places()),
        binds_handles=beneath.works() and _knows_handles(find_bwrap()),
    )


def _own_places() -> tuple[str, ...]:
    """Return Python's folders if the sandbox would hide them, because the proxy needs Python."""
    own = {str(Path(one).resolve()) for one in (sys.prefix, sys.base_prefix)}
    emptied = (*_TEMPORARY, "/tmp")  # noqa: S108 - as above
    return tuple(sorted(one for one in own if any(is_in(one, above) for above in emptied)))


def _knows_handles(bwrap: str) -> bool:
    """Return whether bubblewrap accepts open descriptors, according to its help text."""
    try:
        said = subprocess.run(  # noqa: S603 - found by us
            [bwrap, "--help"], check=False, capture_output=True, timeout=_TRY_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"--ro-bind-fd" in said.stdout + said.stderr


def _covers() -> tuple[str, ...]:
    return tuple(f"/proc/{name}" for name in _COVERED if Path("/proc", name).exists())


def _is_folder(path: str) -> bool:
    """Return whether the path is a folder and no link, because links cannot be mounted on."""
    return Path(path).is_dir() and not Path(path).is_symlink()


def _tried(bwrap: str) -> subprocess.CompletedProcess[bytes]:
    with filter_pipe(Confinement(writable=())) as filter_fd:
        words = arguments(
            host(), Confinement(writable=()), frozenset(), cwd="/", filter_fd=filter_fd
        )
        return subprocess.run(  # noqa: S603 - our own words
            [bwrap, *words[1:], "/bin/sh", "-c", ":"],
            check=False,
            cwd="/",
            env=clean_environment(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=(filter_fd,),
            start_new_session=True,
            timeout=_TRY_S,
        )


def _in_words(said: str) -> str:
    """Translate bubblewrap's error for the user."""
    last = said.strip().rpartition("\n")[2]
    if "namespace" in said or "uid map" in said or "Operation not permitted" in said:
        return (
            "this system does not let programs create namespaces, which bubblewrap needs; allow "
            "unprivileged user namespaces (on Ubuntu by an AppArmor profile for /usr/bin/bwrap, "
            f"in a container by its runtime) ({last})"
        )
    return f"bubblewrap does not work here ({last})"
