"""Translates the sentences of Indwell into the language of one user.

English is the source. A message stays English from where it is made up to the door that shows it to
the user, so logs, ``--json``, stored sessions and the model never get a translation. The door calls
``Translation.of``, which looks for the sentence in the catalogue of the user's language
(``languages/de.json``). Each client has its own ``Translation``, so the clients of one process may
use different languages. Without a translation, the English sentence is shown.

A key of a catalogue is a sentence with named placeholders, such as ``Change {path}?``. The text at
a placeholder is shown as it is. If the name begins with ``words``, the text is a sentence of
Indwell and is translated, too. If the name begins with ``number``, only a number fits; a name such
as ``path`` does not fit half a sentence. Numbers there, and in a list at ``figures``, get the
separators of the language. ``{text}`` at the end takes the rest of the message with all its lines,
which are words of the user or of the model. The source writes such a sentence as an f-string, and
``scripts/languages.py`` checks that the source still contains the words of each key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple

import msgspec

DATA = "│"  # The approvers put this sign before each line of a command or a file.
MOST = 4_000  # the limit of characters for a line that is translated, as for a message
MOST_PARTS = 24  # the limit of parts for a text that is translated part by part
MOST_LINES = 40  # the limit of lines for a message that is translated
DEPTH = 4  # the limit of sentences within sentences

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_KNOWN = 3
_INNER, _NUMBER, _FIGURES, _REST = "words", "number", "figures", "text"
_NAMES = {
    "address", "command", "device", "endpoint", "folder", "host", "id", "model", "name", "path",
    "program", "server", "tool", "where",
}  # fmt: skip
_QUOTES = ("'", '"', "`", "“", "/")
_QUOTED = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\"""")
MOST_SPACES = 1
_NUMBERS = re.compile(r"[+-]?[\d,.]+")
_MANY_DIGITS = re.compile(r"\d[\d,.]*\d")
_FORM = "1,000.5"  # The translation of this key shows the language's separators in numbers.
# Sentences that one line contains side by side, from the outermost separator to the innermost.
_SEPARATORS = (" · ", "; ")
_STYLES = re.compile(r"((?:\[[a-z ]+\])+)(.*)((?:\[/\])+)", re.DOTALL)


class Translation:
    """The translation of Indwell's sentences into one language.

    Args:
        language: The name of a catalogue, or empty for English.
    """

    def __init__(self, language: str = "") -> None:
        self.language = language
        self._has_catalogue = bool(language)

    def of(self, text: str) -> str:
        """Return a message of Indwell in the user's language, or unchanged if it is not known.

        Args:
            text: The message in English, which may consist of several known sentences.
        """
        if not self._has_catalogue or not text:
            return text
        return _read(self.language).of(text, DEPTH)

    def of_part(self, text: str) -> str:
        """Return a part of a command with its reason in brackets in the user's language.

        The part itself is data, also if it reads like a sentence of Indwell.
        """
        if re.fullmatch(r"and \d+ more", text):
            return self.of(text)
        start = _bracket(text)
        return f"{text[:start]} ({self.of(text[start + 2 : -1])})" if start > 0 else text

    def of_markup(self, text: str) -> str:
        """Return a message with the terminal's markup in the user's language."""
        if not self._has_catalogue:
            return text
        rest = text.lstrip(" ")
        indent = text[: len(text) - len(rest)]
        styled = _STYLES.fullmatch(rest)
        if styled is None:
            return f"{indent}{self.of(rest)}"
        return f"{indent}{styled[1]}{self.of(styled[2])}{styled[3]}"


ENGLISH = Translation()


def translation_for(locale: str) -> Translation:
    """Return the translation for a locale, such as ``de``, ``de-AT`` or ``zh_CN.UTF-8``.

    Traditional Chinese has no catalogue and gets English.
    """
    parts = re.split(r"[-_.@]", locale.lower())
    if parts[0] == "zh" and not {"tw", "hk", "mo", "hant"} & set(parts):
        return Translation("zh")
    return Translation("de") if parts[0] == "de" else ENGLISH


