"""What several sessions, large texts, odd files and a silent client do to ``indwell acp``."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from acp.connection import Connection
from acp.exceptions import RequestError

from acp import schema, text_block
from indwell.acp.client import LEFT_OUT, AcpClient
from indwell.acp.serving import LineTransport
from indwell.acp.updates import LARGE_CHARACTERS, LargeUpdate, SessionUpdates, said
from indwell.agent.core import events
from support.acp_client import EditorClient, allow, connected, refuse
from support.editing import Home, bash
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, say

ROUNDS = 10
MOST = 400_000  # characters that may wait for a client, instead of 16 million


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def begun(connection: Any, folder: Path) -> str:
    new = await connection.new_session(cwd=str(folder), mcp_servers=[])
    return str(new.session_id)


class TogetherClient(EditorClient):
    """Answers questions only once several are open, in random order.

    Args:
        n_open: The number of open questions.
        answer: Returns the answer for the text of a question.

    Attributes:
        whose: The session and the text of each question.
        meanwhile: Sends something while answers are sent, but not while the last answers are sent,
            because the turns may end first.
    """

    def __init__(self, n_open: int, answer: Callable[[str], str]) -> None:
        super().__init__(refuse)
        self._n_open, self._answer = n_open, answer
        self._open: list[asyncio.Future[None]] = []
        self._chance = random.Random(7)
        self._sent: list[asyncio.Task[None]] = []
        self.whose: list[tuple[str, str]] = []
        self.meanwhile: Callable[[], Coroutine[Any, Any, None]] | None = None

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_meta: Any
    ) -> schema.RequestPermissionResponse:
        """Wait for the other questions, and answer."""
        del options
        words = tool_call.content[0].content.text
        self.whose.append((session_id, words))
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._open.append(mine)
        if len(self._open) == self._n_open:
            await self.ended()
            if self.meanwhile is not None and len(self._sent) < ROUNDS - 1:
                self._sent.append(asyncio.create_task(self.meanwhile()))
                await asyncio.sleep(0)
            self._chance.shuffle(self._open)
            for one in self._open:
                one.set_result(None)
            self._open.clear()
        await mine
        chosen = schema.AllowedOutcome(outcome="selected", option_id=self._answer(words))
        return schema.RequestPermissionResponse(outcome=chosen)

    async def ended(self) -> None:
        """Wait until everything is sent."""
        await asyncio.gather(*self._sent)


WORDS = ("one", "two", "three")


def word_of(seen: Seen) -> str:
    return next(word for word in WORDS if f"I am {word}" in str(seen.body))


def rounds(seen: Seen) -> Answer:
    """Answer as a model that asks for a command of its own, ten times."""
    n_results = sum(one["role"] == "tool" for one in seen.body["messages"])
    word = word_of(seen)
    return bash(f"echo {word}-{n_results}; rm -f none") if n_results < ROUNDS else say(word)


def is_allowed(word: str, number: int) -> bool:
    return number % len(WORDS) == WORDS.index(word)


def answer_of(asked: str) -> str:
    """Answer by the command in the question: some commands of each session may run."""
    found = re.search(r"echo (\w+)-(\d+);", asked)
    assert found is not None
    return "once" if is_allowed(found[1], int(found[2])) else "no"


async def test_thirty_answers_while_prompts_arrive_reach_the_session_of_their_question(
    home: Home,
) -> None:
    client = TogetherClient(len(WORDS), answer_of)
    async with (
        LoopbackEndpoint(rounds) as endpoint,
        connected(client, home, endpoint.base_url) as connection,
    ):
        sessions = {await begun(connection, home.workspace): word for word in WORDS}

        async def prompts() -> None:
            for one in sessions:
                with pytest.raises(RequestError, match="a turn is running"):
                    await connection.prompt(session_id=one, prompt=[text_block("yes, allow it")])

        client.meanwhile = prompts
        await asyncio.gather(
            *(
                connection.prompt(session_id=one, prompt=[text_block(f"I am {word}")])
                for one, word in sessions.items()
            )
        )
        await client.ended()
    assert len(client.whose) == len(WORDS) * ROUNDS
    assert all(f"{sessions[one]}-" in asked for one, asked in client.whose)
    last = {word_of(seen): seen for seen in endpoint.seen}
    for word, seen in last.items():
        results = [str(one["content"]) for one in seen.body["messages"] if one["role"] == "tool"]
        ran = [one.startswith(f"{word}-{number}") for number, one in enumerate(results)]
        assert ran == [is_allowed(word, number) for number in range(ROUNDS)], results


async def test_always_in_two_sessions_at_once_stores_both_rules(home: Home) -> None:
    commands = [f"echo {word}; rm -f none" for word in ("one", "two")]
    client = TogetherClient(2, lambda _asked: "always")

    def script(seen: Seen) -> Answer:
        word = word_of(seen)
        is_first = not any(one["role"] == "tool" for one in seen.body["messages"])
        return bash(f"echo {word}; rm -f none") if is_first else say(word)

    async with (
        LoopbackEndpoint(script) as endpoint,
        connected(client, home, endpoint.base_url) as connection,
    ):
        for _ in range(2):  # The second time, no question may come.
            sessions = [await begun(connection, home.workspace) for _ in commands]
            await asyncio.gather(
                *(
                    connection.prompt(session_id=one, prompt=[text_block(f"I am {word}")])
                    for one, word in zip(sessions, ("one", "two"), strict=True)
                )
            )
    assert len(client.whose) == 2
    (book,) = (path for path in home.state.rglob("*.json") if b"echo one" in path.read_bytes())
    rules = sorted(map(home.rule, commands))
    assert json.loads(book.read_text()) == {"version": 1, "rules": rules}


async def test_the_whole_home_folder_is_opened_with_its_private_files_behind_a_question(
    home: Home,
) -> None:
    home.trusted = (home.folder,)
    secret = home.folder / ".config" / "tool" / "token"
    secret.parent.mkdir(parents=True)
    secret.write_text("hunter2hunter2")
    client = EditorClient(refuse)
    script = [
        say(calls=[("read_file", json.dumps({"path": ".config/tool/token"}))]),
        bash("echo made > made.txt"),
        say("Done."),
    ]
    async with (
        LoopbackEndpoint(script) as endpoint,
        connected(client, home, endpoint.base_url) as connection,
    ):
        session = await begun(connection, home.folder)
        await connection.prompt(session_id=session, prompt=[text_block("Look")])
        with pytest.raises(RequestError, match="the whole disk"):
            await begun(connection, Path(home.folder.anchor))
    assert "hunter2" not in str([one.body for one in endpoint.seen])
    assert "keys and tokens" in str(client.asked[0])
    assert not (home.folder / "made.txt").exists()


async def test_mixed_line_ends_of_disk_and_of_unsaved_text_stay_byte_for_byte(home: Home) -> None:
    mixed = b"one = 1\r\ntwo = 2\nthree = 3\r\nfour = 4\n"
    files = {name: home.workspace / name for name in ("saved.py", "lf.py", "mixed.py")}
    for path in files.values():
        path.write_bytes(mixed)
    client = EditorClient(allow)
    saved = client.buffers[files["saved.py"]] = mixed.decode().replace("\r\n", "\n")
    client.buffers[files["lf.py"]] = f"typed = 0\n{saved}"
    client.buffers[files["mixed.py"]] = f"typed = 0\r\n{mixed.decode()}"
    script: list[Answer] = []
    for name in files:
        edit = {"path": name, "edits": [{"old": "two = 2", "new": "two = 22"}]}
        script.append(say(calls=[("read_file", json.dumps({"path": name}))]))
        script.append(say(calls=[("edit_file", json.dumps(edit))]))
    async with (
        LoopbackEndpoint([*script, say("Done.")]) as endpoint,
        connected(client, home, endpoint.base_url) as connection,
    ):
        session = await begun(connection, home.workspace)
        await connection.prompt(session_id=session, prompt=[text_block("Double it")])
    edited = mixed.replace(b"two = 2", b"two = 22")
    assert files["saved.py"].read_bytes() == edited
    assert files["lf.py"].read_bytes() == b"typed = 0\r\n" + edited
    assert files["mixed.py"].read_bytes() == b"typed = 0\r\n" + edited


async def test_a_client_that_reads_nothing_stops_the_turns_and_is_told_what_it_missed() -> None:
    (read, write), (silent, _open) = os.pipe(), os.pipe()
    client, stopped = AcpClient(most_waiting=MOST), asyncio.Event()
    client.stop_turns = stopped.set
    connection = Connection(_nobody, LineTransport(silent, write), listening=False)
    client.connect(connection)
    part = "x" * 20_000
    for number in range(3 * MOST // len(part)):
        client.update("first" if number % 2 else "second", said(part))
    async with asyncio.timeout(60):
        await stopped.wait()
        reading = asyncio.create_task(asyncio.to_thread(_lines, read, n_remarks=2))
        lines = await reading
    assert sum(map(len, lines)) < MOST + 3 * len(part)
    told = [json.loads(one)["params"] for one in lines if b"tool_call" in one]
    assert sorted(one["sessionId"] for one in told) == ["first", "second"]
    assert LEFT_OUT in str(told[0])
    client.update("first", said("It goes on."))
    async with asyncio.timeout(60):
        (line,) = await asyncio.to_thread(_lines, read, n_lines=1)
    assert "It goes on." in line.decode()


async def _nobody(*_request: object) -> None:
    """Answer nothing, because this client sends nothing."""


def _lines(read: int, *, n_remarks: int = 0, n_lines: int = 0) -> list[bytes]:
    with os.fdopen(os.dup(read), "rb", buffering=0) as file:
        data = b""
        while (
            (b"\n" not in data)
            if n_lines
            else data.count(b"Indwell: the client") < n_remarks or not data.endswith(b"\n")
        ):
            data += file.read(1 << 20)
    return data.splitlines()


def test_a_large_diff_is_split_later_and_the_end_of_its_call_comes_after_it() -> None:
    updates = SessionUpdates(Path("/project"))
    old, new = "one = 1\n" * LARGE_CHARACTERS, "one = 2\n" * LARGE_CHARACTERS
    n_lines = LARGE_CHARACTERS
    head = f"--- a\n+++ b\n@@ -1,{n_lines} +1,{n_lines} @@\n"
    removed, added = "-one = 1\n" * n_lines, "+one = 2\n" * n_lines
    edit = events.EditApplied(
        turn=1,
        id="call",
        path="a.py",
        added=1,
        removed=1,
        created=False,
        verified=True,
        diff=f"{head}{removed}{added}",
    )
    ended = events.ToolFinished(1, "call", "edit_file", "a.py", False, "+1 −1", 0.1)  # noqa: FBT003 - as is
    later = [*updates.of_event(edit), *updates.of_event(ended)]
    assert [type(one) for one in later] == [LargeUpdate, LargeUpdate]
    first, second = [one.make() for one in later if isinstance(one, LargeUpdate)]
    assert isinstance(second, schema.ToolCallProgress)
    assert second.status == "completed"
    for made in (first, second):
        assert isinstance(made, schema.ToolCallProgress)
        (diff,) = made.content or ()
        assert isinstance(diff, schema.FileEditToolCallContent)
        assert (diff.old_text == old, diff.new_text == new) == (True, True)
    diff = "@@ -1 +1 @@\n-a\n+b\n"
    small = events.EditApplied(
        turn=1, id="b", path="a.py", added=1, removed=1, created=False, verified=True, diff=diff
    )
    assert [type(one) for one in updates.of_event(small)] == [schema.ToolCallProgress]
