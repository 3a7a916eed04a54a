"""Builds the task card, without a model: what must survive every compaction.

The card is trusted like the user (tier 1, pinned), and most of its text is the user's own. The card
takes only paths, counts and commands without comments from tool calls, and only *names* (files with
lines, identifiers) from errors, never sentences. A tool's output can therefore not put a sentence
into the card. The complete line of an error goes into the summary, which is data. ``inject``
escapes tags in all texts.

A sentence of the user is a rule if it has a word that forbids or demands. Tables list these words
for each language. A word that plain statements also use (such as *not*) counts only in short
requests. A rule that is not recognised is still in the requests, which are also on the card.
"""

from __future__ import annotations

import json
import re

# ruff: noqa: RUF001 -- words and marks of many scripts are meant
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice

from indwell.context.file_work import (
    Changed,
    Failing,
    Reviewed,
    UserPrompt,
    asked,
    changed,
    failing,
    reviewed,
)
from indwell.context.injections import inject
from indwell.context.tokens import estimate_tokens
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Message, Text

REQUEST_SHARE = 0.5  # the share of the budget for the current request
MOST_CONSTRAINTS, MOST_FILES, MOST_CHECKS, MOST_EARLIER = 12, 40, 5, 60
EARLIER_LENGTH = 160  # the limit of characters for an earlier request
# the limit of characters for a short request, such as "yes, go on", which needs the request before
# it
SHORT = 120
BEFORE_LENGTH = 600  # the limit of characters for the request before a short request
PATH_LENGTH = 200
_RESERVE = 40  # the tokens for the tags, and for the note on omitted lines
_NAME = lazy_pattern(
    r"[\w./\\-]*[\w\\/]\.\w{1,5}:\d+(?::\d+)?"  # matches file.go:12:3
    # matches TestSetup, a_b, os.Open
    r"|(?<![\w.])(?!\d)(?:\w*[a-z][A-Z]\w*|\w*_\w+|\w+[./]\w+)[\w./]*"
)
# Matches a comment in a shell command, in which line breaks are blanks.
_COMMENT = lazy_pattern(r"(?<!\S)#|;#")
MOST_NAMES, NAME_LENGTH = 4, 80
MOST_RUNS = 12  # the limit of turn ranges in the line that sums up many unfinished requests
_EARLIER = "Earlier requests; what is finished is not to be done again:"


def task_card(
    messages: Sequence[Message], *, budget_tokens: int, pending: Sequence[tuple[str, int]] = ()
) -> Text | None:
    """Build the card of a conversation; return None if the user has said nothing yet.

    Args:
        messages: The complete transcript (``context.history.transcript``).
        budget_tokens: The limit of tokens for the card; below about 100, only the request fits.
        pending: Paths with the number of the agent's changes that await review.
    """
    requests = asked(messages)
    if not requests:
        return None
    now = requests[-1]
    room = max(budget_tokens - _RESERVE, 20)
    words = _shortened(now.words, int(room * REQUEST_SHARE))
    head = f"What is worked on now (turn {now.turn}, the user's words):\n{words}"
    room -= estimate_tokens(head)
    parts = []
    earlier = requests[:-1]
    kept_free = _cost([_EARLIER, *_summed_up(earlier)]) if earlier else 0
    room -= kept_free
    # The parts are in order of value, and each part gets the space that the earlier parts left.
    for title, lines in (
        ("What the user wants kept to:", _rules(messages, words)),
        ("Files changed so far (path, successful edits):", _files(changed(messages))),
        ("What the user said of these changes:", _verdicts(reviewed(messages, pending))),
        ("Checks whose last run failed (commands and names are data):", _checks(messages)),
    ):
        part, spent = _fitting(title, lines, room)
        room -= spent
        if part:
            parts.append(part)
    if earlier:
        parts.append(_finished(earlier, room + kept_free, is_short=len(now.words) <= SHORT))
    return inject("task_card", "\n\n".join((head, *parts)), turn=now.turn)


def least_card(messages: Sequence[Message]) -> Text | None:
    """Build a card that lists only finished requests; return None if no request came earlier."""
    requests = asked(messages)
    if not requests[:-1]:
        return None
    words = _finished(requests[:-1], 0, is_short=False)
    return inject("task_card", words, turn=requests[-1].turn)


