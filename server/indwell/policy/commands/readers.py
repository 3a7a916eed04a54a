"""Programs that only read, and the options with which they do."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.commands.text_tools import awk, find, jq, sed
from indwell.policy.commands.verdict import Use, working, writing
from indwell.policy.shell.items import Options, UnknownOption, given, names, options
from indwell.policy.shell.words import STAR, Word

Words = Sequence[Word]

_RG_VALUED = "ABCEefgjmMTtrd"
_GREPS = frozenset(["grep", "egrep", "fgrep"])
_VERSIONED = names(
    "python python3 node npm ruby java javac php gcc g++ cc clang make cmake docker curl wget"
    " tar perl jq rg git bash sqlite3 psql gh kubectl terraform"
)
"""Programs whose ``--version`` no file of a workspace can change."""


def reading(name: str, words: Words) -> Use | None:
    """Return what a program of the tables does; None for other programs.

    Args:
        name: Its name.
        words: The words behind it.
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


_GREP_VALUED = "ABCDdefm"
_GREP_NAMES = names(
    "regexp file include exclude exclude-dir exclude-from max-count context label after-context"
    " before-context binary-files devices directories group-separator"
)
"""Options of ``grep`` with a value behind ``=`` or in the next word; they may be abbreviated."""


def _grep(words: Words) -> Use:
    """Judge ``grep``, which never writes or runs; it reads what follows the pattern."""
    reads: list[Word] = []
    only: list[str] = []
    has_pattern = is_deep = False
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.source == "--":
            reads += rest if has_pattern else rest[1:]
            break
        if not word.could_be_option or word.text == "-":
            reads += [word] if has_pattern else []
            has_pattern = True
            continue
        if not (
            word.is_literal or re.match(r"--[a-z-]+=", word.text)
        ):  # it may be an option with or without a value, or the pattern
            reads += [word, *rest] if has_pattern else rest
            break
        name, value = _grep_option(word.text, rest)
        is_deep |= any(
            letter in "rR" or letter.startswith(("rec", "der", "dir")) for letter in name
        )
        for letter in name:
            has_pattern |= letter in {"e", "f"} or letter.startswith(("reg", "fil"))
            is_file = letter == "f" or letter.startswith(("fil", "exclude-f"))
            reads += [value] if value and is_file else []
            only += [value.text.replace(STAR, "*")] if value and letter.startswith("incl") else []
        is_deep |= "d" in name and value is not None and value.text == "recurse"
    return Use("reads", reads=tuple(reads), is_here=is_deep, is_deep=is_deep, only=tuple(only))


def _grep_option(text: str, rest: list[Word]) -> tuple[list[str], Word | None]:
    """Return the letters or name of an option, and its value, which is taken from ``rest``."""
    if text.startswith("--"):
        name, equals, value = text[2:].partition("=")
        takes = any(one.startswith(name) for one in _GREP_NAMES)
        if equals:
            return [name], Word(value, (value,))
        return [name], rest.pop(0) if takes and rest else None
    for at, letter in enumerate(text[1:], start=1):
        if letter in _GREP_VALUED:
            value = text[at + 1 :]
            found = Word(value, (value,)) if value else (rest.pop(0) if rest else None)
            return list(text[1 : at + 1]), found
    return list(text[1:]), None


def _printf(words: Words) -> Use:
    at = 1 if words and words[0].source == "--" else 0
    if len(words) > at and (
        (not at and words[0].could_be_option)
        or any(_SETS.search(one.replace("%%", "")) for one in words[at].options)
        or (not words[at].is_known and len(words) > at + 1)
    ):
        return Use("unknown", "'printf' with an option can run what is in a name")
    return Use("reads", takes_any=True)


_SETS = lazy_pattern(r"%[-+ #0'\d.*hjlLqtz]*n")


def _xxd(words: Words) -> Use:
    """Judge ``xxd``, which takes one option per word and looks only at its beginning."""
    operands: list[Word] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if operands or not word.could_be_option or word.text == "-":
            operands.append(word)
        elif word.source in _XXD_VALUED:
            at += 1
        elif not word.is_literal or not _XXD.fullmatch(word.text):
            return writing(f"'xxd' with {word.source!r} may do more than read", *words[at:])
    if len(operands) > 1:
        return writing("'xxd' writes to its second file", *operands[1:])
    return Use("reads", reads=tuple(operands))


_XXD_VALUED = frozenset(["-c", "-cols", "-g", "-l", "-len", "-n", "-o", "-s", "-seek"])
_XXD = lazy_pattern(r"-(?:[abCeEipuv]|ps|plain|(?:[cglo]|s)[+-]?(?:0x)?\d+)")


def _getconf(words: Words) -> Use | None:
    """Judge ``getconf``, whose ``-v`` starts a program by its path."""
    is_plain = all(re.fullmatch(r"\w+|-a", word.source) for word in words)
    return Use("reads") if is_plain else None


_UNARY = frozenset(f"-{one}" for one in "bcdefgGhkLnNOprsStuwxz")
_BINARY = names("= == != -eq -ne -lt -le -gt -ge -nt -ot -ef < >")
_NUMERIC = names("-eq -ne -lt -le -gt -ge")
_JOINING = frozenset(["!", "(", ")", "-a", "-o", "]"])


