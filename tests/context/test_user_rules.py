"""The user's rules are found in the languages that users write (H27)."""
# ruff: noqa: RUF001 -- words and marks of many scripts are meant

from __future__ import annotations

from time import process_time

import msgspec
import pytest

from indwell.context.compaction.summarising.user_notes import constraints, is_rule
from indwell.context.work_record import work_of
from support.requests import assistant, user

RULES = [
    "Never touch the docs.",
    "Don't add a dependency.",
    "Ändere niemals die Dokumentation.",
    "Bitte keine neuen Abhängigkeiten.",
    "Ne touche jamais à la documentation.",
    "N'ajoute rien, utilise seulement la bibliothèque standard.",
    "Nunca cambies los archivos de prueba.",
    "No uses dependencias nuevas.",
    "Não altere os arquivos de teste.",
    "Non toccare la documentazione.",
    "Raak de documentatie nooit aan.",
    "Rör aldrig dokumentationen.",
    "Nie zmieniaj dokumentacji.",
    "Nikdy neměň dokumentaci.",
    "Никогда не трогай документацию.",
    "Не добавляй зависимостей.",
    "Ніколи не чіпай документацію.",
    "Dokümana asla dokunma.",
    "Jangan ubah dokumentasi.",
    "Đừng sửa tài liệu.",
    "لا تغير الملفات أبدا.",
    "दस्तावेज़ कभी मत बदलो।",
    "不要修改文档。",
    "必須使用標準庫。",
    "ドキュメントは変更しないでください。",
    "문서는 절대 수정하지 마세요.",
]
PLAIN = [
    "These functions use a cache of the bare repository.",
    "It computes the sin of an angle and no more.",
    "The test fails with an error in line 3.",
    "Der Test schlägt in Zeile 3 fehl.",
    "Le test échoue à la ligne 3.",
    "La prueba falla en la línea 3.",
    "Тест падает в строке 3.",
    "测试在第三行失败了。",
    "テストが三行目で落ちます。",
]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_found_in_its_language_and_stays_after_more_rules(rule: str) -> None:
    later = msgspec.structs.replace(user("Add a test"), turn=2)
    assert rule in [
        one
        for _, one in constraints(work_of((user(f"Fix it\n{rule}"), assistant(), later)).asked())
    ]


@pytest.mark.parametrize("sentence", PLAIN)
def test_a_plain_statement_is_not_a_rule(sentence: str) -> None:
    assert constraints(work_of((user(sentence),)).asked()) == ()


def test_sentences_without_blanks_between_them_are_separated() -> None:
    found = constraints(
        work_of((user("修复购物车的错误。不要修改文档。必须保留旧接口。"),)).asked()
    )
    assert [one for _, one in found] == ["必须保留旧接口。", "不要修改文档。"]


def test_in_a_long_text_only_strict_words_count() -> None:
    log = "Der Server antwortet nicht auf Anfragen.\n" * 80
    found = constraints(work_of((user(f"{log}Ändere nie die Tests.\n"),)).asked())
    assert [one for _, one in found] == ["Ändere nie die Tests."]


def test_a_sentence_of_single_letters_is_checked_fast() -> None:
    sentences = [("- a " * 60)[:238] + end for end in ("x", "！") for _ in range(25)]
    began_s = process_time()
    assert not any(is_rule(one, in_short=True) for one in sentences)
    assert process_time() - began_s < 0.3  # an earlier version took 1 s


def test_a_long_enough_sentence_with_an_exclamation_mark_is_a_rule() -> None:
    for sentence in ("The header stays blue!", "标题是蓝色！"):
        assert is_rule(sentence, in_short=True)
    for sentence in ("Good work!", "你好！"):
        assert not is_rule(sentence, in_short=True)
