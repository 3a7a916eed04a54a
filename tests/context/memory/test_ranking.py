"""Facts are ranked by the user's prompt, files and selections; unrelated facts are not sent."""

from __future__ import annotations

import pytest

from indwell.context.conversation import Config, Conversation, queue, with_input
from indwell.context.memory import (
    MOST,
    MOST_TOKENS,
    Fact,
    MemoryQuery,
    alike,
    ranked,
    recalled,
    same,
    terms,
)

TEXTS = (
    "Tests run with `just test`; plain pytest misses the fixtures.",
    "The database of production is PostgreSQL 15; migrations are written by hand.",
    "Commit messages are in the imperative, without a full stop.",
    "parseHTTPHeader must stay fast: it runs for each request.",
    "Die Oberfläche ist auf Deutsch.",
    "部署使用蓝绿发布。",
)
FACTS = tuple(map(Fact, TEXTS))
EMPTY = Conversation(Config("small", 64_000, 1_000), ())


def found(query: MemoryQuery) -> list[int]:
    return [FACTS.index(one) for one in ranked(FACTS, query)]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        (MemoryQuery("run the tests, please"), 0),
        (MemoryQuery("testing takes too long"), 0),
        (MemoryQuery("write a migration for the new column"), 1),
        (MemoryQuery("commit this"), 2),
        (MemoryQuery("Why is parse_http_header slow?"), 3),
        (MemoryQuery("ändere die OBERFLÄCHE"), 4),
        (MemoryQuery("怎么部署新版本"), 5),
        (MemoryQuery("fix this", paths=("db/migrations/0007.py",)), 1),
        (MemoryQuery("explain", text="def parse_header(request): ..."), 3),
    ],
)
def test_the_best_matching_fact_ranks_first(query, best) -> None:
    assert found(query)[0] == best


@pytest.mark.parametrize(
    "query",
    [
        MemoryQuery(""),
        MemoryQuery("fix this"),
        MemoryQuery("please make it run and change the file"),
        MemoryQuery("rename the variable"),
        MemoryQuery("fix it", paths=("src/shop.py",)),
        MemoryQuery("fix it", text="one request of many"),
    ],
)
def test_a_fact_without_a_distinctive_common_word_is_not_sent(query) -> None:
    assert found(query) == []


def test_a_word_that_most_facts_have_does_not_count() -> None:
    facts = [Fact(f"Indwell rule number {name}") for name in "abcdefgh"]
    assert ranked(facts, MemoryQuery("what does Indwell do")) == ()


def test_the_newer_of_two_equally_good_facts_ranks_first() -> None:
    facts = (Fact("tests are slow"), Fact("tests are green"))
    assert ranked(facts, MemoryQuery("tests")) == facts[::-1]


def test_searching_a_page_without_facts_finds_no_facts() -> None:
    assert ranked((), MemoryQuery("tests")) == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("parseHTTPHeader", ("parsehttpheader", "parse", "http", "header")),
        ("snake_case_names", ("snake", "case", "name")),
        ("classes pass running", ("class", "pass", "runn")),
        ("the file and you", ()),
        ("CI in CI", ("ci", "ci")),
        ("日本語", ("日本", "本語")),
    ],
)
def test_names_in_code_are_split_into_their_words(text, words) -> None:
    assert terms(text) == words


def told(facts, query, conversation=EMPTY):
    return recalled(facts, query, conversation, turn=1, hide=lambda text: text)


def test_at_most_five_facts_and_few_tokens_are_included() -> None:
    short = [Fact(f"tests of part {number} are slow") for number in range(4 * MOST)]
    assert told(short, MemoryQuery("slow tests")) is None, "a word of all of them tells nothing"
    some = [*short[:MOST], *(Fact(f"word{number} counts") for number in range(2 * MOST))]
    block = told([*some, *short[MOST : MOST + 2]], MemoryQuery("slow tests"))
    assert block is not None
    assert block.text.count("\n- ") == MOST
    long = [Fact(f"tests {number} " + "löng wörds " * 25) for number in range(3)]
    block = told(long, MemoryQuery("tests"))
    assert block is not None
    assert block.meta.tokens <= MOST_TOKENS
    assert block.text.count("\n- ") < len(long)


def test_a_fact_in_the_conversation_is_not_sent_again() -> None:
    query = MemoryQuery("tests and migrations")
    one = told(FACTS[:1], query)
    assert one is not None
    waiting = queue(EMPTY, (one,))
    assert told(FACTS[:1], query, waiting) is None
    sent = with_input(waiting, words="go", turn=1)
    assert told(FACTS[:1], query, sent) is None
    more = told(FACTS, query, sent)
    assert more is not None
    assert (TEXTS[0] in more.text, TEXTS[1] in more.text) == (False, True)


def test_remembered_facts_are_data_of_their_own_kind() -> None:
    block = told(FACTS, MemoryQuery("tests"))
    assert block is not None
    assert block.text.startswith("<remembered-facts>\nKept from earlier sessions")
    assert (block.meta.tier, block.meta.source, block.meta.pinned) == (2, "memory", False)


@pytest.mark.parametrize(
    ("text", "is_same", "is_alike"),
    [
        ("tests run with `just test`, plain pytest misses the fixtures", True, True),
        ("Tests run with `just tests`; plain pytest misses the fixtures.", False, True),
        ("Tests run with `just test`; plain pytest misses the fixtures of CI.", False, True),
        ("Tests run in the container.", False, False),
    ],
)
def test_an_already_known_fact_is_recognised(text, is_same, is_alike) -> None:
    assert (same(text, FACTS) is FACTS[0], alike(text, FACTS) is FACTS[0]) == (is_same, is_alike)


def test_equal_words_in_another_order_are_a_different_fact() -> None:
    known = (Fact("Use ruff instead of black."),)
    assert same("Use black instead of ruff.", known) is None
    assert alike("Use black instead of ruff.", known) is known[0]


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("Tests run with just test.", "Tests run with `just test` from the root."),
        ("Tests run with `just test` from the root, in CI too.", "Tests run with just test."),
    ],
)
def test_a_fact_with_additions_is_similar_to_the_shorter_fact(known, new) -> None:
    fact = Fact(known)
    assert (same(new, (fact,)), alike(new, (fact,))) == (None, fact)


def test_without_facts_no_similar_fact_is_found() -> None:
    assert (same("x", ()), alike("x", ())) == (None, None)
