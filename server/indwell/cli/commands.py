"""Maps a parsed command line to the command's module, and imports only that module."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from indwell.cli.connections.mcp_grammar import split_program
from indwell.cli.parser import make_parser
from indwell.cli.run.grammar import NEWEST, Format, limits_of
from indwell.cli.terminal.telling import tell, tell_help, told
from indwell.compatibility import current_options
from indwell.context.untrusted_text import visible
from indwell.errors import NobodyThere, UserError, WrongArgument
from indwell.own_path import own_path

Options = TypeVar("Options", bound=msgspec.Struct)


def _parsed(arguments: Sequence[str] | None) -> tuple[argparse.Namespace, argparse.ArgumentParser]:
    """Return the options and the command's parser; wrong arguments exit with code 2."""
    whole = make_parser()
    tell_help(whole)
    given, program = split_program(sys.argv[1:] if arguments is None else arguments)
    given, warnings = current_options(given)
    for warning in warnings:
        print(visible(warning), file=sys.stderr)
    options, unknown = whole.parse_known_args(given)
    if program:
        options.words = program
    parser: argparse.ArgumentParser = getattr(options, "parser", whole)
    if unknown:
        quoted = "; put the words of a prompt in quotes" if options.command == "run" else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{quoted}")
    return options, parser


def taken(type_: type[Options], options: argparse.Namespace, **given: object) -> Options:
    """Return a command's options, from ``given`` or from the command line."""
    names = (name for name in type_.__struct_fields__ if hasattr(options, name))
    return type_(**{**{name: getattr(options, name) for name in names}, **given})


def run_command(arguments: Sequence[str] | None) -> int:
    """Run a command; return 0 for success, 1 for a failure, 2 for a wrong command line.

    After a ``UserError``, which is printed, the exit code is 1; after a ``WrongArgument``, 2.
    """
    options, parser = _parsed(arguments)
    try:
        return _run_parsed(options, parser)
    except WrongArgument as error:
        print(visible(f"{parser.prog}: {told(str(error))}"), file=sys.stderr)
        return 2
    except UserError as error:
        tell(str(error), file=sys.stderr)
        return 1


