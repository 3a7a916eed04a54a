"""Finds the files that a shell command reads, searches, writes or patches. Pure.

Many agents read files with ``sed -n``, ``cat`` or ``Get-Content`` only. A command is understood if
each of its parts is known: one unknown program, variable or substitution makes the whole text a
plain command. No permission depends on the result (``policy.commands`` judges commands).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from indwell.lazy_pattern import lazy_pattern

ShellKind: TypeAlias = Literal["read", "edit", "write", "search", "command"]

LONGEST = 200_000  # Longer commands are not parsed.


class ShellWork(msgspec.Struct, frozen=True):
    """What a command does with files.

    Attributes:
        kind: ``command`` if the command does anything else, too.
        paths: The files that are read, or those that are changed if any file is changed.
        start: The first line of a read, 1-based, or 0 if unknown or if there are several files.
        n_lines: The number of lines that a read asked for, or 0 if unknown.
        patch: The text that ``apply_patch`` receives, or empty if there is no patch.
    """

    kind: ShellKind = "command"
    paths: tuple[str, ...] = ()
    start: int = 0
    n_lines: int = 0
    patch: str = ""


_COMMAND = ShellWork()


def shell_work(command: str, *, folder: str = "", is_powershell: bool = False) -> ShellWork:
    """Parse a command.

    Args:
        command: The shell text.
        folder: The folder in which the command runs, if the call names one.
        is_powershell: Whether PowerShell runs the command.
    """
    if len(command) > LONGEST:
        return _COMMAND
    account = _Account(folder, is_powershell=is_powershell)
    pipeline: list[_Simple] = []
    for simple in _Splitter(command, is_powershell=is_powershell).simples():
        if simple is None:
            return _COMMAND
        if pipeline and not simple.is_piped:
            if not account.add(pipeline):
                return _COMMAND
            pipeline = []
        pipeline.append(simple)
    return account.work() if pipeline and account.add(pipeline) else _COMMAND


class _Word(msgspec.Struct, frozen=True, gc=False):
    """A word without its quotes; ``is_literal`` is false if the shell would expand the word."""

    text: str
    is_literal: bool = True
    is_quoted: bool = False


class _Simple(msgspec.Struct, frozen=True, gc=False):
    """One program with its words, its output file, and its text from a here-document.

    ``appends`` is true if the output goes to the end of the file.
    """

    words: tuple[_Word, ...]
    is_piped: bool = False
    output: _Word | None = None
    given: str | None = None
    appends: bool = False


_SKIPPED = lazy_pattern(r"(?:[ \t\r]|\\\r?\n|(?:(?<=\s)|^)#[^\n]*)+")
_BREAK = lazy_pattern(r"&&|\|\||[;|\n]")
_HERE = lazy_pattern(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|(\w+))")
_REDIRECT = lazy_pattern(r"(?:\d|&)?>>?[ \t]*(?:&\d)?")
_PIECE = lazy_pattern(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)|([^\s'\"\\;|&<>()`]+)", re.DOTALL)
_POWERSHELL_PIECE = lazy_pattern(r"'([^']*)'|\"([^\"`]*)\"|(\Z.)|([^\s'\";|&<>(){}`@]+)")
_EXPANDED = lazy_pattern(r"[$`]")
_GLOB = lazy_pattern(r"[$*?\[{]")
_NOTHING = frozenset({"/dev/null", "$null"})


class _Splitter:
    """Splits a command into its simple commands."""

    def __init__(self, command: str, *, is_powershell: bool) -> None:
        self._command, self._at = command, 0
        self._is_powershell = is_powershell
        self._piece = _POWERSHELL_PIECE if is_powershell else _PIECE
        self._here: tuple[str, bool] | None = None
        self._words: list[_Word] = []
        self._simple = _Simple(())

    def simples(self) -> Iterator[_Simple | None]:
        """Yield the simple commands in order; None means that the rest is not understood."""
        command = self._command
        while True:
            if skipped := _SKIPPED.match(command, self._at):
                self._at = skipped.end()
            broken = _BREAK.match(command, self._at)
            if broken or self._at == len(command):
                yield from self._ended(broken[0] if broken else "")
                if not broken:
                    return
            elif not self._is_powershell and (found := _HERE.match(command, self._at)):
                self._here = found[2] or found[3] or found[4], bool(found[1])
                self._at = found.end()
            elif not (self._redirected() or self._continued()):
                yield None
                return

    def _ended(self, sign: str) -> Iterator[_Simple | None]:
        """End a simple command at a sign, such as ``|``, or at the end of the text."""
        self._at += len(sign)
        given = None
        if self._here and sign in {"", "\n"}:
            given = self._document(*self._here)
            self._here = None
        if self._here:  # The here-document belongs to an earlier part of this line.
            yield None
            return
        is_piped = self._simple.is_piped
        if self._words:
            yield replace(self._simple, words=tuple(self._words), given=given)
        if self._words or sign != "\n":
            is_piped = sign == "|"
        self._words, self._simple = [], _Simple((), is_piped)

    def _redirected(self) -> bool:
        """Take a redirection, if one begins here."""
        found = _REDIRECT.match(self._command, self._at)
        if not found:
            return False
        self._at = found.end()
        if found[0].endswith(("&1", "&2")):
            return True
        target = self._word()
        if target is None:
            return False
        if not found[0].startswith("2") and target.text not in _NOTHING:
            self._simple = replace(self._simple, output=target, appends=">>" in found[0])
        return True

    def _continued(self) -> bool:
        """Take a word, if one begins here."""
        word = self._word()
        if word is None:
            return False
        self._words.append(word)
        return True

    def _document(self, end: str, is_indented: bool) -> str:  # noqa: FBT001
        """Return the here-document that begins here."""
        lines: list[str] = []
        while self._at < len(self._command):
            stop = self._command.find("\n", self._at)
            stop = len(self._command) if stop < 0 else stop
            line, self._at = self._command[self._at : stop], min(stop + 1, len(self._command))
            if (line.lstrip("\t") if is_indented else line).rstrip("\r") == end:
                break
            lines.append(line)
        return "\n".join(lines)

    def _word(self) -> _Word | None:
        """Return the word that begins here, or None if the text here is no plain word."""
        texts: list[str] = []
        is_literal, is_quoted = True, False
        while found := self._piece.match(self._command, self._at):
            self._at = found.end()
            single, double, escaped, bare = found.groups()
            if double is not None:
                is_literal = is_literal and not _EXPANDED.search(double)
                double = double.replace('\\"', '"').replace("\\\\", "\\")
            elif bare is not None:
                is_literal = is_literal and not _GLOB.search(bare)
            is_quoted = is_quoted or bare is None
            texts.append(next(one for one in (single, double, escaped, bare) if one is not None))
        return _Word("".join(texts), is_literal, is_quoted) if texts else None


class _Account:
    """Collects what the pipelines of one command do."""

    def __init__(self, folder: str, *, is_powershell: bool) -> None:
        self._folder = folder
        self._is_powershell = is_powershell
        self._folders: list[str] = []
        self._read: dict[str, None] = {}
        self._edited: dict[str, None] = {}
        self._written: dict[str, None] = {}
        self._range = (0, 0)
        self._n_ranges = 0
        self._searches = False
        self._patch = ""

    def work(self) -> ShellWork:
        """Return the sum of all pipelines."""
        if self._edited or self._patch:
            paths = (*self._edited, *self._written)
            return ShellWork("edit", paths, patch=self._patch)
        if self._written:
            return ShellWork("write", tuple(self._written))
        if self._read:
            start, n_lines = self._range if self._n_ranges == 1 else (0, 0)
            return ShellWork("read", tuple(self._read), start, n_lines)
        return ShellWork("search") if self._searches else _COMMAND

    def add(self, pipeline: Sequence[_Simple]) -> bool:
        """Add a pipeline; return False if the pipeline is not understood."""
        first, *filters = pipeline
        name, words = _program(first)
        if any(one.output or one.given is not None for one in filters):
            return False
        if first.output is not None or first.given is not None or name == "tee":
            return not filters and self._takes(name, words, first)
        if name in _MOVES:
            return not filters and self._moves(name, words)
        if name == "sed" and any(one.text.startswith("-i") for one in words):
            return not filters and self._edits(words)
        if self._reports(first) or self._looks(name, words):
            return all(_only_prints(one) for one in filters)
        return self._reads(name, words, filters)

    def _reports(self, simple: _Simple) -> bool:
        """Return whether a program only prints a text, or the state of the repository."""
        name, words = _program(simple)
        is_text = self._is_powershell and len(simple.words) == 1 and simple.words[0].is_quoted
        return name in _SAYS or is_text or (name == "git" and _first(words) in _GIT_REPORTS)

    def _looks(self, name: str, words: Sequence[_Word]) -> bool:
        """Add a search; return False if the program is no search, or does more."""
        if name not in _SEARCHES and not (name == "git" and _first(words) in _GIT_SEARCHES):
            return False
        if name in {"find", "fd"} and any(one.text in _ACTS for one in words):
            return False
        self._searches = True
        return True

    def _reads(self, name: str, words: Sequence[_Word], filters: Sequence[_Simple]) -> bool:
        """Add a program that prints files, and the programs that choose lines of the output."""
        reader = _READERS.get(name)
        taken = reader(words) if reader else None
        if taken is None or not taken.paths or not all(one.is_literal for one in taken.paths):
            return False
        start, n_lines = taken.start, taken.n_lines
        for one in filters:
            name, words = _program(one)
            chooser = _READERS.get(name, _any) if name in _FILTERS else None
            narrowed = chooser(words) if chooser else None
            if narrowed is None or narrowed.paths:
                return False
            if name not in _ALL_LINES:
                is_first = narrowed.start and not start
                start, n_lines = (narrowed.start, narrowed.n_lines) if is_first else (0, 0)
        self._n_ranges += len(taken.paths)
        self._range = (start, n_lines)
        self._read |= dict.fromkeys(joined(self._folder, one.text) for one in taken.paths)
        return True

    def _takes(self, name: str, words: Sequence[_Word], first: _Simple) -> bool:
        """Add a program that gets a here-document or writes a file."""
        if name in _PATCHES and first.given is not None and first.output is None:
            self._patch += first.given + "\n"
            return True
        paths = [first.output] if first.output else []
        if name == "tee":
            paths += [one for one in words if not one.text.startswith("-")]
        elif name not in _SAYS and (name != "cat" or words):
            return False
        if not paths or not all(one.is_literal for one in paths):
            return False
        changed = self._edited if first.appends else self._written
        changed |= dict.fromkeys(joined(self._folder, one.text) for one in paths)
        return True

    def _moves(self, name: str, words: Sequence[_Word]) -> bool:
        """Change the folder."""
        if name in {"popd", "pop-location"}:
            self._folder = self._folders.pop() if self._folders else self._folder
            return True
        places = [one for one in words if not one.text.startswith("-")]
        if len(places) != 1 or not places[0].is_literal:
            return False
        self._folders.append(self._folder)
        self._folder = joined(self._folder, places[0].text)
        return True

    def _edits(self, words: Sequence[_Word]) -> bool:
        """Add ``sed -i SCRIPT FILE…``; BSD's form has an empty word after ``-i``."""
        has_script = any(one.text in {"-e", "-f"} for one in words)
        rest = [one for one in words if one.text and not one.text.startswith("-")]
        paths = rest[1:]
        if has_script or not paths or not all(one.is_literal for one in paths):
            return False
        self._edited |= dict.fromkeys(joined(self._folder, one.text) for one in paths)
        return True


