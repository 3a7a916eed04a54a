"""Small features around tools: code navigation, web pages, the scan before the first command."""

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

LATER_S = 0.3  # seconds; the first request, and an immediate command, should not wait for this


def navigation_feature(navigator: Navigator, servers: UserServers) -> Feature[Session]:
    """The tool that asks questions about code; front doors find the navigator."""

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
    """Return the feature with the tool for web pages; without the setting there is no tool."""
    tools = (make_web_fetch(fetch, lambda: settings().web_hosts),)
    return Feature(name="web", late_tools=lambda: tools if settings().web_fetch else ())


class LookingAhead:
    """A scan while the model thinks, in the first turn of a session that can run commands.

    In a workspace of 200,000 files the first scan takes half a second, and reading what commands
    may change takes several. The scan right before a command finds the same faults and reports
    them.

    Args:
        let_go: Ends the watch that the scan starts, with the session; blocks for a moment.

    Attributes:
        task: The scan; None before that turn.
    """

    def __init__(self, let_go: Callable[[], None] = lambda: None) -> None:
        self._let_go = let_go
        self.task: asyncio.Task[None] | None = None
        self._coverage: Coverage | None = None

    def feature(self) -> Feature[Session]:
        """Return the scan as a feature; a sub-agent works where the session has scanned."""
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
            _log.info("the look ahead ended: %s", error)

    async def _close(self) -> None:
        if self._coverage is not None:
            self._coverage.end_ahead()
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait({self.task})
        await asyncio.to_thread(self._let_go)