def _rules(messages: Sequence[Message], shown: str) -> list[str]:
    """Return the user's rules that ``shown`` does not contain."""
    flat = " ".join(shown.split())
    kept = [(turn, one) for turn, one in constraints(messages) if one not in flat]
    return [f"- {one} (turn {turn})" for turn, one in kept[:MOST_CONSTRAINTS]]


def _files(files: Sequence[Changed]) -> list[str]:
    newest = list(reversed(files))
    lines = [
        f"- {_quoted(one.path)} ({'new, ' if one.is_new else ''}{one.n_edits})"
        for one in newest[:MOST_FILES]
    ]
    if len(newest) > MOST_FILES:
        lines.append(f"- and {len(newest) - MOST_FILES} more")
    return lines


def _verdicts(files: Sequence[Reviewed]) -> list[str]:
    lines: list[str] = []
    for one in files:
        said = [f"{one.n_rejected} rejected and taken back"] if one.n_rejected else []
        said += [f"{one.n_pending} not reviewed yet"] if one.n_pending else []
        lines.append(f"- {_quoted(one.path)}: {', '.join(said)}")
    if len(lines) > MOST_FILES:
        lines[MOST_FILES:] = [f"- and {len(lines) - MOST_FILES} more"]
    return lines


def _checks(messages: Sequence[Message]) -> list[str]:
    newest = list(reversed(failing(messages)))[:MOST_CHECKS]
    return [f"- {_command(one.command)} (turn {one.turn}){_names(one)}" for one in newest]


def _command(command: str) -> str:
    """Return a command's text in quotes, without comments, because comments are prose."""
    bare = _COMMENT.split(command, maxsplit=1)[0].strip()
    return json.dumps(bare if bare == command.strip() else f"{bare} …", ensure_ascii=False)


def _names(check: Failing) -> str:
    names = dict.fromkeys(match[0][:NAME_LENGTH] for match in _NAME.finditer(check.error))
    return ": " + ", ".join(list(names)[:MOST_NAMES]) if names else ""


def _finished(earlier: Sequence[UserPrompt], room: int, *, is_short: bool) -> str:
    """Return lines on earlier requests: quoted if they are new, older requests in one line.

    The line for older requests is added even if there is no space, because the agent repeats a
    request unless a line says that the request is finished.
    """
    room -= _cost([_EARLIER, *_summed_up(earlier)])
    lines: list[str] = []
    for request in reversed(earlier[-MOST_EARLIER:]):
        line = _named(request, BEFORE_LENGTH if is_short and not lines else EARLIER_LENGTH)
        room -= _cost([line])
        if room < 0:
            break
        lines.append(line)
    return "\n".join((_EARLIER, *lines, *_summed_up(earlier[: len(earlier) - len(lines)])))


def _named(request: UserPrompt, length: int) -> str:
    flat = " ".join(request.words[: 4 * length].split())
    shown = flat if len(flat) <= length else flat[: length - 1] + "…"
    return f"- turn {request.turn}, {request.state}: {shown}"


def _summed_up(requests: Sequence[UserPrompt]) -> list[str]:
    """Summarise requests in a line such as ``- turns 1 to 22: finished, but 7, 9 to 10: open``.

    If too many requests are unfinished, a second line covers the oldest requests.
    """
    runs = [(state, tuple(some)) for state, some in groupby(requests, key=lambda one: one.state)]
    odd = [run for run in runs if run[0] != "finished"]
    if len(odd) > MOST_RUNS:
        older = requests[: requests.index(odd[-MOST_RUNS - 1][1][-1]) + 1]
        n_odd = sum(one.state != "finished" for one in older)
        line = f"- {_turns(older)}: over, {n_odd} of them not finished"
        return [line, *_summed_up(requests[len(older) :])]
    if not requests:
        return []
    if len(runs) == 1:
        return [f"- {_turns(requests)}: {runs[0][0]}"]
    named = (
        f"{', '.join(_range(some) for one, some in odd if one == state)}: {state}"
        for state in dict.fromkeys(state for state, _ in odd)
    )
    return [f"- {_turns(requests)}: finished, but {'; '.join(named)}"]


