"""Foreign text in Indwell's documents cannot leave its block or hide characters."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from indwell.agent.core import events
from indwell.lsp.messages.context import (
    AttachedRow,
    BlockRow,
    ContextResult,
    HeadroomRow,
    HealthRow,
    WindowPartRow,
)
from indwell.lsp.virtual.markdown import (
    MOST_CHARACTERS,
    bounded,
    contained,
    fenced,
    folded,
    inline,
    request_markdown,
    transcript_markdown,
)
from indwell.sessions.overview import Overview
from support.recorded_turn import recorded_turn


@given(st.text("`~ax\n\r", max_size=60))
def test_no_text_can_close_its_markdown_fence(text) -> None:
    lines = fenced(text).split("\n")
    fence = lines[0]
    assert lines[-2:] == [fence, ""]
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    assert len(fence) > longest or longest < 3


def test_hidden_characters_are_shown() -> None:
    assert "\\u202e" in fenced("a\u202eb")
    assert inline("a|b\n<c>") == "a\\|b\\\\u000a\\<c>"
    assert folded("<b>\u202e", "x") == (
        "<details><summary>&lt;b&gt;\\u202e</summary>\n\nx\n</details>\n"
    )


def test_an_open_fence_is_closed_and_html_is_escaped() -> None:
    text = "one\n````py\n<b>\n```\n<!-- hidden"
    assert contained(text) == "one\n````py\n<b>\n```\n<!-- hidden\n````\n"
    assert contained("a <!-- b\n</details> 1 < 2") == "a &lt;!-- b\n&lt;/details> 1 < 2\n"
    assert contained("```\nx\n```") == "```\nx\n```\n"


def test_a_long_text_keeps_both_ends() -> None:
    assert bounded("abcdefghijkl", 8) == "abcdef\n[… 4 characters are not shown …]\nkl"
    assert bounded("abc", 3) == "abc"


def row(**changed) -> BlockRow:
    facts = {
        "message": 0,
        "role": "user",
        "kind": "text",
        "source": "user",
        "tier": 1,
        "tokens": 12,
        "turn": 1,
        "pinned": False,
        "compactable": True,
        "anchor": False,
        "state": "sent",
        "altered": False,
        "first": 0,
        "last": 0,
        "why": "the user's own words",
        "preview": "Mend it, please.",
    }
    return BlockRow(**{**facts, **changed})


def context(*blocks: BlockRow, **changed) -> ContextResult:
    facts = {
        "session": "20261121-034012",
        "model": "a-model",
        "window": 64_000,
        "budget": 40_000,
        "used": 1_234,
        "share": 0.0309,
        "preset": "balanced",
        "headroom": (HeadroomRow("snip", 20_000, 18_766, pays=True),),
        "sources": {"user": 12, "tool": 1_222},
        "tiers": {"1": 12, "3": 1_222},
        "blocks": blocks,
        "attached": (AttachedRow("s1", "selection", "shop.py:1-2", 40),),
        "health": HealthRow(
            {}, {"gen_ai.usage.input_tokens": 900, "gen_ai.usage.cache_read.input_tokens": 600}, 0
        ),
        "parts": (
            WindowPartRow(name="card", tokens=0, share=0.0, limit=2_000),
            WindowPartRow(name="newest", tokens=1_234, share=0.0193, limit=None),
            WindowPartRow(name="free", tokens=38_766, share=0.6057, limit=None),
        ),
    }
    return ContextResult(**{**facts, **changed})


def test_the_request_document_lists_every_block_of_the_next_request() -> None:
    second = row(
        role="user",
        kind="tool_result",
        source="tool",
        tier=3,
        tokens=1_222,
        anchor=True,
        state="new",
        why="a result",
        preview="# a heading\n```\nnot the end",
    )
    assert request_markdown(context(row(), second)) == snapshot(
        """\
# The next request

- session: 20261121-034012
- model: a-model
- tokens: 1,234 of a budget of 40,000, 3% of it (window 64,000)
  - 1,234: 1.9%  newest exchange
  - 38,766: 60.6%  free
