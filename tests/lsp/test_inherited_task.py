"""The task that a session passes on survives a kill until the model has received it."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from indwell.agent.core.session import Session
from indwell.agent.features.plan import PlanBoard, board_of, plan_feature
from indwell.agent.features.todo import NAME as TODO
from indwell.agent.features.todo import TodoList
from indwell.agent.restore import past_of
from indwell.context.task_state import Plan, TodoItem
from indwell.errors import UserError
from indwell.service.sessions.inherited_task import HandingOn, take_again
from indwell.service.sessions.stored_sessions import StoredSessions
from indwell.sessions.branches import plan_of, todo_of
from indwell.sessions.records import PlanSet, TodoSet, TurnEndRecord, TurnStartRecord
from support.platforms import posix_only
from support.session import World, a_world, says, texts

STEPS = (TodoItem("Count"),)


class Server(StoredSessions):
    """The part of a server that stores the passed task."""

    def __init__(self, root: Path) -> None:
        super().__init__({"INDWELL_STATE": str(root / "state")}, lambda: (root,))
        self.next = HandingOn(self)

    def killed(self) -> Server:
        """Return a new server after the old one was killed; no process holds the file any more."""
        for path in self.files():
            gone = shutil.move(path, path.with_name("gone"))
            shutil.copy(gone, path)  # no process holds a lock of this copy
        return Server(self.root)

    def files(self) -> list[Path]:
        return list(self.root.glob("state/drafts/*/t*-*"))


def with_list(root: Path, *script: Any) -> AbstractAsyncContextManager[World]:
    """Open a session with a to-do list."""
    return a_world(
        root, script, features=[plan_feature(PlanBoard(), lambda: "review"), TodoList().feature()]
    )


@asynccontextmanager
async def outgrown(root: Path, *, is_saved: bool = True) -> AsyncIterator[World]:
    """Open a session with a task, a plan and steps, which exceeds every window."""
    async with with_list(root, says()) as world:
        await world.turn("count the carts")
        session = world.session
        session.parts.log.append(PlanSet(1, "approved", "1. Count", "t"))
        session.parts.log.append(TodoSet(1, STEPS, "t"))
        board_of(session).adopt(Plan("approved", "1. Count"))
        session.parts.features.inherit({TODO: STEPS})
        await session.parts.log.commit()
        session.endings.is_outgrown = True
        if not is_saved:
            shutil.rmtree(world.store.spill(session.id).parent)
        yield world


def has_all(session: Session) -> bool:
    """Return whether the session's next request contains the task, the plan and the steps."""
    cards = [one.text for one in session.conversation.pending if one.meta.source == "task_card"]
    parts = session.parts
    return (
        len(cards) == 1
        and "count the carts" in cards[0]
        and (board_of(session).plan, parts.features.now()[TODO])
        == (Plan("approved", "1. Count"), STEPS)
    )


@posix_only("open")
async def test_a_kill_before_the_new_session_begins_loses_no_part_of_the_task(
    tmp_path: Path,
) -> None:
    server = Server(tmp_path)
    async with outgrown(tmp_path) as old, with_list(tmp_path, says()) as new:
        await server.next.left(old.session)
        server = server.killed()
        # The server is killed again, before the prompt is on disk.
        async with with_list(tmp_path) as other:
            await server.next.give(other.session)
            assert has_all(other.session)
            assert f"the task of session {old.session.id} continues here" in other.session.notice
            await other.session.parts.log.commit()
        server = server.killed()
        await server.next.give(new.session)
        assert has_all(new.session)
        await new.turn("go on")
        assert any(one.startswith("<task-card>") for one in texts(new.messages[0]))
        await server.next.begun()
        assert server.files() == []
        async with with_list(tmp_path) as third:
            await server.next.give(third.session)
            assert not has_all(third.session), "it goes along once"


