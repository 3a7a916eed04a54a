from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.context.tokens import estimate_tokens
from indwell.context.untrusted_text import neutralise
from indwell.skills.skill import (
    LINE_TOKENS,
    MOST_LISTED,
    Origin,
    Skill,
    bounded_body,
    catalogue,
    difference,
    lines_in,
    listed,
    ranked,
    read_skill,
    without_catalogue,
)


def a_skill(
    name: str, about: str = "To do it.", origin: Origin = "user", folder: str = ""
) -> Skill:
    return Skill(name, about, origin, folder or f"/{origin}/{name}")


@given(st.from_regex(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?", fullmatch=True), st.text())
def test_a_catalogue_line_is_short_and_harmless_for_any_description(name, about):
    (line,) = listed((a_skill(name, about),)).values()

    assert estimate_tokens(line) <= LINE_TOKENS
    assert line.startswith(f"- {name}:")
    assert len(line.splitlines()) == 1
    assert neutralise(line) == line


def test_a_long_description_is_cut_between_words():
    (line,) = listed((a_skill("one", "every word is whole " * 50),)).values()

    assert line.endswith("…")
    assert set(line.removeprefix("- one: ").removesuffix("…").split()) <= {
        "every",
        "word",
        "is",
        "whole",
    }


def test_skills_are_listed_in_a_fixed_order():
    skills = [a_skill("b"), a_skill("c"), a_skill("a")]

    assert catalogue(ranked(skills).own) == catalogue(ranked(reversed(skills)).own)
    assert list(listed(ranked(skills).own)) == ["a", "b", "c"]


def test_a_prompt_without_skills_does_not_mention_skills():
    assert catalogue(()) == ""


def test_the_skill_list_is_limited_to_the_room_in_the_prompt():
    skills = tuple(a_skill(f"s{number:03}") for number in range(MOST_LISTED + 5))

    assert len(listed(skills)) == MOST_LISTED


def test_a_catalogue_can_be_parsed_from_a_prompt():
    own = (a_skill("a", "With: colons"), a_skill("b"))
    prompt = f"# Rules\n- one: rule\n\n{catalogue(own)}\n\n# Yours\n- c: none"

    assert lines_in(prompt) == listed(own)
    assert lines_in("# Rules\n- one: rule") == {}


@pytest.mark.parametrize("behind", ["", "\n\n# Yours\n- c: none"])
def test_a_prompt_without_its_skill_catalogue_does_not_depend_on_the_skills(behind):
    one = f"# Rules\n\n{catalogue((a_skill('a'),))}{behind}"
    two = f"# Rules\n\n{catalogue((a_skill('b'), a_skill('c')))}{behind}"

    assert without_catalogue(one) == without_catalogue(two) == f"# Rules{behind}"


def test_new_changed_and_removed_skills_are_reported():
    before = {"a": "- a: x", "b": "- b: x", "c": "- c: x"}
    now = {"a": "- a: x", "b": "- b: y", "d": "- d: x"}

    assert difference(before, now) == "New:\n- d: x\nChanged:\n- b: y\nGone: c"
    assert difference(before, before) == ""


def test_the_first_of_two_skills_with_the_same_name_is_used_and_the_user_is_informed():
    known = ranked([a_skill("a", "First.", folder="/1"), a_skill("a", "Second.", folder="/2")])

    assert known.by_name["a"].description == "First."
    assert known.notices == ("the skill 'a' is in '/1' and in '/2'; the first is used",)


def test_a_skill_found_twice_in_one_folder_is_not_reported_as_a_duplicate():
    assert ranked([a_skill("a"), a_skill("a")]).notices == ()


def test_a_too_long_skill_is_cut_at_a_line_with_a_pointer_to_the_rest():
    body = "0123456789\n" * 10_000

    shown = bounded_body(body, "/skills/a/SKILL.md")

    kept, _, note = shown.partition("\n\n[")
    assert body.startswith(f"{kept}\n")
    assert len(kept) <= 40_000
    assert "read_file /skills/a/SKILL.md for the rest" in note


def test_every_field_of_a_skill_file_is_read():
    written = read_skill(
        "---\nname: deploy\ndescription: To deploy.\ntags: [ops, ci]\n"
        "disable-model-invocation: true\nallowed-tools: Bash\n---\n# Deploy\n",
        folder="/skills/x",
        origin="user",
    )

    assert written.skill == Skill(
        "deploy", "To deploy.", "user", "/skills/x", ("ops", "ci"), is_offered=False
    )
    assert (written.body, written.asks_for_tools) == ("# Deploy\n", True)