def _run_parsed(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if options.command is None:
        return _interactive(options, parser)
    match options.command:
        case "login" | "logout" | "models" | "doctor" | "setup":
            return _first_minutes(options)
        case "sessions" | "purge":
            return _last_minutes(options, parser)
        case "trust" | "permissions" | "audit" | "memory":
            return _safety(options, parser)
        case "mcp":
            from indwell.cli.connections.mcp import mcp

            return mcp(options, parser)
        case "demo":
            return _demo(options)
        case "stats" | "replay" | "record" | "replay-cassette":
            return _observing(options, parser)
        case "review":
            return _review(options, parser)
        case "run" | "commit-message" | "tasks" | "worktrees" | "batch" | "eval":
            return _with_a_model(options, parser)
        case _:
            return _serve(options, parser)


def _observing(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if options.command == "stats":
        return _stats(options, parser)
    if options.command == "replay":
        return _replay(options, parser)
    from indwell.cli.cassette.command import RecordOptions, record, replay_cassette

    if options.command == "record":
        return record(taken(RecordOptions, options))
    return replay_cassette(options.file, as_json=options.json)


def _demo(options: argparse.Namespace) -> int:
    import secrets  # imported here, because its digest libraries take 5 ms

    from indwell.cli.demo.command import demo

    seed = options.seed if options.seed is not None else secrets.randbelow(1_000)
    return demo(seed=seed, as_json=options.json, scripted=options.scripted)


def _interactive(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    from indwell.cli.interactive.command import InteractiveOptions, interactive, is_terminal

    if options.of_session == "":
        parser.error("--resume: the id is empty; `indwell sessions` lists them")
    if not is_terminal():
        parser.error("an interactive session needs a terminal; scripts use `indwell run`")
    return interactive(
        InteractiveOptions(
            plain=options.plain,
            session=NEWEST if options.goes_on else options.of_session or "",
            scripted=options.has_script,
            worktree=options.is_apart,
        )
    )


def _stats(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if options.session is not None and not options.session.strip():
        parser.error("--session: the id is empty; `indwell sessions` lists them")
    from indwell.cli.stored.stats import stats

    return stats(
        days=options.days,
        session=options.session or "",
        all_folders=options.all,
        as_json=options.json,
    )


def _serve(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    from indwell.cli.serve.command import serve, serve_acp, serve_tcp

    scripted = getattr(options, "scripted", False)
    if options.command == "acp":
        return serve_acp(scripted=scripted, worktree=options.worktree)
    pace_s = getattr(options, "pace", 0.0)
    address = getattr(options, "tcp", None)
    asks = getattr(options, "editor_trust", False)
    if address is None:
        return serve(scripted=scripted, pace_s=pace_s, editor_asks_trust=asks)
    if asks:
        parser.error("--editor-trust cannot be used with --tcp: any program could connect")
    try:
        return serve_tcp(address, scripted=scripted, pace_s=pace_s)
    except UserError as error:
        parser.error(str(error))


def _with_a_model(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if options.command == "worktrees":
        from indwell.cli.stored.worktrees import worktrees

        return worktrees(options)
    if options.command == "tasks":
        from indwell.cli.stored.tasks import tasks

        return tasks(options)
    if options.command == "batch":
        from indwell.cli.run.batch import batch
        from indwell.cli.run.batch_grammar import BatchArguments

        return batch(taken(BatchArguments, options, secret=tuple(options.secret)))
    if options.command == "eval":
        from indwell.cli.run.evaluate import evaluate
        from indwell.cli.run.evaluate_grammar import EvalArguments

        lists = ("model", "effort", "settings", "graded", "secret")
        chosen = {name: tuple(getattr(options, name)) for name in lists}
        return evaluate(taken(EvalArguments, options, **chosen))
    is_run = options.command == "run"
    return _run(options, parser) if is_run else _commit_message(options, parser)


def _commit_message(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if not Path(options.folder).is_dir():
        parser.error(f"--folder: {options.folder!r} is not a folder")
    folder = Path(options.folder).resolve()
    own_path.keep_out([folder])
    from indwell.cli.run.commit_message import CommitOptions, commit_message

    return commit_message(taken(CommitOptions, options, folder=folder))


def _first_minutes(options: argparse.Namespace) -> int:
    match options.command:
        case "login":
            from indwell.cli.connections.login import LoginOptions, login

            return login(taken(LoginOptions, options, is_tested=not options.no_test))
        case "logout":
            from indwell.cli.connections.login import logout

            return logout(options.origin, as_json=options.json)
        case "models":
            from indwell.cli.connections.models import models

            return models(as_json=options.json)
        case "setup":
            from indwell.cli.setup.command import SetupOptions, setup

            return setup(taken(SetupOptions, options))
        case _:
            from indwell.cli.doctor.command import DoctorOptions, doctor

            return doctor(taken(DoctorOptions, options))


def _last_minutes(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if options.command == "purge":
        from indwell.cli.stored.purge import purge

        return purge(is_sure=options.yes, as_json=options.json, with_settings=options.settings)
    if options.action in {"export", "import", "replay-request"}:
        return _from_logs(options, parser)
    from indwell.cli.stored.sessions import delete_sessions, list_sessions

    if options.action == "delete":
        if not options.ids:
            parser.error("sessions delete: name the sessions to delete")
        return delete_sessions(options.ids, as_json=options.json)
    if options.action == "show":
        if len(options.ids) != 1:
            parser.error("sessions show: name one session")
        from indwell.cli.stored.sessions import show_session

        return show_session(options.ids[0], as_json=options.json)
    if options.action == "fork":
        if len(options.ids) != 1:
            parser.error("sessions fork: name one session")
        from indwell.cli.stored.sessions import fork

        return fork(options.ids[0], options.turn, as_json=options.json)
    if options.ids or options.turn is not None:
        parser.error("sessions list: remove the ID and --turn")
    limit = options.limit or None
    return list_sessions(all_folders=options.all, as_json=options.json, limit=limit)


def _safety(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    try:
        match options.command:
            case "trust":
                from indwell.cli.safety.trust import trust

                return trust(options)
            case "audit":
                from indwell.cli.safety.permissions import audit

                return audit(options)
            case "memory":
                from indwell.cli.stored.memory import memory

                return memory(options)
        if options.action == "explain":
            from indwell.cli.safety.permissions import explain

            return explain(options)
        from indwell.cli.safety.permissions import permissions

        return permissions(options)
    except UserError as error:  # no usage message is printed, because the arguments are well formed
        print(visible(f"{parser.prog}: {told(str(error))}"), file=sys.stderr)
        return 2


def _replay(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    from indwell.cli.replay.command import replay
    from indwell.cli.replay.options import wish_of

    try:
        return replay(wish_of(options))
    except NobodyThere as error:
        tell(str(error), file=sys.stderr)
        return 1
    except UserError as error:
        parser.error(str(error))


def _from_logs(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if options.action == "export":
        if not (options.parquet or options.jsonl):
            parser.error("sessions export: name a folder with --parquet or --jsonl")
        from indwell.cli.stored.export import export_sessions

        return export_sessions(
            options.ids,
            Path(options.parquet or options.jsonl).absolute(),
            "parquet" if options.parquet else "jsonl",
            all_folders=options.all,
            with_contents=options.with_contents,
            as_json=options.json,
        )
    if options.action == "import":
        if not options.ids:
            parser.error("sessions import: name the files")
        from indwell.cli.stored.imported import import_sessions

        return import_sessions(options.ids, as_json=options.json)
    if len(options.ids) != 2:  # noqa: PLR2004 -- a session and a number
        parser.error("sessions replay-request: name one session and the number of a request")
    from indwell.cli.stored.sessions import replay_request

    return replay_request(*options.ids, as_json=options.json)


def _review(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    from indwell.cli.review.command import ReviewOptions, WrongLine, review

    try:
        verdict = "accept" if options.accept else "reject" if options.reject else None
        return review(
            taken(
                ReviewOptions,
                options,
                files=tuple(options.files),
                verdict=verdict,
                everything=options.all,
            )
        )
    except WrongLine as error:
        parser.error(str(error))


def _stdin(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Format | None:
    """Return the format of prompts on stdin, or None; remove a ``-`` from the prompt."""
    if options.words == "-":
        options.words, options.stdin = "", True
    if options.input_format == "jsonl":
        if options.words.strip():
            parser.error("--input-format jsonl: the prompts come from stdin; leave out the words")
        return "jsonl"
    return "text" if options.stdin else None


def _run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    goes_on = options.resume is not None or options.continues
    stdin = _stdin(options, parser)
    if options.metered and (not options.json or stdin is not None):
        parser.error("--metered: needs --json, and reads stdin itself")
    has_words = bool(options.words.strip()) or stdin is not None
    if not has_words and not goes_on and options.new_from is None:
        parser.error("no prompt; say what to do, in quotes")
    if options.resume is not None and not options.resume.strip():
        parser.error("--resume: the id is empty; `indwell sessions` lists them")
    if options.new_from is not None and not options.new_from.strip():
        parser.error("--new-from: the id is empty; `indwell sessions` lists them")
    if options.turn is not None and not goes_on:
        parser.error("--turn: name the session to resume, with --resume or --continue")
    if options.files and options.turn is None:
        parser.error("--files: name the turn to restore the files to, with --turn")
    if options.approve_plan and (not goes_on or options.mode == "plan"):
        parser.error(
            "--approve-plan: name the session of the plan, with --resume or --continue; not in "
            "mode plan"
        )
    if len(options.file) > 1:
        parser.error("--file: only one file; name the others in your prompt")
    if not Path(options.folder).is_dir():
        parser.error(f"--folder: {options.folder!r} is not a folder")
    folder = Path(options.folder).resolve()
    own_path.keep_out([folder])
    # Garbage collection of imported modules takes a tenth of the time to the first request.
    gc.disable()
    from indwell.cli.run.command import run
    from indwell.cli.run.grammar import RunOptions

    wish = taken(
        RunOptions,
        options,
        folder=folder,
        place=options.file[0] if options.file else None,
        allow=options.allow_commands,
        session=NEWEST if options.continues else options.resume or "",
        origin=options.new_from or "",
        approves=options.approve_plan,
        stdin=stdin,
        limits=limits_of(options),
    )
    try:
        return run(wish)
    finally:
        gc.enable()
