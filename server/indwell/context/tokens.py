"""Estimates tokens by character class, calibrated by the endpoint's counts. Pure.

The estimate counts letters, beginnings of words and numbers, digits, signs and line ends, and adds
a weight for each. The weights were fitted on real texts to the vocabulary o200k
(``benchmarks/tokens.py``, ``docs/tokens-and-cost.md``). The estimate is slightly high, because an
early compaction is better than an overflow. Until an endpoint has counted, the family of the model
corrects the estimate (``FAMILIES``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import msgspec

from indwell.messages import Message, Request, Thinking, ToolSpec

BLOCK_OVERHEAD = 4  # the tokens that are added to each block for role and separators
IMAGE_TOKENS = 1_600  # the largest number of tokens that providers charge for one picture
SAMPLED_FROM = 30_000  # a text with more characters is sampled in evenly spread parts
# The characters of a sampled part, and from one part to the next; primes also sample regular texts
# evenly.
_PIECE, _STEP = 509, 2_029

# The cost of each class in tokens, for ASCII. First: a letter, a capital letter, a digit, a line
# end, an indented line, a sign. Then: a capital letter in a word (camelCase), the beginning of a
# word or number after another character, a digit after a letter (as in hashes), two blanks, 16
# small letters in a row; a tab, a sign and a digit after a blank.
_LOWER, _UPPER, _DIGIT, _LINE_END, _INDENT, _SIGN = 0.12, 0.29, 0.365, 0.82, 0.33, 0.475
_CAMEL, _WORD, _NUMBER, _MIXED, _BLANKS, _NO_WORD = 1.22, 0.545, 1.25, 1.4, 0.05, 6.0
_TAB, _SIGN_APART, _NUMBER_APART = 0.32, 0.26, 0.5


class _Script(NamedTuple):
    """Characters whose UTF-8 begins with these bytes, and the tokens of one of the characters."""

    leads: Iterable[int]
    tokens: float


_SCRIPTS = (
    _Script(range(0xC2, 0xC4), 1.12),  # Western accents, which also split the word around them
    _Script(range(0xC4, 0xCA), 2.05),  # accents of Central Europe and Vietnam
    _Script(range(0xCA, 0xD0), 0.48),  # Greek
    _Script(range(0xD0, 0xD4), 0.38),  # Cyrillic
    _Script(range(0xD4, 0xE0), 0.49),  # Hebrew, Arabic
    _Script((0xE0,), 0.5),  # Indic scripts, Thai
    _Script((0xE1,), 0.7),
    _Script((0xE2,), 0.6),  # typography, arrows, boxes
    _Script((0xE3,), 0.76),  # kana
    _Script(range(0xE4, 0xEA), 1.06),  # Han: 0.72 in Simplified prose, 1.05 in Traditional
    _Script(range(0xEA, 0xEF), 0.83),  # Hangul
    _Script((0xEF,), 0.5),  # full-width forms
    _Script(range(0xF0, 0xF8), 2.6),  # emoji and other signs beyond the first plane
)

_A = ord("a")
_CLASSES = bytes(
    b"l"[0] if chr(code).islower() and code < 0x80  # noqa: PLR2004 -- the end of ASCII
    else b"U"[0] if chr(code).isupper() and code < 0x80  # noqa: PLR2004
    else b"d"[0] if 0x30 <= code <= 0x39  # noqa: PLR2004 -- 0 to 9
    else b"n"[0] if code in b"\r\n"
    else b"s"[0] if code in b" \t"
    else b"p"[0] if code < 0x80  # noqa: PLR2004
    else b"o"[0]
    for code in range(256)
)  # fmt: skip
_RUNS = _CLASSES.translate(bytes.maketrans(b"lUdnspo", b"aa0    "))
_LEADS = bytes(
    next((_A + at for at, script in enumerate(_SCRIPTS) if code in script.leads), 0)
    for code in range(256)
)
_NO_LEAD = bytes(code for code in range(256) if not _LEADS[code])


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of ``text``, rather too high; 0 only for the empty string.

    The function takes about 12 ns per character (30 for non-ASCII). In a long text, only an evenly
    spread quarter is read, which changes the estimate by at most 4 %; 1 MB takes 3 ms.
    """
    if not text:
        return 0
    if len(text) <= SAMPLED_FROM:
        return int(_weigh(text)) + 1
    sample = "".join(text[at : at + _PIECE] for at in range(0, len(text), _STEP))
    return int(_weigh(sample) * len(text) / len(sample)) + 1


def message_tokens(message: Message) -> int:
    """Return the tokens of a message's blocks, with an overhead for each block.

    Reasoning is not counted, because it is not sent back to the model.
    """
    return sum(
        block.meta.tokens + BLOCK_OVERHEAD
        for block in message.blocks
        if not isinstance(block, Thinking)
    )


class Family(NamedTuple):
    """The token counts of models with one vocabulary and chat template, relative to o200k.

    Attributes:
        names: A pattern that the names of the family's models match.
        text: The tokens for each estimated token of a text.
        tools: The tokens for each estimated token of tool specs, as the chat template writes them.
        tool: The additional tokens for each tool.
        frame: The additional tokens for the template's own text about tools.
    """

    names: str
    text: float = 1.0
    tools: float = 1.0
    tool: int = 0
    frame: int = 0