async def test_after_a_kill_before_the_first_answer_the_resumed_session_gets_the_task_again(
    tmp_path: Path,
) -> None:
    server = Server(tmp_path)
    async with outgrown(tmp_path) as old:
        await server.next.wish(old.session.id, for_good=False)
        async with with_list(tmp_path) as new:
            await server.next.give(new.session)
            new.session.parts.log.append(TurnStartRecord(1, "go on", "t"))
            records = await new.records()
        server = server.killed()
        async with with_list(tmp_path) as other:
            await server.next.give(other.session)
            assert not has_all(other.session), "a session has begun with it"
            assert server.files() == []
        past = past_of(records)
        assert (past.origin, past.draft, plan_of(records), todo_of(records)) == (
            old.session.id,
            "go on",
            Plan(),
            (),
        )
        async with with_list(tmp_path) as again:
            await take_again(again.session, old.store, past.origin)
            assert has_all(again.session)


@pytest.mark.parametrize("way", ["elsewhere", "another", "for good"])
async def test_a_task_that_the_user_dropped_is_not_inherited(tmp_path: Path, way: str) -> None:
    server = Server(tmp_path)
    async with (
        outgrown(tmp_path) as old,
        with_list(tmp_path) as new,
    ):
        await server.next.left(old.session)
        assert len(server.files()) == 1
        if way == "elsewhere":
            await server.next.drop()
        elif way == "another":
            await server.next.left(new.session)  # a session that is not too large
        else:
            await server.next.wish("", for_good=True)
        assert server.files() == []
        await server.next.give(new.session)
        assert not has_all(new.session)


@posix_only("open")
async def test_an_unsaved_task_is_included_while_the_server_lives(tmp_path: Path) -> None:
    server = Server(tmp_path)
    async with (
        outgrown(tmp_path, is_saved=False) as old,
        with_list(tmp_path) as new,
    ):
        await server.next.left(old.session)
        later = server.killed()
        await server.next.give(new.session)
        assert has_all(new.session)
        async with with_list(tmp_path) as other:
            await later.next.give(other.session)
            assert "is no longer carried over: there is no session" in other.session.notice


async def test_an_unreadable_named_session_is_tried_again_at_the_next_prompt(
    tmp_path: Path,
) -> None:
    server = Server(tmp_path)
    async with (
        outgrown(tmp_path) as old,
        with_list(tmp_path) as new,
    ):
        await server.next.wish(old.session.id, for_good=False)
        folder = old.store.spill(old.session.id).parent
        away = folder.rename(tmp_path / "away")
        with pytest.raises(UserError, match="begin a new session to go on without it"):
            await server.next.give(new.session)
        away.rename(folder)
        await server.next.give(new.session)
        assert has_all(new.session)


async def test_a_log_shows_after_a_restart_that_its_session_was_too_large(tmp_path: Path) -> None:
    async with outgrown(tmp_path) as world:
        (begun, ended) = (
            one for one in await world.records() if isinstance(one, TurnStartRecord | TurnEndRecord)
        )
        full = msgspec.structs.replace(ended, outgrown=True)
        assert [past_of(one).is_outgrown for one in ([begun, ended], [begun, full])] == [
            False,
            True,
        ]
        assert not past_of([begun, full, TurnStartRecord(2, "again", "t")]).is_outgrown


async def test_the_notes_of_an_inherited_task_are_files_of_the_new_session(tmp_path: Path) -> None:
    rules = " ".join(f"Never touch the folder number {at}." for at in range(400))
    async with with_list(tmp_path, says()) as old, with_list(tmp_path) as new:
        await old.turn(rules)
        await old.session.parts.log.commit()
        await take_again(new.session, old.store, old.session.id)
        (card,) = (one.text for one in new.session.conversation.pending)
        named = re.findall(r"[^\s,]*notes-\d{4}-\w+\.txt", card)
        folder = new.store.spill(new.session.id)
        paths = [folder / Path(one).name for one in named]
        assert named
        assert Path(named[0]) == paths[0]
        assert str(old.store.spill(old.session.id)) not in card
        shown = "".join(path.read_text(encoding="utf-8") for path in paths)
        assert "- turn 1: Never touch the folder number 0.\n" in shown
        assert "- turn 1: Never touch the folder number 399.\n" in shown
        # A second inheritance, as after a kill, finds the same files.
        await take_again(new.session, old.store, old.session.id)
        assert sorted(folder.glob("notes-*")) == sorted(paths)
