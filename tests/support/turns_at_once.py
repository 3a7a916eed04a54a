"""Runs several sessions at once in the fake editor, each with a script of model answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages import status, views
from support.editing import Editor, Home, bash, editing
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, refuse, say

PATIENCE_S = 60


@dataclass
class Scripts:
    """Answers each conversation by its own script, which a word in the prompts selects."""

    answers: dict[str, list[Answer]] = field(default_factory=dict)
    seen: dict[str, list[Seen]] = field(default_factory=dict)

    def play(self, word: str, *answers: Answer) -> None:
        self.answers[word], self.seen[word] = list(answers), []

    def __call__(self, seen: Seen) -> Answer:
        for word, answers in self.answers.items():
            if f"<{word}>" in seen.raw.decode() and answers:
                self.seen[word].append(seen)
                return answers.pop(0)
        return refuse(400, "no script expects this request")


@dataclass
class Desk:
    """An editor, and the scripts of its model."""

    editor: Editor
    scripts: Scripts
    home: Home

    def prompt(
        self, word: str, session: str | None = None, mode: Any = None
    ) -> asyncio.Task[protocol.TurnResult]:
        params = protocol.PromptParams(f"Do <{word}>.", session, mode)
        request = self.editor.client.protocol.send_request_async("indwell/prompt", params)
        return asyncio.ensure_future(request)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition that an event or a request causes."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():  # noqa: ASYNC110 - requests are seen by the endpoint, not told
                await asyncio.sleep(0.01)

    async def asked(self, word: str, times: int = 1) -> None:
        await self.until(lambda: len(self.scripts.seen[word]) >= times)

    async def status(self, session: str | None = None) -> status.StatusResult:
        return await self.editor.client.protocol.send_request_async(
            "indwell/status", status.StatusParams(session)
        )

    async def queue(self) -> views.QueueResult:
        return await self.editor.client.protocol.send_request_async(
            "indwell/queue", protocol.QueueParams()
        )

    async def waiting(self, number: int) -> None:
        """Wait until this many prompts wait."""
        async with asyncio.timeout(PATIENCE_S):
            while len((await self.queue()).waiting) < number:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)

    async def two_commands(
        self, *then: Answer
    ) -> tuple[asyncio.Task[protocol.TurnResult], asyncio.Task[protocol.TurnResult], str]:
        """Start two turns: one command runs until the file `go` exists, and the other has to wait.

        Commands of two sessions never run at once, so the second turn waits for the first command.

        Returns:
            The turn of the current session, the other turn, and the session of the other turn.
        """
        self.editor.answers.choose = lambda _message, _titles: "Once"
        other = await self.older("other")
        runs = "touch begun; while [ ! -e go ]; do sleep 0.05; done; rm go begun; echo main > m.txt"
        self.scripts.play("main", bash(runs), say("Main."))
        self.scripts.play("other", bash("echo other > o.txt"), *then)
        main = self.prompt("main", "new")
        await self.until((self.home.workspace / "begun").exists)
        beside = self.prompt("other", other)
        await self.until(lambda: any("waiting for a command" in str(e) for e in self.editor.events))
        return main, beside, other

    async def older(self, word: str) -> str:
        """Create a session whose turn has ended."""
        self.scripts.play(word, say("Ready."))
        done = await self.prompt(word, "new")
        assert done.session is not None
        return done.session


@asynccontextmanager
async def a_desk(folder: Path, *, home: Home | None = None, **named: Any) -> AsyncIterator[Desk]:
    home, scripts = home or Home(folder), Scripts()
    async with (
        LoopbackEndpoint(scripts) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",), **named) as editor,
    ):
        yield Desk(editor, scripts, home)
    home.logs()
