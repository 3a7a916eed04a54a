"""The grammar of ``indwell review``."""

from __future__ import annotations

import argparse


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
