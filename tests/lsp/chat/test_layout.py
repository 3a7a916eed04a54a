"""The layout of a chat: the parts that are read, the parts that are inserted, and trust."""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from indwell.lsp.chat import layout
from indwell.lsp.chat import layout as moving
from indwell.lsp.chat.files import new_text
from indwell.lsp.chat.layout import edited

CHAT = "<!-- indwell: session s-1 -->\n\n## You\n\nFix it.\n\n## Indwell · turn 1\n\nDone.\n\n"
END = CHAT + "## You\n\n"


def draft(text: str) -> str | None:
    found = layout.draft_of(text)
    return None if found is None else text[found.start : found.stop]


def kinds(text: str) -> list[tuple[str, int]]:
    return [(one.kind, one.turn) for one in layout.headings(text)]


def test_only_the_text_below_the_last_heading_is_the_draft() -> None:
    assert draft(END + "More,\nplease.\n\n") == "More,\nplease."
    assert draft(END) == ""
    assert draft(CHAT) is None
    assert draft(CHAT + "Words below an answer are not the user's.") is None
    assert draft("") is None
    assert draft("## You") == ""
    assert draft("## You\r\n\r\nmine\r\n") == "mine"
    assert draft("## Your plan\n") is None
    assert draft("> ## You\n x") is None
    assert draft("## You · waiting\n\nx") is None


def test_the_first_line_alone_names_the_session() -> None:
    assert layout.session_of(CHAT) == "s-1"
    assert layout.session_of("\ufeff" + CHAT) == "s-1"
    assert layout.session_of("\n" + CHAT) == ""
    assert layout.session_of("<!-- indwell: session ../../x -->\n") == ""
    assert layout.session_of("x <!-- indwell: session s-1 -->\n") == ""
    assert edited(CHAT, layout.bound(CHAT, "s-2")) == CHAT.replace("s-1", "s-2")
    assert edited("## You\n", layout.bound("## You\n", "s")) == (
        "<!-- indwell: session s -->\n\n## You\n"
    )
    assert layout.bound(CHAT, "s-1") == ()


def test_a_turn_is_put_below_the_prompt_that_it_answers() -> None:
    text = END + "More.\n"
    now = edited(text, moving.begun(text, "More.", "## Indwell · turn 2\n\nOk", "More."))
    assert now == END + "More.\n\n## Indwell · turn 2\n\nOk\n\n## You\n\n\n"


def test_text_typed_after_sending_is_the_next_draft() -> None:
    text = END + "More. And then"
    now = edited(text, moving.begun(text, "More.", "## Indwell · turn 2", "More."))
    assert draft(now) == "And then"
    assert kinds(now) == [("you", 0), ("turn", 1), ("you", 0), ("turn", 2), ("you", 0)]


def test_sent_text_missing_from_the_draft_is_inserted_above_the_draft() -> None:
    text = END + "Something else"
    now = edited(text, moving.begun(text, "More.", "## Indwell · turn 2", "More."))
    assert draft(now) == "Something else"
    assert "## You\n\nMore.\n\n## Indwell · turn 2\n\n## You\n\nSomething else" in now


def test_prompts_wait_under_their_own_heading_until_their_turn_or_go_back() -> None:
    text = END + "Next.\n"
    waits = edited(text, moving.queued(text, "Next."))
    assert (kinds(waits)[-2:], draft(waits)) == ([("waiting", 0), ("you", 0)], "")
    mine = waits + "mine"
    begun = edited(mine, moving.begun(mine, "Next.", "## Indwell · turn 2", "Next."))
    assert kinds(begun)[-3:] == [("you", 0), ("turn", 2), ("you", 0)]
    assert draft(begun) == "mine"
    back = edited(mine, moving.withdrawn(mine, "Next."))
    assert (kinds(back), draft(back)) == (kinds(END), "Next.\n\nmine")


def test_a_returned_prompt_is_inserted_only_once() -> None:
    back = edited(END, moving.given_back(END, "Again."))
    assert draft(back) == "Again."
    assert edited(back, moving.given_back(back, "Again.")) == back
    assert draft(edited(CHAT, moving.given_back(CHAT, "Again."))) == "Again."


def test_an_edited_document_keeps_its_line_breaks() -> None:
    text = (END + "More.\n").replace("\n", "\r\n")
    now = edited(text, moving.begun(text, "More.", "## Indwell · turn 2\n\nOk", "More."))
    assert "\n" not in now.replace("\r\n", "")


def test_the_section_of_a_turn_ends_before_the_next_heading() -> None:
    section = layout.section_of(END, 1)
    assert section is not None
    assert END[section.heading.start : section.end] == "## Indwell · turn 1\n\nDone."
    assert layout.section_of(END, 2) is None
    assert layout.section_of(END, 1, near=section.heading.start) == section
    assert layout.section_of(END, 1, near=3) == section


PIECES = st.sampled_from(
    [
        "## You\n",
        "## You · waiting\n",
        "## Indwell · turn 1\n",
        "words\n",
        "\n",
        "x",
        " ",
        "```\n",
        "## You",
        "\r\n",
        "<!-- indwell: session a -->\n",
    ]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@given(TEXTS, st.sampled_from(["words", "x", "other words"]))
@example("## You\n\nwords\n", "words")
@example("## You", "x")
def test_no_edit_plan_loses_text_of_a_document(text, words) -> None:
    plans = [
        moving.begun(text, words, "## Indwell · turn 7\n\nanswer", words),
        moving.queued(text, words),
        moving.given_back(text, words),
        layout.noted(text, "> note"),
    ]
    for plan in plans:
        changed = edited(text, plan)
        kept, wanted = iter(changed), text.replace(" · waiting", "")
        if plan is plans[0]:  # text beside a waiting prompt moves to the draft
            assert not Counter("".join(wanted.split())) - Counter(changed), (text, changed)
            continue
        assert all(one in kept for one in wanted if not one.isspace()), (text, changed)


@given(TEXTS)
def test_headings_are_the_same_from_the_beginning_and_from_the_end(text) -> None:
    assert list(layout.headings(text)) == list(layout.backwards(text))[::-1]


def test_a_new_chat_has_a_section_for_the_users_text() -> None:
    assert draft(new_text()) == ""
    assert new_text("s-1") == "<!-- indwell: session s-1 -->\n\n## You\n\n"
