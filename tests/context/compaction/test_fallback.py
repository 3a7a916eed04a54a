from __future__ import annotations

from indwell.context import conversation as talk
from indwell.context.compaction.presets import Collapse
from indwell.context.compaction.step import SummarySpan
from indwell.context.compaction.summarising.fallback import (
    ERROR_LENGTH,
    MOST_ERRORS,
    MOST_PATHS,
    extract,
    simulated,
)
from indwell.context.compaction.summarising.summary import why_unusable
from indwell.context.conversation import Conversation
from indwell.context.history import tokens_of
from indwell.context.pairing import tool_uses
from indwell.context.tokens import estimate_tokens
from indwell.messages import Reply, ToolCall
from support.long_talks import code, empty, turned, wanted


def plan_of(now: Conversation) -> SummarySpan:
    plan = wanted(Collapse(), now)
    assert isinstance(plan, SummarySpan)
    return plan


def test_an_extracted_summary_lists_the_newest_files_and_their_actions() -> None:
    plan = plan_of(turned(empty(60_000), 1, [code(40)] * 30))
    text = extract(plan)
    files = [line for line in text.splitlines() if line.startswith("- src/")]
    assert len(files) == MOST_PATHS
    assert files[-1] == "- src/t1_27.py: read"


def test_extraction_has_at_most_five_errors_each_cut_to_its_length() -> None:
    lines = [f"ValueError: number {n} " + "x" * 400 for n in range(9)]
    plan = plan_of(turned(empty(), 1, ["\n".join(lines) + code(200), "a", "b", "c"]))
    errors = [line for line in extract(plan).splitlines() if line.startswith("- ValueError")]
    assert errors == [f"- {line[:ERROR_LENGTH]}" for line in lines[-MOST_ERRORS:]]


def test_extraction_is_a_usable_summary_within_its_target() -> None:
    plan = plan_of(turned(empty(), 1, [code(300)] * 8))
    text = extract(plan)
    assert why_unusable(plan, text) == ""
    assert estimate_tokens(text) <= plan.target * 1.1
    assert "- I look at 1.3." in text
    assert estimate_tokens(text) >= plan.target * 0.7, "lines of the results fill the rest"
    assert set(text.partition("word for word:\n")[2].splitlines()) & set(code(300).splitlines())


def test_a_simulated_summary_has_the_requested_size_and_verbatim_lines() -> None:
    plan = plan_of(turned(empty(), 1, [code(300)] * 8))
    seen = f"{code(300)}\n" + "\n".join(f"I look at 1.{n}." for n in range(8))
    for ratio in (0.05, 0.2):
        text = simulated(plan, ratio)
        assert ratio / 2 < estimate_tokens(text) / tokens_of(plan.source) <= ratio * 1.1
        told = [line for line in text.splitlines() if not line.startswith("read_file src/")]
        assert told
        assert set(told) <= set(seen.splitlines())


def test_a_simulated_summary_prefers_statements_errors_and_edits_to_other_lines() -> None:
    now = turned(empty(), 1, ["nothing in particular 17\n" * 400])
    edit = ToolCall("e", "edit_file", '{"path":"src/cart.py","new":"def total():\\n    return 7"}')
    now = talk.with_reply(now, Reply("The cart adds up.", (edit,), finish="tool_calls"), turn=1)
    use = tool_uses(now.messages[-1])[0]
    failed = talk.tool_result(use, "x = 1\nTypeError: no total", is_error=True)
    now = talk.with_results(now, (failed,), turn=1)
    now = turned(now, 2, ["a", "b", "c"])
    text = simulated(plan_of(now), 0.03)
    for line in ("The cart adds up.", "edit src/cart.py", "    return 7", "TypeError: no total"):
        assert line in text.splitlines()
