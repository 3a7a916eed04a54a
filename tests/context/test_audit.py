"""The audit of a summary (H27) restores lines that later rounds may need."""

from __future__ import annotations

import json
import time

from indwell.context.compaction.step import SummarySpan
from indwell.context.compaction.summarising.audit import HEAD, audited, missing, names, rendered
from indwell.context.compaction.summarising.task_card import task_card
from indwell.context.tokens import estimate_tokens
from indwell.messages import Message, Text
from support.requests import assistant, result, use, user

FILE = "\n".join(
    [
        *(f"{n}\tfiller line {n} of prose that nobody needs" for n in range(1, 200)),
        "200\tdef shipping_limit(country):",
        "201\t    return LIMITS_BY_COUNTRY[country]",
        *(f"{n}\tmore filler {n} of prose that nobody needs" for n in range(202, 400)),
    ]
)
EDIT = {"path": "lib/shop.py", "old_text": "x", "new_text": "    total = shipping_limit(home)"}
SOURCE = (
    user("Make shipping free at home"),
    assistant("I read it.", use("read_file", '{"path":"lib/shop.py"}')),
    user(result(FILE)),
    assistant(use("edit_file", json.dumps(EDIT))),
    user(result("edited")),
)


def plan(*source: Message) -> SummarySpan:
    words = tuple(
        block
        for message in source
        for block in message.blocks
        if isinstance(block, Text) and block.meta.source == "user"
    )
    return SummarySpan("regions", 0, len(source), source, words, "turn 1", 500)


def test_the_summary_audit_restores_the_defining_line_of_a_used_name() -> None:
    mended = audited(plan(*SOURCE), "The shop was edited.", None)
    assert mended.startswith(f"The shop was edited.\n\n{HEAD}\n")
    assert "lib/shop.py:\n  200: def shipping_limit(country):" in mended


def test_facts_in_the_summary_or_a_live_message_are_not_repeated() -> None:
    told = "lib/shop.py: def shipping_limit(country) looks the limit up."
    assert "shipping_limit" not in audited(plan(*SOURCE), told, None)[len(told) :]
    live = (assistant("shipping_limit in shop.py it is"), user("go on"))
    assert "shipping_limit" not in audited(plan(*SOURCE), "Edited.", None, live=live)


def test_a_summary_that_misses_no_detail_stays_unchanged() -> None:
    source = (user("say hello"), assistant("Hello."), user("and again"))
    assert audited(plan(*source), "A greeting.", None) == "A greeting."


def test_the_summary_audit_restores_an_unfixed_error_completely() -> None:
    failed = "shop.py:12: error: name 'lmit' is not defined\nexit code 1"
    source = (
        *SOURCE,
        assistant(use("bash", '{"command":"pytest -q"}')),
        user(result(failed)),
        assistant("Hm."),
    )
    card = task_card(source, budget_tokens=800)
    mended = audited(plan(*source), "Tests were run.", card)
    assert "- `pytest -q` failed last: shop.py:12: error: name 'lmit' is not defined" in mended


def test_names_in_the_newest_message_of_the_user_count_most() -> None:
    lines = missing(SOURCE, "Edited.", newest="what about LIMITS_BY_COUNTRY?", room=25)
    assert rendered(lines) == "lib/shop.py:\n  201: return LIMITS_BY_COUNTRY[country]"


def test_the_summary_audit_restores_details_only_up_to_its_limit() -> None:
    source = [user("go")]
    for number in range(300):
        arguments = json.dumps({"path": f"f{number}.py", "new_text": f"call_number_{number}(x)"})
        source += [assistant(use("edit_file", arguments)), user(result("edited"))]
    for most in (0, 50, 400):
        mended = audited(plan(*source), "Edits.", None, most_tokens=most)
        assert estimate_tokens(mended) <= most + 40


def test_a_megabyte_without_a_blank_is_searched_fast() -> None:
    began = time.process_time()
    for unit in ("a", "a-", "aB", "a_", "a.", "a/", "/.", "-."):
        names(unit * (300_000 // len(unit)))
    assert time.process_time() - began < 5
