"""The command line's grammar: commands, options, and what ``--help`` says."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from indwell import __version__
from indwell.cli.replay.grammar import replay_options
from indwell.cli.run.grammar import limit_options
from indwell.settings.model import FREEDOM


def json_anywhere(
    command: argparse.ArgumentParser, actions: Iterable[argparse.ArgumentParser]
) -> None:
    """``--json`` before an action and behind it; said once is enough."""
    words = "print one JSON object"
    command.add_argument("--json", action="store_true", help=words)
    for one in actions:  # without a default of its own, which would undo what stood before it
        one.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=words)


EDITORS = ("nvim", "nvim-older", "emacs", "helix", "kate", "sublime", "zed", "vim", "vscode")


def memory_options(memory: argparse.ArgumentParser) -> None:
    """Add them to the command's parser."""
    memory.description = (
        "Lists what Indwell remembers of this folder and of you. Facts come from sessions, each "
        "with your yes, or from here; the pages are Markdown that you may edit."
    )
    actions = memory.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("list", help="what is remembered here (the default)")
    add = actions.add_parser("add", help="remember a fact")
    add.add_argument("words", nargs="+", metavar="FACT", help="one sentence")
    _user(add)
    forget = actions.add_parser("forget", help="forget facts")
    forget.add_argument("which", nargs="*", metavar="N", help="their numbers in the list")
    path = actions.add_parser("path", help="print where the page is, to edit it")
    _user(path)
    json_anywhere(memory, actions.choices.values())


