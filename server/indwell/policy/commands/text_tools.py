"""Programs with a language of their own, and the part of it that only reads."""

from __future__ import annotations

import re
from collections.abc import Sequence

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.commands.verdict import Use, writing
from indwell.policy.shell.items import UnknownOption, given, names, options
from indwell.policy.shell.words import Word

# A set in brackets may contain the delimiter for one program and end at it for another.
_ADDRESS = r"(?:\d+|\$|/(?:\\[^\n]|\[\^?\]?(?:\[:\w+:\]|\\[nt]|[^\]\[\\/\n])*\]|[^\\/\n\[])*/)"
_SED_COMMAND = lazy_pattern(
    rf"\s*(?:{_ADDRESS}(?:\s*,\s*(?:{_ADDRESS}|\+\d+))?)?\s*!?\s*"
    r"(?:[pdq=]|s(?P<by>[/|,:#@!%~;_])"
    r"(?:\\[^\n]|\[\^?(?:(?!(?P=by))\])?(?:\[:\w+:\]|\\[nt]|(?!(?P=by))[^\]\[\\\n])*\]"
    r"|(?!(?P=by))[^\\\n\[])*(?P=by)"
    r"(?:\\[^\n]|(?!(?P=by))[^\\\n])*(?P=by)[gpIi\d]*)\s*(?:;|\n|$)"
)
_SED = options(
    "nErsuz", "e", "quiet silent regexp-extended separate unbuffered null-data posix", "expression"
)
_AWK = options("", "Fv", "posix traditional", "field-separator assign")
_AWK_DANGER = lazy_pattern(
    r"system|getline|ARGV|ARGC|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|FS\s*=.*@|@|\||close|fflush"
)
_AWK_PATTERN = lazy_pattern(
    r'!?/(?:\\.|[^\\/"\n])*/\s*(?:\{\s*print(?:\s+\$\w+(?:\s*,\s*\$\w+)*)?\s*\})?'
)

_JQ = options(
    "nrjascCSeMRhVf",
    "",
    "null-input raw-output join-output ascii-output slurp compact-output"
    " color-output monochrome-output sort-keys exit-status raw-input tab unbuffered stream"
    " stream-errors seq from-file raw-output0 args jsonargs version help",
)
_JQ_VALUES = {"--arg": 2, "--argjson": 2, "--slurpfile": 2, "--rawfile": 2, "--indent": 1}
_JQ_LOADS = lazy_pattern(r"import|include|input_filename|get_search_list")

_FIND_ALONE = names(
    "-not -a -and -o -or ! ( ) , -empty -print -print0 -prune -ls -daystart -depth -d -follow"
    " -mount -xdev -noleaf -readable -writable -executable -true -false -quit -nouser -nogroup"
    " -ignore_readdir_race -noignore_readdir_race -nowarn -warn -H -L -P -E -X -s -x"
)
_FIND_VALUED = names(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type"
    " -xtype -maxdepth -mindepth -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer"
    " -newermt -newerct -newerat -size -perm -user -group -uid -gid -links -inum -samefile"
    " -regextype -printf -fstype -used -context -flags"
)
_FIND_RUNS = frozenset(["-exec", "-execdir", "-ok", "-okdir"])


def sed(words: Sequence[Word]) -> Use:
    """Judge ``sed``: printing, deleting and replacing in the output; no ``w``, ``e``, ``-i``."""
    try:
        found = given(words, _SED)
    except UnknownOption as option:
        return writing(f"'sed' with {str(option)!r} may change files", *_changed(words))
    scripts = list(found.values("-e", "--expression"))
    operands = found.operands
    if not scripts and operands:
        if not operands[0].is_literal:
            return writing("'sed' with a script that only a run can tell")
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
    """Return what may be changed in place: the words behind the script."""
    rest = [word for word in words if word.text and not word.text.startswith("-")]
    has_script = any(re.match(r"-[a-zA-Z]*[ef]|--expr|--file", word.text) for word in words)
    return tuple(rest[0 if has_script else 1 :])


def awk(words: Sequence[Word]) -> Use:
    """Judge ``awk``: programs that print, without pipes, files, ``system`` and the like."""
    try:
        found = given(words, _AWK, permutes=False)
    except UnknownOption as option:
        return writing(f"'awk' with {str(option)!r} may run or write anything")
    if not found.operands or not found.operands[0].is_literal:
        return writing("'awk' with a program that only a run can tell")
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
    """Judge ``jq``, which writes and runs nothing and reads what follows its program."""
    rest: list[Word] = []
    reads: list[Word] = []
    at = 0
    while at < len(words):
        if words[at].source == "--":  # no options behind it
            rest += words[at:]
            break
        n_values = _JQ_VALUES.get(words[at].source, 0)
        if not n_values:
            rest.append(words[at])
        elif words[at].source.endswith("file"):
            reads += words[at + 2 : at + 3]
        elif any(word.splits for word in words[at + 1 : at + n_values + 1]):
            return writing("'jq' with words that only a run can tell")
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
    """Judge ``find``: tests and printing only read; ``-delete``, ``-exec`` and others do more."""
    starts: list[Word] = []
    at = 0
    while at < len(words) and not (words[at].could_be_option or words[at].text in {"!", "(", ")"}):
        starts.append(words[at])
        at += 1
    while at < len(words):
        word = words[at]
        at += 1
        if not word.is_literal:
            return writing("'find' with words that only a run can tell")
        if word.text in _FIND_ALONE or not word.text.startswith("-"):
            if not word.text.startswith("-") and word.text not in _FIND_ALONE:
                starts.append(word)
        elif word.text in _FIND_VALUED:
            at += 1
        else:
            return _finds_more(words, at - 1)
    return Use("reads", reads=tuple(starts), is_here=not starts)


def _finds_more(words: Sequence[Word], at: int) -> Use:
    """Return what ``find`` does beyond finding: run, delete or write."""
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
                return Use("unknown", "'find' runs nothing that can be seen")
            inner.append(tuple(words[index + 1 : end]))
        elif text.startswith(("-fprint", "-fls", "-files0")):
            return writing(f"'find {text}' writes a file", *words[index + 1 : index + 2])
    if inner:
        return Use("writes", "'find' runs a program on what it finds", inner=tuple(inner))
    return writing(f"'find' with {words[at].text!r} may do more than find")
