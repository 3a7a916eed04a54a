"""Judges one simple command: first by the user's rules, then by its program's effects."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from indwell.files.spelling import quoted
from indwell.lazy_pattern import lazy_pattern
from indwell.policy.commands.effects import base_name, program_name, use_of
from indwell.policy.commands.path_rules import SINKS, PathRules, Situation
from indwell.policy.commands.patterns import UserPatterns
from indwell.policy.commands.readers import TELL_OF_PROGRAMS
from indwell.policy.commands.verdict import (
    HELD_FINDING,
    READ_ONLY,
    WORKSPACE_WRITE,
    PartFinding,
    Use,
    ask,
    joined,
    worst,
)
from indwell.policy.paths import could_be_beneath
from indwell.policy.rules import ANY_HOST, ShellLanguage, Widening
from indwell.policy.shell.items import AT_START, Assignment, Redirect, Simple
from indwell.policy.shell.items import joined as joined_path
from indwell.policy.shell.words import STAR, UNKNOWN, Word

_DEEPEST = 6  # A command in more than 6 nested wrappers, such as `sudo` or `env`, is not judged.
_OPAQUE = frozenset(["unknown", "privileged", "network"])
_MOST_WORDS = 500  # A command that another command runs has at most 500 words.


class Judging:
    """Judges simple commands in one situation.

    Args:
        situation: The folder and the rules.
        is_certain: Whether both parsers find the same words; otherwise no command runs outside a
            sandbox.

    Attributes:
        patterns: The user's patterns.
        named: Replaces an alias by the command's full name.
    """

    def __init__(self, situation: Situation, *, is_certain: bool) -> None:
        self.patterns = UserPatterns(situation.rules)
        self._situation = situation
        self._confined = situation.writes_confined and not situation.reads_only
        self._held = situation.writes_confined and situation.reads_only
        self._is_certain = is_certain
        self._paths = PathRules(situation, are_hidden=situation.writes_confined)
        self._use_of, self.named = _knowledge(situation.language)

    def oddity(self, reason: str, *, is_hard: bool) -> PartFinding:
        """Judge a construct that the parser did not understand."""
        if not is_hard and self.patterns.allows_all:
            return PartFinding("allow", "allow: *", by_user=True)
        if not is_hard and self._confined:
            return PartFinding("allow", WORKSPACE_WRITE)
        if not is_hard and self._held:
            return HELD_FINDING
        return ask("not understood", reason)

    def simple(self, one: Simple) -> list[PartFinding]:
        """Judge a command, its assignments and its redirects."""
        found = [self._assignment(each, one) for each in one.assignments]
        if one.words:
            found.append(self._command(one.words, one, 0))
        found += [self._redirect(each, one) for each in one.redirects]
        return found

    def _command(self, words: tuple[Word, ...], one: Simple, depth: int) -> PartFinding:
        forbidden = self.patterns.forbidding(words)
        if forbidden and forbidden.decision == "deny":
            return forbidden
        if depth > _DEEPEST or (depth and len(words) > _MOST_WORDS):
            return forbidden or ask(
                "not understood", "runs a program that runs a program, many levels deep"
            )
        use = self._use_of(words, one, self._situation)
        if found := elsewhere(words, one.folders, self._situation):
            return forbidden if forbidden and found.decision == "ask" else found
        if not forbidden and (found := read_again(words, self._situation)):
            return found
        inner = [self._command(each, one, depth + 1) for each in use.inner]
        is_opaque = use.kind in _OPAQUE
        if forbidden:  # One pattern may ask about a wrapper while another denies its command.
            return self._asked_by_pattern(forbidden, words, use, inner, is_opaque=is_opaque)
        found = self._judged(words, use, one, inner)
        if is_opaque and (named := self.patterns.forbidding_named(words)):
            found = named
        acting = next((one.rule for one in inner if not one.reads_only), found.rule)
        # The wrapper adds no effect, so the pattern covers its command with the access the command
        # needs.
        is_covered = found.reads_only and any(each.by_user for each in inner)
        is_covered = is_covered and all(each.by_user or each.reads_only for each in inner)
        is_covered = is_covered and all(word.is_known for each in use.inner for word in each)
        return msgspec.structs.replace(
            found,
            by_user=found.by_user or is_covered,
            widening=joined([found.widening, *(each.widening for each in inner if is_covered)]),
            rule=acting if found.rule == READ_ONLY else found.rule,
            reads_only=found.reads_only and all(each.reads_only for each in inner),
            is_held=_is_held([found, *inner]),
            texts=use.texts + tuple(text for each in inner for text in each.texts),
            hints=self._hints(words, inner, is_opaque=is_opaque),
        )

    def _asked_by_pattern(
        self,
        asked: PartFinding,
        words: tuple[Word, ...],
        use: Use,
        inner: Sequence[PartFinding],
        *,
        is_opaque: bool,
    ) -> PartFinding:
        """Return a pattern's question, unless a pattern denies the inner command."""
        hardest = worst(inner)
        if hardest is not None and hardest.decision == "deny":
            return hardest
        named = self.patterns.forbidding_named(words) if is_opaque else None
        if named and named.decision == "deny":
            return named
        return msgspec.structs.replace(
            asked,
            texts=use.texts + tuple(text for each in inner for text in each.texts),
            hints=self._hints(words, inner, is_opaque=is_opaque),
        )

    def _hints(
        self, words: tuple[Word, ...], inner: Sequence[PartFinding], *, is_opaque: bool
    ) -> tuple[str, ...]:
        own = self.patterns.hints(words) if is_opaque else ()
        return own + tuple(text for each in inner for text in each.hints)

    def _judged(
        self, words: tuple[Word, ...], use: Use, one: Simple, inner: Sequence[PartFinding]
    ) -> PartFinding:
        """Judge the inner command first, because a pattern or wrapper may not make it harmless."""
        hardest = worst(inner)
        if hardest is not None and hardest.decision != "allow":
            return hardest
        if pattern := self.patterns.allowing(words):
            return self._allowed_by_user(pattern, words, use, one)
        if governor := self.patterns.governing(words):
            return ask(f"allow: {governor}", f"is not what your pattern {governor!r} allows")
        return self._used(words, use, one)

    def _allowed_by_user(
        self, pattern: str, words: tuple[Word, ...], use: Use, one: Simple
    ) -> PartFinding:
        """Allow by a pattern; secrets, protected files and unknown texts need a question."""
        rule = f"allow: {pattern}"
        named = (*use.reads, *use.writes) or words[1:]
        if found := self._paths.secret(named, one.folders, use):
            return found
        if not (self._is_certain or self._confined or pattern.strip() == "*"):
            return ask("not understood", "is written in an ambiguous way")
        writes = use.writes if use.kind in {"writes", "reads"} else words[1:]
        if use.kind == "unknown":
            writes = words[1:]
        if found := self._paths.protected(writes, one.folders):
            return found
        widening = self._widening(use)
        return PartFinding(
            "allow",
            rule,
            widening=widening,
            reads_only=use.kind == "reads",
            is_held=self._held and self._is_holdable(use, one),
            by_user=not (widening.hosts and (use.is_work or one.folders != AT_START)),
        )

    def _used(self, words: tuple[Word, ...], use: Use, one: Simple) -> PartFinding:
        """Judge a command by the effects of its program."""
        match use.kind:
            case "unknown":
                return ask("unknown", use.reason)
            case "network":
                return ask("network", use.reason, self._widening(use))
            case "privileged":
                return ask("outside", use.reason, Widening(unconfined=True))
            case "destroys" if use.takes_up or not self._are_scratch(use.writes, one):
                return ask("removes", use.reason, self._widening(use))
        if use.takes_up and self._confined:
            reason = f"{use.reason}, and may replace protected files such as 'package.json'"
            return ask("protected", reason, self._widening(use))
        if found := self._paths.secret((*use.reads, *use.writes), one.folders, use):
            return found
        if self._are_scratch(use.moves_to, one) and not self._are_scratch(use.writes, one):
            return ask("removes", "moves files out of the workspace to a temporary place")
        if use.kind == "reads":
            return self._read(words, use, one)
        return self._write(use, one)

    def _read(self, words: tuple[Word, ...], use: Use, one: Simple) -> PartFinding:
        name = program_name(words[0])
        if name in TELL_OF_PROGRAMS and not self._situation.writes_confined:
            reason = f"{name!r} shows other programs that run here, and the words they were given"
            return ask("other programs", reason)
        if self._confined:
            return PartFinding("allow", READ_ONLY, reads_only=True)
        if not self._is_certain:
            return ask("not understood", "is written in an ambiguous way")
        if not use.takes_any and not use.inner and any(not w.is_known for w in words[1:]):
            return ask("unknown", "reads a file that is known only at run time")
        if any(word.splits and UNKNOWN in word.text for word in use.reads):
            return ask("unknown", "reads a file that is known only at run time")
        if not one.folders and (use.is_here or use.reads):
            return ask("outside", "runs in a folder that is known only at run time")
        here = (Word(".", (".",)),) if use.is_here and not use.reads else ()
        for word in (*use.reads, *here):
            if outside := self._paths.outside(word, one.folders):
                return ask("outside", f"reads {quoted(outside)}, outside the workspace")
        return PartFinding("allow", READ_ONLY, reads_only=True)

    def _write(self, use: Use, one: Simple) -> PartFinding:
        if found := self._paths.protected(use.writes, one.folders):
            return found
        if self._held and self._is_holdable(use, one):
            return HELD_FINDING
        if not self._confined:
            if self._situation.reads_only:
                return ask("writes", use.reason)
            return ask("writes", f"{use.reason}, and no sandbox keeps it in the workspace")
        for word in use.writes:
            if outside := self._paths.unwritable(word, one.folders):
                return ask(
                    "outside",
                    f"writes {quoted(outside)}, outside the workspace",
                    Widening(unconfined=True),
                )
        return PartFinding("allow", WORKSPACE_WRITE)

    def _are_scratch(self, words: Sequence[Word], one: Simple) -> bool:
        """Return whether words name only files inside the sandbox, which are discarded later."""
        return (
            self._situation.writes_confined
            and bool(words)
            and all(self._paths.is_scratch(word, one.folders) for word in words)
        )

    def _widening(self, use: Use) -> Widening:
        """Return the access that the command needs beyond the sandbox."""
        if use.kind == "privileged" or use.is_unbound:
            return Widening(unconfined=True)
        takes_up = use.takes_up and self._confined
        installs = use.installs and self._confined
        return Widening(hosts=use.hosts, writes_protected=takes_up, installs=installs)

    def _is_holdable(self, use: Use, one: Simple) -> bool:
        """Return whether a command in ``plan`` mode with a sandbox writes only discarded files."""
        if use.kind != "writes" or not (use.is_work or use.writes):
            return False
        return all(self._paths.is_scratch(word, one.folders) for word in use.writes)

    def _redirect(self, one: Redirect, of: Simple) -> PartFinding:
        target, operator, folders = one.target, one.operator, of.folders
        if operator in {"<<", "<<-", "<<<"} or target is None:
            if operator == "<<<" or self._situation.writes_confined or self.patterns.allows_all:
                return PartFinding("allow", READ_ONLY, reads_only=True)
            return ask("not understood", "gives a command an input of several lines")
        if operator in {">&", "<&"} and re.fullmatch(r"\d+-?|-", target.text):
            return PartFinding("allow", READ_ONLY, reads_only=True)
        if all(text in SINKS for text in target.options) and not target.splits:
            return PartFinding("allow", READ_ONLY, reads_only=True)
        if target.splits or not target.is_known or len(target.options) > 1 or STAR in target.text:
            return ask("redirect", "reads or writes a file that is known only at run time")
        if re.match(r"/dev/(?:tcp|udp)/", target.text):
            return ask("network", "connects to another machine", Widening(hosts=(ANY_HOST,)))
        if operator in {"<", "<>"} and operator == "<":
            return self._redirect_from(target, folders)
        writes = Use("writes", f"writes {target.text!r}", writes=(target,))
        if found := self._paths.secret((target,), folders):
            return found
        is_empty = operator in {">", ">|"} and _is_silent(of)
        if is_empty and not self._paths.is_scratch(target, folders):
            return ask("removes", f"empties {target.text!r}")
        return self._write(writes, Simple((), (), (), 0, 0, folders))

    def _redirect_from(self, target: Word, folders: tuple[str, ...]) -> PartFinding:
        if found := self._paths.secret((target,), folders):
            return found
        use = Use("reads", reads=(target,), takes_any=True)
        return self._read((target,), use, Simple((), (), (), 0, 0, folders))

    def _assignment(self, one: Assignment, of: Simple) -> PartFinding:
        if self.patterns.allows_all:
            return PartFinding("allow", "allow: *", by_user=True)
        if is_harmless(one, of):
            return PartFinding("allow", READ_ONLY, reads_only=True)
        if one.name in {"BASH_ENV", "ENV"}:
            return ask("assignment", f"sets {one.name!r}, which names what a shell runs first")
        if self._confined:
            return PartFinding("allow", WORKSPACE_WRITE)
        if self._held:
            return HELD_FINDING
        if self._situation.reads_only and is_idle(one, of):
            return PartFinding("allow", READ_ONLY, reads_only=True)
        return ask("assignment", f"sets {one.name!r}, which may change what runs")