def _test(words: Words) -> Use:
    """Judge ``test`` and ``[``, whose ``-v`` and ``-R`` evaluate a subscript and so run code."""
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
    """Judge ``[[``, whose comparisons of numbers evaluate a subscript and so run code."""
    known = (_UNARY - {"-t"}) | _JOINING | {"]]", "&&", "||", "=", "==", "!=", "=~", "<", ">"}
    for word in words:
        if word.source.startswith("-") and word.source not in known | {"-nt", "-ot", "-ef"}:
            reason = "'[[' with such a comparison can run what is in a name"
            numbers = [one for one in words if one.source not in _NUMERIC | _JOINING | {"]]"}]
            # A variable's value may also be a subscript; the sandbox contains that.
            is_plain = all(re.fullmatch(r"-?\d+|\"?\$\w+\"?", one.source) for one in numbers)
            return working(reason) if is_plain else Use("unknown", reason)
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
    "xxd": _xxd,
    "getconf": _getconf,
    "arch": lambda words: None if words else Use("reads"),  # on macOS it runs its words
    "jq": jq,
    "cd": lambda words: Use("reads", reads=tuple(w for w in words if w.text not in {"-P", "-L"})),
}


ANY_PATHS = names(
    "cat tac head tail wc nl ls dir vdir stat cut rev expand unexpand fold fmt paste join"
    " comm cmp od hexdump md5sum sha1sum sha224sum sha256sum sha384sum sha512sum shasum md5"
    " b2sum cksum sum du df realpath readlink diff column pr tsort"
)
"""Programs without any option that writes or runs (coreutils, util-linux, BSD, busybox)."""

ANY_TEXT = names(
    "echo basename dirname seq true false : yes whoami id groups pwd nproc uname uptime free"
    " tty logname users who expr tr numfmt factor sleep cal locale"
)
"""Like the programs above, and their words are no paths."""

HERE = names("ls dir vdir du tree rg fd find df stat")
"""Programs that read the folder in which they run."""

TABLE: Mapping[str, tuple[Options, int | None]] = {
    "sort": (
        options(
            "bdfgiMhnRrVcCmsuz",
            "ktS",
            "ignore-leading-blanks dictionary-order ignore-case"
            " general-numeric-sort ignore-nonprinting month-sort human-numeric-sort numeric-sort"
            " random-sort reverse version-sort check merge stable unique zero-terminated debug",
            "key field-separator buffer-size sort parallel batch-size",
        ),
        None,
    ),
    "uniq": (
        options(
            "cdDiuz#",
            "fsw",
            "count repeated all-repeated ignore-case unique group zero-terminated",
            "skip-fields skip-chars check-chars",
        ),
        1,
    ),
    "base64": (options("dDi", "wb", "decode ignore-garbage", "wrap break"), 1),
    "base32": (options("di", "w", "decode ignore-garbage", "wrap"), 1),
    "shuf": (options("erz", "n", "echo repeat zero-terminated", "head-count"), None),
    "file": (
        options(
            "bhikLNnprsv0",
            "FP",
            "brief mime mime-type mime-encoding extension dereference"
            " no-dereference no-pad keep-going raw",
            "separator",
        ),
        None,
    ),
    "tree": (
        options(
            "adlfxqNQpugshDFvtUrcCASnJX",
            "LPI",
            "noreport dirsfirst filesfirst du si inodes"
            " device gitignore prune nolinks matchdirs ignore-case sort",
            "filelimit charset",
        ),
        None,
    ),
    "which": (options("a", "", "all", ""), None),
    "whereis": (options("bmsu", "", "", ""), None),
    "ps": (
        options(
            "aAdefFHjlLmTwxcv",
            "CGgopqstuU",
            "forest no-headers headers",
            "pid ppid sort user format",
        ),
        1,
    ),
    "date": (options("uRI", "d", "utc universal rfc-email iso-8601 debug", "date rfc-3339"), 1),
    "hostname": (options("fisdIA", "", "fqdn long short", ""), 0),
    "man": (options("kfaw", "", "apropos whatis all where path", ""), None),
    "printenv": (options("0", "", "null", ""), None),
    "pgrep": (options("flaxnoiv", "uP", "", ""), 1),
    "ss": (options("tulnpaxosemH", "", "", ""), 0),
    "netstat": (options("tulnpaxr", "", "", ""), 0),
    "lsof": (options("nPlt", "ip", "", ""), None),
    "fd": (
        options(
            "HIsigpalLFuq01",
            "tedEcSj",
            "hidden no-ignore glob full-path absolute-path"
            " follow list-details case-sensitive ignore-case fixed-strings print0 unrestricted",
            "type extension max-depth min-depth exclude color size max-results changed-within",
        ),
        None,
    ),
    "rg": (
        options(
            "ceFgHhIilLnNopPqrSsUuvwx.a0",
            "",
            "count count-matches fixed-strings"
            " files-with-matches files-without-match files with-filename no-filename heading"
            " no-heading hidden ignore-case invert-match json line-number no-line-number"
            " line-regexp"
            " multiline multiline-dotall no-ignore no-ignore-vcs null only-matching passthru pcre2"
            " pretty quiet smart-case case-sensitive stats text trim type-list unrestricted vimgrep"
            " word-regexp column byte-offset debug no-messages no-config glob-case-insensitive"
            " follow one-file-system sort-files",
            "after-context before-context context color colors"
            " encoding glob iglob max-columns max-count max-depth max-filesize regexp replace sort"
            " sortr threads type type-not file context-separator",
        ),
        None,
    ),
    "gofmt": (options("desl", "", "", ""), None),
    "ldconfig": (options("p", "", "", ""), 0),
    "lscpu": (options("", "", "", ""), 0),
    "lsblk": (options("afl", "", "", ""), None),
    "findmnt": (options("l", "", "", ""), 0),
}
"""Harmless options, and the possible number of operands."""

TELL_OF_PROGRAMS = names(
    "ps pgrep pidof pstree pmap pwdx top htop atop btop glances w lsof fuser ss netstat"
    " sockstat tasklist"
)
"""They list the processes of the machine with their arguments, which often hold passwords. They
need no question only where the sandbox shows no other process.
"""