def translation_from_environment(environment: Mapping[str, str]) -> Translation:
    """Return the translation for a terminal: for LC_ALL, else LC_MESSAGES, else LANG."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    return translation_for(next((environment[name] for name in names if environment.get(name)), ""))


class _Template(NamedTuple):
    """A sentence with placeholders: the texts between the placeholders, and their names."""

    texts: tuple[str, ...]
    names: tuple[str, ...]
    translation: str

    def values(self, text: str) -> Sequence[str] | None:
        """Return the text at each placeholder, or None if ``text`` is another sentence.

        The function reads the text once, from left to right.
        """
        first, *middle, last = self.texts
        end = len(text) - len(last)
        if not text.startswith(first) or not text.endswith(last) or end < len(first):
            return None
        found, at = [], len(first)
        for one in middle:
            # What a quoted name contains, such as brackets, is no part of the sentence.
            name = _QUOTED.match(text, at, end)
            next_ = text.find(one, name.end() if name else at, end)
            if next_ < 0:
                return None
            found.append(text[at:next_])
            at = next_ + len(one)
        found.append(text[at:end])
        pairs = zip(self.texts, self.texts[1:], strict=False)
        signs = ("`" if one[-1:] == other[:1] == "`" else "" for one, other in pairs)
        return found if all(map(_may_be, self.names, found, signs)) else None


class _Catalogue:
    """The sentences of a language.

    Args:
        entries: The translation of each key.
    """

    def __init__(self, entries: Mapping[str, str]) -> None:
        self._whole = {key: one for key, one in entries.items() if "{" not in key}
        templates = [_template(key, one) for key, one in entries.items() if key not in self._whole]
        # A sentence that says more comes first: "Change {path}?" before "{name}?".
        templates.sort(key=lambda one: -sum(map(len, one.texts)))
        # The first characters of a text, or else its last ones, lead to the sentences that may fit.
        self._by_start: dict[str, list[_Template]] = {}
        self._by_end: dict[str, list[_Template]] = {}
        form = entries.get(_FORM, _FORM)
        self._separators = {ord(","): form[1], ord("."): form[5]}
        for one in templates:
            start, end = one.texts[0][:_KNOWN], one.texts[-1][-_KNOWN:]
            if len(start) == _KNOWN:
                self._by_start.setdefault(start, []).append(one)
            else:
                self._by_end.setdefault(end if len(end) == _KNOWN else "", []).append(one)

    def of(self, text: str, depth: int) -> str:
        """Translate a text: a known sentence, or else the known sentences within it."""
        if (whole := self._whole.get(text)) is not None:
            return whole
        if "\n" in text:
            if (labelled := self._labelled(text, depth)) is not None:
                return labelled
            lines = text.split("\n")
            known = [self.of(line, depth) for line in lines[:MOST_LINES]]
            return "\n".join((*known, *lines[MOST_LINES:]))
        if not depth or len(text) > MOST or text.startswith(DATA):
            return text
        found = self._sentence(text, depth)
        if found is not None:
            return found
        n_parts = text.count("; ") + text.count(" · ") + text.count("(")
        return self._parts(text, depth) if n_parts <= MOST_PARTS else text

    def _parts(self, text: str, depth: int) -> str:
        """Translate the parts of a text: between separators, before and in brackets, after a colon.

        The function knows no sentence for the whole text.
        """
        name, colon, rest = text.partition(": ")
        if colon and (whole := self._sentence(rest, depth)) is not None:
            return f"{name}: {whole}"
        for separator in _SEPARATORS:
            parts = _outside_brackets(text, separator)
            if len(parts) > 1:
                return self._mark(separator).join(self.of(one, depth) for one in parts)
        if (start := _bracket(text)) > 0:
            before, within = self.of(text[:start], depth), self.of(text[start + 2 : -1], depth)
            return f"{before}{self._mark(' (')}{within}{self._mark(')')}"
        if colon:
            return f"{name}: {self.of(rest, depth - 1)}"
        # A list of names is data; only known parts and figures make a list of sentences.
        found = [
            self._sentence(one, depth) or (None if any(map(str.isalpha, one)) else one)
            for one in text.split(", ")
        ]
        known = [one for one in found if one is not None]
        return self._mark(", ").join(known) if len(known) == len(found) else text

    def _mark(self, mark: str) -> str:
        """Return the language's form of a punctuation mark."""
        return self._whole.get(mark, mark)

    def _sentence(self, text: str, depth: int) -> str | None:
        """Return the translation of exactly one sentence, or None."""
        if (whole := self._whole.get(text)) is not None:
            return whole
        by_start, by_end = self._by_start.get(text[:_KNOWN], ()), self._by_end
        for one in chain(by_start, by_end.get(text[-_KNOWN:], ()), by_end.get("", ())):
            values = one.values(text)
            if values is not None:
                return self._filled(one, values, depth - 1)
        if text[:1].isupper():
            small = self._sentence(text[0].lower() + text[1:], depth)
            return None if small is None else small[:1].upper() + small[1:]
        return None

    def _labelled(self, text: str, depth: int) -> str | None:
        """Return a sentence that ends with words of the user or the model, or None."""
        for one in chain(self._by_start.get(text[:_KNOWN], ()), self._by_end.get("", ())):
            if one.names[-1] == _REST and not one.texts[-1]:
                values = one.values(text)
                if values is not None:
                    return self._filled(one, values, depth - 1)
        return None

    def _filled(self, template: _Template, values: Sequence[str], depth: int) -> str:
        names = template.names
        given = {
            name: self._value(name, one, depth) for name, one in zip(names, values, strict=True)
        }
        return _PLACEHOLDER.sub(lambda found: given[found[1]], template.translation)

    def _value(self, name: str, value: str, depth: int) -> str:
        """Return the text at a placeholder for the translation."""
        if name.startswith(_INNER):
            return self.of(value, depth)
        if name.startswith((_NUMBER, _FIGURES)):
            return _MANY_DIGITS.sub(lambda found: found[0].translate(self._separators), value)
        return value


