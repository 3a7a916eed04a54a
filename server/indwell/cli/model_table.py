"""``indwell models``: what the endpoint offers, with window, price and tools."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from indwell.cli.json_line import json_line
from indwell.cli.waiting import wait_for
from indwell.errors import UserError
from indwell.policy.approvals import visible
from indwell.providers.models import MAX_MODELS, OfferedModel
from indwell.service.endpoint.offered import offered_models
from indwell.service.user_settings import read_settings


def models(*, as_json: bool) -> int:
    """Print them; 0 done, 1 if the endpoint cannot be asked."""
    try:
        settings = read_settings(os.environ).settings
        offered = wait_for(offered_models(settings))
    except UserError as error:
        print(str(error), file=sys.stderr)
        return 1
    if as_json:
        rows = [
            {**msgspec.to_builtins(one), "chosen": one.name == settings.model} for one in offered
        ]
        sys.stdout.write(json_line(rows) + "\n")
    else:
        model_table(Console(highlight=False), offered, chosen=settings.model)
    return 0


def model_table(
    console: Console,
    offered: Sequence[OfferedModel],
    *,
    chosen: str = "",
    numbered: bool = False,
) -> None:
    """Print models as a table; what nobody knows is left blank."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    if numbered:
        table.add_column("", justify="right")
    table.add_column("model", overflow="fold")
    for name in ("window", "$ in", "$ out"):
        table.add_column(name, justify="right")
    table.add_column("tools")
    for number, one in enumerate(offered, 1):
        cells = [str(number)] if numbered else []
        mark = " *" if one.name == chosen else ""
        cells += [
            visible(one.name) + mark,
            f"{one.window:,}" if one.window else "",
            _dollars(one.price_in),
            _dollars(one.price_out),
            {True: "yes", False: "no", None: ""}[one.tools],
        ]
        table.add_row(*(Text(cell) for cell in cells))
    console.print(table)
    if len(offered) >= MAX_MODELS:
        words = f"The endpoint offers {MAX_MODELS:,} models or more; only these are shown."
        console.print(words, style="dim")
    if not numbered:
        console.print("Prices are dollars for a million tokens; * is the one in use.", style="dim")


def _dollars(price: float | None) -> str:
    return "" if price is None else f"{price:.2f}"