def _program(simple: _Simple) -> tuple[str, tuple[_Word, ...]]:
    """Return the program's name in lower case, and the program's words."""
    words = simple.words
    while len(words) > 1 and words[0].text in {"command", "builtin"}:
        words = words[1:]
    name = words[0].text.lower()
    if name.startswith(("/bin/", "/usr/bin/")):
        name = name.rsplit("/", 1)[-1]
    return name, words[1:]


def _only_prints(simple: _Simple) -> bool:
    """Return whether a program after a pipe only prints lines, or a count of lines."""
    name, words = _program(simple)
    texts = [one.text for one in words]
    if name == "xargs":
        return next((one for one in texts if not one.startswith("-")), "") in _PRINTERS
    if name in _WRITES:
        return not any(_WRITES[name].search(one) for one in texts)
    return _sed(words) is not None if name == "sed" else name in _FILTERS | _COUNTS


def _first(words: Sequence[_Word]) -> str:
    return words[0].text if words else ""


_MOVES = frozenset({"cd", "pushd", "popd", "set-location", "push-location", "pop-location", "sl"})
_SAYS = frozenset({"echo", "printf", "true", ":", "pwd", "write-host", "write-output"})
_SEARCHES = frozenset({
    "rg", "grep", "egrep", "fgrep", "ag", "ack", "find", "fd", "ls", "tree", "locate", "which",
    "select-string", "sls", "get-childitem", "gci", "dir", "test-path",
    "find_file", "search_file", "search_dir", "wc", "stat", "file", "du",
})  # fmt: skip
_ACTS = frozenset({
    "-exec", "-execdir", "-delete", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch",
    "-fls", "-fprint", "-fprint0", "-fprintf",
})  # fmt: skip
_GIT_REPORTS = frozenset({"status", "log", "rev-parse", "diff", "show"})
_GIT_SEARCHES = frozenset({"grep", "ls-files"})
_COUNTS = frozenset({"wc", "uniq", "cut", "tr", "measure-object"})
_PRINTERS = frozenset({
    "cat", "du", "echo", "egrep", "fgrep", "file", "grep", "head", "ls", "rg", "stat", "tail", "wc",
})  # fmt: skip
_WRITES = {"awk": lazy_pattern(r"[|>]|system|getline"), "sort": lazy_pattern("^(?:-o|--output)")}
_FILTERS = frozenset({
    "sed", "head", "tail", "cat", "nl", "grep", "egrep", "rg", "less", "more",
    "select-object", "select", "out-string", "select-string", "where-object",
})  # fmt: skip
_ALL_LINES = frozenset({"cat", "nl", "less", "more", "out-string"})
_PATCHES = frozenset({"apply_patch", "applypatch"})


