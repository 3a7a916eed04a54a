from __future__ import annotations

import pytest

from indwell.workspace.encoding.decoding import decode, nothing_declared
from indwell.workspace.encoding.rewriting import created, rewritten


def rewrite(before: bytes, old: str, new: str, project=nothing_declared) -> bytes:
    held = decode(before, project)
    assert held is not None
    return rewritten(held.text.replace(old, new), held, project)


def test_new_characters_are_written_in_the_encoding_of_the_file() -> None:
    before = "# coding: latin-1\nx = 'é'\n".encode("latin-1")
    assert rewrite(before, "é", "ö") == "# coding: latin-1\nx = 'ö'\n".encode("latin-1")


def test_a_character_that_the_files_encoding_cannot_represent_is_named() -> None:
    before = "# coding: latin-1\nx = 'é'\n".encode("latin-1")
    with pytest.raises(ValueError, match=r"it holds '€' \(U\+20AC\), which iso8859-1, the file's"):
        rewrite(before, "é", "€")


def test_a_file_with_a_guessed_encoding_accepts_no_new_character() -> None:
    before = "Größe = 1\n".encode("cp1252")
    assert rewrite(before, "1", "'öß'") == "Größe = 'öß'\n".encode("cp1252")
    with pytest.raises(ValueError, match=r"in 'ä' \(U\+00E4\), and that the file is in cp1252"):
        rewrite(before, "1", "'ä'")


def test_stray_bytes_stay_and_cannot_be_typed_as_escapes() -> None:
    before = "größe\n".encode() + b"\xff x\n"
    assert rewrite(before, "x", "é") == "größe\n".encode() + b"\xff \xc3\xa9\n"
    assert rewrite(before, "\udcff ", "") == "größe\nx\n".encode()
    assert rewrite(before, "größe\n", "") == b"\xff x\n"
    with pytest.raises(ValueError, match=r"has the four characters \\xff where the file has"):
        rewrite(before, "\udcff", "\\xff")
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        rewrite(before, "x", "\udcfe")


def test_the_first_non_ascii_character_of_a_file_is_written_in_the_declared_encoding() -> None:
    assert rewrite(b"# coding: cp1251\nx = 0\n", "0", "'да'") == (
        "# coding: cp1251\nx = 'да'\n".encode("cp1251")
    )
    assert rewrite(b"x = 1\n", "1", "'é'", lambda: "latin1") == b"x = '\xe9'\n"
    assert rewrite(b"x = 1\n", "1", "'é'", lambda: "utf-16le") == "x = 'é'\n".encode()
    assert rewrite(b"x = 1\n", "1", "'é'") == "x = 'é'\n".encode()


def test_an_edit_may_not_declare_another_encoding_than_the_files() -> None:
    before = "# coding: latin-1\nx = 'é'\n".encode("latin-1")
    with pytest.raises(ValueError, match="would declare utf-8, while the file is in iso8859-1"):
        rewrite(before, "latin-1", "utf-8")
    assert rewrite(b"# coding: latin-1\n", "latin-1", "utf-8") == b"# coding: utf-8\n"


def test_bytes_that_would_be_decoded_differently_are_refused() -> None:
    with pytest.raises(ValueError, match="would be read as another text"):
        # The bytes of the new text in Latin-1 are the UTF-8 bytes of é.
        rewrite(b"# coding: latin-1\nx = 1\n", "1", "'Ã©'")
    with pytest.raises(ValueError, match="which cp932 turns into another character"):
        rewrite("# coding: cp932\nx = '漢'\n".encode("cp932"), "漢", "漢\u2016")


def test_a_new_file_gets_the_encoding_declared_by_its_text_or_the_project() -> None:
    assert created("é\n") == "é\n".encode()
    assert created("# coding: latin-1\né\n") == "# coding: latin-1\né\n".encode("latin-1")
    assert created("é\n", lambda: "utf-16le") == b"\xff\xfe" + "é\n".encode("utf-16-le")
    assert created("é\n", lambda: "utf-8-bom") == "é\n".encode()
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        created("\ud83d")
