"""Print the extension's README.md as users receive it: each picture has an address that works.

With a `repository` in package.json, a picture's address is the one on that forge, as the
marketplaces demand. Without a repository the pictures are left out: VS Code shows no picture of a
README but one with an https address, neither a file of the package nor data in the page.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

PICTURE = re.compile(r"^!\[([^\]]*)\]\((pictures/[\w.-]+)\)$", re.MULTILINE)


def shipped(folder: Path) -> str:
    """Return the page of the extension in ``folder``."""
    manifest = json.loads((folder / "package.json").read_text("utf-8"))
    forge = str(manifest.get("repository", {}).get("url", "")).removesuffix(".git")

    def addressed(found: re.Match[str]) -> str:
        words, path = found.groups()
        return f"![{words}]({forge}/raw/HEAD/{folder.name}/{path})" if forge else ""

    page = PICTURE.sub(addressed, (folder / "README.md").read_text("utf-8"))
    return re.sub(r"\n{3,}", "\n\n", page)


if __name__ == "__main__":
    sys.stdout.write(shipped(Path(sys.argv[1]).resolve()))
