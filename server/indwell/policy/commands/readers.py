"""Programs that only read, with the options under which that is so."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from indwell.policy.commands.flags import Options, UnknownOption, given, names
from indwell.policy.commands.reader_tables import ANY_PATHS, ANY_TEXT, HERE, TABLE
from indwell.policy.commands.text_tools import awk, find, jq, sed
from indwell.policy.commands.use import Use, writing
from indwell.policy.commands.words import Word

Words = Sequence[Word]

_RG_VALUED = "ABCEefgjmMTtrd"
_GREPS = frozenset(["grep", "egrep", "fgrep"])
_VERSIONED = names(
    "python python3 node npm ruby java javac php gcc g++ cc clang make cmake docker curl wget"
    " tar perl jq rg git bash sqlite3 psql gh kubectl terraform"
)
"""Programs whose ``--version`` no file of a workspace can change."""


def reading(name: str, words: Words) -> Use | None:
    """What a program of the tables does; none for others.

    Args:
        name: Its name.
        words: Those behind it.
    """
    if len(words) == 1 and name in _VERSIONED and words[0].source in {"--version", "-V"}:
        return Use("reads")
    if name == "strings" and not any(word.text[:1] in {"-", "@"} for word in words):
        return Use("reads", reads=tuple(words))  # `@file` holds options
    if name in ANY_TEXT:
        return Use("reads", takes_any=True)
    if name in ANY_PATHS:
        return Use("reads", reads=tuple(words), is_here=name in HERE, is_deep=name == "diff")
    special = _SPECIAL.get(name)
    if special is not None:
        return special(words)
    if name in TABLE:
        return _by_table(name, words)
    return None


def _by_table(name: str, words: Words) -> Use:
    known, most = TABLE[name]
    if name == "rg":
        known = Options(
            "".join(one for one in known.short if one not in _RG_VALUED),
            _RG_VALUED,
            known.long,
            known.long_valued,
        )
    try:
        found = given(words, known)
    except UnknownOption as option:
        return writing(f"{name!r} with {str(option)!r} may do more than read")
    if most is not None and len(found.operands) > most:
        return writing(f"{name!r} writes to its second file, or changes what it names")
    reads = found.operands
    if name in {"date", "ps", "man", "which", "pgrep", "whereis", "printenv"}:
        return _named(name, reads)
    if name in {"rg", "fd"}:
        own = found.has("-e", "--regexp", "-f", "--file", "--files", "--type-list")
        reads = reads if own else reads[1:]
        reads += tuple(Word(one, (one,)) for one in found.values("-f", "--file"))
        shows = not found.has("-l", "-c", "--count", "--files-with-matches", "--files")
        is_deep = name == "rg" and shows
        sees_all = found.has("-.", "--hidden", "-u", "--unrestricted", "-g", "--glob", "--iglob")
        return Use("reads", reads=reads, is_here=True, is_deep=is_deep, skips_hidden=not sees_all)
    if name == "shuf" and found.has("-e", "--echo"):
        reads = ()
    return Use("reads", reads=reads, is_here=name in HERE)


def _named(name: str, operands: Words) -> Use:
    wanted = {
        "date": r"\+.*",
        "ps": r"[aAdefgjlmrTtuUvwxcnS]{1,8}",
        "man": r"[\w.+:@-]+",
        "which": r"[\w.+-]+",
        "whereis": r"[\w.+-]+",
        "printenv": r"\w+",
        "pgrep": r"[^/]*",
    }[name]
    texts = [text for word in operands for text in word.options]
    if name == "ps" and any("e" in text for text in texts):
        return writing("'ps' with 'e' shows the environment of other programs")
    if all(re.fullmatch(wanted, text, re.DOTALL) for text in texts):
        return Use("reads")
    return writing(f"{name!r} with such words may do more than read")


def _grep(words: Words) -> Use:
    """``grep`` has no option that writes or runs; what it reads is behind the pattern."""
    reads: list[Word] = []
    has_pattern = is_deep = False
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        text = word.text
        if word.is_literal and re.fullmatch(
            r"-[A-Za-z0-9]*[ABCDdem]|--(?:regexp|include|exclude"
            r"|exclude-dir|max-count|context|color|label"
            r"|after-context|before-context)",
            text,
        ):
            has_pattern |= text.endswith("e") or text == "--regexp"
            is_deep |= bool(re.match(r"-[A-Za-z0-9]*[rR]", text)) and not text.startswith("--")
            at += 1
        elif word.is_literal and text.startswith("-") and len(text) > 1:
            if text.startswith("--"):
                is_deep |= text.startswith(("--rec", "--der", "--dir"))
                has_pattern |= text.startswith(("--reg", "--file"))
                if text.startswith("--f") and "=" in text:
                    value = text.partition("=")[2]
                    reads.append(Word(value, (value,)))
            else:
                is_deep |= "r" in text or "R" in text
                if "f" in text:
                    has_pattern = True
                    value = text.partition("f")[2]
                    reads.append(Word(value, (value,)) if value else words[min(at, len(words) - 1)])
                has_pattern |= "e" in text
        elif not has_pattern:
            has_pattern = True
        else:
            reads.append(word)
    only = tuple(
        word.text.partition("=")[2] for word in words if word.text.startswith("--include=")
    )
    return Use("reads", reads=tuple(reads), is_here=is_deep, is_deep=is_deep, only=only)


def _printf(words: Words) -> Use:
    at = 1 if words and words[0].source == "--" else 0
    if len(words) > at and (
        (not at and words[0].could_be_option) or "%n" in re.sub("%%", "", words[at].text)
    ):
        return Use("unknown", "'printf' with an option can run what is in a name")
    return Use("reads", takes_any=True)


_UNARY = frozenset(f"-{one}" for one in "bcdefgGhkLnNOprsStuwxz")
_BINARY = names("= == != -eq -ne -lt -le -gt -ge -nt -ot -ef < >")
_JOINING = frozenset(["!", "(", ")", "-a", "-o", "]"])


def _test(words: Words) -> Use:
    """``test`` and ``[``: ``-v`` and ``-R`` run what stands in a subscript."""
    own = [word for word in words if word.source != "]"]
    while own and own[0].source == "!":
        own = own[1:]
    values = [word for word in own if word.text not in _UNARY | _BINARY | _JOINING]
    clear = (len(own) == 2 and own[0].source in _UNARY) or (  # noqa: PLR2004 - `-f x`, `a = b`
        len(own) == 3 and own[1].source in _BINARY  # noqa: PLR2004
    )
    if any(word.splits for word in own) or (
        not clear and not all(one.is_literal and not one.could_be_option for one in values)
    ):
        return Use("unknown", "'test' can run what is in a name")
    paths = [word for word in values if own[0].source in _UNARY - {"-n", "-z"}]
    return Use("reads", reads=tuple(paths), takes_any=True)


def _double(words: Words) -> Use:
    """``[[``: its comparisons of numbers compute, and so run what stands in a subscript."""
    known = (_UNARY - {"-t"}) | _JOINING | {"]]", "&&", "||", "=", "==", "!=", "=~", "<", ">"}
    for word in words:
        if word.source.startswith("-") and word.source not in known | {"-nt", "-ot", "-ef"}:
            return Use("unknown", "'[[' with such a comparison can run what is in a name")
    return Use("reads", takes_any=True)


def _command(words: Words) -> Use | None:
    if words and words[0].is_literal and words[0].text in {"-v", "-V"}:
        return Use("reads")
    return None


def _brew(words: Words) -> Use | None:
    first = words[0].text if words else ""
    if first in {"list", "ls"} and all(word.is_literal for word in words):
        return Use("reads")
    return None


def _pip(words: Words) -> Use | None:
    first = words[0].text if words else ""
    if first in {"list", "show", "freeze"} and all(
        word.is_literal and not word.text.startswith("-") for word in words[1:]
    ):
        return Use("reads")
    return None


_SPECIAL: Mapping[str, Callable[[Words], Use | None]] = {
    **dict.fromkeys(_GREPS, _grep),
    **dict.fromkeys(["test", "["], _test),
    "[[": _double,
    **dict.fromkeys(["pip", "pip3"], _pip),
    **dict.fromkeys(["awk", "gawk", "mawk", "nawk"], awk),
    **dict.fromkeys(["sed", "gsed"], sed),
    "printf": _printf,
    "command": _command,
    "type": lambda words: Use("reads") if all(one.is_literal for one in words) else None,
    "brew": _brew,
    "find": find,
    "jq": jq,
    "cd": lambda words: Use("reads", reads=tuple(w for w in words if w.text not in {"-P", "-L"})),
}
