"""The command ``indwell permissions``: lists, removes and explains permissions."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

import msgspec

from indwell.cli.terminal.json_line import json_line
from indwell.errors import SettingsError, ToolError, UserError
from indwell.files import read_own
from indwell.policy.approvals import one_line, visible
from indwell.policy.call_facts import Policy
from indwell.policy.decide import Explanation, explain_command
from indwell.policy.paths import is_beneath
from indwell.policy.rules import PatternRules
from indwell.service.folder_trust import FolderTrust
from indwell.service.secrets import SecretPlaces
from indwell.service.user_settings import read_settings
from indwell.sessions.storage.store import folder_name
from indwell.settings.model import Mode, Settings
from indwell.settings.paths import state_folder
from indwell.settings.permission_rules import RuleBook
from indwell.settings.values import convert
from indwell.wiring.bounds.command_bounds import strength


class PermissionsOutput(msgspec.Struct, frozen=True):
    """The output of ``--json``: the rules in force, and the number of revoked ones."""

    folder: str
    rules: tuple[str, ...]
    revoked: int = 0


def permissions(options: argparse.Namespace) -> int:
    """List or revoke permissions; 0 done, 1 not possible.

    Raises:
        UserError: The arguments name a number that is not in the list.
    """
    folder = Path.cwd()
    book = rules_of_folder(folder)
    if book.problem:
        print(visible(book.problem), file=sys.stderr)
        return 1
    try:
        revoked = _revoke(options, book) if options.action == "revoke" else 0
    except SettingsError as error:
        print(visible(str(error)), file=sys.stderr)
        return 1
    _tell(PermissionsOutput(str(folder), book.always, revoked), as_json=options.json)
    return 0


def rules_of_folder(folder: Path) -> RuleBook:
    """The standing permissions of a folder."""
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
        print(f"{told.revoked} revoked. Running servers apply this at once.")
    if not told.rules:
        print(f"Nothing is always allowed in {one_line(told.folder)}.")
        return
    print(f"Always allowed in {one_line(told.folder)}, each exactly as written:")
    for number, rule in enumerate(told.rules, 1):
        print(f"{number:4}  {one_line(rule)}")


LIMIT_B = 1 << 20  # bytes of a file with rules


class _PermissionLine(msgspec.Struct, frozen=True):
    """One line of ``--stdin``; the options and settings fill in missing fields."""

    command: str
    rules: PatternRules | None = None
    sandboxed: bool | None = None
    cwd: str | None = None
    mode: Mode | None = None


def explain(options: argparse.Namespace) -> int:
    """Explain the decision on a command; always 0.

    Raises:
        UserError: The arguments, the rules or the settings are invalid.
    """
    base = _base(options)
    cwd = str(Path(options.cwd or ".").resolve())
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
    print(_words(told))
    if not options.sandboxed:
        print(_here(command, cwd, policy))
    return 0


def _here(command: str, cwd: str, policy: Policy) -> str:
    """The decision in a session in this folder on this machine; blocks for 20 ms."""
    folder, held = Path(cwd), strength()
    trust = FolderTrust(os.environ)
    trust.look([folder], _settings())
    restricted = trust.restricted([folder])
    now = msgspec.structs.replace(
        policy,
        writes_confined=held.level in {"S3", "S3m"},
        asks_for_all=held.level == "S0",
        sandbox=held.words,
        restricted=restricted,
    )
    told = explain_command(command, cwd, now)
    where = "here, where commands are " + held.words
    where += " and the folder is restricted" if restricted else ""
    return f"{where}: {told.decision}  by {told.rule or 'default'}"


def _answer_lines(base: Policy, cwd: str) -> int:
    """Answer each line; an unreadable line is denied with the reason."""
    decoder, output = msgspec.json.Decoder(_PermissionLine), sys.stdout.buffer
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
    where = cwd if line.cwd is None else os.path.normpath(os.path.join(cwd, line.cwd))  # noqa: PTH118
    root = cwd if is_beneath(where, (cwd,)) else where
    return explain_command(line.command, where, _at(policy, root))


def _base(options: argparse.Namespace) -> Policy:
    settings = _settings()
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
    )


def _settings() -> Settings:
    return read_settings(os.environ).settings


def _read_rules(path: Path) -> PatternRules:
    try:
        return _checked(msgspec.json.decode(read_own(path, LIMIT_B), type=PatternRules))
    except (ToolError, OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(
            f"--rules {str(path)!r} cannot be used ({error}); write a JSON object with lists of "
            "patterns: allow, ask, deny"
        ) from error


def _checked(rules: PatternRules) -> PatternRules:
    """Validate patterns as the settings do.

    Raises:
        SettingsError: One is not a pattern.
    """
    allow, ask, deny = (
        convert(f"rules_{name}", list(getattr(rules, name))) for name in ("allow", "ask", "deny")
    )
    return PatternRules(allow, ask, deny)


def _at(policy: Policy, folder: str) -> Policy:
    return msgspec.structs.replace(policy, roots=(folder,))


def _knowing_secrets(policy: Policy) -> Policy:
    """The policy of a session: without a sandbox, commands may not read links to secret files.

    Takes at most a second in a folder of 100,000 files.
    """
    roots = tuple(filter(Path.is_dir, map(Path, policy.roots)))
    if policy.writes_confined or not roots:
        return policy
    found = SecretPlaces(roots, lambda: policy.deny).look()
    return msgspec.structs.replace(policy, secret_files=found)


def _words(told: Explanation) -> str:
    lines = [f"{told.decision}  by {told.rule or 'default'}"]
    lines += [f"  {visible(told.reason)}"] if told.reason else []
    lines += [f"  it would run {told.widening}"] if told.widening else []
    for part in told.parts:
        why = f": {one_line(part.reason)}" if part.reason else ""
        lines.append(f"  {part.decision:5}  {one_line(part.text)}  ({one_line(part.rule)}{why})")
    return "\n".join(lines)
