"""Say what keeps packages from a marketplace or the package index; exits with 1 if something does.

    python scripts/ready_to_publish.py FILE …

For a package of the extension (.vsix), the rules are those of VS Code's marketplace and of Open
VSX, as far as a package shows them. For a wheel, the page that the index makes from the wheel must
have addresses, and links that work there.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

ADDRESSES = {
    "repository": "the public address of the source",
    "bugs": "where users report a problem",
    "homepage": "the page about the extension",
}
WANTED = ("publisher", "version", "license", "icon", "engines", "categories", "description")
MOST_KEYWORDS = 30  # A marketplace refuses more.
SMALLEST_ICON = 128
PNG_WIDTH = slice(16, 20)


def problems(package: Path) -> Iterator[str]:
    """Give one sentence for each reason not to publish the package."""
    if package.suffix == ".whl":
        yield from _of_wheel(package)
        return
    with ZipFile(package) as archive:
        names = set(archive.namelist())
        manifest = json.loads(archive.read("extension/package.json"))
        page = archive.read("extension/readme.md").decode() if _README in names else ""
        icon = archive.read(f"extension/{manifest.get('icon')}") if "icon" in manifest else b""
    for field, what in ADDRESSES.items():
        if not _address(manifest.get(field)).startswith("https://"):
            yield f"package.json has no https address in `{field}`, {what}: {_SET}"
    yield from (f"package.json has no `{field}`" for field in WANTED if not manifest.get(field))
    if manifest.get("private"):
        yield "package.json says that the extension is private"
    if len(manifest.get("keywords", ())) > MOST_KEYWORDS:
        yield f"package.json has more than {MOST_KEYWORDS} keywords"
    if int.from_bytes(icon[PNG_WIDTH]) < SMALLEST_ICON:
        yield f"the icon is no PNG of {SMALLEST_ICON} pixels or more"
    for file in ("extension/LICENSE.txt", _README, "extension/changelog.md"):
        if file not in names:
            yield f"the package has no {file.removeprefix('extension/')}"
    yield from _of_pictures(page)


def _of_wheel(package: Path) -> Iterator[str]:
    with ZipFile(package) as archive:
        names = archive.namelist()
        page = next(one for one in names if one.endswith(".dist-info/METADATA"))
        facts = message_from_bytes(archive.read(page))
    if not facts.get_all("Project-URL"):
        yield f"the index shows no address of the source: {_SET}"
    links = re.findall(r"\]\(([^)\s]+)\)", str(facts.get_payload()))
    if lost := [one for one in links if not re.match(r"https://|#", one)]:
        yield f"{len(lost)} links of the README lead nowhere on the index, such as {lost[0]}"
    if not any(re.search(r"\.dist-info/licenses/LICEN[CS]E", one) for one in names):
        yield "the wheel has no licence file"


def _of_pictures(page: str) -> Iterator[str]:
    addresses = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page)
    if not addresses:
        yield "the README has no picture"
    for address in addresses:
        if not address.startswith("https://"):
            yield f"a picture of the README has no https address: {address[:40]}"


_README = "extension/readme.md"
_SET = "set `Source` in `[project.urls]` of pyproject.toml"


def _address(field: object) -> str:
    return str(field.get("url", "")) if isinstance(field, dict) else str(field or "")


def main() -> int:
    """Check the packages that the arguments name."""
    found = [f"{path}: {one}" for path in sys.argv[1:] for one in problems(Path(path))]
    for line in found:
        sys.stderr.write(f"{line}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
