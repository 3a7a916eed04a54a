from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indwell.agent.core.session import added_messages
from indwell.messages import Message, Text
from indwell.sessions.conversation_restore import fold, join
from indwell.sessions.records import MessageRecord
from support.requests import assistant, meta, user

texts = st.sampled_from(["a", "b", "c"])
parts = st.lists(
    st.tuples(st.sampled_from(["user", "assistant"]), texts, st.integers(1, 3)), max_size=12
)


def grown(script: list[tuple[str, str, int]]) -> list[tuple[Message, ...]]:
    """Return the messages of a conversation after each of these texts was added."""
    values: list[tuple[Message, ...]] = [()]
    messages: list[Message] = []
    for role, text, turn in script:
        join(messages, Message(role, (Text(text, meta(text)),), turn))  # type: ignore[arg-type] # a role
        values.append(tuple(messages))
    return values


@settings(deadline=None)
@given(parts, st.data())
def test_logged_messages_rebuild_the_whole_conversation(
    script: list[tuple[str, str, int]], data: st.DataObject
) -> None:
    values = grown(script)
    stops = data.draw(st.lists(st.integers(0, len(script)), max_size=4).map(sorted))
    said, before = [], values[0]
    for stop in [*stops, len(script)]:
        said += [MessageRecord(message, "") for message in added_messages(before, values[stop])]
        before = values[stop]
    assert fold(said) == values[-1]


def test_without_new_messages_nothing_is_logged() -> None:
    messages = (user("go"), assistant("ok"))
    assert added_messages(messages, messages) == ()
    assert added_messages((), ()) == ()


def test_sent_messages_never_change() -> None:
    with pytest.raises(AssertionError):
        added_messages((user("go"),), (user("went"),))
