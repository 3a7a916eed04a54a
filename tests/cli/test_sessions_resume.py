"""A session resumed from the command line has the same bytes, its own model, clear messages."""

from __future__ import annotations

import asyncio
import gc
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from indwell.agent.core.session import Resumed
from indwell.cli.terminal.front_door import AllowingApprover
from indwell.messages import Image, Message, Meta, Role, Text, ToolSpec
from indwell.sessions.records import (
    ENDED,
    Intent,
    MessageRecord,
    Prefixed,
    Record,
    TurnEndRecord,
    TurnStartRecord,
    prefixed,
    tools_digest,
)
from indwell.sessions.storage.store import SessionStore
from indwell.settings.model import Settings
from indwell.wiring.model import make_model
from indwell.wiring.resume import NEW_TOOLS, OLD_PROMPT, resume_session
from indwell.workspace.disk import DiskWorkspace
from support.editing import EDIT, MODEL, READ, SOURCE, USAGE, Home, results
from support.loopback_endpoint import LoopbackEndpoint, say
from support.model_server import answering, listed
from support.strict_chat import strictly
from support.terminal import Ended, indwell

AT = "2026-11-21T09:00:00.000+00:00"


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def run(home: Home, *arguments: str, base_url: str = "", **variables: str) -> Ended:
    environment = home.environment(base_url, **variables)
    return await indwell(*arguments, environment=environment, folder=home.workspace)


def only_log(home: Home) -> Path:
    (log,) = home.state.rglob("log.jsonl")
    return log


def kill_at(home: Home, kind: str) -> None:
    """Truncate the only session's log as a kill right after its first record of a kind would."""
    log = only_log(home)
    lines = log.read_bytes().splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if line.startswith(f'{{"type":"{kind}"'.encode()))
    log.write_bytes(b"".join(lines[: at + 1]))


async def test_a_resumed_session_sends_the_same_prefix_byte_for_byte(home) -> None:
    script = [say("I look.", calls=[READ], usage=USAGE), say("first", usage=USAGE)]
    async with LoopbackEndpoint(strictly([*script, say("second", usage=USAGE)])) as endpoint:
        first = await run(home, "run", "What is it?", base_url=endpoint.base_url)
        # Other instructions and a later time do not change earlier messages.
        home.configure('instructions = "Be brief."\n')
        second = await run(
            home, "run", "--continue", "And now?", "--json", base_url=endpoint.base_url
        )
    assert (first.code, second.code) == (0, 0), (first, second)
    before, after = (endpoint.seen[at].raw for at in (1, 2))
    sent, now = (json.loads(raw) for raw in (before, after))
    assert now["messages"][: len(sent["messages"])] == sent["messages"]
    assert {name: now[name] for name in now if name != "messages"} == {
        name: sent[name] for name in sent if name != "messages"
    }
    differ = next(at for at in range(len(before)) if before[at] != after[at])
    assert before[:differ].count(b'"role":') == len(sent["messages"])
    said = now["messages"][-1]["content"]
    assert "read a file again before you edit it" in str(said)
    assert "Be brief." not in now["messages"][0]["content"]
    finished = second.events[-1]
    assert (finished["turn"], finished["answer"]) == (2, "second")
    (log,) = home.logs()
    assert len([one for one in log if isinstance(one, Prefixed)]) == 1


async def test_per_09_and_per_11_an_edit_without_a_logged_result_is_checked_and_never_repeated(
    home,
) -> None:
    script = [say(calls=[READ], usage=USAGE), say(calls=[EDIT], usage=USAGE), say("x", usage=USAGE)]
    async with LoopbackEndpoint(strictly(script)) as endpoint:
        await run(home, "run", "mend it", base_url=endpoint.base_url)
    assert home.shop.read_text(encoding="utf-8") != SOURCE
    kill_at(home, "intent")
    before = only_log(home).read_bytes()
    mended = home.shop.read_bytes()
    async with LoopbackEndpoint(strictly([say("I see.", usage=USAGE)])) as endpoint:
        ended = await run(home, "run", "--continue", base_url=endpoint.base_url)
    assert ended.code == 0, ended
    assert "Indwell ended during 1 call (edit_file)" in ended.stderr
    (*_, told) = results(endpoint.seen[0])
    assert told.startswith(
        "[unknown outcome: Indwell ended while this ran; look before repeating it]"
    )
    assert "so it was done" in told
    assert "Go on where you stopped." in str(endpoint.seen[0].body["messages"][-1]["content"])
    assert home.shop.read_bytes() == mended
    assert only_log(home).read_bytes().startswith(before)
    (log,) = home.logs()
    endings = [(one.turn, one.ending, one.message) for one in log if isinstance(one, TurnEndRecord)]
    assert endings == [(1, "interrupted", ENDED), (2, "done", "")]
    assert len([one for one in log if isinstance(one, Intent)]) == 1


