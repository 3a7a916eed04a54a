"""All access to the disk: every other package opens, writes and lists paths through this one."""

from __future__ import annotations

from indwell.files.append_log import AppendLog, make_private_folder
from indwell.files.atomic import replace_with, write_atomic
from indwell.files.beneath import PathBeneath, locate, open_beneath
from indwell.files.copying import copy_all, copy_range, write_all
from indwell.files.listing import (
    FolderEntry,
    exists,
    has_other_names,
    is_file,
    linked_mark,
    list_folder,
    modified_s,
    names_of_file,
    newest_first,
    same_file,
)
from indwell.files.private import append_own, read_own, rename_own, write_durable, write_private
from indwell.files.reading import OpenFile, opened_beneath, read_bytes

__all__ = [
    "AppendLog",
    "FolderEntry",
    "OpenFile",
    "PathBeneath",
    "append_own",
    "copy_all",
    "copy_range",
    "exists",
    "has_other_names",
    "is_file",
    "linked_mark",
    "list_folder",
    "locate",
    "make_private_folder",
    "modified_s",
    "names_of_file",
    "newest_first",
    "open_beneath",
    "opened_beneath",
    "read_bytes",
    "read_own",
    "rename_own",
    "replace_with",
    "same_file",
    "write_all",
    "write_atomic",
    "write_durable",
    "write_private",
]
