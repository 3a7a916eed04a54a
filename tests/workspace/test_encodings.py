from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.workspace.encoding.decoding import decode
from indwell.workspace.text import Decoded, encode

GERMAN = "# Größe der Datei überprüfen, für alle Fälle\nname = 'Größe'\n"
FRENCH = "// Vérifie l’été — déjà prêt « à l’hôtel », 5 €\nint x = 1;\n"
RUSSIAN = "# Проверка размера файла\ndef f():\n    return 1\n"
GREEK = "# Έλεγχος μεγέθους αρχείου\n"
POLISH = "# Sprawdź rozmiar pliku, żółć gęślą jaźń\n"
JAPANESE = "# ファイルのサイズを確認する関数です\nname = '漢字'\n"
CHINESE = "# 检查文件的大小\nname = '中文'\n"
TAIWANESE = "# 檢查檔案的大小\nname = '繁體中文'\n"
KOREAN = "# 파일 크기를 확인합니다\nname = '한국어'\n"

GUESSED = [
    ("cp1252", GERMAN, "cp1252"),
    ("latin-1", GERMAN, "cp1252"),  # both encodings give the same bytes
    ("cp1252", FRENCH, "cp1252"),
    ("cp1251", RUSSIAN, "cp1251"),
    ("koi8_r", RUSSIAN, "koi8_r"),
    ("cp1253", GREEK, "cp1253"),
    ("cp1250", POLISH, "cp1250"),
    ("shift_jis", JAPANESE, "cp932"),
    ("euc_jp", JAPANESE, "euc_jp"),
    ("gb18030", CHINESE, "gb18030"),
    ("big5", TAIWANESE, "big5"),
    ("euc_kr", KOREAN, "cp949"),
    ("utf-16-le", GERMAN, "utf-16-le"),
    ("utf-16-be", FRENCH, "utf-16-be"),
]

DECLARED = [
    ("latin-1", "# -*- coding: latin-1 -*-\nx = 'ÿé'\n", "iso8859-1"),
    ("cp1251", "#!/usr/bin/python\n# vim: set fileencoding=cp1251 :\nx = 'да'\n", "cp1251"),
    ("shift_jis", "# coding: shift_jis\nx = '漢'\n", "shift_jis"),
    ("cp1252", '<?xml version="1.0" encoding="ISO-8859-1"?>\n<a>\u20ac</a>\n', "cp1252"),
    ("gb18030", '<html><head><meta charset="gb2312"></head>\u9555\u4e00\u20ac</html>', "gb18030"),
    ("euc_kr", '@charset "euc-kr";\na { content: "한" }\n', "euc_kr"),
    ("koi8_r", "текст\n\n/* vim: set fenc=koi8-r : */\n", "koi8-r"),
    ("cp1251", ";; -*- mode: lisp; coding: windows-1251-unix -*-\n(да)\n", "cp1251"),
]


def read(data: bytes) -> Decoded:
    """Decode bytes, and check that encoding restores them."""
    decoded = decode(data)
    assert decoded is not None
    if decoded.lossless:
        assert encode(decoded.text, decoded) == data
    return decoded


@pytest.mark.parametrize(("encoding", "text", "name"), GUESSED)
@pytest.mark.parametrize("times", [1, 300])
def test_an_encoding_is_guessed_and_the_guess_is_reported(
    encoding: str, text: str, name: str, times: int
) -> None:
    note = f"read as {name}, which is a guess"
    assert read((text * times).encode(encoding)) == Decoded(
        text * times, name, is_guess=True, notes=(note,)
    )


@pytest.mark.parametrize(("encoding", "text", "name"), DECLARED)
def test_a_file_is_decoded_in_its_declared_encoding(encoding: str, text: str, name: str) -> None:
    note = f"the file is in {name}, as it declares"
    assert read(text.encode(encoding)) == Decoded(text, name, notes=(note,))


