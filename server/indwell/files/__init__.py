"""The one door to the disk: everything above opens, writes and lists paths through here."""

from __future__ import annotations

from indwell.files.append_log import AppendLog, make_private_folder
from indwell.files.atomic import write_atomic
from indwell.files.beneath import Place, locate, open_beneath
from indwell.files.listing import Entry, exists, list_folder, modified_s, newest_first
from indwell.files.private import read_own, rename_own, write_private
from indwell.files.reading import read_bytes

__all__ = [
    "AppendLog",
    "Entry",
    "Place",
    "exists",
    "list_folder",
    "locate",
    "make_private_folder",
    "modified_s",
    "newest_first",
    "open_beneath",
    "read_bytes",
    "read_own",
    "rename_own",
    "write_atomic",
    "write_private",
]
