"""Defines small features for code navigation, web pages, and the early scan of the workspace."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from indwell.agent.core.feature import Feature, Moment
from indwell.agent.core.session import Session
from indwell.errors import IndwellError
from indwell.navigation.navigator import Navigator
from indwell.navigation.user_servers import UserServers
from indwell.policy.rules import Widening
from indwell.review.checkpoints.coverage import Coverage
from indwell.settings.model import Settings
from indwell.tools.navigation.navigate import make_navigate
from indwell.tools.web import Fetch, make_web_fetch
from indwell.workspace.base import AppliedChange

_log = logging.getLogger(__name__)

# the delay in seconds, so that the first request or an early command need not wait for the scan
LATER_S = 0.3


def navigation_feature(navigator: Navigator, servers: UserServers) -> Feature[Session]:
    """Return the feature with the tool for code navigation and the navigator."""

    async def note_edits(_moment: Moment[Session], changes: Sequence[AppliedChange]) -> None:
        servers.note_changed([change.path for change in changes])

    return Feature(
        name="navigation",
        tools=(make_navigate(navigator),),
        door=navigator,
        after_edit=note_edits,
        close=servers.close,
    )


def web_feature(fetch: Fetch, settings: Callable[[], Settings]) -> Feature[Session]:
    """Return the feature with the tool for web pages, which exists if the setting is on."""
    tools = (make_web_fetch(fetch, lambda: settings().web_hosts),)
    return Feature(name="web", late_tools=lambda: tools if settings().web_fetch else ())


class LookingAhead:
    """Scans the workspace during the first model call of a session with the tool ``bash``.

    In a workspace of 200,000 files, the first scan takes half a second, and reading guarded files
    takes several seconds. Errors are only logged, because the scan right before a command reports
    them.

    Args:
        let_go: Ends the file watch that the scan starts. Called when the session ends; blocks
            briefly.

    Attributes:
        task: The running scan, or None before the first turn.
    """

    def __init__(self, let_go: Callable[[], None] = lambda: None) -> None:
        self._let_go = let_go
        self.task: asyncio.Task[None] | None = None
        self._coverage: Coverage | None = None

    def feature(self) -> Feature[Session]:
        """Return the feature that runs the early scan; sub-agents need no scan."""
        return Feature(
            name="looking_ahead", around=self._around, for_child=lambda: None, close=self._close
        )

    @asynccontextmanager
    async def _around(self, moment: Moment[Session]) -> AsyncIterator[None]:
        parts = moment.session.parts
        if self.task is None and parts.tools.has("bash"):
            self._coverage = parts.changes.coverage
            self.task = asyncio.create_task(self._look(moment.session))
        yield

    async def _look(self, session: Session) -> None:
        parts = session.parts
        await asyncio.sleep(LATER_S)
        try:
            confinement = parts.rules().confine(Widening())
            if confinement is not None and confinement.look is not None:
                await asyncio.to_thread(confinement.look)
            if self._coverage is not None and parts.rules().mode != "plan":
                await self._coverage.look_ahead()
        except (OSError, RuntimeError, IndwellError) as error:
            _log.info("the early scan ended: %s", error)

    async def _close(self) -> None:
        if self._coverage is not None:
            self._coverage.end_ahead()
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait({self.task})
        await asyncio.to_thread(self._let_go)
