"""Judges programs that only read, and the options that keep a program read-only."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.commands.programs import LISTS, TABLES
from indwell.policy.commands.verdict import Use, working, writing
from indwell.policy.shell.items import Options, UnknownOption, given, names
from indwell.policy.shell.words import STAR, Word

Words = Sequence[Word]
_RG_VALUED = "ABCEefgjmMTtrd"
_GREPS = frozenset(["grep", "egrep", "fgrep"])
_VERSIONED = LISTS["versioned"]
"""Programs whose ``--version`` no file of a workspace can change."""
# Within brackets, some programs take a delimiter as a member of the set, others as its end.
_ADDRESS = r"(?:\d+|\$|/(?:\\[^\n]|\[\^?\]?(?:\[:\w+:\]|\\[nt]|[^\]\[\\/\n])*\]|[^\\/\n\[])*/)"
_SED_COMMAND = lazy_pattern(
    rf"\s*(?:{_ADDRESS}(?:\s*,\s*(?:{_ADDRESS}|\+\d+))?)?\s*!?\s*"
    r"(?:[pdq=]|s(?P<by>[/|,:#@!%~;_])"
    r"(?:\\[^\n]|\[\^?(?:(?!(?P=by))\])?(?:\[:\w+:\]|\\[nt]|(?!(?P=by))[^\]\[\\\n])*\]"
    r"|(?!(?P=by))[^\\\n\[])*(?P=by)"
    r"(?:\\[^\n]|(?!(?P=by))[^\\\n])*(?P=by)[gpIi\d]*)\s*(?:;|\n|$)"
)
_SED, _AWK, _JQ = (TABLES.languages[name] for name in ("sed", "awk", "jq"))
_AWK_DANGER = lazy_pattern(
    r"system|getline|ARGV|ARGC|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|FS\s*=.*@|@|\||close|fflush"
)
_AWK_PATTERN = lazy_pattern(
    r'!?/(?:\\.|[^\\/"\n])*/\s*(?:\{\s*print(?:\s+\$\w+(?:\s*,\s*\$\w+)*)?\s*\})?'
)
_JQ_VALUES = {"--arg": 2, "--argjson": 2, "--slurpfile": 2, "--rawfile": 2, "--indent": 1}
_JQ_LOADS = lazy_pattern(r"import|include|input_filename|get_search_list")
_FIND_ALONE = LISTS["find alone"]
_FIND_VALUED = LISTS["find valued"]
_FIND_RUNS = frozenset(["-exec", "-execdir", "-ok", "-okdir"])


def sed(words: Sequence[Word]) -> Use:
    """Judge ``sed``, which only reads as long as its script prints, deletes or replaces."""
    try:
        found = given(words, _SED)
    except UnknownOption as option:
        return writing(f"'sed' with {str(option)!r} may change files", *_changed(words))
    scripts = list(found.values("-e", "--expression"))
    operands = found.operands
    if not scripts and operands:
        if not operands[0].is_literal:
            return writing("'sed' with a script that is known only at run time")
        scripts, operands = [operands[0].text], operands[1:]
    if not scripts or not all(map(_is_quiet, scripts)):
        return writing("'sed' with such a script may write files or run programs")
    return Use("reads", reads=operands)


def _is_quiet(script: str) -> bool:
    at = 0
    while at < len(script):
        found = _SED_COMMAND.match(script, at)
        if found is None or found.end() == at:
            return not script[at:].strip()
        at = found.end()
    return bool(script)


def _changed(words: Sequence[Word]) -> tuple[Word, ...]:
    """Return the words after the script, which name files that may be changed in place."""
    rest = [word for word in words if word.text and not word.text.startswith("-")]
    has_script = any(re.match(r"-[a-zA-Z]*[ef]|--expr|--file", word.text) for word in words)
    return tuple(rest[0 if has_script else 1 :])


def awk(words: Sequence[Word]) -> Use:
    """Judge ``awk``, whose programs may print, but use no pipes, files or ``system``."""
    try:
        found = given(words, _AWK, permutes=False)
    except UnknownOption as option:
        return writing(f"'awk' with {str(option)!r} may run or write anything")
    if not found.operands or not found.operands[0].is_literal:
        return writing("'awk' with a program that is known only at run time")
    program, *reads = found.operands
    if not _only_prints(program.text):
        return writing("'awk' with such a program may run or write anything")
    if any("\\" in value for value in found.values("-v", "--assign")):
        return writing("'awk' with such a value")
    return Use("reads", reads=tuple(word for word in reads if not re.match(r"\w+=", word.text)))


def _only_prints(program: str) -> bool:
    if _AWK_PATTERN.fullmatch(program):
        return True
    plain = program.replace("||", "&&")
    if _AWK_DANGER.search(plain):
        return False
    first = program.find("print")
    return first < 0 or ">" not in program[first:]


def jq(words: Sequence[Word]) -> Use:
    """Judge ``jq``, which writes and runs nothing and reads the files after its program."""
    rest: list[Word] = []
    reads: list[Word] = []
    at = 0
    while at < len(words):
        if words[at].source == "--":  # No option follows `--`.
            rest += words[at:]
            break
        n_values = _JQ_VALUES.get(words[at].source, 0)
        if not n_values:
            rest.append(words[at])
        elif words[at].source.endswith("file"):
            reads += words[at + 2 : at + 3]
        elif any(word.splits for word in words[at + 1 : at + n_values + 1]):
            return writing("'jq' with words that are known only at run time")
        at += n_values + 1
    try:
        found = given(rest, _JQ)
    except UnknownOption as option:
        return writing(f"'jq' with {str(option)!r} may read other files")
    program, operands = found.operands[:1], found.operands[1:]
    if found.has("-f", "--from-file"):
        operands = found.operands
    elif not all(one.is_literal and not _JQ_LOADS.search(one.text) for one in program):
        return writing("'jq' with such a program may read other files")
    return Use("reads", reads=(*reads, *operands))


def find(words: Sequence[Word]) -> Use:
    """Judge ``find``: tests and printing only read, but ``-delete`` and ``-exec`` do more."""
    starts: list[Word] = []
    at = 0
    while at < len(words) and not (words[at].could_be_option or words[at].text in {"!", "(", ")"}):
        starts.append(words[at])
        at += 1
    while at < len(words):
        word = words[at]
        at += 1
        if not word.is_literal:
            return writing("'find' with words that are known only at run time")
        if word.text in _FIND_ALONE or not word.text.startswith("-"):
            if not word.text.startswith("-") and word.text not in _FIND_ALONE:
                starts.append(word)
        elif word.text in _FIND_VALUED:
            at += 1
        else:
            return _finds_more(words, at - 1)
    return Use("reads", reads=tuple(starts), is_here=not starts)


def _finds_more(words: Sequence[Word], at: int) -> Use:
    """Return the effect of ``find`` if it runs, deletes or writes."""
    inner: list[tuple[Word, ...]] = []
    for index in range(at, len(words)):
        text = words[index].text
        if text == "-delete":
            return Use("destroys", "'find -delete' removes files")
        if text in _FIND_RUNS:
            end = index + 1
            while end < len(words) and words[end].text not in {";", "+"}:
                end += 1
            if end == index + 1:
                return Use("unknown", "'find' runs no visible program")
            inner.append(tuple(words[index + 1 : end]))
        elif text.startswith(("-fprint", "-fls", "-files0")):
            return writing(f"'find {text}' writes a file", *words[index + 1 : index + 2])
    if inner:
        return Use("writes", "'find' runs a program on what it finds", inner=tuple(inner))
    return writing(f"'find' with {words[at].text!r} may do more than find")


def reading(name: str, words: Words) -> Use | None:
    """Return the effect of a program in the tables, or None for other programs.

    Args:
        name: The program's name.
        words: The words after the program's name.
    """
    if len(words) == 1 and name in _VERSIONED and words[0].source in {"--version", "-V"}:
        return Use("reads")
    if name == "strings" and not any(word.text[:1] in {"-", "@"} for word in words):
        return Use("reads", reads=tuple(words))  # `@file` contains options.
    if name in ANY_TEXT:
        return Use("reads", takes_any=True)
    if name in ANY_PATHS:
        return Use("reads", reads=tuple(words), is_here=name in HERE, is_deep=name == "diff")
    special = _SPECIAL.get(name)
    if special is not None:
        return special(words)
    if name in TABLES.readers:
        return _by_table(name, words)
    return None


def _by_table(name: str, words: Words) -> Use:
    known: Options = (program := TABLES.readers[name])
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
    if program.most_operands is not None and len(found.operands) > program.most_operands:
        return writing(f"{name!r} writes to its second file, or changes it")
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


_GREP_NAMES = LISTS["grep names"]
"""Options of ``grep`` with a value after ``=`` or in the next word; users may abbreviate them."""


def _grep(words: Words) -> Use:
    """Judge ``grep``, which never writes or runs; it reads the files after the pattern."""
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
        ):  # The word may be an option, an option's value, or the pattern.
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
    """Return an option's letters or name, and its value, which may come from ``rest``."""
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
        return Use("unknown", "'printf' with an option can run code in the name of a variable")
    return Use("reads", takes_any=True)


