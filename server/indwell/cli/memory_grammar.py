"""The options of ``indwell memory``."""

from __future__ import annotations

import argparse

from indwell.cli.json_option import json_anywhere


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
