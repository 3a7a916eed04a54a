"""The queue as a value: order, limits, and two clients that change the queue at once."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.agent.core.prompt import MOST_CHARACTERS, MOST_WAITING, MOST_WAITING_CHARACTERS, Prompt
from indwell.errors import UserError
from indwell.lsp.messages.methods import QueueParams
from indwell.lsp.methods.methods import change_of
from indwell.service.turns import queue as line
from indwell.service.turns.queue import Queue, WaitingPrompt


def waiting(name: str, words: str = "") -> WaitingPrompt:
    words = words or f"do {name}"
    return WaitingPrompt(name, Prompt(words=words, title=line.title_of(words)))


A, B, C = waiting("a"), waiting("b"), waiting("c")
THREE = Queue(7, (A, B, C))


def there_is_room(_one: WaitingPrompt) -> bool:
    return True


def test_prompts_of_one_session_run_in_their_order() -> None:
    queue = Queue()
    for one in (A, B):
        queue = line.added(queue, one)
    assert queue == Queue(2, (A, B))
    assert line.taken(queue, there_is_room) == (A, Queue(3, (B,)))


def test_a_full_prompt_queue_refuses_another_prompt_with_a_message() -> None:
    full = Queue(0, tuple(waiting(str(n)) for n in range(MOST_WAITING)))
    with pytest.raises(UserError, match="50 prompts are waiting already"):
        line.added(full, A)


def test_the_total_size_of_waiting_prompts_is_limited() -> None:
    """One event contains the whole queue, and editors accept messages up to 32 MB."""
    half = waiting("h", "x" * (MOST_WAITING_CHARACTERS // 2))
    full = Queue(0, (half, msgspec.structs.replace(half, id="i")))
    for change in (
        lambda: line.added(full, A),
        lambda: line.reworded(Queue(0, (A, *full.waiting)), "a", "more"),
    ):
        with pytest.raises(UserError, match="which is over 2,000,000; wait for the running turn"):
            change()


def test_an_edited_waiting_prompt_is_cleaned_and_limited_like_a_new_prompt() -> None:
    (edited,) = line.reworded(Queue(0, (A,)), "a", "\ud800 hi").waiting
    assert edited == waiting("a", "\ufffd hi")
    with pytest.raises(UserError, match="put the text into a file of the workspace"):
        line.reworded(Queue(0, (A,)), "a", "x" * (MOST_CHARACTERS + 1))


def test_a_title_is_made_from_the_beginning_of_the_prompt() -> None:
    assert line.title_of(" \n" * 5_000 + "mend\n it") == "mend it"
    assert line.title_of("word " * 1_000_000) == ("word " * 12)


@pytest.mark.parametrize(
    ("params", "after"),
    [
        (QueueParams(), THREE),
        (QueueParams("list", seq=1), THREE),
        (QueueParams("remove", id="b"), Queue(8, (A, C))),
        (QueueParams("move", id="c", to=0), Queue(8, (C, A, B))),
        (QueueParams("move", id="a", to=1), Queue(8, (B, A, C))),
        (QueueParams("move", id="a", to=99), Queue(8, (B, C, A))),
        (QueueParams("move", id="b", to=-3), Queue(8, (B, A, C))),
        (QueueParams("edit", id="a", text="other"), Queue(8, (waiting("a", "other"), B, C))),
        (QueueParams("hold"), line.held(THREE, "you asked to wait")),
        (QueueParams("resume"), THREE),
        (QueueParams("remove", seq=7, id="a"), Queue(8, (B, C))),
    ],
)
def test_a_client_may_reorder_edit_and_remove_waiting_prompts(params, after) -> None:
    assert change_of(params, THREE) == after


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        (QueueParams("remove", id="x"), "no prompt 'x' is waiting; it has begun or was removed"),
        (QueueParams("remove"), "'remove' of the queue needs `id`; send it along"),
        (QueueParams("move", id="a"), "'move' of the queue needs `to`; send it along"),
        (QueueParams("edit", id="a"), "'edit' of the queue needs `text`; send it along"),
        (
            QueueParams("edit", id="a", text=" \n"),
            "the new words are empty; remove the prompt instead",
        ),
        (
            QueueParams("remove", seq=6, id="a"),
            (
                "the queue was changed meanwhile (it is at seq 7, not 6); look at it again and "
                "repeat the change"
            ),
        ),
    ],
)
def test_an_impossible_change_of_the_queue_is_reported(params, sentence) -> None:
    with pytest.raises(UserError) as caught:
        change_of(params, THREE)
    assert str(caught.value) == sentence


def test_editing_the_prompt_of_a_code_action_keeps_its_title() -> None:
    fix = WaitingPrompt("f", Prompt(words="Fix this: a.py.", title="Fix this: a.py"))
    (edited,) = line.reworded(Queue(0, (fix,)), "f", "Fix it well.").waiting
    assert edited == WaitingPrompt("f", Prompt(words="Fix it well.", title="Fix this: a.py"))


def test_a_held_queue_continues_at_the_next_prompt_or_on_request() -> None:
    held = line.held(Queue(1, (A,)), "the previous turn was stopped")
    held_a = msgspec.structs.replace(A, is_held=True)
    assert held == Queue(2, (held_a,), "the previous turn was stopped")
    assert line.added(held, B) == Queue(3, (A, B))
    assert line.put_first(held, B) == Queue(3, (B, A))
    assert line.released(held) == Queue(3, (A,))
    assert line.removed(held, "a") == Queue(3)


def test_a_prompt_of_another_session_keeps_held_prompts_held() -> None:
    at = msgspec.structs.replace
    mine, theirs = at(A, home="s1", is_held=True), at(B, home="s2", is_held=True)
    both = Queue(1, (mine, theirs), "the previous turn was stopped")
    new, same, named = at(C, target="new"), at(C, home="s1"), at(C, target="s2")
    assert line.added(both, new) == Queue(2, (mine, theirs, new), both.held)
    assert line.taken(line.added(both, new), there_is_room) == (
        new,
        Queue(3, both.waiting, both.held),
    )
    assert line.added(both, same) == Queue(2, (at(A, home="s1"), theirs, same), both.held)
    assert line.added(both, named).waiting == (mine, at(B, home="s2"), named)
    assert line.taken(both, there_is_room) == (None, both)
    assert line.put_first(both, same) == Queue(2, (C, A, theirs), both.held)


def test_a_waiting_prompt_may_overtake_only_prompts_of_other_sessions() -> None:
    at = msgspec.structs.replace
    busy, also_busy, free = at(A, home="s1"), at(B, target="s1"), at(C, target="s2")
    both = Queue(1, (busy, also_busy, free))

    def elsewhere(one: WaitingPrompt) -> bool:
        return one.session != "s1"

    assert line.taken(both, elsewhere) == (free, Queue(2, (busy, also_busy)))
    unsettled = at(C, id="u")  # the session of this prompt is not known yet
    assert line.taken(Queue(1, (busy, unsettled)), elsewhere)[0] is None
    first, rest = line.taken(both, lambda one: one is also_busy or one is free)
    assert (first, rest.waiting) == (free, (busy, also_busy)), "b waits behind a"


def test_a_failed_turn_holds_prompts_of_its_session_and_prompts_without_a_session() -> None:
    at = msgspec.structs.replace
    own, other, new, unsettled = (
        at(A, home="s1"),
        at(B, home="s2"),
        at(C, target="new"),
        at(A, id="u"),
    )
    queue = Queue(1, (own, other, new, unsettled))
    held = line.held(queue, "why", "s1")
    assert [one.is_held for one in held.waiting] == [True, False, False, True]
    assert line.held(Queue(1, (other, new)), "why", "s1") == Queue(1, (other, new))
    assert all(one.is_held for one in line.held(queue, "why").waiting)


def test_an_empty_queue_is_never_held() -> None:
    assert line.held(Queue(4), "why") == Queue(4)


changes = st.one_of(
    st.builds(lambda n: lambda q: line.added(q, waiting(f"n{q.seq}-{n}")), st.integers(0, 3)),
    st.builds(
        lambda n: lambda q: line.removed(q, q.waiting[n % len(q.waiting)].id) if q.waiting else q,
        st.integers(0, 9),
    ),
    st.builds(
        lambda n, to: (
            lambda q: line.moved(q, q.waiting[n % len(q.waiting)].id, to) if q.waiting else q
        ),
        st.integers(0, 9),
        st.integers(-2, 9),
    ),
    st.just(lambda q: line.held(q, "why")),
    st.just(line.released),
)


@given(st.lists(changes, max_size=30))
def test_every_change_has_a_number_and_no_prompt_is_lost_or_doubled(steps) -> None:
    queue, there = Queue(), set()
    for step in steps:
        after = step(queue)
        assert (after.seq == queue.seq) == (after == queue)
        ids = [one.id for one in after.waiting]
        assert len(ids) == len(set(ids))
        there = (there | set(ids)) & set(ids)
        assert abs(len(after.waiting) - len(queue.waiting)) <= 1
        queue = after
    assert {one.id for one in queue.waiting} == there
