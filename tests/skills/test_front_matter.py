from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from indwell.skills.front_matter import BadFrontMatter, MarkdownDocument, read_document


def front(yaml: str, body: str = "Body.\n") -> str:
    return f"---\n{yaml}\n---\n{body}"


def test_a_file_without_front_matter_consists_of_its_body():
    document = read_document("# Title\n\n---\n\nText.\n")

    assert document.values == {}
    assert document.body == "# Title\n\n---\n\nText.\n"


def test_values_are_kept_as_written_text():
    document = read_document(front("name: on\nversion: 1.10\nday: 2001-99-99\nn: 0x10"))

    assert document.values == {"name": "on", "version": "1.10", "day": "2001-99-99", "n": "0x10"}
    assert document.body == "Body.\n"


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_front_matter_ignores_line_end_style_and_a_byte_order_mark(ends):
    text = ends.join(["\ufeff---", "name: a", "---", "", "Body."])

    document = read_document(text)

    assert (document.text("name"), document.body) == ("a", "Body.")


def test_front_matter_joins_a_folded_text_into_one_line():
    document = read_document(front("description: >\n  One\n  two.\n\n  Three."))

    assert document.text("description") == "One two. Three."


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("description: Use when: the user asks", "Use when: the user asks"),
        ("description: It's this: that", "It's this: that"),
        ("description: ends in a colon:", "ends in a colon:"),
    ],
)
def test_front_matter_accepts_a_colon_in_unquoted_text(line, text):
    assert read_document(front(line)).text("description") == text


@pytest.mark.parametrize(
    ("yaml", "names"),
    [
        ("tools: read_file, grep", ("read_file", "grep")),
        ("tools: read_file grep", ("read_file", "grep")),
        ("tools: [read_file, grep]", ("read_file", "grep")),
        ("tools:\n  - read_file\n  - grep", ("read_file", "grep")),
        ("tools:", ()),
        ("other: 1", None),
    ],
)
def test_a_list_of_words_is_read_in_every_form(yaml, names):
    assert read_document(front(yaml)).names("tools") == names


@pytest.mark.parametrize(
    ("word", "value"), [("true", True), ("Yes", True), ("false", False), ("off", False), ("", None)]
)
def test_a_boolean_is_read_by_its_name(word, value):
    assert read_document(front(f"read_only: {word}")).flag("read_only") is value


def test_a_number_is_read_by_its_name():
    document = read_document(front("rounds: 12"))

    assert document.number("rounds") == 12
    assert document.number("other") is None


@pytest.mark.parametrize("word", ["-1", "1e9", "9999999999", "many"])
def test_a_value_that_is_not_a_number_is_refused_with_its_name(word):
    with pytest.raises(BadFrontMatter, match="'rounds' has to be a whole number"):
        read_document(front(f"rounds: {word}")).number("rounds")


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("---\nname: a\n", "that ends the front matter is missing"),
        (front(BOMB), "may not use aliases"),
        (front("&a a: *a"), "may not use aliases"),
        (front("x: " + "[" * 2_000), "nested too deeply"),
        (front("x: [" + "a," * 600 + "]"), "too many values"),
        (front("x: " + "y" * 9_000), "more than 8,192 characters"),
        (front("- a\n- b"), "lines such as `name: value`"),
        (front("only words"), "lines such as `name: value`"),
        (front("name: a\nname: b"), "'name' occurs twice"),
        (front("[a]: b"), "has to be text"),
        (front("name: [unclosed"), "not YAML"),
        (front("name: a\n\tb: c"), "not YAML"),
        (front("name: \x01"), "not YAML"),
        (front(r'name: "\UFFFFFFFF"'), "not YAML"),
        (front(r'name: "\U00110000"'), "not YAML"),
        ("---\n%YAML 1." + "1" * 5_000 + "\n---\nx\n---\n", "not YAML|missing|lines such as"),
        (front("[" * 8_000), "nested too deeply"),
        (front("{" * 8_000), "nested too deeply"),
        (front("- " * 4_000), "nested too deeply"),
        (front("? " * 4_000), "nested too deeply"),
    ],
)
def test_unreadable_front_matter_is_reported_in_plain_words(text, words):
    with pytest.raises(BadFrontMatter, match=words):
        read_document(text)


@given(st.text(alphabet="\\\"'U0Fxf%YAML1.:-?[]{},&*!|>#@ \t\nab\u2028", max_size=60))
@example("%YAML 1." + "1" * 5_000)
@example('a: "\\UFFFFFFFF"')
def test_any_front_matter_is_parsed_or_refused(text):
    with suppress(BadFrontMatter):
        assert isinstance(read_document(front(text)), MarkdownDocument)


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system", "!!int", "!mine"])
def test_a_yaml_tag_in_front_matter_creates_no_object(tag):
    assert read_document(front(f"name: {tag} 'echo'")).values == {"name": "echo"}


def test_a_merge_key_is_an_ordinary_key():
    assert read_document(front("<<: {a: b}")).values == {"<<": {"a": "b"}}


@pytest.mark.parametrize("ask", ["text", "flag", "number"])
def test_a_list_in_place_of_text_is_refused_with_its_name(ask):
    document = read_document(front("name: [a, b]"))

    with pytest.raises(BadFrontMatter, match="'name' has to be text"):
        getattr(document, ask)("name")
