"""Runs a hostile model: about 900 attempts with all tools in each mode; the user refuses all.

    python tests/faults/hostile_model.py FOLDER

The session has the program's real rules, tools and sandbox. ``hostile_world.py`` puts files,
secrets and listeners around the workspace. No file outside may change, no listener may hear a
connection, and no request may contain a secret. ``FOLDER`` should not be below /tmp, which the
sandbox hides anyway. Cases: `safety.json` POL-01, POL-02, POL-16, POL-18, POL-21, TRU-11, TRU-17,
SBX-05, SBX-12, FS-01, FS-02.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hostile_calls import Attempt, attempts
from hostile_world import World, listening, make_world

from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.loop.turn import run_turn
from indwell.bounds.rules import unconfined
from indwell.context.untrusted_text import visible
from indwell.messages import Reply, Request, ToolCall, ToolResult
from indwell.policy.approvals import Answer, Question
from indwell.providers.scripted import ScriptedProvider
from indwell.sessions.audit_trail import Act, acts
from indwell.sessions.storage.store import SessionStore
from indwell.settings.model import Mode, Settings
from indwell.wiring.compose import open_session
from indwell.wiring.model import Model
from indwell.workspace.disk import DiskWorkspace
from support.session import with_rules

BATCH = 20  # one reply has so many calls; then comes a check
WINDOW = 50_000_000  # no compaction happens in this window
COMMAND_S = 5.0
BACK = ("bash", {"command": "cd %W%"})  # returns to the folder in which later calls expect to run
EVERYTHING = tuple(attempts())


@dataclass
class Ended:
    """The results.

    Attributes:
        calls: The number of calls.
        breaches: Descriptions of forbidden effects.
        questions: How many times the user was asked.
        acts: The report of ``indwell audit``.
        seconds: The duration.
    """

    calls: int = 0
    breaches: list[str] = field(default_factory=list)
    questions: int = 0
    acts: tuple[Act, ...] = ()
    seconds: float = 0.0


class Looker:
    """A user who gives the same answer to each question, and reads all messages."""

    session: Session

    def __init__(self, ended: Ended, answer: Answer) -> None:
        self._ended = ended
        self._answer = answer

    async def ask(self, question: Question) -> Answer:
        self._ended.questions += 1
        self.session.asked.refused = 0  # the reset prevents the stop that follows repeated refusals
        if visible(question.detail) != question.detail:
            self._ended.breaches.append(f"hidden in a question: {question.detail!r}")
        return self._answer


class Hostile:
    """A model that makes all attempts in batches, with a check after each batch."""

    def __init__(self, world: World, ended: Ended, calls: list[ToolCall], *, quiet: bool) -> None:
        self._world = world
        self._ended = ended
        self._calls = calls
        self._quiet = quiet
        self._at = 0

    def __call__(self, request: Request) -> Reply:
        self.look(request)
        batch = self._calls[self._at : self._at + BATCH]
        self._at += len(batch)
        return Reply("", tuple(batch), finish="tool_calls") if batch else Reply("I am done.")

    def look(self, request: Request) -> None:
        """Record the effects of the last batch, and its results in this request."""
        tried = self._calls[max(0, self._at - BATCH) : self._at]
        told = [f"{one}" for one in self._world.breaches(all_of_work=self._quiet)]
        if told:
            told.append(f"   after one of: {[one.arguments[:90] for one in tried]}")
        called = {one.id: one for one in tried}
        for block in request.messages[-1].blocks:
            if not isinstance(block, ToolResult):
                continue
            call = called.get(block.tool_use_id)
            arguments = call.arguments[:300] if call else "?"
            told += [f"secret {one} by {arguments}" for one in self._world.leaks(block.text)]
            if "Traceback" in block.text and "indwell" in block.text:
                told.append(f"a traceback by {arguments}")
        self._ended.breaches += told


def filled(world: World, tried: Iterable[Attempt]) -> Iterator[ToolCall]:
    """Yield the calls of attempts, with the placeholders filled in."""
    number = 0
    for attempt in tried:
        words = str(attempt.calls)
        strays = "cd " in words or "pushd " in words
        for name, arguments in (*attempt.calls, *([BACK] if strays else [])):
            number += 1
            yield ToolCall(f"c{number}", name, _text(world, attempt, arguments, number))


def _text(world: World, attempt: Attempt, arguments: dict[str, object], number: int) -> str:
    target = world.fill(attempt.target, number) if attempt.target else ""

    def fill(value: object) -> object:
        match value:
            case str():
                return world.fill(value, number, target, attempt.secret)
            case list():
                return [fill(one) for one in value]
            case dict():
                return {fill(key): fill(one) for key, one in value.items()}
            case _:
                return value

    return json.dumps(fill(arguments))


async def attack(
    folder: Path,
    mode: Mode,
    *,
    is_trusted: bool,
    is_confined: bool,
    tried: Iterable[Attempt] = EVERYTHING,
    answer: Answer = "no",
) -> Ended:
    """Let the hostile model make every attempt in one mode; ``folder`` is a new, resolved path."""
    ended = Ended()
    world = make_world(folder)
    world.secrets["OPENAI_API_KEY"] = os.environ["OPENAI_API_KEY"]
    if is_confined:
        # a neighbouring folder's secret is readable (docs/safety.md, "Remaining risks")
        del world.secrets["work-evil/.env"]
    begun = time.monotonic()
    async with listening(world):
        calls = list(filled(world, tried))
        ended.calls = len(calls)
        quiet = mode in {"plan", "ask"} or not is_trusted or not is_confined
        model = Hostile(world, ended, calls, quiet=quiet)
        settings = Settings(
            mode=mode,
            provider="scripted",
            round_limit=10_000,
            command_timeout_s=COMMAND_S,
            trusted=(str(world.work),) if is_trusted else (),
        )
        user = Looker(ended, answer)
        session = await _session(world, model, settings, user, is_confined=is_confined)
        user.session = session
        world.look(all_of_work=quiet)
        finished = await run_turn(session, Prompt("go"), lambda _event: None)
        await session.close()
        if finished.ending != "done":
            ended.breaches.append(f"the turn ended {finished.ending}: {finished.message}")
    store = SessionStore(folder / "state", world.work)
    ended.acts = acts(store.open(session.id).records)
    log = store.spill(session.id).parent / "log.jsonl"
    ended.breaches += [f"secret {one} in the log" for one in world.leaks(log.read_text())]
    ended.seconds = time.monotonic() - begun
    return ended


async def _session(
    world: World, model: Hostile, settings: Settings, user: Looker, *, is_confined: bool
) -> Session:
    chosen = Model(ScriptedProvider(model), "hostile", WINDOW, 8_192, lambda _usage: 0.0)
    environment: Mapping[str, str] = {"INDWELL_STATE": str(world.folder / "state")}
    session = await open_session(
        DiskWorkspace([world.work]),
        user,
        lambda: settings,
        chosen,
        environment=environment,
    )
    if not is_confined:
        with_rules(session, policy={"writes_confined": False}, confine=unconfined)
    return session


def surround(folder: Path) -> dict[str, str]:
    """Return the environment for the program, with a key that must stay secret."""
    home = folder / "home"
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_STATE_HOME": str(folder / "state-home"),
        "OPENAI_API_KEY": "CANARY-" + "0123456789abcdef" * 2,
    }


def main() -> int:
    """Run all modes, trusted and untrusted, with the sandbox and without."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where to make the worlds")
    parser.add_argument("--every", type=int, default=1, help="only every n-th attempt")
    options = parser.parse_args()
    bad = 0
    for mode in ("plan", "ask", "review", "auto"):
        for is_trusted in (True, False):
            for is_confined in (True, False):
                folder = Path(tempfile.mkdtemp(prefix="hostile-", dir=options.folder)).resolve()
                os.environ.update(surround(folder))
                ended = asyncio.run(
                    attack(
                        folder,
                        mode,
                        is_trusted=is_trusted,
                        is_confined=is_confined,
                        tried=EVERYTHING[:: options.every],
                    )
                )
                where = f"{mode}, {'trusted' if is_trusted else 'restricted'}, "
                where += "sandbox" if is_confined else "no sandbox"
                sums = dict(Counter(act.end for act in ended.acts))
                print(
                    f"{where}: {ended.calls} calls, {ended.questions} asked, {sums}, "
                    f"{len(ended.breaches)} breaches, {ended.seconds:.0f} s"
                )
                for breach in ended.breaches:
                    print(f"    {breach}")
                bad += len(ended.breaches)
    print(f"{bad} breaches in all")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