def _may_be(name: str, value: str, sign: str) -> bool:
    """Return whether a text can be the value of a placeholder with this name.

    Args:
        name: The name of the placeholder.
        value: The text.
        sign: The quotation mark around the placeholder in its sentence, or empty.
    """
    if sign:
        return sign not in value
    if name in _NAMES:  # a part of a sentence is no name, unless it is quoted
        return value.startswith(_QUOTES) or value.count(" ") <= MOST_SPACES
    return not name.startswith(_NUMBER) or _NUMBERS.fullmatch(value) is not None


def _outside_brackets(text: str, separator: str) -> list[str]:
    """Split a text at a separator, but not within brackets; as of a reason in them."""
    parts: list[str] = []
    for one in text.split(separator):
        if parts and parts[-1].count("(") > parts[-1].count(")"):
            parts[-1] += f"{separator}{one}"
        else:
            parts.append(one)
    return parts


def _bracket(text: str) -> int:
    """Return where the brackets at the end of a text begin, with the space before; 0 if nowhere."""
    n_open = 0
    for at in range(len(text) - 1, 0, -1) if text.endswith(")") else ():
        n_open += {")": 1, "(": -1}.get(text[at], 0)
        if not n_open:
            return at - 1 if text[at - 1] == " " else 0
    return 0


def _template(key: str, translation: str) -> _Template:
    texts = _PLACEHOLDER.split(key)
    return _Template(tuple(texts[::2]), tuple(texts[1::2]), translation)


@cache
def _read(language: str) -> _Catalogue:
    """Read a catalogue of Indwell, once for all clients of the process."""
    import pkgutil  # noqa: PLC0415 - English needs no catalogue

    data = pkgutil.get_data("indwell", f"languages/{language}.json")
    assert data is not None
    return _Catalogue(msgspec.json.decode(data, type=dict[str, str]))
