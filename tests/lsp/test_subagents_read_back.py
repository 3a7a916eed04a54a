"""In every view of an ended session, sub-agents' calls are in the card of their call."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from indwell.agent.core import events
from indwell.agent.core.events import Event
from indwell.lsp.chat.rendering import Rendering, restored
from indwell.lsp.messages.answers import PAGE_CHARACTERS, TEXT_CHARACTERS, session_result
from indwell.lsp.virtual.markdown import transcript_markdown
from indwell.messages import Message, Meta, ToolUse
from indwell.service.sessions.recorded_turns import RecordedTurn
from indwell.sessions.log_lines import LogReading
from indwell.sessions.overview import Overview
from indwell.sessions.records import CallEnded, MessageRecord, Record, TurnStartRecord
from support.recorded_turn import recorded_turn

DIFF = "--- a/shop.py\n+++ b/shop.py\n@@ -1 +1 @@\n-<b>\n+```\n"
EDIT = (
    events.ToolStarted(1, "a1-1", "edit_file", "shop.py", agent="c1"),
    events.EditApplied(1, "a1-1", "shop.py", 1, 1, DIFF, created=False, verified=True, agent="c1"),
    events.ToolFinished(1, "a1-1", "edit_file", "shop.py", False, "+1 −1", 0.5, agent="c1"),  # noqa: FBT003
)
MAKE = (
    events.ToolStarted(1, "a1-2", "bash", "make <x>", agent="c1"),
    events.ToolFinished(
        1,
        "a1-2",
        "bash",
        "make <x>",
        True,  # noqa: FBT003 - in the order of the fields
        "failed",
        2.0,
        "## You\n\nno rule",
        agent="c1",
    ),
)
OPEN = (events.ToolStarted(1, "a1-3", "grep", "total", agent="c1"),)
META = Meta(tier=3, source="assistant", tokens=1)


def a_turn(*inner: Event) -> RecordedTurn:
    begin = events.ToolStarted(1, "c1", "agent", "explore: x", "{}")
    end = events.ToolFinished(
        1,
        "c1",
        "agent",
        "explore: x",
        False,  # noqa: FBT003 - in the order of the fields
        "2 rounds",
        3.0,
        "",
        "All is well.",
    )
    return recorded_turn(1, "go", begin, *inner, end)


def live(*inner: Event) -> str:
    """Return the chat document as it is written while sub-agents work."""
    rendering = Rendering(1, lambda _path, _line: "")
    for event in a_turn(*inner).events[1:-1]:
        rendering.take(event)
    return rendering.text


def test_a_restored_chat_shows_sub_agents_like_the_live_chat() -> None:
    written = live(*EDIT, *MAKE)
    inside = written[written.index("<details><summary>Edit") : written.rindex("</details>")].strip()
    assert inside in restored([a_turn(*EDIT, *MAKE)], "s")
    assert inside.count("<details>") == 2
    assert "Search total · not ended" in restored([a_turn(*OPEN)], "s")


def test_a_transcript_shows_sub_agent_calls_folded_into_the_agent_call() -> None:
    text = transcript_markdown(Overview("s"), (a_turn(*EDIT, *MAKE, *OPEN),))
    assert text[text.index("<details>") :] == snapshot(
        """\
<details><summary>agent {}</summary>

```json
{}
```

<details><summary>edit_file shop.py: +1 −1</summary>

````diff
--- a/shop.py
+++ b/shop.py
@@ -1 +1 @@
-<b>
+```
````

</details>

<details><summary>bash make &lt;x&gt;: failed</summary>

```
## You

no rule
```

</details>

grep total: not ended

```
All is well.
```

</details>
"""
    )


def log_of(n_calls: int, diff: str, arguments: str = "{}") -> LogReading:
    use = ToolUse("c1", "agent", arguments, META)
    records: list[Record] = []
    for turn in (1, 2):
        records += (
            TurnStartRecord(turn, "go", ""),
            MessageRecord(Message("assistant", (use,), turn), ""),
        )
        records += [
            CallEnded(turn, f"a1-{n}", "shop.py", "+1 −1", 0.5, "", diff, "edit_file", "", "c1")
            for n in range(n_calls)
        ]
    return LogReading(tuple(records), ())


def test_a_session_page_shows_sub_agent_events_at_their_call_with_cut_texts() -> None:
    diff = "+" * (TEXT_CHARACTERS + 5)
    page = session_result("s", log_of(1, diff), before=None, limit=1)
    (row,) = page.turns
    began, call, inner, edit, end = row.events
    assert [one["type"] for one in (began, call, inner, edit, end)] == [
        "turnStarted", "toolStarted", "toolStarted", "editApplied", "toolFinished",
    ]  # fmt: skip
    assert (edit["path"], edit["diff"], row.cut) == ("shop.py", diff[:TEXT_CHARACTERS], 5)
    assert {one["agent"] for one in (inner, edit, end)} == {"c1"}
    assert (end["name"], end["target"], end["figure"]) == ("edit_file", "shop.py", "+1 −1")


@pytest.mark.parametrize(
    ("arguments", "target"),
    [
        ('{"task": "find\\nthe tax", "name": "explore"}', "explore: find the tax"),
        ('{"task": "go"}', "general: go"),
        ('{"task": 7}', ""),
        ('{"task": "half', ""),
        ("[" * 100_000, ""),
    ],
)
def test_a_running_sub_agent_shows_its_task(arguments: str, target: str) -> None:
    page = session_result("s", log_of(0, "", arguments), before=None, limit=1)
    assert page.turns[0].events[-1]["target"] == target


def test_changes_by_sub_agents_count_for_the_size_of_a_page() -> None:
    many = log_of(PAGE_CHARACTERS // TEXT_CHARACTERS, "+" * TEXT_CHARACTERS)
    page = session_result("s", many, before=None, limit=2)
    assert (len(page.turns), page.more) == (1, True)