async def test_the_prompt_of_a_killed_turn_is_sent_once_with_the_next_turn(
    home,
) -> None:
    async with LoopbackEndpoint(strictly([say("one", usage=USAGE)])) as endpoint:
        await run(home, "run", "mend it, please", base_url=endpoint.base_url)
        kill_at(home, "turnStarted")
    async with LoopbackEndpoint(strictly([say("two", usage=USAGE)])) as endpoint:
        ended = await run(home, "run", "--continue", base_url=endpoint.base_url)
    assert ended.code == 0, ended
    (_system, user) = endpoint.seen[0].body["messages"]
    assert str(user["content"]).count("mend it, please") == 1
    assert "read a file again" not in str(user["content"])  # no file had been read


async def test_a_torn_line_is_reported_once_and_the_session_continues(home) -> None:
    async with LoopbackEndpoint(strictly([say("one", usage=USAGE)])) as endpoint:
        await run(home, "run", "a", base_url=endpoint.base_url)
    log = only_log(home)
    log.write_bytes(log.read_bytes()[:-20])
    told = []
    for _ in range(2):
        async with LoopbackEndpoint(strictly([say("on", usage=USAGE)])) as endpoint:
            ended = await run(home, "run", "--continue", "on", base_url=endpoint.base_url)
        assert ended.code == 0
        told.append("cut off or damaged" in ended.stderr)
    assert told == [True, False]


async def test_resuming_with_a_model_missing_from_the_settings_reports_how_to_continue(
    home,
) -> None:
    async with LoopbackEndpoint(strictly([say("one"), say("two")])) as endpoint:
        await run(home, "run", "a", base_url=endpoint.base_url, INDWELL_MODEL="older-model")
        gone = await run(home, "run", "--continue", "b", base_url=endpoint.base_url)
        assert (gone.code, len(endpoint.seen)) == (1, 1)
        assert (
            "this session used the model 'older-model', which your settings no longer name "
            f"(they name '{MODEL}'); use another one: `--model {MODEL}`"
        ) in gone.stderr
        other = await run(
            home, "run", "--continue", "b", "--model", MODEL, base_url=endpoint.base_url
        )
    assert other.code == 0, other
    assert [one.body["model"] for one in endpoint.seen] == ["older-model", MODEL]
    assert f"The model is {MODEL}." in str(endpoint.seen[1].body["messages"][-1])


async def test_a_model_that_the_endpoint_no_longer_offers_is_reported(home) -> None:
    home.configure('models = ["older-model"]\n')
    async with LoopbackEndpoint(strictly([say("one")])) as endpoint:
        await run(home, "run", "a", base_url=endpoint.base_url, INDWELL_MODEL="older-model")
    async with LoopbackEndpoint(answering(listed(MODEL))) as endpoint:
        gone = await run(home, "run", "--continue", "b", base_url=endpoint.base_url)
    assert gone.code == 1
    assert "'older-model', which the endpoint no longer offers; use another one" in (gone.stderr)


async def test_per_07_a_session_open_elsewhere_can_be_shown_but_not_resumed(
    home,
) -> None:
    store = SessionStore(home.state, home.workspace)
    session, writer = store.create(model="scripted-demo", now=datetime.now(UTC))
    writer.append(TurnStartRecord(1, "held", "t"))
    await writer.commit()
    try:
        refused = await run(home, "run", "--resume", session, "x", "--scripted")
        assert refused.code == 1
        assert f"session '{session}' is open in another editor; close it there" in refused.stderr
        shown = await run(home, "sessions", "show", session)
        assert (shown.code, "you: held" in shown.stdout) == (0, True)
        own = await run(home, "run", "x", "--scripted")
        assert own.code == 0
    finally:
        await writer.close()
    assert (await run(home, "run", "--resume", session, "x", "--scripted")).code == 0


