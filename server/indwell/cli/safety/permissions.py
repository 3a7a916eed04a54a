"""``indwell permissions`` lists and explains permissions; ``indwell audit`` lists decisions."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import msgspec
from rich.console import Console
from rich.markup import escape

from indwell.bounds.command_bounds import policy_under, strength
from indwell.bounds.folder_trust import FolderTrust
from indwell.bounds.secrets import SecretPlaces
from indwell.cli.stored.sessions import whole_id
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.telling import tell, terminal_translation
from indwell.context.untrusted_text import folded, named, one_line, visible
from indwell.errors import SessionError, SettingsError, ToolError, UserError
from indwell.files.append_log import pieces_of
from indwell.files.private import read_own
from indwell.files.spelling import quoted, slashed
from indwell.policy.call_facts import Policy
from indwell.policy.decide import Explanation, explain_command
from indwell.policy.paths import is_beneath
from indwell.policy.rules import PatternRules
from indwell.prepared_types import prepared
from indwell.sandbox.shells import command_language, prefer_shell
from indwell.service.user_settings import read_settings
from indwell.sessions import log_lines
from indwell.sessions.audit_trail import REFUSALS, Act, acts
from indwell.sessions.log_lines import LogReading
from indwell.sessions.records import Forked, SessionStarted, TurnStartRecord
from indwell.sessions.storage.retention import logs
from indwell.sessions.storage.store import folder_name
from indwell.settings.model import Mode, Settings
from indwell.settings.paths import state_folder
from indwell.settings.permission_rules import RuleBook
from indwell.settings.values import convert


class PermissionsOutput(msgspec.Struct, frozen=True):
    """The output of ``--json``: the rules in force, and the number of revoked rules."""

    folder: str
    rules: tuple[str, ...]
    revoked: int = 0


def permissions(options: argparse.Namespace) -> int:
    """List or revoke permissions; return 0 for success, otherwise 1.

    Raises:
        UserError: The arguments name a number that is not in the list.
    """
    folder = Path.cwd()
    book = rules_of_folder(folder)
    if book.problem:
        tell(visible(book.problem), file=sys.stderr)
        return 1
    try:
        revoked = _revoke(options, book) if options.action == "revoke" else 0
    except SettingsError as error:
        tell(visible(str(error)), file=sys.stderr)
        return 1
    _tell(PermissionsOutput(str(folder), book.always, revoked), as_json=options.json)
    return 0


def rules_of_folder(folder: Path) -> RuleBook:
    """Return the stored permissions of a folder."""
    name = folder_name(folder.resolve())
    return RuleBook(state_folder(os.environ) / "permissions" / f"{name}.json")


def _revoke(options: argparse.Namespace, book: RuleBook) -> int:
    known = book.always
    if options.all:
        return book.revoke(known)
    if not options.which:
        raise UserError(
            "name the permissions by their numbers in `indwell permissions`, or use --all"
        )
    chosen = []
    for word in options.which:
        if not (word.isascii() and word.isdigit() and 1 <= int(word) <= len(known)):
            raise UserError(
                f"{word!r} is not a number from the list, which has {len(known)} entries"
            )
        chosen.append(known[int(word) - 1])
    return book.revoke(chosen)


def _tell(told: PermissionsOutput, *, as_json: bool) -> None:
    if as_json:
        print(json_line(told))
        return
    if told.revoked:
        tell(f"{told.revoked} revoked. Running servers apply this at once.")
    if not told.rules:
        tell(f"Nothing is always allowed in {named(told.folder)}.")
        return
    tell(f"Always allowed in {named(told.folder)}, each exactly as written:")
    for number, rule in enumerate(told.rules, 1):
        print(f"{number:4}  {one_line(rule)}")


LIMIT_B = 1 << 20  # the limit of bytes for a file with rules


class _PermissionLine(msgspec.Struct, frozen=True):
    """A line of ``--stdin``; the options and settings fill in missing fields."""

    command: str
    rules: PatternRules | None = None
    sandboxed: bool | None = None
    cwd: str | None = None
    mode: Mode | None = None


def explain(options: argparse.Namespace) -> int:
    """Explain whether a command would be allowed; return 0.

    Raises:
        UserError: The arguments, the rules or the settings are invalid.
    """
    base = _base(options)
    cwd = Path(options.cwd or ".").resolve().as_posix()
    if options.stdin:
        return _answer_lines(base, cwd)
    if not options.words:
        raise UserError("give the command after --")
    words: list[str] = options.words
    text = words[0] if len(words) == 1 else shlex.join(words)
    command = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    policy = _knowing_secrets(_at(base, cwd))
    told = explain_command(command, cwd, policy)
    if options.json:
        print(json_line(told))
        return 0
    where = "with a sandbox" if options.sandboxed else "without a sandbox"
    tell(f"{where}: {_words(told)}")
    if not options.sandboxed:
        tell(_here(command, cwd, policy))
    return 0


def _here(command: str, cwd: str, policy: Policy) -> str:
    """Return the decision on a command in this folder on this machine; blocks for 20 ms."""
    folder, held = Path(cwd), strength()
    trust = FolderTrust(os.environ)
    trust.look([folder], _settings())
    restricted = trust.now([folder]).restricted
    now = policy_under(msgspec.structs.replace(policy, restricted=restricted), held)
    told = explain_command(command, cwd, now)
    where = "in this folder: " + _decision(told)
    where += f"\n  commands here: {held.words}"
    return where + (
        "\n  the folder is not trusted; `indwell trust` trusts it" if restricted else ""
    )


def _answer_lines(base: Policy, cwd: str) -> int:
    """Answer each line of stdin; deny an unreadable line, with the reason."""
    decoder, output = msgspec.json.Decoder(prepared(_PermissionLine)), sys.stdout.buffer
    for raw in sys.stdin.buffer:
        if not raw.strip():
            continue
        try:
            line = decoder.decode(raw)
            told = _explained(line, base, cwd)
        except (msgspec.DecodeError, UnicodeDecodeError, SettingsError, RecursionError) as error:
            told = Explanation("deny", "unreadable", f"the line cannot be read: {error}")
        output.write(json_line(told).encode() + b"\n")
        output.flush()
    return 0


def _explained(line: _PermissionLine, base: Policy, cwd: str) -> Explanation:
    policy = base
    if line.rules is not None:
        rules = _checked(line.rules)
        policy = msgspec.structs.replace(policy, rules=rules, granted=frozenset())
    if line.sandboxed is not None:
        policy = msgspec.structs.replace(policy, writes_confined=line.sandboxed)
    if line.mode is not None:
        policy = msgspec.structs.replace(policy, mode=line.mode)
    where = slashed(os.path.normpath(os.path.join(cwd, line.cwd or "")))  # noqa: PTH118
    root = cwd if is_beneath(where, (cwd,)) else where
    return explain_command(line.command, where, _at(policy, root))


def _base(options: argparse.Namespace) -> Policy:
    settings = _settings()
    prefer_shell(settings.command_shell)
    rules = PatternRules(settings.rules_allow, settings.rules_ask, settings.rules_deny)
    granted = rules_of_folder(Path(options.cwd or ".")).granted
    if options.rules:
        rules, granted = _read_rules(Path(options.rules)), frozenset[str]()
    return Policy(
        mode=options.mode or settings.mode,
        deny=settings.deny,
        granted=granted,
        rules=rules,
        writes_confined=options.sandboxed,
        language=command_language(),
    )


def _settings() -> Settings:
    return read_settings(os.environ).settings


def _read_rules(path: Path) -> PatternRules:
    try:
        return _checked(msgspec.json.decode(read_own(path, LIMIT_B), type=prepared(PatternRules)))
    except (ToolError, OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(
            f"--rules {quoted(path)} cannot be used ({error}); write a JSON object with lists of "
            "patterns: allow, ask, deny"
        ) from error


def _checked(rules: PatternRules) -> PatternRules:
    """Check patterns as the settings do.

    Raises:
        SettingsError: A rule is not a valid pattern.
    """
    allow, ask, deny = (
        convert(f"rules_{name}", list(getattr(rules, name))) for name in ("allow", "ask", "deny")
    )
    return PatternRules(allow, ask, deny)


def _at(policy: Policy, folder: str) -> Policy:
    return msgspec.structs.replace(policy, roots=(folder,))


def _knowing_secrets(policy: Policy) -> Policy:
    """Return a session's policy; without a sandbox, links to secrets may not be read.

    The function takes at most a second in a folder of 100,000 files.
    """
    roots = tuple(filter(Path.is_dir, map(Path, policy.roots)))
    if policy.writes_confined or not roots:
        return policy
    found = SecretPlaces(roots, lambda: policy.deny).look()
    return msgspec.structs.replace(policy, secret_files=found)


def _decision(told: Explanation) -> str:
    return f"{told.decision} (rule: {told.rule or 'default'})"


def _words(told: Explanation) -> str:
    lines = [_decision(told)]
    lines += [f"  {visible(told.reason)}"] if told.reason else []
    lines += [f"  it would run {told.widening}"] if told.widening else []
    for part in told.parts if len(told.parts) > 1 else ():
        why = f": {one_line(part.reason)}" if part.reason else ""
        lines.append(f"  {part.decision:5}  {one_line(part.text)}  ({one_line(part.rule)}{why})")
    return "\n".join(lines)


_PASSED_OVER = tuple(
    f'{{"type":"{kind}",'.encode() for kind in ("prefixed", "sent", "wire", "compacted")
)
_COLOURS = {"done": "green", "failed": "yellow", "denied": "red", "refused": "red"}
_ANSWERS = {
    "": "no answer is on record",
    "unanswered": "nobody answered",
    "beforehand": "allowed by --allow-commands",
    "uncovered": "not covered by --allow-commands",
}
_ENDS = {
    "done": "done",
    "failed": "failed",
    "denied": "not run",
    "refused": "not run",
    "unknown": "no result is on record",
}


class _Audit(msgspec.Struct, frozen=True):
    """The audit of a session as JSON."""

    session: str
    workspace: str
    notices: tuple[str, ...]
    sums: dict[str, int]
    acts: tuple[Act, ...]


def audit(options: argparse.Namespace) -> int:
    """Print the audit; return 0.

    Raises:
        UserError: The session does not exist or cannot be read.
    """
    session, reading = _read(options.session)
    found = acts(reading.records)
    turns = {one.turn for one in reading.records if isinstance(one, TurnStartRecord)}
    if options.turn is not None:
        if options.turn not in turns:
            has = f"its turns are 1 to {max(turns)}" if turns else "it has none yet"
            raise SessionError(f"session {session} has no turn {options.turn}; {has}")
        found = tuple(act for act in found if act.turn == options.turn)
    workspace = next(
        (one.workspace for one in reading.records if isinstance(one, SessionStarted)), ""
    )
    notices = (*reading.notices, *_notices(reading, found))
    made = _Audit(session, workspace, notices, dict(Counter(act.end for act in found)), found)
    if options.json:
        sys.stdout.write(json_line(made) + "\n")
    else:
        _show(Console(highlight=False), made)
    return 0


def _read(given: str) -> tuple[str, LogReading]:
    """Read a session of any folder by its id; without an id, the newest session of this folder.

    Raises:
        SessionError: The session is missing or cannot be read.
    """
    state = state_folder(os.environ)
    folder = None if given else folder_name(Path.cwd().resolve())
    kept = dict(logs(state, folder=folder))
    session = whole_id(given, tuple(kept)) if given else next(iter(kept), "")
    if session not in kept:
        which = f"there is no session {given!r}" if given else "this folder has no session"
        raise SessionError(f"{which}; `indwell sessions --all` lists them")
    try:
        return session, log_lines.read(pieces_of(kept[session]), passing=_PASSED_OVER)
    except OSError as error:
        raise SessionError(f"session {session!r} cannot be read ({error.strerror})") from error


def _notices(reading: LogReading, found: Sequence[Act]) -> tuple[str, ...]:
    told = []
    copied = [one for one in reading.records if isinstance(one, Forked) and one.whole]
    if copied:
        which = f"{copied[-1].session}, up to its turn {copied[-1].turn}"
        told.append(
            f"the first turns come from session {which}, which this session was forked from"
        )
    if any(act.decision is None for act in found):
        told.append(
            "some calls are older than the record of decisions; which rule allowed them is not "
            "known"
        )
    return tuple(told)


def _show(console: Console, made: _Audit) -> None:
    _line(console, f"[bold]{escape(made.session)}[/]  {escape(one_line(made.workspace))}")
    for notice in made.notices:
        _line(console, f"[yellow]{escape(visible(terminal_translation().of(notice)))}[/]")
    for (turn, left), group in groupby(made.acts, key=lambda act: (act.turn, act.left)):
        say = terminal_translation().of
        behind = f"  [dim]{say('left behind by a rewind')}[/]" if left else ""
        _line(console, f"\n[bold]{say(f'Turn {turn}')}[/]{behind}")
        for act in group:
            _show_act(console, act)
    _line(console, f"\n{terminal_translation().of(_sum(made))}")


def _show_act(console: Console, act: Act) -> None:
    where = f"  [dim]in {escape(one_line(act.cwd))}[/]" if act.cwd else ""
    by = f"sub-agent {act.agent}: " if act.agent else ""
    _line(
        console,
        f"[cyan]▸ {escape(one_line(by + act.tool))}[/]{where}  [dim]{escape(one_line(act.at))}[/]",
    )
    for line in folded(visible(act.what)).splitlines():
        _line(console, f"    {escape(line)}")
    colour = _COLOURS.get(act.end, "yellow")
    _line(console, f"  {escape(one_line(decided_words(act)))} → [{colour}]{_ENDS[act.end]}[/]")
    if act.ending:
        _line(console, f"    [dim]{escape(one_line(act.ending))}[/]")


def decided_words(act: Act) -> str:
    """Return one line with the decision on a call, the deciding rule, and the user's answer."""
    by = f" by {act.rule}" if act.rule else ""
    because = f": {act.reason}" if act.reason else ""
    sandbox = "" if "outside" in act.widening else act.sandbox
    sandbox = _without_network(sandbox) if "network" in act.widening else sandbox
    beyond = "".join(f", {one}" for one in (sandbox, act.widening) if one)
    match act.decision:
        case None:
            return "not written down"
        case "allow":
            return f"allowed{by}{beyond}"
        case "deny":
            return f"denied{by}{because}"
        case "ask":
            answered = _ANSWERS.get(act.answer, f"you said {act.answer}")
            if act.answer and act.answer not in REFUSALS:
                return f"asked{by}{because}; {answered}{beyond}"
            wanted = f"; it was to run {act.widening}" if act.widening else ""
            return f"asked{by}{because}{wanted}; {answered}"


def _sum(made: _Audit) -> str:
    if not made.acts:
        return "nothing was changed, run, asked for or denied (reads are not listed)"
    n_asked = sum(act.decision == "ask" for act in made.acts)
    ends = ", ".join(f"{number} {end}" for end, number in sorted(made.sums.items()))
    calls = "1 call" if len(made.acts) == 1 else f"{len(made.acts)} calls"
    return f"{calls}, {n_asked} asked for: {ends}; reads are not listed"


def _without_network(sandbox: str) -> str:
    """Return a sandbox's description, without the parts that did not apply to the command."""
    return sandbox.removesuffix(", no network")


def _line(console: Console, markup: str) -> None:
    console.print(markup, emoji=False, soft_wrap=True)
