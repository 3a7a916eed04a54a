"""What sub-agents did, wherever a session that is over is shown: in the card of their call."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from indwell.agent.core import events
from indwell.lsp.chat.rendering import Rendering, restored
from indwell.lsp.messages.answers import PAGE_CHARACTERS, TEXT_CHARACTERS, session_result
from indwell.lsp.messages.views import InnerRow
from indwell.lsp.virtual.markdown import transcript_markdown
from indwell.messages import Message, Meta, ToolUse
from indwell.sessions.display_records import CallEnded
from indwell.sessions.log_lines import LogReading
from indwell.sessions.overview import Overview
from indwell.sessions.records import MessageRecord, Record, TurnStartRecord
from indwell.sessions.transcript import InnerCall, TranscriptPiece, TurnView

DIFF = "--- a/shop.py\n+++ b/shop.py\n@@ -1 +1 @@\n-<b>\n+```\n"
INNER = (
    InnerCall("a1-1", "edit_file", "shop.py", "+1 −1", 0.5, diff=DIFF),
    InnerCall("a1-2", "bash", "make <x>", "failed", 2.0, failed="## You\n\nno rule"),
)
OPEN = InnerCall("a1-3", "grep", "total")
META = Meta(tier=3, source="assistant", tokens=1)


def a_turn(*inner: InnerCall) -> TurnView:
    card = TranscriptPiece("tool", "All is well.", "agent", "c1", "{}", inner=inner)
    return TurnView(1, "2026", "go", "done", pieces=(TranscriptPiece("user", "go", "user"), card))


def live(*inner: InnerCall) -> str:
    """The chat document as it is written while they work."""
    rendering = Rendering(1, lambda _path, _line: "")
    for one in inner:
        if one.diff:
            edit = events.EditApplied(1, one.id, "shop.py", 1, 1, one.diff, False, True, agent="c1")  # noqa: FBT003
            rendering.take(edit)
        told = (one.id, one.tool, one.target, bool(one.failed), one.figure, one.seconds or 0.0)
        rendering.take(events.ToolFinished(1, *told, one.failed, agent="c1"))
    end = ("c1", "agent", "explore: x", False, "2 rounds", 3.0)
    rendering.take(events.ToolFinished(1, *end))
    return rendering.text


def test_a_chat_shows_them_as_it_did_while_they_worked() -> None:
    written = live(*INNER)
    inside = written[written.index("<details><summary>Edit") : written.rindex("</details>")].strip()
    assert inside in restored([a_turn(*INNER)], "s")
    assert inside.count("<details>") == 2
    assert "Search total · not ended" in restored([a_turn(OPEN)], "s")


def test_a_transcript_shows_them_in_the_fold_of_their_call() -> None:
    text = transcript_markdown(Overview("s"), (a_turn(*INNER, OPEN),))
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


def test_a_page_has_them_in_the_row_of_their_call_and_counts_what_it_cuts() -> None:
    diff = "+" * (TEXT_CHARACTERS + 5)
    page = session_result("s", log_of(1, diff), before=None, limit=1)
    _, card = page.turns[0].pieces
    assert card.inner == (
        InnerRow(
            id="a1-0",
            name="edit_file",
            target="shop.py",
            error=False,
            figure="+1 −1",
            seconds=0.5,
            message="",
            diff=diff[:TEXT_CHARACTERS],
            ended=True,
            cut=5,
        ),
    )


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
def test_one_that_works_shows_its_task(arguments: str, target: str) -> None:
    page = session_result("s", log_of(0, "", arguments), before=None, limit=1)
    assert page.turns[0].pieces[-1].target == target


def test_what_they_changed_counts_for_the_size_of_a_page() -> None:
    many = log_of(PAGE_CHARACTERS // TEXT_CHARACTERS, "+" * TEXT_CHARACTERS)
    page = session_result("s", many, before=None, limit=2)
    assert (len(page.turns), page.more) == (1, True)