def _user(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--user", action="store_true", help="of you, in every folder")


def review_options(review: argparse.ArgumentParser) -> None:
    """Add them to the command's parser."""
    review.description = (
        "Goes through the changes of the agent that nobody has accepted or rejected yet, as they "
        "stand in the files on disk. At a terminal it asks for each; elsewhere it lists them."
    )
    review.epilog = (
        "Exit codes: 0 done, 1 something was not done, 2 the command line was wrong, 130 Ctrl-C; "
        "what was answered before it stays done."
    )
    review.add_argument(
        "files", nargs="*", metavar="FILE", help="only these, or those in these folders"
    )
    review.add_argument(
        "--session", default="", metavar="ID", help="only of this session; its beginning is enough"
    )
    review.add_argument(
        "--turn",
        type=int,
        metavar="N",
        help="only of this turn (of the session, or of the only one that has such a turn)",
    )
    verdict = review.add_mutually_exclusive_group()
    verdict.add_argument(
        "--accept",
        action="store_true",
        help="accept without questions what FILE, --session, --turn or --all name",
    )
    verdict.add_argument(
        "--reject",
        action="store_true",
        help="take it back without questions; what you or another turn changed since stays, "
        "and is named. Copies of the files are kept",
    )
    review.add_argument("--all", action="store_true", help="with --accept or --reject: everything")
    form = review.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object; nothing is asked")
    form.add_argument("--diff", action="store_true", help="print it as one diff; nothing is asked")


def permissions_options(permissions: argparse.ArgumentParser) -> None:
    """Add them to the command's parser."""
    permissions.description = (
        "Lists what you have allowed for always in this folder, takes it back, and says how a "
        "command would be decided on and why."
    )
    actions = permissions.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("list", help="what is allowed for always here (the default)")
    revoke = actions.add_parser("revoke", help="take permissions back")
    revoke.add_argument("which", nargs="*", metavar="N", help="their numbers in the list")
    revoke.add_argument("--all", action="store_true", help="all of this folder")
    explain = actions.add_parser("explain", help="how a command would be decided on, and why")
    explain.add_argument(
        "--rules",
        metavar="FILE",
        help="JSON with lists of patterns: allow, ask, deny (default: those of your settings)",
    )
    explain.add_argument(
        "--sandboxed", action="store_true", help="as in a sandbox that keeps writes in the folder"
    )
    explain.add_argument(
        "--mode", choices=("plan", "ask", "review", "auto"), help="(default: yours)"
    )
    explain.add_argument("--cwd", metavar="FOLDER", help="where it would run (default: here)")
    explain.add_argument(
        "--stdin",
        action="store_true",
        help="one JSON object a line (command; rules, sandboxed, mode, cwd), one answer a line",
    )
    explain.add_argument("words", nargs="*", metavar="COMMAND", help="behind --")
    json_anywhere(permissions, actions.choices.values())


def trust_options(trust: argparse.ArgumentParser) -> None:
    """Add them to the command's parser."""
    trust.description = (
        "Trusts a folder, as its files are now: commands may run there, its settings may tighten "
        "yours, and its AGENTS.md goes to the model. Asked again when those files change."
    )
    trust.add_argument("folder", nargs="?", default=".", help="(default: this one)")
    what = trust.add_mutually_exclusive_group()
    what.add_argument("--revoke", action="store_true", help="trust it no longer")
    what.add_argument("--list", action="store_true", help="list the answers of all folders")
    trust.add_argument("--yes", action="store_true", help="do it without asking")
    _json_flag(trust)


def audit_options(audit: argparse.ArgumentParser) -> None:
    """Add them to the command's parser."""
    audit.description = (
        "Prints what the agent wanted to do in a session, which rule allowed or denied it, what "
        "you said, and what was run."
    )
    audit.add_argument(
        "session", nargs="?", default="", help="its id or the beginning of it (default: the newest)"
    )
    audit.add_argument("--turn", type=int, metavar="N", help="only this turn")
    _json_flag(audit)


def _json_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


LIST_LIMIT = 20  # sessions; H61


def make_parser() -> argparse.ArgumentParser:
    """The whole grammar; a command line that does not fit ends the process with 2."""
    parser = argparse.ArgumentParser(
        prog="indwell",
        description="A coding agent that lives in the editor's language server.",
        epilog="Without a command it serves an editor on stdin and stdout.",
    )
    parser.add_argument("--version", action="version", version=f"indwell {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _serve(commands.add_parser("serve", help="serve an editor (this is what editors start)"))
    _login(commands.add_parser("login", help="choose an endpoint and a model, and store its key"))
    logout = commands.add_parser("logout", help="forget stored keys")
    logout.add_argument("origin", nargs="?", help="of this endpoint only (default: of all)")
    _json(logout)
    _json(commands.add_parser("models", help="list what the endpoint offers"))
    _doctor(commands.add_parser("doctor", help="say what does not work here, and how to mend it"))
    _setup(commands.add_parser("setup", help="set up an editor: print or write its configuration"))
    _run(commands.add_parser("run", help="do one turn from the terminal"))
    review_options(commands.add_parser("review", help="accept or reject the agent's changes"))
    demo = commands.add_parser("demo", help="show the main job on a made-up project")
    demo.add_argument("--seed", type=int, help="which project and which fault; random if left out")
    demo.add_argument("--json", action="store_true", help="print one JSON object at the end")
    _scripted(demo)
    _sessions(commands.add_parser("sessions", help="list, show, import or delete past sessions"))
    memory_options(
        commands.add_parser("memory", help="list what is remembered, add to it, and forget")
    )
    trust_options(commands.add_parser("trust", help="trust a folder, or no longer"))
    permissions_options(
        commands.add_parser("permissions", help="list what you allowed, and take it back")
    )
    audit_options(commands.add_parser("audit", help="what was asked, allowed and run in a session"))
    _stats(commands.add_parser("stats", help="show what calls took: tokens, cache, cost"))
    replay_options(
        commands.add_parser("replay", help="run recorded conversations again, without a model")
    )
    purge = commands.add_parser("purge", help="delete all sessions, permissions and keys")
    purge.add_argument("--yes", action="store_true", help="do it without asking")
    _json(purge)
    for one in commands.choices.values():
        one.set_defaults(parser=one)  # what is wrong there is told with its own usage
    return parser


def _serve(serve: argparse.ArgumentParser) -> None:
    where = serve.add_mutually_exclusive_group()
    where.add_argument("--stdio", action="store_true", help="on stdin and stdout (the default)")
    where.add_argument(
        "--tcp",
        metavar="HOST:PORT",
        help="on a port of this machine, for one editor that sends the token (INDWELL_TOKEN, or "
        "the one that is printed) as initializationOptions.token",
    )
    _scripted(serve)
    serve.add_argument("--pace", type=float, default=0.0, help=argparse.SUPPRESS)


def _login(login: argparse.ArgumentParser) -> None:
    login.description = (
        "Tests an endpoint (reachable, key, models, streaming, tools) and stores it: address and "
        "model in your settings, the key in the system's keyring. Nothing is stored if it fails."
    )
    login.add_argument("provider", nargs="?", help="a name such as openai or ollama, or an address")
    login.add_argument("--key-stdin", action="store_true", help="read the key from stdin")
    login.add_argument("--model", help="which model (default: you are asked)")
    login.add_argument("--no-test", action="store_true", help="store it without trying it")
    _json(login)


def _doctor(doctor: argparse.ArgumentParser) -> None:
    doctor.add_argument("--offline", action="store_true", help="look at this machine only")
    form = doctor.add_mutually_exclusive_group()
    form.add_argument(
        "--report", action="store_true", help="print Markdown for a bug report, without secrets"
    )
    form.add_argument("--json", action="store_true", help="print one JSON object")


def _setup(setup: argparse.ArgumentParser) -> None:
    setup.add_argument("editor", choices=EDITORS, help="which one")
    what = setup.add_mutually_exclusive_group()
    what.add_argument(
        "--write", action="store_true", help="put it into the editor's own configuration"
    )
    what.add_argument("--remove", action="store_true", help="take out what --write put there")
    setup.add_argument("--lsp-mode", action="store_true", help="emacs: lsp-mode instead of eglot")
    _json(setup)


def _run(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "words",
        nargs="?",
        default="",
        help="what to do, in your own words; may be left out when a session goes on; `-`: they "
        "are read from stdin",
    )
    which = run.add_mutually_exclusive_group()
    which.add_argument(
        "--resume", metavar="ID", help="go on with this session; the beginning of its id is enough"
    )
    which.add_argument(
        "--continue",
        dest="continues",
        action="store_true",
        help="go on with the newest session of the folder",
    )
    which.add_argument(
        "--new-from",
        metavar="ID",
        help="begin a new session that takes the task of this one along: its requests, files and "
        "failing checks, not what was said; for one that no longer fits the window",
    )
    run.add_argument(
        "--turn",
        type=_turn,
        metavar="N",
        help="with --resume or --continue: take the conversation back to the end of this turn "
        "first; the log keeps what came after it. Without words that is all, and the words that "
        "came next are printed",
    )
    run.add_argument(
        "--files",
        action="store_true",
        help="with --turn: take the files back too, to what they were at the end of that turn. "
        "What you changed since stays",
    )
    run.add_argument(
        "--approve-plan",
        action="store_true",
        help="with --resume or --continue: carry out the plan that the session proposed, as its "
        "document has it now; your words, if there are any, go along",
    )
    run.add_argument("--model", default="", help="ask this model (default: that of the settings)")
    run.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="PATH[:L1-L2]",
        help="lines that the words are about",
    )
    run.add_argument(
        "--mode",
        choices=FREEDOM,
        help="for this turn: plan changes nothing, ask confirms each edit, review and auto apply "
        "them (default: mode of the settings)",
    )
    run.add_argument("--folder", default=".", help="the project's folder (default: this one)")
    run.add_argument("--json", action="store_true", help="print one JSON event per line")
    run.add_argument(
        "--allow-commands",
        action="store_true",
        help="a yes beforehand to commands that would be asked for; for containers. Not to "
        "protected files, secrets, edits, what your own rules ask about, or to leave the sandbox",
    )
    run.add_argument(
        "--trust", action="store_true", help="trust the folder for this time, without a question"
    )
    limit_options(run)
    _scripted(run)


def _sessions(sessions: argparse.ArgumentParser) -> None:
    sessions.add_argument(
        "action",
        nargs="?",
        choices=("list", "show", "fork", "delete", "import", "replay-request"),
        default="list",
        help="default: list",
    )
    sessions.add_argument(
        "ids",
        nargs="*",
        metavar="ID",
        help="of the session to show or to fork, or of those to delete; its beginning is enough. "
        "fork: a new session that goes on from the end of a turn (`--turn`). import: files "
        "that other tools recorded (JSONL; `-`: stdin). replay-request: a session, and the number "
        "of a request that is made again from its log",
    )
    sessions.add_argument("--all", action="store_true", help="of all folders, not only this one")
    sessions.add_argument(
        "--turn",
        type=_turn,
        metavar="N",
        help="fork: as it was at the end of this turn; 0 is before the first one (default: the "
        "last one that has ended)",
    )
    sessions.add_argument(
        "--limit",
        type=int,
        default=LIST_LIMIT,
        metavar="N",
        help=f"list only so many, the newest; 0 for all (default: {LIST_LIMIT})",
    )
    _json(sessions)


def _stats(stats: argparse.ArgumentParser) -> None:
    stats.add_argument(
        "--days",
        type=_days,
        metavar="N",
        help="only the last N days; 0 for all (default: 30, or all of a session)",
    )
    stats.add_argument(
        "--session", default="", metavar="ID", help="one session, turn by turn; of any folder"
    )
    stats.add_argument("--all", action="store_true", help="of all folders, not only this one")
    _json(stats)


def _days(text: str) -> int:
    """A number of days; anything else is told as what it is."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10):  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text!r} is no number of days; 0 counts all")
    return int(text)


def _turn(text: str) -> int:
    """The number of a turn; anything else is told as what it is."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10):  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text!r} is no number of a turn; the first one is 1")
    return int(text)


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _scripted(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scripted",
        action="store_true",
        help="use the scripted model that ships with Indwell: no key, no network",
    )
