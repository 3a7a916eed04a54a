"""Print the extension's README.md as users receive it: each picture has an address that works.

With a `repository` in package.json, a picture's address is the one on that forge, as the
marketplaces demand. Without a repository the package itself has to bring the pictures, as data. The
recording is too large for that, and its line is left out.
"""

from __future__ import annotations

import json
import re
import sys
from base64 import b64encode
from pathlib import Path

PICTURE = re.compile(r"^!\[([^\]]*)\]\((pictures/[\w.-]+)\)$", re.MULTILINE)
LARGEST_B = 100_000  # of a picture that the package brings


def shipped(folder: Path) -> str:
    """Return the page of the extension in ``folder``."""
    manifest = json.loads((folder / "package.json").read_text("utf-8"))
    forge = str(manifest.get("repository", {}).get("url", "")).removesuffix(".git")

    def addressed(found: re.Match[str]) -> str:
        words, path = found.groups()
        if forge:
            return f"![{words}]({forge}/raw/HEAD/{folder.name}/{path})"
        content = (folder / path).read_bytes()
        if len(content) > LARGEST_B:
            return ""
        return f"![{words}](data:image/{path[-3:]};base64,{b64encode(content).decode()})"

    page = PICTURE.sub(addressed, (folder / "README.md").read_text("utf-8"))
    return re.sub(r"\n{3,}", "\n\n", page)


if __name__ == "__main__":
    sys.stdout.write(shipped(Path(sys.argv[1]).resolve()))
