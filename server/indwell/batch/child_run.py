"""Runs one ``indwell run`` in a process of its own, and answers its questions about calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from indwell.batch.plan import BatchTask
from indwell.batch.purse import AskAgain, Grant, NoMoney, NoRoom, SharedPurse
from indwell.batch.records import TaskReceipt
from indwell.batch.warm_start import OWN_PROGRAM
from indwell.sandbox.capture import Feed
from indwell.sandbox.spawn import spawn_server
from indwell.sandbox.starting import Starter

_TAIL_B = 4_000
_MOST_LINE_B = 64 << 20


class BatchOptions(msgspec.Struct, frozen=True):
    """The options of the command line that hold for all tasks; contains no secret.

    Attributes:
        trust: Whether each workspace is trusted.
        allow_commands: Whether commands run without a question, in the sandbox.
        scripted: Whether to use the scripted model.
        secrets: The names of variables that each worker has to have in its own environment.
    """

    trust: bool = False
    allow_commands: bool = False
    scripted: bool = False
    secrets: tuple[str, ...] = ()


class ChildEnd(msgspec.Struct, frozen=True):
    """How the process ended, and its last ``turnFinished`` event, if there was one.

    Attributes:
        exit_code: The exit code, negative for a signal.
        finished: The event.
        errors: The end of standard error.
        cost: US dollars of the calls.
        refused: Why the budget refused a call, or empty.
        no_room: Why the bound of the spending could not be written, or empty.
    """

    exit_code: int
    finished: Mapping[str, Any] | None
    errors: str
    cost: float
    refused: str
    no_room: str = ""

    @property
    def receipt(self) -> TaskReceipt:
        """What the run used."""
        event = self.finished or {}
        usage = event.get("usage") or {}
        return TaskReceipt(
            int(event.get("rounds") or 0),
            int(usage.get("input") or 0),
            int(usage.get("output") or 0),
            event.get("cost", 0.0),
            float(event.get("seconds") or 0.0),
        )


def child_command(task: BatchTask, tree: Path, options: BatchOptions) -> list[str]:
    """Return the program and the arguments that run a task."""
    words = [*OWN_PROGRAM, "run", "--json", "--metered", "--folder", str(tree)]
    flags = {
        "--trust": options.trust,
        "--allow-commands": options.allow_commands,
        "--scripted": options.scripted,
    }
    words += [name for name, is_set in flags.items() if is_set]
    given = {
        "--file": task.file,
        "--mode": task.mode,
        "--model": task.model,
        "--effort": task.effort,
        "--max-cost": task.max_cost,
        "--max-tokens": task.max_tokens,
        "--max-rounds": task.max_rounds,
        "--time-limit": task.time_limit,
    }
    for name, value in given.items():
        if value not in {None, ""}:
            words += [name, f"{value:f}" if isinstance(value, float) else str(value)]
    return [*words, "--", task.prompt]


class ChildRun:
    """Runs ``indwell run`` for one attempt, and answers the process's requests for money.

    Args:
        holder: The id of the task, under which the purse reserves money.
        purse: Grants the model calls.
        stop: Set to stop the process with time to clean up.
        start: Starts the process.
    """

    def __init__(
        self, holder: str, purse: SharedPurse, stop: asyncio.Event, start: Starter
    ) -> None:
        self._holder, self._purse, self._stop, self._start = holder, purse, stop, start
        self._feed = Feed()
        self._rest, self._errors = b"", b""
        self._finished: Mapping[str, Any] | None = None
        self._grants: dict[int, int] = {}
        self._working: set[asyncio.Task[None]] = set()
        self._cost = 0.0
        self._refused = self._no_room = ""

    async def run(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], never_in: Sequence[Path]
    ) -> ChildEnd:
        """Run the process to its end.

        Raises:
            ToolError: The process could not be started.
            asyncio.CancelledError: The call was cancelled; the process has ended.
        """
        try:
            ended = await spawn_server(
                command,
                cwd=cwd,
                env=env,
                feed=self._feed,
                on_output=self._heard,
                on_errors=self._failed,
                stop=self._stop,
                confinement=None,
                never_in=never_in,
                on_note=lambda _note: None,
                start=self._start,
            )
        finally:
            for one in tuple(self._working):
                one.cancel()
            await asyncio.gather(*self._working, return_exceptions=True)
            await self._purse.close_calls(self._holder)
        tail = self._errors.decode("utf-8", "replace").strip()
        return ChildEnd(
            ended.exit_code, self._finished, tail, self._cost, self._refused, self._no_room
        )

    def _failed(self, data: bytes) -> None:
        self._errors = (self._errors + data)[-_TAIL_B:]

    def _heard(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _MOST_LINE_B:
            self._rest = b""
        for line in lines:
            # Most lines are parts of a text, so only lines with a known type are decoded.
            if b'"type":"call' in line[:20] or b'"type":"turnFinished"' in line[:30]:
                self._take(msgspec.json.decode(line))

    def _take(self, event: Mapping[str, Any]) -> None:
        match event["type"]:
            case "callAsked":
                self._begin(self._answer(event["call"], event["tokens"], event["cost"]))
            case "callSettled":
                self._cost += event["cost"] or 0.0
                self._begin(self._settle(event["call"], event["tokens"], event["cost"]))
            case "turnFinished" if not event.get("agent"):
                self._finished = event

    def _begin(self, work: Any) -> None:  # noqa: ANN401 - a coroutine
        task = asyncio.create_task(work)
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    async def _answer(self, call: int, tokens: int, cost: float | None) -> None:
        while True:
            match await self._purse.ask(self._holder, tokens, cost):
                case Grant(id=grant):
                    self._grants[call] = grant
                    answer: dict[str, object] = {"call": call, "granted": True}
                    break
                case NoMoney(why=why):
                    self._refused = why
                    answer = {"call": call, "granted": False, "why": why}
                    break
                case NoRoom(why=why):
                    self._no_room = why
                    answer = {"call": call, "granted": False, "why": why}
                    break
                case AskAgain(seconds=seconds):
                    await asyncio.sleep(seconds)
        await self._feed.write(msgspec.json.encode(answer) + b"\n")

    async def _settle(self, call: int, tokens: int, cost: float | None) -> None:
        await self._purse.settle(self._grants.pop(call), tokens, cost)
