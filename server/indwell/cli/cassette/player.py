"""Replays a cassette: the recorded inputs go into the real server, whose output is compared.

An input is given when the server has sent everything that it had sent before that input in the
cassette. The clock shows the time of the last input, and ids come from the recorded seed.
"""

from __future__ import annotations

import asyncio
import errno
import threading
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from indwell import edges
from indwell.cli.cassette.compare import (
    DigestNames,
    OutputKey,
    difference,
    is_empty,
    key_of,
    may_miss,
    may_vary,
    opening_of,
    overtaken,
    title_of,
)
from indwell.cli.cassette.file_format import (
    INPUTS,
    OUTPUTS,
    Cassette,
    CassetteEvent,
    CassetteStart,
    Places,
    bytes_of,
    drawn,
    each_text,
    plain,
    unpacked,
)
from indwell.cli.cassette.recorder import shown_words
from indwell.cli.cassette.replay_loop import ReplayLoop, running_replay_loop
from indwell.cli.cassette.staging import load_server, put_file, stage
from indwell.edges import Edges
from indwell.errors import ToolError
from indwell.files.private import remove_own
from indwell.lsp.server import make_server
from indwell.lsp.wire.base_protocol import Framer, framed
from indwell.lsp.wire.handshake import Opening
from indwell.lsp.wire.language_server import EXECUTE
from indwell.lsp.wire.routing import Routing
from indwell.prepared_types import prepared
from indwell.providers.http.cassette_transport import CassetteTransport, HttpAnswer, HttpBroken
from indwell.sandbox import Finished
from indwell.secrets import MARK
from indwell.wiring.service import Composition

T = TypeVar("T")
# Without a new output for these seconds of real time, an awaited output counts as missing.
SILENCE_S = 15.0
# A longer pause between two inputs is a pause of the user. In a shorter one the server may have
# been busy, so the second input is given at once, or when the server has no work.
PAUSE_S = 1.0
AT_ONCE_S = 0.002  # Inputs with a shorter pause between them came together.
# So much more time may pass before an input than in the cassette.
SLACK_S = 2.0
END_S = 5.0  # the time limit, in seconds, for stopping the server at the end


class ReplayOutcome(msgspec.Struct, frozen=True):
    """The result of a replay.

    Attributes:
        code: 0 if the output is the same, 1 if not, 2 if the cassette cannot be replayed.
        words: The result in words, with the first difference.
        n_inputs: The number of inputs that were given.
        n_outputs: The number of outputs that were compared.
    """

    code: int
    words: str
    n_inputs: int = 0
    n_outputs: int = 0


Pace: TypeAlias = Literal["as recorded", "idle", "at once"]
PACES: tuple[Pace, ...] = ("as recorded", "idle", "at once")


class _Differs(Exception):
    """The replay differs from the cassette; the message says where."""


def replay(cassette: Cassette, *, silence_s: float = SILENCE_S) -> ReplayOutcome:
    """Replay a cassette in this process, in temporary folders."""
    used = [one.name for one in cassette.events if one.kind == "unrecorded"]
    if used:
        words = "the cassette cannot be replayed, because the session used what is not recorded"
        return ReplayOutcome(2, f"{words}: {', '.join(used)}")
    load_server()
    first = _played(cassette, PACES[0], silence_s)
    # Another pace of the inputs may be the one of the cassette, if the server was busy there.
    others = () if first.problem == "" else PACES[1:]
    tried = (first, *(_played(cassette, one, silence_s) for one in others))
    player = next((one for one in tried if not one.problem), first)
    problem, places = player.problem, player.places
    counts = f"{player.n_inputs} inputs, {player.n_outputs} outputs"
    notes = "".join(f"\n{note}" for note in _notes(cassette, places))
    if problem:
        words = f"different ({counts}): {problem}{notes}"
        return ReplayOutcome(1, words, player.n_inputs, player.n_outputs)
    words = (
        f"the same ({counts}). Not compared: durations, numbers of tokens, reports of progress, "
        f"system prompts, tools, and {len(player.overtaken)} answers that a later message overtook"
    )
    return ReplayOutcome(0, words + notes, player.n_inputs, player.n_outputs)


def _played(cassette: Cassette, pace: Pace, silence_s: float) -> Player:
    with stage(cassette) as (places, environment):
        player = Player(cassette, places, pace, silence_s)
        with edges.installed(player), asyncio.Runner(loop_factory=ReplayLoop) as runner:
            player.problem = runner.run(player.play(environment))
    return player