- by source: tool: 1,222, user: 12
- by tier: 3 tools: 1,222, 1 user: 12
- prompt cache: served 600 of 900 tokens of this session

## Blocks

| # | from | kind | tier | tokens | turn | sent before | cached up to here | why |
|--:|---|---|--:|--:|--:|---|---|---|
| [1](#block-1) | user: user | text | 1 | 12 | 1 | yes |  | the user's own words |
| [2](#block-2) | user: tool | tool_result | 3 | 1,222 | 1 | no, new | **mark** | a result |

## Compaction (balanced)

- snip: from 20,000 tokens on (in 18,766 tokens), if the saving pays

## Goes with your next words

- selection: shop.py:1-2 (40 tokens)

## Texts

### Block 1

user, user, text, 12 tokens

```
Mend it, please.
```

### Block 2

user, tool, tool_result, 1,222 tokens

````
# a heading
```
not the end
````
"""
    )


def test_the_request_document_before_the_first_turn_reports_no_session() -> None:
    empty = context(session=None, window=None, budget=None, share=None, sources={}, tiers={})
    text = request_markdown(empty)
    assert "No session has begun" in text
    assert "selection: shop.py:1-2 (40 tokens)" in text


def test_a_request_of_any_size_is_a_document_that_can_be_opened() -> None:
    rows = tuple(row(preview=f"{number} " + "x" * 100_000) for number in range(300))
    text = request_markdown(context(*rows))
    assert len(text) < 1.2 * MOST_CHARACTERS
    assert "characters are not shown" in text
    assert re.search(r"The texts of the \d+ blocks from \d+ on are not shown", text)


def test_a_transcript_shows_turns_in_order() -> None:
    read = ("c1", "read_file", "shop.py")
    turn = recorded_turn(
        1,
        "Mend it\n<!-- now",
        events.ThinkingAdded(1, "hm"),
        events.TextAdded(1, "I **look**.\n```py\nx = 1"),
        events.ToolStarted(1, *read, '{"path": "shop.py"}'),
        events.ToolFinished(1, *read, False, "", 1.0, "", "def total():\n    ```"),  # noqa: FBT003
        events.ToolStarted(1, "c2", "bash", "ls", '{"command": "ls"}'),
        events.Attached(1, "reminder", "one line"),
        events.Notice(1, "info", "it was repaired"),
        at="2026-11-21T03:40:12.000+00:00",
    )
    seen = Overview("20261121-034012", at="2026-11-21T03:40:12", model="a-model", turns=2)
    left = recorded_turn(2, "x", ending="failed", message="no *credit*", at="2026-11-21", left=True)
    assert transcript_markdown(seen, (turn, left), ("a line was lost",)) == snapshot(
        """\
# Session 20261121-034012

a-model · 2 turns · $0.0000 · began 2026-11-21T03:40:12

> a line was lost

## Turn 1

_2026-11-21T03:40:12.000+00:00 · done_

**You**

> Mend it
> &lt;!-- now

<details><summary>Reasoning</summary>

```
hm
```

</details>

I **look**.
```py
x = 1
```

<details><summary>read_file {&quot;path&quot;: &quot;shop.py&quot;}</summary>

```json
{"path": "shop.py"}
```

````
def total():
    ```
````

</details>

<details><summary>bash {&quot;command&quot;: &quot;ls&quot;}: no result</summary>

```json
{"command": "ls"}
```

</details>

_attached reminder:_ one line

_notice:_ it was repaired

## Turn 2

_2026-11-21 · failed, left behind_

**You**

> x

> no \\*credit\\*
"""
    )
    assert "Nothing was said yet" in transcript_markdown(seen, ())


def test_the_newest_turns_of_an_endless_session_are_shown() -> None:
    said = events.TextAdded(1, "y" * 30_000)
    turns = [recorded_turn(number, "", said) for number in range(1, 201)]
    text = transcript_markdown(Overview("s"), turns)
    assert len(text) < 2_100_000
    assert "## Turn 200" in text
    assert "134 older turns are not shown" in text