FAMILIES = (
    Family(r"qwen|qwq|qvq", 1.0, 1.077, 19, 76),
    Family(r"(?<![a-z])llama", 0.92, 1.309, 38, 67),
    Family(r"gemma", 1.07, 1.482, 54, 60),
    Family(r"mistral-7b|mixtral|codestral", 1.2, 1.084, 19, 2),
    Family(r"mistral|ministral|devstral|magistral|pixtral", 1.04, 1.084, 19, 2),
)
"""The families of models, fitted to real vocabularies by ``benchmarks/calibration.py FOLDER``."""
_OTHERS = Family("")


@lru_cache(maxsize=64)
def family_of(model: str) -> Family:
    """Return the family of a model by its name; for an unknown model, the family of o200k."""
    bare = (model.rpartition("@")[0] or model).lower()
    return next((one for one in FAMILIES if re.search(one.names, bare)), _OTHERS)


@lru_cache(maxsize=64)
def tools_tokens(tools: tuple[ToolSpec, ...], model: str = "") -> int:
    """Return the estimated tokens of tool specs, which are equal in all requests of a session.

    The result is on the scale of estimated texts: ``Calibration`` converts both to tokens of the
    model's family.
    """
    plain = sum(estimate_tokens(tool.name + tool.description + tool.parameters) for tool in tools)
    family = family_of(model)
    if not tools or family is _OTHERS:
        return plain
    written = plain * family.tools + len(tools) * family.tool + family.frame
    return round(written / family.text)


def request_tokens(request: Request) -> int:
    """Return the estimated prompt tokens of a request."""
    fixed = sum(block.meta.tokens + BLOCK_OVERHEAD for block in request.system)
    return (
        fixed
        + tools_tokens(request.tools, request.model)
        + sum(message_tokens(message) for message in request.messages)
    )


def _weigh(text: str) -> float:
    data = text.encode("utf-8", "surrogatepass")
    classes = data.translate(_CLASSES)
    runs = data.translate(_RUNS)
    tokens = (
        classes.count(b"l") * _LOWER
        + classes.count(b"U") * _UPPER
        + classes.count(b"d") * _DIGIT
        + classes.count(b"n") * _LINE_END
        + classes.count(b"ns") * _INDENT
        + classes.count(b"p") * _SIGN
        + classes.count(b"lU") * _CAMEL
        + classes.count(b"ss") * _BLANKS
        + data.count(b"\t") * _TAB
        + classes.count(b"sp") * _SIGN_APART
        + classes.count(b"sd") * _NUMBER_APART
        + classes.count(b"l" * 16) * _NO_WORD
        + runs.count(b" a") * _WORD
        + runs.count(b" 0") * _NUMBER
        + runs.count(b"a0") * _MIXED
    )
    if text.isascii():
        return tokens
    leads = data.translate(_LEADS, _NO_LEAD)
    return tokens + sum(leads.count(_A + at) * script.tokens for at, script in enumerate(_SCRIPTS))


# The lowest ratio of counted to estimated tokens that is used, because a low count may be
# incomplete.
LOWEST = 1 / 1.2
HIGHEST = 2.0
"""The highest ratio that is used. No vocabulary in use has twice the tokens of o200k. A larger
ratio means that the endpoint adds a fixed number of tokens, such as for a hidden prompt.
"""


MOST_TIMES, LEAST_TIMES = 3, 10
"""The bounds of a plausible count, as factors of the estimate.

A count beyond these bounds (plus a fixed extra) is wrong, because no vocabulary differs so much.
"""
# The limit of tokens for a fixed extra, such as a long hidden prompt of a gateway.
MOST_EXTRA = 8_000
EXTRA_SHARE = 4  # a fixed extra is at most 1/4 of the request's limit


def is_plausible(reported: int, estimated: int, room: int) -> bool:
    """Return whether a count is plausible for a request of ``estimated`` tokens.

    Args:
        reported: The endpoint's count of prompt tokens.
        estimated: The estimate for the same request.
        room: The limit of tokens for a request. The endpoint accepted the request, so a larger
            count is wrong, or ``room`` is too small.
    """
    most = MOST_TIMES * estimated + min(MOST_EXTRA, room // EXTRA_SHARE)
    return estimated <= reported * LEAST_TIMES and reported <= min(most, max(room, estimated))


class Calibration(msgspec.Struct, frozen=True):
    """The endpoint's last count of a request, and the estimate for the same request.

    Attributes:
        model: The model of the request; estimates for other models are not corrected.
        reported: The prompt tokens of the last request, as counted by the endpoint, or 0 before the
            first count.
        estimated: The estimate for the same request.
    """

    model: str = ""
    reported: int = 0
    estimated: int = 0

    @property
    def ratio(self) -> float:
        """The factor by which estimates for ``model`` are corrected."""
        if not self.reported or not self.estimated:
            return 1.0
        return min(max(self.reported / self.estimated, LOWEST), HIGHEST)

    def ratio_of(self, model: str) -> float:
        """Return the factor by which estimates for ``model`` are corrected."""
        return self.ratio if self.reported and model == self.model else family_of(model).text

    def tokens(self, model: str, estimate: int) -> int:
        """Return the prompt tokens of a request to ``model`` that is estimated at ``estimate``.

        The counted part is exact, and only later text is estimated. After a compaction, a request
        smaller than the counted request is estimated as a whole.
        """
        if not self.reported or model != self.model:
            return round(estimate * family_of(model).text)
        if estimate < self.estimated:
            return round(estimate * self.ratio)
        return self.reported + round((estimate - self.estimated) * self.ratio)