class _Taken(NamedTuple):
    """The files of a reading program, and the lines that the program prints."""

    paths: tuple[_Word, ...]
    start: int = 0
    n_lines: int = 0


_SED_RANGE = lazy_pattern(r"(\d+)(?:,(\d+|\$))?p;?")
_SED_PRINTS = lazy_pattern(r"(?:\d+(?:,(?:\d+|\$))?p[;\s]*)+|/[^/]+/(?:,(?:/[^/]+/|\d+|\$))?p|\$p")
_AWK_RANGE = lazy_pattern(
    r"\s*NR\s*>=\s*(\d+)\s*&&\s*NR\s*<=\s*(\d+)\s*(?:\{\s*printf?\b[^;{}]*\$0[^;{}]*\}|\{\s*print\s*\})?\s*"
)
_NUMBER = lazy_pattern(r"-(?:n|-lines=)?\s*(\+?\d+)")


def _sed(words: Sequence[_Word]) -> _Taken | None:
    """Return what ``sed -n RANGEp FILE…`` prints."""
    texts = [one.text for one in words]
    rest = [one for one in words if not one.text.startswith("-") and one.text]
    if not any(text in {"-n", "--quiet", "-ne", "-nE", "-En"} for text in texts) or not rest:
        return None
    script, *paths = rest
    if "$" in script.text and not script.is_quoted:
        return None
    if not _SED_PRINTS.fullmatch(script.text.strip()):
        return None
    found = _SED_RANGE.fullmatch(script.text.strip())
    if not found:
        return _Taken(tuple(paths))
    start, end = int(found[1]), found[2]
    last = start if end is None else 0 if end == "$" else int(end)
    return _Taken(tuple(paths), start, max(0, last - start + 1) if last else 0)