_SETS = lazy_pattern(r"%[-+ #0'\d.*hjlLqtz]*n")


def _xxd(words: Words) -> Use:
    """Judge ``xxd``, which recognises an option by the beginning of a word."""
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
    """Judge ``test`` and ``[``: ``-v`` and ``-R`` evaluate a subscript, which runs code."""
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
        return Use("unknown", "'test' can run code in the name of a variable")
    paths = [word for word in values if own[0].source in _UNARY - {"-n", "-z"}]
    return Use("reads", reads=tuple(paths), takes_any=True)


def _double(words: Words) -> Use:
    """Judge ``[[``: comparisons of numbers evaluate a subscript, which runs code."""
    known = (_UNARY - {"-t"}) | _JOINING | {"]]", "&&", "||", "=", "==", "!=", "=~", "<", ">"}
    for word in words:
        if word.source.startswith("-") and word.source not in known | {"-nt", "-ot", "-ef"}:
            reason = "'[[' with such a comparison can run code in the name of a variable"
            numbers = [one for one in words if one.source not in _NUMERIC | _JOINING | {"]]"}]
            # A variable's value may also be a subscript, but the sandbox confines the code in the
            # subscript.
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
    "arch": lambda words: None if words else Use("reads"),  # On macOS, `arch` runs its words.
    "jq": jq,
    "cd": lambda words: Use("reads", reads=tuple(w for w in words if w.text not in {"-P", "-L"})),
}


ANY_PATHS = LISTS["readers of any paths"]
"""Programs without any option that writes or runs (coreutils, util-linux, BSD, busybox)."""


ANY_TEXT = LISTS["readers of any text"]
"""Programs without any option that writes or runs, whose arguments are not paths."""


HERE = LISTS["readers of the folder"]
"""Programs that read their working directory."""


TELL_OF_PROGRAMS = LISTS["tell of programs"]
"""Programs that list all processes with their arguments, which often contain passwords.

These programs need no question only if the sandbox hides all other processes.
"""
