"""The page that an editor opens on the first run; its table of providers is the catalogue's."""

from __future__ import annotations

from pathlib import Path

from indwell.errors import SettingsError, ToolError
from indwell.files import make_private_folder, write_atomic
from indwell.providers.catalogue import CATALOGUE
from indwell.settings.paths import user_file

NAME = "first-run.md"

_TEXT = """\
# Choose a model for Indwell

In a terminal:

    indwell login

It finds model servers that run on this machine, asks for a provider and a key, tests that the
model answers and calls tools, and stores the choice: address and model in `{config}`, the key in
the system's keyring. Editors take it with their next request; nothing has to be typed again.

Where a key would come from, and which names `indwell login NAME` knows:

{providers}
Any other OpenAI-compatible endpoint: `indwell login https://host/v1`.

An editor that was started from the desktop does not see the variables that a shell exports
(`OPENAI_API_KEY` and others), so a key that works in the terminal may be missing there. What
`indwell login` stores is seen by both.

`indwell doctor` says what is still missing, and how to mend it.
"""


def page(config: str) -> str:
    """The page as Markdown.

    Args:
        config: Where the user's settings stand, as people read it.
    """
    return _TEXT.format(config=config, providers=provider_table())


def provider_table() -> str:
    """The catalogue as a Markdown table."""
    rows = ["| Name | Provider | Address | Key |", "|---|---|---|---|"]
    for row in CATALOGUE:
        key = row.key_page or ("only if the server wants one" if not row.needs_key else "")
        rows.append(f"| `{row.name}` | {row.title} | `{row.base_url}` | {key} |")
    return "\n".join(rows) + "\n"


def write_page(folder: Path) -> Path:
    """Write the page into ``folder``; gives where it stands.

    Raises:
        SettingsError: The folder cannot be written.
    """
    path = folder / NAME
    try:
        make_private_folder(folder)
        return write_atomic(path, page(str(user_file())).encode(), [folder])
    except (ToolError, OSError) as error:
        raise SettingsError(
            f"the page cannot be written to {str(path)!r} ({error}); run `indwell login` in a "
            "terminal"
        ) from error