def _awk(words: Sequence[_Word]) -> _Taken | None:
    """Return what ``awk 'NR>=A && NR<=B' FILE`` prints."""
    if not words or not (found := _AWK_RANGE.fullmatch(words[0].text)):
        return None
    start, last = int(found[1]), int(found[2])
    return _Taken(tuple(words[1:]), start, max(0, last - start + 1))


def _ends(words: Sequence[_Word], *, is_head: bool) -> _Taken | None:
    """Return what ``head`` or ``tail`` prints."""
    count, paths = "", list[_Word]()
    options = iter(words)
    for one in options:
        if one.text in {"-n", "--lines"}:
            count = next(options, _Word("")).text
        elif found := _NUMBER.fullmatch(one.text):
            count = found[1]
        elif one.text.startswith("-") and one.text != "-q":
            return None
        else:
            paths.append(one)
    number = int(count.lstrip("+")) if count.lstrip("+").isdecimal() else 0
    if is_head:
        return _Taken(tuple(paths), 1, number or 10)
    return _Taken(tuple(paths), number if count.startswith("+") else 0)


def _cat(words: Sequence[_Word]) -> _Taken | None:
    """Return what a program prints that prints all lines of its files."""
    return _Taken(tuple(one for one in words if not one.text.startswith("-")))


