"""Defines a check of the doctor, and runs all checks at once with a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from time import monotonic
from typing import NamedTuple, TypeAlias

import msgspec

from indwell.errors import IndwellError
from indwell.providers.endpoint import State

CHECK_S = 12.0  # the time limit for one check in seconds; all checks run at once, within 15 seconds


class DoctorFinding(msgspec.Struct, frozen=True):
    """The result of a check.

    Attributes:
        name: What was checked, in one or two words.
        state: ``ok``, ``warn`` (works with a limitation), ``fail`` (does not work), ``skipped``.
        sentence: The result in words; never a key.
        fix: Advice on how to fix the problem, or empty if there is no problem.
    """

    name: str
    state: State
    sentence: str
    fix: str = ""


Findings: TypeAlias = tuple[DoctorFinding, ...]


class DoctorCheck(NamedTuple):
    """A check of the doctor, with its name."""

    name: str
    look: Callable[[], Awaitable[Findings]]


def blocking(name: str, look: Callable[[], Findings]) -> DoctorCheck:
    """Create a check from a blocking function, which runs in a thread."""
    return DoctorCheck(name, lambda: asyncio.to_thread(look))


def timed(check: DoctorCheck, seconds: MutableMapping[str, float]) -> DoctorCheck:
    """Let a check write how long it took into ``seconds``, also if it fails."""

    async def look() -> Findings:
        began = monotonic()
        try:
            return await check.look()
        finally:
            seconds[check.name] = monotonic() - began

    return DoctorCheck(check.name, look)


async def run_checks(checks: Sequence[DoctorCheck], *, timeout_s: float = CHECK_S) -> Findings:
    """Run the checks; return one finding for each, in order, also if a check fails or is late."""
    found = await asyncio.gather(*(_run(check, timeout_s) for check in checks))
    return tuple(finding for findings in found for finding in findings)


async def _run(check: DoctorCheck, timeout_s: float) -> Findings:
    try:
        async with asyncio.timeout(timeout_s):
            return await check.look()
    except TimeoutError:
        return (DoctorFinding(check.name, "fail", f"no answer within {timeout_s:g} s"),)
    except (IndwellError, OSError) as error:
        return (DoctorFinding(check.name, "fail", str(error)),)
