"""The command line: reads arguments and puts the parts together; heavy imports stand in here."""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Sequence
from pathlib import Path

from indwell import __version__

DONE, FAILED, USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 done, 1 the task failed, 2 the command line was wrong."""
    parser = _parser()
    options = parser.parse_args(arguments)
    match options.command:
        case "demo":
            from indwell.cli.demo import demo

            seed = options.seed if options.seed is not None else secrets.randbelow(1_000)
            return demo(seed=seed, as_json=options.json, scripted=options.scripted)
        case "run":
            if not options.words.strip():
                parser.error("there are no words; say what to do, in quotes")
            if not Path(options.folder).is_dir():
                parser.error(f"--folder: {options.folder!r} is no folder")
            return _run(options)
        case _:
            from indwell.cli.serve import serve

            scripted = getattr(options, "scripted", False)
            return serve(scripted=scripted, pace_s=getattr(options, "pace", 0.0))


def _run(options: argparse.Namespace) -> int:
    from indwell.cli.run import Wish, run

    return run(
        Wish(
            words=options.words,
            folder=Path(options.folder).resolve(),
            place=options.file,
            json=options.json,
            scripted=options.scripted,
            allow=options.allow_commands,
        )
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="indwell",
        description="A coding agent that lives in the editor's language server.",
        epilog="Without a command it serves an editor on stdin and stdout.",
    )
    parser.add_argument("--version", action="version", version=f"indwell {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve an editor (this is what editors start)")
    serve.add_argument("--stdio", action="store_true", help="on stdin and stdout (the default)")
    _scripted(serve)
    serve.add_argument("--pace", type=float, default=0.0, help=argparse.SUPPRESS)
    demo = commands.add_parser("demo", help="show the main job on a made-up project")
    demo.add_argument("--seed", type=int, help="which project and which fault; random if left out")
    demo.add_argument("--json", action="store_true", help="print one JSON object at the end")
    _scripted(demo)
    run = commands.add_parser("run", help="do one turn from the terminal")
    run.add_argument("words", help="what to do, in your own words")
    run.add_argument("--file", metavar="PATH[:L1-L2]", help="lines that the words are about")
    run.add_argument("--folder", default=".", help="the project's folder (default: this one)")
    run.add_argument("--json", action="store_true", help="print one JSON event per line")
    run.add_argument(
        "--allow-commands",
        action="store_true",
        help="run what the model asks for without asking you; for containers",
    )
    _scripted(run)
    return parser


def _scripted(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scripted",
        action="store_true",
        help="use the scripted model that ships with Indwell: no key, no network",
    )