def _open(words: Sequence[_Word]) -> _Taken | None:
    """Return what SWE-agent's ``open FILE [LINE]`` prints: a part of the file around the line."""
    if len(words) == 1 or (len(words) == _WITH_LINE and words[1].text.isdecimal()):
        return _Taken((words[0],)) if not words[0].text.startswith("-") else None
    return None


_WITH_LINE = 2


def _any(_: Sequence[_Word]) -> _Taken:
    """Return that a filter chooses some lines."""
    return _Taken(())


def _get_content(words: Sequence[_Word]) -> _Taken | None:
    """Return what ``Get-Content`` prints; the options are PowerShell's."""
    paths = list[_Word]()
    start = n_lines = 0
    options = iter(words)
    for one in options:
        option = one.text.lower()
        if option in {"-path", "-literalpath"}:
            paths.append(next(options, _Word("", is_literal=False)))
        elif option in {"-totalcount", "-head", "-first"}:
            count = next(options, _Word("")).text
            start, n_lines = 1, int(count) if count.isdecimal() else 0
        elif option in {"-tail", "-encoding", "-erroraction", "-last", "-skip", "-index"}:
            next(options, None)
        elif option == "-wait":
            return None
        elif not option.startswith("-"):
            paths.append(one)
    return _Taken(tuple(paths), start, n_lines)


_READERS: dict[str, Callable[[Sequence[_Word]], _Taken | None]] = {
    "sed": _sed, "awk": _awk, "open": _open,
    "head": partial(_ends, is_head=True), "tail": partial(_ends, is_head=False),
    "cat": _cat, "nl": _cat, "bat": _cat, "less": _cat, "more": _cat,
    "get-content": _get_content, "gc": _get_content, "type": _get_content,
    "select-object": _get_content, "select": _get_content,
}  # fmt: skip


def joined(folder: str, path: str) -> str:
    """Join a path to a folder, without ``.`` and, where possible, without ``..``."""
    is_complete = path.startswith(("/", "~")) or _DRIVE.match(path)
    if _DRIVE.match(path) or (folder and not is_complete and "\\" in folder):
        return path if is_complete else f"{folder.rstrip(_SLASHES)}\\{path}"
    whole = path if is_complete or not folder else f"{folder.rstrip('/')}/{path}"
    parts: list[str] = []
    for part in whole.split("/"):
        if part == ".." and parts and parts[-1] not in {"", "..", "~"}:
            parts.pop()
        elif part != "." and (part or not parts):
            parts.append(part)
    return "/".join(parts) or path


_DRIVE = lazy_pattern(r"[A-Za-z]:[\\/]")
_SLASHES = "\\/"