async def test_an_unknown_session_id_is_reported_in_one_sentence_with_the_closest_id(home) -> None:
    nothing = await run(home, "run", "--continue", "x", "--scripted")
    assert nothing.code == 1
    assert "this folder has no session to resume; begin one with `indwell run`" in nothing.stderr
    await run(home, "run", "x", "--scripted")
    (session,) = SessionStore(home.state, home.workspace).ids()
    wrong = session[:-1] + ("0" if session[-1] != "0" else "1")
    for given, close in ((wrong, f" (the closest is '{session}')"), ("zzz", "")):
        ended = await run(home, "run", "--resume", given, "x", "--scripted")
        assert ended.code == 2
        assert (
            f"there is no session '{given}' in this workspace{close}; `indwell sessions` lists them"
        ) in ended.stderr
    assert (await run(home, "run", "--resume", session[:18], "x", "--scripted")).code == 0
    escaping = await run(home, "run", "--resume", "../x", "y", "--scripted")
    assert (escaping.code, "is not a session id" in escaping.stderr) == (2, True)


async def test_the_newest_twenty_are_listed_with_preview_model_cost_and_turns(home) -> None:
    store, moment = SessionStore(home.state, home.workspace), datetime.now(UTC)
    made = []
    for number in range(23):
        session, writer = store.create(model="m", now=moment)
        writer.append(TurnStartRecord(1, f"words {number}", "t"))
        await writer.close()
        made.append(session)
    shown = await run(home, "sessions")
    lines = shown.stdout.splitlines()
    assert [line.split("\t")[0] for line in lines] == made[:2:-1]
    assert lines[0].split("\t")[1:] == ["1", "$0.0000", "m", "words 22"]
    assert shown.stderr == "3 older; `--limit 0` lists all\n"
    assert len(json.loads((await run(home, "sessions", "--json", "--limit", "0")).stdout)) == 23


async def test_a_session_is_shown_turn_by_turn(home) -> None:
    script = [say("I look.", calls=[READ], usage=USAGE), say("It adds one.", usage=USAGE)]
    async with LoopbackEndpoint(strictly(script)) as endpoint:
        await run(home, "run", "What is it?", base_url=endpoint.base_url)
    (session,) = SessionStore(home.state, home.workspace).ids()
    shown = await run(home, "sessions", "show", session[:15])
    assert shown.code == 0
    for words in ("Turn 1", "you: What is it?", "▸ read_file", "It adds one.", MODEL):
        assert words in shown.stdout
    as_json = json.loads((await run(home, "sessions", "show", session, "--json")).stdout)
    assert (as_json["overview"]["id"], as_json["turns"][0]["events"][-1]["ending"]) == (
        session,
        "done",
    )
    assert (await run(home, "sessions", "show", "nope")).code == 2
    assert (await run(home, "sessions", "show")).code == 2


async def test_per_15_a_session_of_a_newer_version_is_refused_and_untouched(home) -> None:
    await run(home, "run", "x", "--scripted")
    log = only_log(home)
    # The copy lacks the end of its last line.
    newer = log.read_bytes().replace(b'"format":1', b'"format":2')[:-1]
    log.write_bytes(newer)
    ended = await run(home, "run", "--continue", "y", "--scripted")
    assert ended.code == 1
    assert "was written by a newer Indwell (format 2, this one knows 1)" in ended.stderr
    assert log.read_bytes() == newer
    assert (await run(home, "sessions", "show", log.parent.name)).code == 0


async def test_per_08_a_run_without_a_writable_state_folder_works_and_reports_the_unsaved_session(
    home,
) -> None:
    ended = await run(home, "run", "x", "--scripted", INDWELL_STATE="/proc/1/nowhere")
    assert ended.code == 0, ended
    assert "this session is not saved, and cannot be resumed later: " in ended.stderr


async def test_a_resumed_session_keeps_old_spilled_texts_and_gives_new_texts_new_names(
    home,
) -> None:
    home.write("big.txt", "".join(f"line {n}\n" for n in range(50_000)))
    cat = ("bash", json.dumps({"command": "cat big.txt"}))
    for arguments in (("run", "a"), ("run", "--continue", "b")):
        script = [say(calls=[cat], usage=USAGE), say("done", usage=USAGE)]
        async with LoopbackEndpoint(strictly(script)) as endpoint:
            ended = await run(home, *arguments, "--allow-commands", base_url=endpoint.base_url)
        assert ended.code == 0, ended
    names = sorted(path.name[:4] for path in home.state.rglob("spill/*"))
    assert names == ["0001", "0002"]
    (log,) = home.logs()
    assert any(isinstance(one, MessageRecord) for one in log)


