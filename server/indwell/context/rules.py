"""The user's rules: sentences that bind the work, in the languages that most write (H27). Pure.

A sentence is a rule by a word that forbids or demands. Words of that kind are few in each language,
so a table of them serves; where a word is also used in plain statements (a bare *not*) it counts
only in short requests. What no table knows still stands in the requests, which a card holds too.
"""
# ruff: noqa: RUF001 -- words and marks of many scripts are meant

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from indwell.context.work import asked
from indwell.messages import Message

LOOKED_AT = 20_000  # characters of one text of the user's that are searched
LONG = 2_000  # characters; a pasted plan or log speaks of much, so only its strict words count
MOST_OF_RULE, LEAST_OF_RULE = 240, 8  # Latin characters wide; longer ones are no single rule

_BEGINS = r"(?:^|[,;:(]\s*|\b(?:please|and|but|so|also|just|you|then)\s+)"  # of an imperative

STRICT: Mapping[str, str] = {  # never, always, must, only, forbidden
    "en": rf"must|never|always|{_BEGINS}(?:do not|don['’]?t|only)",
    "de": r"nie|niemals|immer|muss|musst|müssen|müsst|darf nicht|dürfen nicht|auf keinen fall",
    "fr": r"jamais|toujours|doit|dois|doivent|il faut|interdit",
    "es": r"nunca|jamás|siempre|debe|debes|deben|prohibido",
    "pt": r"nunca|jamais|sempre|deve|devem|proibido",
    "it": r"mai|sempre|deve|devi|devono|vietato",
    "nl": r"nooit|altijd|moet|moeten",
    "sv, da, no": r"aldrig|aldri|alltid|altid|måste",
    "pl": r"nigdy|zawsze|musi|musisz|muszą|nie wolno|koniecznie",
    "cs": r"nikdy|vždy|musí|musíš|nesmí|nesmíš",
    "ru": r"никогда|всегда|нельзя|должен|должна|должно|должны|обязательно|запрещено",
    "uk": r"ніколи|завжди|не можна|повинен|повинна|повинні|обов['’]язково",
    "tr": r"asla|sakın|her zaman|zorunda|mutlaka",
    "id": r"jangan|selalu|harus|dilarang",
    "vi": r"đừng|không được|luôn|phải",
    "ar": r"يجب|دائما|دائمًا|أبدا|أبدًا|ممنوع",
    "hi": r"हमेशा|कभी नहीं|कभी मत|ज़रूर|जरूर",
}
STRICT_ANYWHERE: Mapping[str, str] = {  # scripts without blanks between words
    "zh": r"不要|不得|不准|不许|請勿|请勿|切勿|禁止|必须|必須|务必|務必|一定要|只能|始终|總是|总是",
    "ja": r"ないで|禁止|必ず|絶対|なければ|いけない|いけません|べきで|常に",
    "ko": r"지 ?마|금지|반드시|절대|항상|해야",
}
LOOSE: Mapping[str, str] = {  # not, only, without, use, keep: also words of plain statements
    "en": rf"{_BEGINS}(?:use|keep|leave|avoid|make sure|ensure|prefer|without|stick to|remember)"
    r"|instead of|no longer|should(?: not|n['’]t)?",
    "de": r"nicht|kein|keine|keinen|nur|ohne|bitte|statt|verwende|benutze|lass",
    "fr": r"ne|sans|seulement|uniquement|utilise|utilisez|évite|évitez|garde|gardez|au lieu de",
    "es": r"(?:^|[,;:(¡]\s*|\by\s+)no \w+(?:s|e|a)|solo|sólo|sin \w+ar"
    r"|usa|evita|evite|en vez de|en lugar de",
    "pt": r"não|só|somente|apenas|sem|evite|mantenha|em vez de",
    "it": r"non|solo|soltanto|senza|usa|usate|evita|invece di",
    "nl": r"niet|geen|alleen|zonder|gebruik|houd",
    "sv, da, no": r"inte|ikke|bara|kun|utan|uten|använd|bruk|brug",
    "pl": r"nie|tylko|bez|użyj|używaj|zachowaj|zostaw",
    "cs": r"jen|pouze|bez|použij|používej|nech",
    "ru": r"не|только|без|используй|используйте|оставь|оставьте|вместо",
    "uk": r"не|тільки|лише|без|використовуй|використовуйте|залиш",
    "tr": r"sadece|yalnızca|kullan|kullanma|değiştirme|dokunma",
    "id": r"hanya|tanpa|gunakan|hindari|tetap",
    "vi": r"không|chỉ|dùng|giữ|tránh",
    "ar": r"لا|فقط|بدون|استخدم|تجنب",
    "hi": r"मत|केवल|सिर्फ|बिना",
}
LOOSE_ANYWHERE: Mapping[str, str] = {
    "zh": r"别|不能|不用|只|保持|使用|避免|而不是|请|應該|应该",
    "ja": r"だけ|ください|使って|せず|なし|ではなく|のまま",
    "ko": r"말고|세요|만 |사용|유지|대신",
}


def _pattern(words: Mapping[str, str], anywhere: Mapping[str, str]) -> re.Pattern[str]:
    by_word = rf"(?<!\w)(?:{'|'.join(words.values())})(?!\w)"
    return re.compile(f"{by_word}|{'|'.join(anywhere.values())}", re.IGNORECASE)


_STRICT = _pattern(STRICT, STRICT_ANYWHERE)
_LOOSE = _pattern(LOOSE, LOOSE_ANYWHERE)
_WORD = re.compile(r"\w+")
_LEAST_WORDS = 3  # of a sentence that a mark of exclamation makes a demand: "Good work!" is none
_END_WIDE = re.compile(r"\w{4}！")
_SENTENCE = re.compile(r"(?<=[.!?;؟।])\s+|(?<=[。！？；])|\n+")
_ASKS = ("?", "？", "؟")
_WIDE = "\u2e80"  # from here on a character says about as much as two Latin ones


def constraints(messages: Sequence[Message]) -> tuple[tuple[int, str], ...]:
    """Sentences of the user that bind the work, with their turns; newest first, strict ones first.

    Code blocks do not count.
    """
    found: dict[str, int] = {}
    for request in asked(messages):
        for sentence in _sentences(request.words[:LOOKED_AT]):
            if is_rule(sentence, in_short=len(request.words) <= LONG):
                found.pop(sentence, None)
                found[sentence] = request.turn
    newest = [(turn, sentence) for sentence, turn in reversed(found.items())]
    return tuple(sorted(newest, key=lambda one: not _STRICT.search(one[1])))


def is_rule(sentence: str, *, in_short: bool) -> bool:
    """Does it bind the work? In a long text only strict words do."""
    if _STRICT.search(sentence):
        return True
    if not in_short or sentence.endswith(_ASKS):
        return False
    return bool(_LOOSE.search(sentence)) or _is_emphatic(sentence)


def _is_emphatic(sentence: str) -> bool:
    if sentence.endswith("!"):
        return len(list(islice(_WORD.finditer(sentence), _LEAST_WORDS))) == _LEAST_WORDS
    return bool(_END_WIDE.fullmatch(sentence[-5:]))


def _sentences(text: str) -> Iterator[str]:
    prose = re.sub(r"```.*?(?:```|\Z)", "\n", text, flags=re.DOTALL)
    for raw in _SENTENCE.split(prose):
        sentence = " ".join(raw.split()).lstrip("-*• >").strip()
        if LEAST_OF_RULE <= _width(sentence) <= MOST_OF_RULE:
            yield sentence


def _width(sentence: str) -> int:
    return len(sentence) + sum(one >= _WIDE for one in sentence)
