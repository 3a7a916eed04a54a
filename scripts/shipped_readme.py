"""Print a README.md as users receive it: each of its links and pictures has an address that works.

    python scripts/shipped_readme.py FOLDER

FOLDER is the checkout, whose page is for the package index, or its folder `vscode-extension`, whose
page is for the marketplaces. `Source` in `[project.urls]` of pyproject.toml is the one place with
the project's public address. With it, a relative link leads to the file at the tag of this version.
Without it, a link becomes its words and the path of the file, and pictures are left out: VS Code
shows no picture of a README but one with an https address, neither a file of the package nor data
in the page.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

FORMS: Mapping[str, tuple[str, str]] = {
    "github": ("blob", "raw"),
    "gitlab": ("-/blob", "-/raw"),
    "codeberg": ("src/tag", "raw/tag"),
}
"""How a forge addresses the page of a file and the file itself, by a word in the forge's host."""
TAG = "v{version}"  # the tag of a release
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https://|#)([^)\s]+)\)")


def addresses(project: Mapping[str, object]) -> dict[str, str]:
    """Return the public addresses: of the source, of the reports of problems, and the homepage.

    Args:
        project: the table `[project]` of pyproject.toml.

    Returns:
        Nothing if the table has no address of the source.
    """
    urls = project.get("urls")
    if not isinstance(urls, dict) or not urls.get("Source"):
        return {}
    source = urls["Source"].rstrip("/").removesuffix(".git")
    return {
        "source": source,
        "issues": urls.get("Issues", f"{source}/issues"),
        "homepage": urls.get("Homepage", source),
    }


def shipped(page: str, folder: str, project: Mapping[str, object]) -> str:
    """Return the page with absolute links, or without links if there is no public address.

    Args:
        page: the Markdown of the page.
        folder: the folder of the page in the checkout, `""` or one that ends with a slash.
        project: the table `[project]` of pyproject.toml.

    Raises:
        SystemExit: The forge is none of `FORMS`.
    """
    source = addresses(project).get("source", "")
    host = urlsplit(source).hostname or ""
    forms = next((FORMS[word] for word in FORMS if word in host.split(".")), None)
    if source and forms is None:
        raise SystemExit(
            f"{host} is not a forge that this script knows ({', '.join(FORMS)}): "
            "add to FORMS in scripts/shipped_readme.py how it addresses a file"
        )
    tag = TAG.format(version=project["version"])

    def addressed(found: re.Match[str]) -> str:
        sign, words, path = found.groups()
        if forms is None:
            return "" if sign else _plain(words, path.partition("#")[0])
        return f"{sign}[{words}]({source}/{forms[bool(sign)]}/{tag}/{folder}{path})"

    return re.sub(r"\n{3,}", "\n\n", LINK.sub(addressed, page))


def _plain(words: str, path: str) -> str:
    return f"`{path}`" if path.startswith(words) else f"{words} (`{path}`)"


def project_of(root: Path) -> dict[str, object]:
    """Return the table `[project]` of pyproject.toml in ``root``."""
    return dict(tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"])


def main() -> None:
    """Print the page of the folder that the first argument names."""
    folder = Path(sys.argv[1]).resolve()
    is_root = (folder / "pyproject.toml").exists()
    root = folder if is_root else folder.parent
    page = (folder / "README.md").read_text("utf-8")
    sys.stdout.write(shipped(page, "" if is_root else f"{folder.name}/", project_of(root)))


if __name__ == "__main__":
    main()