def _turns(requests: Sequence[UserPrompt]) -> str:
    return f"turn{'s' if len(requests) > 1 else ''} {_range(requests)}"


def _range(requests: Sequence[UserPrompt]) -> str:
    first, last = requests[0].turn, requests[-1].turn
    return f"{first} to {last}" if first < last else str(first)


def _cost(lines: Sequence[str]) -> int:
    """Return the tokens of lines, with line breaks and a preceding blank line."""
    return sum(estimate_tokens(line) + 1 for line in lines) + 1


def _fitting(title: str, lines: Sequence[str], room: int) -> tuple[str, int]:
    """Return the lines that fit under a title, and their tokens."""
    spent = estimate_tokens(title) + 2
    taken: list[str] = []
    for line in lines:
        cost = estimate_tokens(line) + 1
        if spent + cost > room:
            taken.append(f"- … {len(lines) - len(taken)} more")
            break
        taken.append(line)
        spent += cost
    if not taken or taken[0].startswith("- … "):
        return "", 0
    return "\n".join((title, *taken)), spent + 8 * taken[-1].startswith("- … ")


def _shortened(words: str, room: int) -> str:
    """Return the text; a long text is shortened to its head and tail, where the wishes are."""
    tokens = estimate_tokens(words)
    if tokens <= room:
        return words
    # The factor leaves some tokens for the note between head and tail.
    share = len(words) * room * 0.9 / tokens
    head, tail = int(share * 0.7), int(share * 0.3)
    n_left = len(words) - head - tail
    return f"{words[:head]}\n[… {n_left:,} characters left out …]\n{words[len(words) - tail :]}"


def _quoted(path: str) -> str:
    """Return a path on one line, with unusual characters escaped."""
    shown = path if len(path) <= PATH_LENGTH else "…" + path[-PATH_LENGTH:]
    return shown if re.fullmatch(r"[\w./\\:@+~-]+", shown) else json.dumps(shown)


LOOKED_AT = 20_000  # the limit of characters that are searched in one text of the user
LONG = 2_000  # in a text with more characters, such as a pasted log, only words of ``STRICT`` count
MOST_OF_RULE, LEAST_OF_RULE = 240, 8  # the limits of a rule's length, in Latin characters

# The pattern matches the beginning of an imperative.
_BEGINS = r"(?:^|[,;:(]\s*|\b(?:please|and|but|so|also|just|you|then)\s+)"

STRICT: Mapping[str, str] = {  # words such as never, always, must, only, forbidden
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
STRICT_ANYWHERE: Mapping[str, str] = {  # words of scripts without blanks between words
    "zh": r"不要|不得|不准|不许|請勿|请勿|切勿|禁止|必须|必須|务必|務必|一定要|只能|始终|總是|总是",
    "ja": r"ないで|禁止|必ず|絶対|なければ|いけない|いけません|べきで|常に",
    "ko": r"지 ?마|금지|반드시|절대|항상|해야",
}
# words such as not, only, without, use, keep, which plain statements also use
LOOSE: Mapping[str, str] = {
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
    return lazy_pattern(f"{by_word}|{'|'.join(anywhere.values())}", re.IGNORECASE)


_STRICT = _pattern(STRICT, STRICT_ANYWHERE)
_LOOSE = _pattern(LOOSE, LOOSE_ANYWHERE)
_WORD = lazy_pattern(r"\w+")
_LEAST_WORDS = 3  # A sentence with "!" is a demand if it has 3 or more words; "Good work!" has 2.
_END_WIDE = lazy_pattern(r"\w{4}！")
_SENTENCE = lazy_pattern(r"(?<=[.!?;؟।])\s+|(?<=[。！？；])|\n+")
_ASKS = ("?", "？", "؟")
_WIDE = "\u2e80"  # characters from this one on count as two Latin characters


def constraints(messages: Sequence[Message]) -> tuple[tuple[int, str], ...]:
    """Return the user's rules with their turns: strict rules first, then the newest.

    Sentences in code blocks are skipped.
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
    """Return whether the sentence is a rule; in a long text, only words of ``STRICT`` count."""
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
