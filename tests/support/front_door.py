"""A client without a person, which records messages and gives scripted answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any

from indwell.agent.core.events import Event
from indwell.cli.terminal.front_door import AllowingApprover
from indwell.policy.approvals import Approver
from indwell.service.front_door import AskingSession
from indwell.settings.model import Settings


class NotingDoor:
    """Implements ``FrontDoor``.

    Args:
        answers: The answers to questions, in order; later questions get no answer.

    Attributes:
        told: All messages that were shown.
        asked: All questions.
        events: The events of all sessions, in order, as (session, seq, event).
    """

    has_section = False
    leads_to_model = False
    can_type = False
    trust_hint = ""
    asks_about_files = False
    models = None

    def __init__(self, *answers: str) -> None:
        self.told: list[str] = []
        self.asked: list[str] = []
        self.events: list[tuple[str, int, Event]] = []
        self._answers = list(answers)

    def tell(self, words: str) -> None:
        self.told.append(words)

    def warn(self, words: str) -> None:
        self.told.append(words)

    def event(self, session: str, seq: int, event: Event) -> None:
        self.events.append((session, seq, event))

    async def begin_turn(self, session: str, token: str, title: str) -> None:
        del session, token, title

    async def choose(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        del titles, timeout_s
        self.asked.append(question)
        return self._answers.pop(0) if self._answers else None

    async def allow(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        return await self.choose(question, titles, timeout_s)

    async def type_line(self, prompt: str, placeholder: str, timeout_s: float) -> str | None:
        del placeholder
        return await self.choose(prompt, (), timeout_s)

    async def show_page(self, page: Path) -> bool:
        self.told.append(str(page))
        return True

    async def lead_to_model(self, reason: str, timeout_s: float) -> bool:
        del reason, timeout_s
        return False

    def model_hint(self, others: Sequence[str]) -> str:
        return f"choose one of {others}"

    def changing(self, paths: Iterable[Path]) -> AbstractAsyncContextManager[None]:
        del paths
        return nullcontext()

    async def section(self) -> Any:
        return None

    def approver(self, settings: Settings, whose: Callable[[], AskingSession]) -> Approver:
        del settings, whose
        return AllowingApprover()