async def test_a_cancelled_resume_leaves_the_session_free_for_others(home) -> None:
    store = SessionStore(home.state, home.workspace)
    session, writer = store.create(model="m", now=datetime.now(UTC))
    await writer.close()
    settings = Settings(provider="scripted")
    model = make_model(settings)
    taking = asyncio.ensure_future(
        resume_session(
            session,
            DiskWorkspace([home.workspace]),
            AllowingApprover(),
            lambda: settings,
            model,
            environment=home.environment(),
        )
    )
    await asyncio.wait({taking}, timeout=0)  # the thread is starting
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    _, again = store.resume(session, now=datetime.now(UTC))
    await again.close()


async def taken_up(home: Home, *records: Record) -> Resumed:
    """Resume a session from a log of these records, with a model without pictures."""
    store = SessionStore(home.state, home.workspace)
    session, writer = store.create(model="m", now=datetime.now(UTC))
    for record in records:
        writer.append(record)
    await writer.close()
    settings = Settings(provider="scripted")
    resumed = await resume_session(
        session,
        DiskWorkspace([home.workspace]),
        AllowingApprover(),
        lambda: settings,
        make_model(settings),
        environment=home.environment(),
    )
    await resumed.session.close()
    return resumed


async def test_a_model_without_picture_support_reads_a_word_in_place_of_each_picture(home) -> None:
    meta = Meta(tier=3, source="tool", tokens=1_500, turn=1)
    shown = (Text("look", meta), Image("image/png", "iVBO", meta))
    resumed = await taken_up(home, MessageRecord(Message("user", shown, 1), AT))
    (message,) = resumed.session.conversation.messages
    assert [getattr(block, "text", "") for block in message.blocks] == [
        "look",
        "(a picture, image/png, stood here; the model in use takes none)",
    ]


async def test_the_garbage_collector_never_searches_messages_read_from_a_log(home) -> None:
    meta = Meta(tier=1, source="user", tokens=1, turn=1)
    roles: tuple[Role, ...] = ("user", "assistant")
    said = (Message(roles[at % 2], (Text(str(at), meta),), 1) for at in range(2_000))
    resumed = await taken_up(home, *(MessageRecord(message, AT) for message in said))
    searched = {id(one) for one in gc.get_objects()}
    messages = resumed.session.conversation.messages
    assert len(messages) == 2_000
    # each message object appears at most once in memory
    assert sum(id(one) in searched for one in messages) < 10


async def test_a_resumed_session_keeps_an_outdated_system_prompt_and_reports_it(home) -> None:
    begun = (await taken_up(home)).session
    tools = tools_digest(begun.conversation.tools)
    present = tuple(block.text for block in begun.conversation.system)
    for system, notices in ((present, ()), (("Obey all.",), (OLD_PROMPT,))):
        resumed = await taken_up(home, Prefixed(system, tools, AT))
        assert tuple(block.text for block in resumed.session.conversation.system) == system
        assert resumed.notices == notices


async def test_tools_added_during_a_session_stay_in_its_requests_after_a_resume(home) -> None:
    begun = (await taken_up(home)).session.prefix
    late = ToolSpec("phone_book", "Find a number.", "{}")
    for specs in ((*begun.specs, late), begun.specs):
        resumed = await taken_up(home, prefixed(begun.system, specs, AT))
        assert resumed.session.conversation.tools == specs
        assert resumed.notices == ()
    other = prefixed(begun.system, (late, *begun.specs[1:]), AT)
    resumed = await taken_up(home, other)
    assert resumed.session.conversation.tools == begun.specs
    assert resumed.notices == (NEW_TOOLS,)


async def test_per_08_a_state_folder_name_may_contain_spaces_and_control_characters(
    home,
) -> None:
    odd = str(home.folder / "Ordner mit Leerzeichen ☃ \u202e" / "state")
    for arguments in (("run", "x"), ("run", "--continue", "y")):
        ended = await run(home, *arguments, "--scripted", INDWELL_STATE=odd)
        assert (ended.code, "not saved" in ended.stderr) == (0, False), ended
