"""Copies a whole folder, and unpacks an archive, into a new folder."""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
import zipfile
from pathlib import Path

from indwell.errors import ToolError
from indwell.files.spelling import quoted

ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder into a new folder; links stay links, and pipes and devices are left out.

    Raises:
        ToolError: A file cannot be read.
        OSError: The copy cannot be written.
    """

    def special(folder: str, names: list[str]) -> list[str]:
        modes = ((name, os.lstat(Path(folder) / name).st_mode) for name in names)
        kinds = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
        return [name for name, mode in modes if not any(is_kind(mode) for is_kind in kinds)]

    try:
        shutil.copytree(source, target, symlinks=True, ignore=special)
    except shutil.Error as error:
        place, _, why = error.args[0][0]
        raise ToolError(f"{quoted(Path(place))} cannot be copied: {why}") from error


def unpack(archive: Path, target: Path) -> None:
    """Unpack an archive into a new folder; a single folder in the archive becomes the new folder.

    Members outside the folder, devices, and links that lead outside are refused. Python before
    3.11.4 cannot check the members of a tar archive, so a tar archive is refused there.

    Raises:
        ToolError: The archive cannot be read, has such a member, or cannot be checked.
        OSError: The files cannot be written.
    """
    if archive.suffix != ".zip" and not hasattr(tarfile, "data_filter"):
        raise ToolError(
            f"{quoted(archive)} is not unpacked, because this Python cannot check a tar archive; "
            "install Python 3.11.4 or later, or give a .zip archive or a folder"
        )
    inside = target.with_name(f"{target.name}.unpacked")
    inside.mkdir(mode=0o700)
    try:
        if archive.suffix == ".zip":
            with zipfile.ZipFile(archive) as opened:
                opened.extractall(inside)  # noqa: S202 - zipfile drops `..` and roots
        else:
            with tarfile.open(archive) as packed:
                packed.extractall(inside, filter="data")
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, RuntimeError) as error:
        raise ToolError(f"{quoted(archive)} cannot be unpacked: {error}") from error
    names = [one.name for one in inside.iterdir()]
    only = inside / names[0] if len(names) == 1 else inside
    is_folder = stat.S_ISDIR(os.lstat(only).st_mode)
    (only if is_folder else inside).rename(target)
    if is_folder and only != inside:
        inside.rmdir()
