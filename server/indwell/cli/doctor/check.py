"""A check of the doctor, and how all of them are run: at once, each within its time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from indwell.errors import IndwellError
from indwell.providers.endpoint import State

CHECK_S = 12.0  # seconds for one check; all run at once, so the whole stays under 15


class DoctorFinding(msgspec.Struct, frozen=True):
    """What a check found.

    Attributes:
        name: What was looked at, in one or two words.
        state: ``ok``, ``warn`` (works, but), ``fail`` (does not work), ``skipped``.
        sentence: What was seen; never a key.
        mend: What to do about it; empty if nothing is to be done.
    """

    name: str
    state: State
    sentence: str
    mend: str = ""


Findings: TypeAlias = tuple[DoctorFinding, ...]


class DoctorCheck(NamedTuple):
    """Something to look at."""

    name: str
    look: Callable[[], Awaitable[Findings]]


def blocking(name: str, look: Callable[[], Findings]) -> DoctorCheck:
    """A check that blocks, and so runs in a thread."""
    return DoctorCheck(name, lambda: asyncio.to_thread(look))


async def run_checks(checks: Sequence[DoctorCheck], *, timeout_s: float = CHECK_S) -> Findings:
    """All findings, in the order of ``checks``; one that fails or hangs is a finding, too."""
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
