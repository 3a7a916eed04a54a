"""Defines the commands, the options, and the text of ``--help``."""

from __future__ import annotations

import argparse

from indwell import __version__
from indwell.cli.cassette.grammar import record_options, replay_cassette_options
from indwell.cli.connections.mcp_grammar import mcp_options
from indwell.cli.doctor.grammar import doctor_options
from indwell.cli.replay.grammar import replay_options
from indwell.cli.run.batch_grammar import batch_options
from indwell.cli.run.evaluate_grammar import evaluate_options
from indwell.cli.run.grammar import limit_options
from indwell.cli.stored.grammar import (
    flags,
    json_anywhere,
    memory_options,
    tasks_options,
    worktrees_options,
)
from indwell.cli.terminal.telling import TellingParser
from indwell.messages import EFFORTS
from indwell.settings.model import FREEDOM

EDITORS = (
    *("nvim", "nvim-plain", "nvim-older", "emacs", "helix", "kate", "sublime", "zed", "vim"),
    "vscode",
)


def review_options(review: argparse.ArgumentParser) -> None:
    """Add the options of ``indwell review`` to its parser."""
    review.description = (
        "Reviews the agent's changes on disk that you have not accepted or rejected yet. At a "
        "terminal it asks about each change; otherwise it lists them."
    )
    review.epilog = (
        "Exit codes: 0 done, 1 something was not done, 2 the command line was wrong, 130 Ctrl-C; "
        "answers that you gave before Ctrl-C stay in force."
    )
    review.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="review only these files, or the files in these folders",
    )
    review.add_argument(
        "--session",
        default="",
        metavar="ID",
        help="only changes of this session; the first characters of its id are enough",
    )
    review.add_argument(
        "--turn",
        type=_turn,
        metavar="N",
        help="only changes of this turn (needs --session if several sessions have such a turn)",
    )
    verdict = review.add_mutually_exclusive_group()
    flags(
        verdict,
        accept="accept the changes that FILE, --session, --turn or --all select, without questions",
        reject="reject the selected changes without questions; later changes by you or another "
        "turn stay and are listed. Copies of the files are kept",
    )
    flags(review, all="with --accept or --reject: all changes")
    form = review.add_mutually_exclusive_group()
    flags(form, json="print one JSON object; ask nothing", diff="print one diff; ask nothing")


def permissions_options(permissions: argparse.ArgumentParser) -> None:
    """Add the options of ``indwell permissions`` to its parser."""
    permissions.description = (
        "Lists and revokes your permanent permissions in this folder, and explains how the rules "
        "decide on a command."
    )
    actions = permissions.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("list", help="list what is always allowed here (the default)")
    revoke = actions.add_parser("revoke", help="revoke permissions")
    revoke.add_argument("which", nargs="*", metavar="N", help="numbers from the list")
    flags(revoke, all="all permissions of this folder")
    explain = actions.add_parser("explain", help="explain how the rules decide on a command")
    explain.add_argument(
        "--rules",
        metavar="FILE",
        help="JSON with lists of patterns: allow, ask, deny (default: those of your settings)",
    )
    flags(explain, sandboxed="assume a sandbox that confines writes to the folder")
    explain.add_argument(
        "--mode", choices=("plan", "ask", "review", "auto"), help="(default: yours)"
    )
    explain.add_argument("--cwd", metavar="FOLDER", help="folder to run it in (default: this one)")
    flags(
        explain,
        stdin="read one JSON object per line (command; rules, sandboxed, mode, cwd), print one "
        "answer per line",
    )
    explain.add_argument("words", nargs="*", metavar="COMMAND", help="the command, after --")
    json_anywhere(permissions, actions.choices.values())


def trust_options(trust: argparse.ArgumentParser) -> None:
    """Add the options of ``indwell trust`` to its parser."""
    trust.description = (
        "Trusts a folder with its present files: commands may run there, its settings may "
        "tighten yours, and its AGENTS.md goes to the model. Indwell asks again when those files "
        "change."
    )
    trust.add_argument("folder", nargs="?", default=".", help="the folder (default: this one)")
    what = trust.add_mutually_exclusive_group()
    flags(what, revoke="revoke the trust", list="list your answers for all folders")
    flags(trust, yes="do not ask for confirmation")
    flags(trust, json="print one JSON object")