@pytest.mark.parametrize(
    ("data", "decoded"),
    [
        (b"", Decoded("")),
        (b"a\r\nb\rc\n", Decoded("a\r\nb\rc\n")),
        (codecs.BOM_UTF8 + b"a\n", Decoded("a\n", "utf-8", codecs.BOM_UTF8)),
        (b"\xff\xfea\x00\n\x00", Decoded("a\n", "utf-16-le", b"\xff\xfe")),
        (b"\xfe\xff\x00a\x00\n", Decoded("a\n", "utf-16-be", b"\xfe\xff")),
        (b"\xff\xfe\0\0a\0\0\0", Decoded("a", "utf-32-le", b"\xff\xfe\0\0")),
        (b"\0\0\xfe\xff\0\0\0a", Decoded("a", "utf-32-be", b"\0\0\xfe\xff")),
    ],
)
def test_a_byte_order_mark_or_utf_8_causes_no_note(data: bytes, decoded: Decoded) -> None:
    assert read(data) == decoded


def test_stray_bytes_in_utf_8_are_kept_and_reported() -> None:
    note = "1 byte that is no utf-8 is shown as \\xNN; leave it out of edits, and it stays"
    assert read("größe\n".encode() + b"\xff\n") == Decoded(
        "größe\n\udcff\n", errors="surrogateescape", notes=(note,)
    )
    marked = read(codecs.BOM_UTF8 + b"a\xff\n")
    assert (marked.text, marked.mark, marked.is_guess) == ("a\udcff\n", codecs.BOM_UTF8, False)


def test_half_a_character_in_utf_16_is_kept_and_reported() -> None:
    note = "1 half character is shown as \\uNNNN; leave it out of edits, and it stays"
    assert read(b"\xff\xfe\x00\xd8a\x00") == Decoded(
        "\ud800a", "utf-16-le", b"\xff\xfe", "surrogatepass", notes=(note,)
    )


def test_utf_16_with_half_a_unit_is_read_only() -> None:
    decoded = read(b"\xff\xfea\x00\n")
    assert (decoded.text, decoded.lossless) == ("a\\x0a", False)


@pytest.mark.parametrize(
    "data", [b"\x7fELF\0", b"ab\0c", b"a\0", b"\0" * 64, b"\x89PNG\r\n\x1a\n", b"\1\0\2\0\3\0\4\0"]
)
def test_bytes_that_are_not_text_are_not_decoded(data: bytes) -> None:
    assert decode(data) is None


def test_utf_8_with_another_declared_encoding_is_read_as_utf_8_and_reported() -> None:
    note = "the file declares iso8859-1, but its bytes are UTF-8"
    assert read("# coding: latin-1\né".encode()).notes == (note,)


def test_japanese_mail_is_recognised_although_all_its_bytes_are_ascii() -> None:
    data = JAPANESE.encode("iso2022_jp")
    assert (read(data).text, read(data).encoding) == (JAPANESE, "iso2022_jp")
    assert read(b"a = '\x1b$'\n") == Decoded("a = '\x1b$'\n")


def test_the_encoding_declared_by_the_project_is_used_if_the_file_shows_none() -> None:
    asked = []

    def project() -> str:
        asked.append(1)
        return "latin1"

    plain = decode(b"plain", project)
    assert (plain, asked) == (Decoded("plain"), [])
    note = "the file is in iso8859-1, as .editorconfig declares"
    assert decode(b"\xe4\xf6", project) == Decoded("äö", "iso8859-1", notes=(note,))


def test_utf_16_declared_by_the_project_needs_no_byte_order_mark() -> None:
    decoded = decode("漢字".encode("utf-16-le") + b"\n\0", lambda: "utf-16le")
    assert decoded is not None
    assert (decoded.text, decoded.is_guess) == ("漢字\n", False)


def test_a_guessed_encoding_is_kept_while_the_file_can_be_decoded() -> None:
    data = "été\n".encode("cp1252")
    assert decode(data, before="cp1250") == Decoded(
        "été\n", "cp1250", is_guess=True, notes=("read as cp1250, which is a guess",)
    )


def test_a_file_cannot_select_a_codec_that_is_not_an_encoding() -> None:
    for name in ("rot13", "idna", "punycode", "unicode_escape", "base64", "os.path", "undefined"):
        decoded = read(f"# coding: {name}\n".encode() + b"\xe9t\xe9 \xe0 Paris\n")
        assert decoded.encoding == "cp1252", name


@given(st.binary(max_size=60))
def test_any_bytes_are_refused_or_restored_by_encoding(data: bytes) -> None:
    decoded = decode(data)
    if decoded is not None and decoded.lossless:
        assert encode(decoded.text, decoded) == data