def _knowledge(
    language: ShellLanguage,
) -> tuple[Callable[[tuple[Word, ...], Simple, Situation], Use], Callable[[Simple], Simple]]:
    """Return functions of the shell language: one judges a command, one gives its full name."""
    if language == "bash":
        return use_of, lambda simple: simple
    from indwell.policy.commands.powershell import arguments, programs  # noqa: PLC0415 - for Windows

    return programs.use_in_powershell, arguments.named


def _is_silent(of: Simple) -> bool:
    """Return whether a command prints nothing, so that its redirect empties a file."""
    return of.is_bare or (bool(of.words) and of.words[0].text in {":", "true", "false"})


def _is_held(found: Sequence[PartFinding]) -> bool:
    """Return whether the sandbox confines everything that the command does beyond reading."""
    return any(one.is_held for one in found) and all(one.is_held or one.reads_only for one in found)


_MOST = 16


def elsewhere(
    words: Sequence[Word], folders: tuple[str, ...], situation: Situation
) -> PartFinding | None:
    """Return why ``git`` needs a question: git would obey the settings of an unknown repository.

    Args:
        words: The words of a command.
        folders: The folders in which the command may run.
        situation: The folders that are trusted, and the git settings that the user was not asked
            about.
    """
    if not (situation.repositories or situation.restricted or situation.unknown_git):
        return None
    if base_name(words[0]).lower() not in {"git", "git.exe"}:
        return None
    places = _folders(words, folders)
    paths = [path for place in places for path in situation.paths(place, ("",))]
    if any(could_be_beneath(path, situation.restricted) for path in paths):
        return PartFinding(
            "deny", "restricted folder", "git would run in a folder that is not trusted"
        )
    others = situation.repositories if not situation.writes_confined else ()
    others += (*situation.restricted, *situation.unknown_git)
    if others and (not places or any(could_be_beneath(path, others) for path in paths)):
        reason = "git would obey the settings of a repository that you were not asked about"
        return ask("repository", reason)
    return None