def audit_options(audit: argparse.ArgumentParser) -> None:
    """Add the options of ``indwell audit`` to its parser."""
    audit.description = (
        "Prints what the agent requested in a session, which rule allowed or denied it, what you "
        "answered, and what ran."
    )
    audit.add_argument(
        "session",
        nargs="?",
        default="",
        help="its id, or the first characters of it (default: the newest)",
    )
    audit.add_argument("--turn", type=_turn, metavar="N", help="only this turn")
    flags(audit, json="print one JSON object")


def commit_options(commit: argparse.ArgumentParser) -> None:
    """Add the options of ``indwell commit-message`` to its parser."""
    commit.description = (
        "Prints a message for the staged changes, or for those of the tree if nothing is staged. "
        "It commits nothing."
    )
    commit.add_argument("--folder", default=".", help="the project's folder (default: this one)")
    commit.add_argument("--model", default="", help="the model to use (default: from the settings)")
    flags(
        commit,
        trust="trust the folder for this run, without asking",
        json="print one JSON object",
    )
    _scripted(commit)


_APART = (
    "work in a private copy of the folder; `indwell worktrees merge` brings the changes back for "
    "review"
)
LIST_LIMIT = 20  # the default limit of sessions in a list


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; wrong arguments end the process with exit code 2."""
    parser = TellingParser(
        prog="indwell",
        description="A coding agent that lives in the editor's language server.",
        epilog="Without a command it begins an interactive session in a terminal, and serves an "
        "editor on pipes.",
    )
    _interactive_options(parser)
    parser.add_argument("--version", action="version", version=f"indwell {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def command(name: str, does: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=does, description=f"{does[0].upper()}{does[1:]}.")

    _serve(command("serve", "serve an editor (this is what editors start)"))
    acp = command("acp", "serve an editor by the Agent Client Protocol, such as Zed")
    _scripted(acp)
    flags(acp, worktree=f"each session: {_APART}")
    _login(command("login", "choose an endpoint and a model, and store the key"))
    logout = command("logout", "delete stored keys")
    logout.add_argument(
        "origin", nargs="?", help="only the key of this endpoint (default: all keys)"
    )
    flags(logout, json="print JSON")
    models = command("models", "list the models of the endpoint")
    flags(models, json="print JSON")
    doctor_options(command("doctor", "find what does not work here, and how to fix it"))
    _setup(command("setup", "set up an editor: print or write its configuration"))
    _run(command("run", "run one turn in the terminal"))
    commit_options(command("commit-message", "write a message for what git would commit"))
    batch_options(command("batch", "run many tasks, each in its own workspace"))
    evaluate_options(command("eval", "measure models on tasks with hidden checks"))
    review_options(command("review", "accept or reject the agent's changes"))
    demo = command("demo", "watch the agent fix a bug in a sample project")
    demo.add_argument("--seed", type=int, help="selects the project and the bug (default: random)")
    flags(demo, json="print one JSON object at the end")
    _scripted(demo)
    _sessions(command("sessions", "list, show, import or delete past sessions"))
    memory_options(command("memory", "list, add and delete remembered facts"))
    tasks_options(command("tasks", "list, add and run the tasks of a folder"))
    worktrees_options(command("worktrees", "list, merge and remove the worktrees of a folder"))
    mcp_options(command("mcp", "list, add, remove and try MCP servers"))
    trust_options(command("trust", "trust a folder, or revoke its trust"))
    permissions_options(command("permissions", "list, explain and revoke permissions"))
    audit_options(command("audit", "show what a session requested, was allowed and ran"))
    _stats(command("stats", "show the tokens, cache use and cost of model calls"))
    replay_options(command("replay", "replay recorded conversations without a model"))
    record_options(command("record", "serve an editor, and record the session"))
    replay_cassette_options(command("replay-cassette", "replay a recorded session, and compare"))
    purge = command("purge", "delete all sessions, permissions and keys")
    purge.description = (
        "Lists everything that Indwell stored on this machine, asks, and deletes it. Your projects "
        "stay. Your settings stay, too, unless you add --settings."
    )
    flags(purge, settings="also delete your settings")
    flags(purge, yes="do not ask for confirmation", json="print JSON")
    for one in commands.choices.values():
        one.set_defaults(parser=one)  # errors show the usage of the command
    return parser


def _interactive_options(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--continue",
        dest="goes_on",
        action="store_true",
        help="interactive: go on with the newest session of the folder",
    )
    which.add_argument(
        "--resume", dest="of_session", metavar="ID", help="interactive: go on with this session"
    )
    parser.add_argument(
        "--worktree", dest="is_apart", action="store_true", help=f"interactive: {_APART}"
    )
    parser.add_argument(
        "--plain",
        action="store_true",
        help="interactive: no colours and no moving parts, for screen readers",
    )
    parser.add_argument(
        "--scripted",
        dest="has_script",
        action="store_true",
        help="interactive: use the scripted model that ships with Indwell",
    )


def _serve(serve: argparse.ArgumentParser) -> None:
    where = serve.add_mutually_exclusive_group()
    flags(where, stdio="on stdin and stdout (the default)")
    where.add_argument(
        "--tcp",
        metavar="HOST:PORT",
        help="on a port of this machine, for one editor that sends the token (INDWELL_TOKEN, or "
        "the printed one) as initializationOptions.token",
    )
    flags(
        serve,
        editor_trust="the editor asks its user about trust, and no workspace setting reaches the "
        "answer: folders that the editor declares trusted may be changed (only with --stdio)",
    )
    _scripted(serve)
    serve.add_argument("--pace", type=float, default=0.0, help=argparse.SUPPRESS)


def _login(login: argparse.ArgumentParser) -> None:
    login.description = (
        "Tests an endpoint (reachable, key, models, streaming, tools) and stores it: address and "
        "model in your settings, the key in the system's keyring. If a test fails, nothing is "
        "stored."
    )
    login.add_argument(
        "provider",
        nargs="?",
        help="a name such as openai or ollama, an endpoint of yours, an address",
    )
    login.add_argument(
        "--name", help="store it as an endpoint with this name, beside others: MODEL@NAME"
    )
    flags(login, key_stdin="read the key from stdin")
    login.add_argument("--model", help="which model (default: you are asked)")
    flags(login, no_test="store it without trying it", json="print JSON")


def _setup(setup: argparse.ArgumentParser) -> None:
    setup.description = (
        "Prints the configuration with which an editor uses Indwell, and the path of the file for "
        "it. With --write, shows the change of that file, and writes the file."
    )
    setup.add_argument(
        "editor",
        choices=EDITORS,
        help="the editor; nvim and nvim-plain (without the plugin) need Neovim 0.11, nvim-older "
        "is for 0.7 to 0.10",
    )
    what = setup.add_mutually_exclusive_group()
    flags(what, write="write the editor's configuration", remove="remove what --write added")
    client = setup.add_mutually_exclusive_group()
    flags(client, eglot="emacs: use eglot, not indwell.el", lsp_mode="emacs: use lsp-mode")
    flags(setup, json="print JSON")


def _run(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "words",
        nargs="?",
        default="",
        help="the prompt: what to do, in your own words; optional with --resume and --continue; "
        "`-` reads it from stdin",
    )
    which = run.add_mutually_exclusive_group()
    which.add_argument(
        "--resume",
        metavar="ID",
        help="resume this session; the first characters of its id are enough",
    )
    which.add_argument(
        "--continue",
        dest="continues",
        action="store_true",
        help="resume the newest session of the folder",
    )
    which.add_argument(
        "--new-from",
        metavar="ID",
        help="start a new session with the task of this one: its requests, files and failing "
        "checks, without the conversation; for a session that no longer fits the context "
        "window",
    )
    run.add_argument(
        "--turn",
        type=_turn,
        metavar="N",
        help="with --resume or --continue: first rewind the conversation to the end of this "
        "turn; the log keeps the later turns. Without a prompt, only rewind, and print the "
        "prompt that came next",
    )
    flags(
        run,
        files="with --turn: also restore the files to the end of that turn. Your own later "
        "changes stay",
        approve_plan="with --resume or --continue: carry out the session's plan as its file reads "
        "now; a prompt is sent with it",
    )
    run.add_argument("--model", default="", help="the model to use (default: from the settings)")
    run.add_argument(
        "--effort",
        choices=EFFORTS,
        help="how much the model thinks (default: from the settings, else the model decides)",
    )
    run.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="PATH[:L1-L2]",
        help="file or lines that the prompt is about",
    )
    run.add_argument(
        "--mode",
        choices=FREEDOM,
        help="for this turn: plan changes nothing, ask confirms each edit, review and auto apply "
        "edits (default: from the settings)",
    )
    run.add_argument("--folder", default=".", help="the project's folder (default: this one)")
    flags(run, worktree=_APART)
    flags(
        run,
        json="print one JSON event per line",
        allow_commands="allow commands that Indwell would ask about; for containers. Does not "
        "cover protected files, secrets, edits, your own `ask` rules, or leaving the sandbox",
        trust="trust the folder for this run, without asking",
    )
    limit_options(run)
    _scripted(run)


def _sessions(sessions: argparse.ArgumentParser) -> None:
    sessions.add_argument(
        "action",
        nargs="?",
        choices=("list", "show", "fork", "delete", "export", "import", "replay-request"),
        default="list",
        help="default: list",
    )
    sessions.add_argument(
        "ids",
        nargs="*",
        metavar="ID",
        help="the session to show or fork, or the sessions to delete; the first characters of an "
        "id are enough. fork: start a new session from the end of a turn (`--turn`). "
        "export: write these sessions, or all of them, as tables (`--parquet`, `--jsonl`). "
        "import: files that other tools recorded (JSONL; `-`: stdin). replay-request: a "
        "session, and the number of a request to rebuild from its log",
    )
    flags(sessions, all="all folders, not only this one")
    sessions.add_argument(
        "--turn",
        type=_turn,
        metavar="N",
        help="fork: start from the end of this turn; 0 is before the first one (default: the "
        "last finished turn)",
    )
    sessions.add_argument(
        "--limit",
        type=_number,
        default=LIST_LIMIT,
        metavar="N",
        help=f"list only the newest N; 0 for all (default: {LIST_LIMIT})",
    )
    form = sessions.add_mutually_exclusive_group()
    form.add_argument("--parquet", metavar="DIR", help="export: write Parquet files into DIR")
    form.add_argument("--jsonl", metavar="DIR", help="export: write JSON lines into DIR")
    flags(
        sessions,
        with_contents="export: with prompts, answers, arguments, results and diffs",
        json="print JSON",
    )


def _stats(stats: argparse.ArgumentParser) -> None:
    stats.add_argument(
        "--days",
        type=_days,
        metavar="N",
        help="only the last N days; 0 for all (default: 30; with --session: all)",
    )
    stats.add_argument("--session", metavar="ID", help="one session of any folder, turn by turn")
    flags(stats, all="all folders, not only this one")
    flags(stats, json="print JSON")


def _days(text: str) -> int:
    """Parse a number of days; an error quotes the text."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10):  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days; give 0 for all")
    return int(text)


def _number(text: str) -> int:
    """Parse a number of sessions; an error quotes the text."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10):  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of sessions; give 0 for all")
    return int(text)


def _turn(text: str) -> int:
    """Parse the number of a turn; an error quotes the text."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10):  # noqa: PLR2004
        raise argparse.ArgumentTypeError(
            f"{text!r} is not the number of a turn; the first turn is 1"
        )
    return int(text)


def _scripted(parser: argparse.ArgumentParser) -> None:
    flags(parser, scripted="use the scripted model that ships with Indwell: no key, no network")
