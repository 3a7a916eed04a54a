"""Defines the options of ``indwell doctor``."""

from __future__ import annotations

import argparse

from indwell.cli.stored.grammar import flags


def doctor_options(doctor: argparse.ArgumentParser) -> None:
    """Add the options of ``indwell doctor`` to its parser."""
    doctor.description = "Finds what does not work here, and says how to fix it."
    flags(doctor, offline="do not use the network")
    form = doctor.add_mutually_exclusive_group()
    form.add_argument(
        "--report",
        nargs="?",
        const="-",
        metavar="FILE",
        help="print Markdown for a bug report, without secrets; with FILE, ask, and write it",
    )
    flags(form, json="print one JSON object")
    flags(doctor, yes="with --report FILE: write the file without a question")
