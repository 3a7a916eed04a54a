"""Write the recipes of package managers for a release: Homebrew, Arch Linux (AUR) and Nix.

    python scripts/recipes/write.py FOLDER ADDRESS

FOLDER has the wheel of the release. ADDRESS is where the maintainer uploads the files of FOLDER.
The script copies the pinned requirements into FOLDER, because the recipes install them by hash, and
writes the recipes into FOLDER/recipes. Equal input gives equal bytes.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from shipped_readme import addresses, project_of  # noqa: E402 - of the folder above

REQUIREMENTS = HERE.parents[1] / "requirements" / "runtime.txt"
NAMES = ("PKGBUILD", "indwell.rb", "package.nix")
_FIELD = re.compile(r"@([A-Z0-9_]{5,})@")


def write(folder: Path, address: str) -> None:
    """Write the recipes.

    Raises:
        SystemExit: The address is not one of https, or the folder has not one wheel.
    """
    if not re.fullmatch(r"https://[\w.:/~-]+", address):
        raise SystemExit(f"{address!r} is not an address with https")
    wheels = sorted(folder.glob("indwell-*.whl"))
    if len(wheels) != 1:
        raise SystemExit(f"{folder} has {len(wheels)} wheels of Indwell instead of one")
    (wheel,) = wheels
    requirements = folder / "requirements.txt"
    shutil.copyfile(REQUIREMENTS, requirements)
    values = {
        "ADDRESS": address.rstrip("/"),
        "HOMEPAGE": addresses(project_of(HERE.parents[1])).get("homepage", address.rstrip("/")),
        "MAINTAINER": "NAME <ADDRESS>",
        "VERSION": wheel.name.split("-")[1],
        "WHEEL": wheel.name,
        "WHEEL_SHA256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "REQUIREMENTS_SHA256": hashlib.sha256(requirements.read_bytes()).hexdigest(),
    }
    (folder / "recipes").mkdir(exist_ok=True)
    for name in NAMES:
        text = _FIELD.sub(lambda found: values[found[1]], (HERE / name).read_text("utf-8"))
        (folder / "recipes" / name).write_text(text, "utf-8", newline="\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]), sys.argv[2])
