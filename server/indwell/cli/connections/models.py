"""``indwell models``: lists the models that the endpoint offers, with prices and windows."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from indwell.cli.terminal.interruptible_work import wait_for
from indwell.cli.terminal.json_line import json_line
from indwell.context.untrusted_text import visible
from indwell.providers.offered_models import MAX_MODELS, OfferedModel
from indwell.service.endpoint.model_list import offered_models
from indwell.service.user_settings import read_settings
from indwell.settings.endpoints import in_force
from indwell.settings.model import Settings
from indwell.wiring.model import why_lean


def models(*, as_json: bool) -> int:
    """Print the models; return 0.

    Raises:
        UserError: The endpoint does not answer.
    """
    settings = read_settings(os.environ).settings
    offered = wait_for(offered_models(settings))
    lean = {one.name: _why_lean(settings, one) for one in offered}
    if as_json:
        rows = [
            {
                **msgspec.to_builtins(one),
                "chosen": one.name == settings.model,
                "profile": "lean" if lean[one.name] else "full",
            }
            for one in offered
        ]
        sys.stdout.write(json_line(rows) + "\n")
    else:
        model_table(Console(highlight=False), offered, chosen=settings.model, lean=lean)
    return 0


def _why_lean(settings: Settings, offered: OfferedModel) -> str:
    """Return why an offered model gets a short prompt, or an empty text for the full prompt."""
    if settings.provider == "scripted":
        return ""
    return why_lean(in_force(settings, offered.name), offered.window, offered.size)


_OF_LEAN = (
    "lean: a new session gives the model a short prompt and six tools; `profile` in the settings."
)


def model_table(
    console: Console,
    offered: Sequence[OfferedModel],
    *,
    chosen: str = "",
    numbered: bool = False,
    lean: Mapping[str, str] | None = None,
) -> None:
    """Print models as a table, with blank cells for unknown values.

    ``lean`` says, by model, why a model gets a short prompt.
    """
    is_lean = {name for name, why in (lean or {}).items() if why}
    table = Table(box=None, pad_edge=False, header_style="bold")
    if numbered:
        table.add_column("", justify="right")
    table.add_column("model", overflow="fold")
    for name in ("window", "$ in", "$ out"):
        table.add_column(name, justify="right")
    table.add_column("tools")
    if is_lean:
        table.add_column("profile")
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
        if is_lean:
            cells.append("lean" if one.name in is_lean else "")
        table.add_row(*(Text(cell) for cell in cells))
    console.print(table)
    if len(offered) >= MAX_MODELS:
        words = f"The endpoint offers {MAX_MODELS:,} models or more; the table shows only these."
        console.print(words, style="dim")
    if not numbered:
        console.print("Prices: US dollars per million tokens. * is the model in use.", style="dim")
    if is_lean:
        console.print(_OF_LEAN, style="dim")


def _dollars(price: float | None) -> str:
    return "" if price is None else f"{price:.2f}"