def _notes(cassette: Cassette, places: Places) -> Iterator[str]:
    """Yield why a difference can come from the cassette and not from the server."""
    hidden = sum(MARK in str(one.body) for one in cassette.events if one.kind in INPUTS)
    if hidden:
        yield f"{hidden} inputs have a hidden secret in them, so the server did not get the same"
    lengths = cassette.start.places
    if any(len(places.folders[name]) != length for name, length in lengths.items()):
        yield "the folders have other lengths than in the cassette, so shortened texts can differ"


class Player(Edges):
    """The recorded world.

    Args:
        cassette: The recorded session.
        places: The folders of this replay.
        pace: When an input is given after a short pause: when the server has no work, ``at once``,
            or one of both as the cassette tells.
        silence_s: Seconds without an output after which an awaited output counts as missing.
    """

    uses_cassette = True

    def __init__(self, cassette: Cassette, places: Places, pace: Pace, silence_s: float) -> None:
        self.n_inputs = 0
        self.n_outputs = 0
        self._start: CassetteStart = cassette.start
        self._events = cassette.events
        self.places = places
        self._pace = pace
        self._silence_s = silence_s
        self._at = 0.0
        self._lock = threading.RLock()
        self._n_drawn: dict[str, int] = defaultdict(int)
        self._awaited: dict[OutputKey, deque[CassetteEvent]] = defaultdict(deque)
        for one in self._events:
            if one.kind in OUTPUTS and not may_vary(one):
                self._awaited[key_of(one)].append(one)
        self._seen: set[int] = set()  # the recorded outputs that have come, by identity
        self._values: dict[str, deque[str]] = defaultdict(deque)
        for one in self._events:
            if one.kind == "value":
                self._values[one.name].append(one.body)
        self._commands: set[str] = set()  # the ids of the editor's commands
        self.overtaken = overtaken(self._events)
        self._ids: dict[Any, Any] = {}  # the ids of the server's requests, by recorded id
        self._digests = DigestNames()
        # requests and programs that the cassette does not have; the server waits for them
        self._held: list[CassetteEvent] = []
        self._due: dict[int, Future[None]] = defaultdict(Future)
        self._n_recorded = sum(one.kind in INPUTS for one in self._events)
        self.problem = ""
        self._loop: ReplayLoop | None = None
        self._moved = asyncio.Event()
        self._feeds: dict[int, _Feed] = defaultdict(_Feed)

    # The real world's answers, from the cassette.

    def now(self) -> datetime:
        """Return the time as the recorder did."""
        return self._start.started + timedelta(minutes=self._at // 60)

    def random_bytes(self, purpose: str, n_bytes: int) -> bytes:
        """Return the same bytes as the recorder."""
        with self._lock:
            self._n_drawn[purpose] += 1
            return drawn(self._start.seed, purpose, self._n_drawn[purpose], n_bytes)

    def value(self, kind: str, compute: Callable[[], str], *, is_fixed: bool = False) -> str:
        """Return the next recorded text of this kind; the last one if all were returned."""
        del compute, is_fixed
        with self._lock:
            known = self._values[kind]
            if not known:
                self._fail(f"the server asks for the {kind} of this machine, which is not recorded")
                return ""
            return self.places.unfold(known.popleft() if len(known) > 1 else known[0])

    async def program(
        self,
        words: object,
        on_chunk: Callable[[bytes], Any] | None,
        run: Callable[[Callable[[bytes], Any] | None], Awaitable[T]],
    ) -> T:
        """Give the recorded output and end of a program; nothing is started."""
        del run
        recorded = await self._turn_of(
            CassetteEvent("run", name=self.places.fold(shown_words(words)))
        )
        async for event in self._feeds[recorded.n].events():
            if event.kind == "chunk":
                waits = on_chunk(unpacked(self.places.unfold(event.body))) if on_chunk else None
                if waits is not None:
                    await waits
            elif event.name == "failed":
                raise ToolError(self.places.unfold(event.body))
            else:
                body = each_text(event.body, self.places.unfold)
                body |= {name: unpacked(body[name]) for name in ("head", "tail", "errors")}
                return msgspec.convert(body, prepared(Finished))  # type: ignore[return-value]
        raise ToolError("the cassette has no end of this program")

    def transport(self, make: Callable[[], Any]) -> CassetteTransport:
        """Return a transport that never connects."""
        return CassetteTransport(self, make)

    async def exchange(
        self, method: str, url: str, body: bytes, send: Callable[[], Awaitable[HttpAnswer]]
    ) -> HttpAnswer:
        """Return the recorded answer to a request."""
        del send
        fold = self.places.fold
        sent = CassetteEvent("ask", name=fold(f"{method} {url}"), body=each_text(plain(body), fold))
        recorded = await self._turn_of(sent)
        events = self._feeds[recorded.n].events()
        head = await anext(events)
        if head.kind == "closed":
            raise HttpBroken(head.name, head.body)
        status, headers = head.body
        return HttpAnswer(status, headers, self._parts(events))

    def learn(self, keys: Iterable[str]) -> None:
        """Ignore the keys of requests that are never sent."""

    async def _parts(self, events: AsyncIterator[CassetteEvent]) -> AsyncIterator[bytes]:
        async for event in events:
            if event.kind == "part":
                yield unpacked(self._real(event.body))
            elif event.name:
                raise HttpBroken(event.name, event.body)
            else:
                return

    def on_message_sent(self, body: bytes) -> None:
        """Compare a message to the editor."""
        self._output(CassetteEvent("out", body=each_text(plain(body), self.places.fold)))

    def before_contact(self, what: str) -> None:
        """Refuse the contact; a cassette of others names addresses, and files for a keyring.

        Raises:
            PermissionError: Always.
        """
        raise PermissionError(errno.EACCES, f"a replay does not contact {what}")

    def before_unrecordable(self, what: str) -> None:
        """Report and refuse what the cassette did not use; a cassette of others may ask for it.

        Raises:
            ToolError: Always.
        """
        self._fail(f"the server uses {what}, which it did not use in the cassette")
        raise ToolError("a replay starts no program and opens no page")

    def before_file_write(self, path: Path, data: bytes) -> None:
        """Refuse to write a file outside the folders of the replay.

        Raises:
            ToolError: The file is elsewhere.
        """
        del data
        if not self.places.contain(path):
            self._fail(f"the server writes {path}, which is not in a folder of the cassette")
            raise ToolError("a replay writes only in its own temporary folders")

    # The inputs.

    async def play(self, environment: Mapping[str, str]) -> str:
        """Serve the recorded editor; return the first difference, or an empty text."""
        self._loop = loop = running_replay_loop()
        request, answer = self._start.opening
        opening = Opening(Framer())
        sent = opening.receive(framed(bytes_of(each_text(request, self.places.unfold))))
        if opening.opened is None:
            return "the server refuses `initialize`"
        (reply,) = Framer().feed(sent)
        answered = each_text(plain(reply), self.places.fold)
        if opening_of(answered) != opening_of(answer):
            return "the answer to `initialize` differs in its capabilities"
        composition = Composition(
            environment,
            scripted=self._start.options.get("scripted", False),
            pace_s=0.0,
            editor_asks_trust=self._start.options.get("editor_trust", False),
        )
        server, host = make_server(composition, opening.opened)
        routing = Routing(server, self._send)
        server.send = self._send
        server.load_types()
        try:
            await self._drive(routing, loop)
        except _Differs as found:
            return str(found)
        finally:
            loop.stop_at(float("inf"))
            with suppress(TimeoutError):
                await asyncio.wait_for(host.service.stop(), END_S)
            with suppress(TimeoutError):
                await asyncio.wait_for(routing.drained(), END_S)
        return ""

    def _send(self, body: bytes, *, droppable: bool = False) -> None:
        del droppable
        self.on_message_sent(body)

    async def _drive(self, routing: Routing, loop: ReplayLoop) -> None:
        before: list[CassetteEvent] = []
        for event in self._events:
            if event.kind in OUTPUTS and not may_vary(event):
                if not may_miss(event):
                    before.append(event)
                if event.n:
                    self._due[event.n].set_result(None)
            elif event.kind in INPUTS:
                loop.stop_at(loop.time() + event.at - self._at + SLACK_S)
                await self._until_sent(before)
                before.clear()
                pause_s = round(event.at - self._at, 3)  # as exact as the recorded times
                # The recorder saw a change on disk only at the next message, so the change is
                # older than its time. Given late, Indwell would have saved that text itself.
                is_older = event.kind == "disk" and pause_s <= PAUSE_S
                # On a busy machine, the wait for the outputs can use up the time before the limit.
                loop.stop_at(loop.time() + max(pause_s, AT_ONCE_S) + SLACK_S)
                if pause_s > PAUSE_S:
                    await asyncio.sleep(pause_s)
                elif pause_s > AT_ONCE_S and not is_older and not self._is_at_once(event):
                    await asyncio.sleep(AT_ONCE_S)  # returns when the server waits for something
                self._at = self._at if is_older else event.at
                self.n_inputs += 1
                self._give(event, routing)
        loop.stop_at(loop.time() + END_S)
        await self._until_sent(before)
        if self.problem:
            raise _Differs(self.problem)

    def _is_at_once(self, event: CassetteEvent) -> bool:
        return self._pace == "at once" or (self._pace == "as recorded" and event.busy)

    def _give(self, event: CassetteEvent, routing: Routing) -> None:
        match event.kind:
            case "in":
                body = each_text(event.body, self._real)
                if isinstance(body, dict) and "method" not in body and body.get("id") in self._ids:
                    body = {**body, "id": self._ids[body["id"]]}
                if isinstance(body, dict) and body.get("method") == EXECUTE:
                    self._commands.add(repr(body.get("id")))
                raw = unpacked(body) if isinstance(body, str) else bytes_of(body)
                routing.receive([raw])
            case "disk":
                path = self.places.path(event.name)
                if event.body is None:
                    with suppress(OSError):
                        remove_own(path)
                else:
                    put_file(path, unpacked(self.places.unfold(event.body)))
            case _:
                self._feeds[event.n].put(event)

    async def _until_sent(self, awaited: list[CassetteEvent]) -> None:
        """Wait until the server has sent these outputs.

        Raises:
            _Differs: An output differs, or does not come.
        """
        for event in awaited:
            while id(event) not in self._seen:
                if self.problem:
                    raise _Differs(self.problem)
                self._moved.clear()
                if not await self._moves():
                    held = "".join(f"; waiting: {title_of(one)}" for one in self._held)
                    raise _Differs(f"missing: {title_of(event)}{held}")
        if self.problem:
            raise _Differs(self.problem)

    async def _turn_of(self, sent: CassetteEvent) -> CassetteEvent:
        """Wait until a request or program is due in the cassette; return the recorded one.

        One that the cassette does not have waits for ever, as if the server were slow.
        """
        with self._lock:
            is_known = bool(self._awaited[key_of(sent)])
        if not is_known:
            self._held.append(sent)
            await asyncio.get_running_loop().create_future()
        recorded = self._output(sent)
        assert recorded is not None
        await asyncio.wrap_future(self._due[recorded.n])
        return recorded

    def _output(self, sent: CassetteEvent) -> CassetteEvent | None:
        """Compare an output with the next recorded one of its kind; return the recorded one."""
        if may_vary(sent):
            return None
        with self._lock:
            awaited = self._awaited[key_of(sent)]
            if not awaited:
                if self.n_inputs < self._n_recorded:  # the cassette may end before the server
                    self._fail(f"not in the cassette: {title_of(sent)}")
                return None
            recorded = awaited.popleft()
            self._seen.add(id(recorded))
            self.n_outputs += 1
            is_early = key_of(sent).name in self._commands and is_empty(recorded, sent)
            is_free = is_early or id(recorded) in self.overtaken
            if not is_free and not self._digests.are_same(recorded, sent):
                self._fail(f"{title_of(sent)} {difference(recorded, sent)}")
            body = sent.body
            if sent.kind == "out" and isinstance(body, dict) and {"id", "method"} <= body.keys():
                self._ids[recorded.body["id"]] = body["id"]
            self._move()
            return recorded

    def _real(self, text: str) -> str:
        """Return a recorded text with the folders and digests of this replay."""
        return self.places.unfold(self._digests.now(text))

    def _fail(self, problem: str) -> None:
        self.problem = self.problem or problem
        self._move()

    async def _moves(self) -> bool:
        """Wait for an output; return False after a silence in real time, in which nothing works."""
        assert self._loop is not None
        began_s, cpu_s = time.monotonic(), time.process_time()
        late = threading.Timer(self._silence_s, self._move)
        late.start()
        await self._moved.wait()
        late.cancel()
        is_working = self._loop.is_working or time.process_time() - cpu_s > self._silence_s / 10
        return is_working or time.monotonic() - began_s < self._silence_s

    def _move(self) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._moved.set)


class _Feed:
    """The recorded events of one exchange or program, as they are given; for any event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready: deque[CassetteEvent] = deque()
        self._waiter: Future[None] | None = None

    def put(self, event: CassetteEvent) -> None:
        """Add an event."""
        with self._lock:
            self._ready.append(event)
            waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.cancelled():
            waiter.set_result(None)

    async def events(self) -> AsyncIterator[CassetteEvent]:
        """Yield the events in order; the caller ends the iteration."""
        while True:
            with self._lock:
                event = self._ready.popleft() if self._ready else None
                if event is None:
                    waiter = self._waiter = Future()
            if event is not None:
                yield event
            else:
                await asyncio.wrap_future(waiter)