_OF_CMD = lazy_pattern(r"[&|<>^%\"!\r\n]")
"""Matches characters that are special to ``cmd.exe``, some of them even within quotes."""


def read_again(words: Sequence[Word], situation: Situation) -> PartFinding | None:
    """Return why a batch file needs a question: ``cmd.exe`` parses the file's arguments again.

    Args:
        words: The words of a command.
        situation: Knows the names of batch files on PATH.
    """
    if situation.system != "win32":
        return None
    names = {one.lower().strip("'\"") for one in (words[0].source, words[0].text)}
    names |= {name.replace("\\", "/").rpartition("/")[2] for name in names}
    is_one = any(one.rstrip(". ").endswith((".bat", ".cmd")) for one in names)
    if not (is_one or names.intersection(situation.batch_files)):
        return None
    for word in words[1:]:
        found = _OF_CMD.search(word.text)
        if found or not word.is_literal:
            what = f"{found[0]!r} in them may start" if found else "what is in them may be"
            return ask(
                "batch file",
                f"{quoted(words[0].source)} is a batch file: cmd.exe reads its words once more, "
                f"and {what} another command",
            )
    return None


def _folders(words: Sequence[Word], folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders in which git would look for its repository, or empty if unknown."""
    found = folders
    at = 1
    while at < len(words) and words[at].could_be_option:
        text = words[at].text
        name, equals, value = text.partition("=")
        is_folder = name in {"-C", "--git-dir", "--work-tree"}
        if not words[at].is_literal:
            return ()
        if is_folder and not equals:
            at += 1
            if at >= len(words) or not words[at].is_known or words[at].splits:
                return ()
            value = words[at].text
        elif text == "-c":
            at += 1
        if is_folder:
            here = tuple(joined_path(folder, value) for folder in found)
            found = here if name == "-C" else (*found, *here)
        at += 1
    return found[:_MOST]


_HARMLESS_NAMES = lazy_pattern(
    r"LC_[A-Z]+|LANG|LANGUAGE|TZ|NO_COLOR|CLICOLOR|COLUMNS|GIT_PAGER|PAGER"
)
_OWN_NAME = lazy_pattern(
    r"(?!LD_|DYLD|BASH|GIT|GCONV|GLIBC|MALLOC|LC_|LOC|NLS|RES|HOST|TZ|IFS|ENV|HOME|PWD|OLDPWD|SHELL"
    r"|PS\d|POSIX|TMP|CDPATH|HIST|OPT|REPLY|UID|EUID|LESS|MAN|PAGER|EDITOR|VISUAL|COPROC|DIRSTACK"
    r"|FUNC|GLOB|PROMPT|READLINE|SECONDS|RANDOM|TIMEFORMAT|EXEC|CHILD|COMP|MAP|BLOCK|LS_|TABSIZE)"
    r"(?!.*(?:PATH|OPT|PRELOAD|CONF|RC$|CMD|COMMAND|FLAGS))[A-Z][A-Z0-9_]*"
)
_PLAIN = frozenset(["ls", "cat", "head", "tail", "wc", "echo", "pwd", "stat", "grep", "true", "nl"])
_HARMLESS_VALUE = lazy_pattern(r"[\w.@+-]*")


def is_harmless(one: Assignment, of: Simple) -> bool:
    """Return whether the assignment sets language, time or colour for one command."""
    if not (of.words and _HARMLESS_NAMES.fullmatch(one.name) and one.value):
        return False
    if not one.value.is_literal:
        return False
    if one.name.endswith("PAGER"):
        return one.value.text in {"cat", ""}
    return _HARMLESS_VALUE.fullmatch(one.value.text) is not None


def is_idle(one: Assignment, of: Simple) -> bool:
    """Return whether the variable affects no program, so that ``plan`` mode needs no question."""
    return (
        bool(of.words)
        and of.words[0].source in _PLAIN
        and one.value is not None
        and one.value.is_literal
        and _HARMLESS_VALUE.fullmatch(one.value.text) is not None
        and _OWN_NAME.fullmatch(one.name) is not None
    )
