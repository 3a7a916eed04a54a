"""Become the parent of what a command leaves behind, and know whose orphan it is (Linux).

A child that clears its environment and leaves its session cannot be told by either. But its
parent dies or lets it go, and then the kernel gives it to us (a "subreaper") instead of to init.

An orphan belongs to the run during which it started. While another run that could have started it
goes on, it is left alone; the last of them to end takes it along. Never touched: programs that the
sandbox itself started, and whatever shares our session, as a run's children cannot. So children
that another part of this process starts are safe, as long as they lead no session of their own.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from indwell.sandbox.processes import Process, has_words, is_marked

IS_LINUX = sys.platform.startswith("linux")
_PR_SET_DUMPABLE = 4  # linux/prctl.h
_PR_SET_CHILD_SUBREAPER = 36
_STARTS_S = 1.0  # that a program may take from ``exec`` to its words; then it has none
_LOOK_S = 0.001


class Run(msgspec.Struct, frozen=True):
    """One program that the sandbox runs.

    Attributes:
        mark: Random, a decimal number; what the program starts inherits it.
        began: In clock ticks since the system's start; 0 where there are none.
    """

    mark: str
    began: int


_going_on: set[Run] = set()  # of this process, as being a subreaper is
_alone: set[str] = set()  # marks of those that start nothing
_started: set[int] = set()  # programs whose end asyncio waits for


@asynccontextmanager
async def running(mark: str, *, alone: bool = False) -> AsyncIterator[Run]:
    """A run from before its program starts until its end; no orphan is its own if it is alone."""
    prepare()
    run = Run(mark, _ticks() if IS_LINUX else 0)
    if alone:
        _alone.add(mark)
    else:
        _going_on.add(run)
    try:
        yield run
    finally:
        _alone.discard(mark)
        _going_on.discard(run)


def over(run: Run) -> None:
    """What starts from now on is no longer this run's."""
    _going_on.discard(run)


def waited_for(pid: int) -> None:
    """Somebody else waits for this child of ours."""
    _started.add(pid)


def ended(pid: int) -> None:
    """It has been waited for, so that its number may be used again."""
    _started.discard(pid)


def is_started(pid: int) -> bool:
    """Is it a program that the sandbox started, not yet waited for?"""
    return pid in _started


def is_orphan_of(run: Run, process: Process) -> bool:
    """Was it given to us, and can only ``run`` have started it?"""
    is_ours = (
        process.parent == os.getpid()
        and process.session != os.getsid(0)
        and process.pid not in _started
        and process.began >= run.began
    )
    if not is_ours:
        return False
    # A program of ours that was started this moment has no known number yet, only its mark.
    alone = tuple(_alone)
    if alone and not process.is_dead:
        _await_words(process.pid)
    if any(is_marked(process.pid, mark) for mark in alone):
        return False
    others = [other for other in tuple(_going_on) if other != run and other.began <= process.began]
    return not others or is_marked(process.pid, run.mark)


def _await_words(pid: int) -> None:
    """Wait until a process that is being started has its arguments and environment. Blocks.

    Its starter already knows that ``exec`` works when the kernel has still to write both, and
    until then they read as empty. No program stays so for longer than it waits for a processor.
    """
    until = time.monotonic() + _STARTS_S
    while not has_words(pid) and time.monotonic() < until:
        time.sleep(_LOOK_S)


@functools.cache
def prepare() -> None:
    """Make this process a subreaper, and its /proc entries unreadable to other processes.

    The second keeps a command from reading our environment, keys and all, in
    /proc/$PPID/environ; root reads it anyway. Both are best effort: a system that refuses leaves
    us with process groups, sessions and marks.
    """
    if IS_LINUX:
        prctl = ctypes.CDLL(None).prctl
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _ticks() -> int:
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
