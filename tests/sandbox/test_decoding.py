"""The output of Windows programs is decoded to text; the rules are pure, for every system."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.sandbox.capture import ConsoleDecoder

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def decoded(data: bytes, *, code_page: str = "cp437", step: int = 1) -> str:
    decoder = ConsoleDecoder(code_page)
    pieces = [data[at : at + step] for at in range(0, len(data), step)]
    return "".join([*(decoder.decode(one) for one in pieces), decoder.decode(b"", final=True)])


@pytest.mark.parametrize("step", [1, 2, 3, 1_000])
@pytest.mark.parametrize(
    ("data", "code_page", "text"),
    [
        (b"plain\r\n", "cp437", "plain\r\n"),
        ("grün €\n".encode(), "cp850", "grün €\n"),
        ("漢字 😀".encode(), "cp932", "漢字 😀"),
        (b"", "cp437", ""),
        ("\ufeffgrün\n".encode("utf-16-le"), "cp437", "grün\n"),
        ("\ufeffgrün\n".encode("utf-16-be"), "cp437", "grün\n"),
    ],
)
def test_utf_8_and_utf_16_are_read_in_chunks_of_any_size(data, code_page, text, step) -> None:
    assert decoded(data, code_page=code_page, step=step) == text


@pytest.mark.parametrize(
    ("code_page", "text"), [("cp437", "grün"), ("cp850", "à la carte ×"), ("cp866", "привет")]
)
def test_a_line_that_is_not_utf_8_is_decoded_with_the_code_page(code_page, text) -> None:
    data = text.encode(code_page) + b"\n" + "zwölf €\n".encode() + text.encode(code_page)
    assert decoded(data, code_page=code_page, step=1_000) == f"{text}\nzwölf €\n{text}"


def test_an_incomplete_character_at_the_end_is_decoded_with_the_code_page() -> None:
    assert decoded(b"a\xe2\x82", code_page="cp437") == "aΓé"


def test_bytes_that_are_invalid_in_both_encodings_are_replaced() -> None:
    assert decoded(b"a\x81\n", code_page="cp1252") == "a\ufffd\n"


@given(TEXTS, st.integers(1, 7))
def test_utf_8_is_never_decoded_by_the_code_page(text, step) -> None:
    data = text.encode()
    if not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        assert decoded(data, step=step) == text


@given(st.binary(max_size=40), st.integers(1, 5))
def test_any_bytes_are_decoded_without_an_error(data, step) -> None:
    assert isinstance(decoded(data, step=step), str)
