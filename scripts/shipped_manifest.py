"""Print a package.json as users receive it: with the project's addresses of pyproject.toml.

The fields that only this checkout needs are left out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from shipped_readme import addresses, project_of

OURS = frozenset(["private", "scripts", "devDependencies", "dependencies"])
"""The packages that the extension depends on are in its bundles."""


def main() -> None:
    """Print the file that the first argument names."""
    path = Path(sys.argv[1]).resolve()
    manifest = json.loads(path.read_text("utf-8"))
    shipped = {name: it for name, it in manifest.items() if name not in OURS}
    if known := addresses(project_of(path.parents[1])):
        shipped["repository"] = {"type": "git", "url": known["source"]}
        shipped["bugs"] = {"url": known["issues"]}
        shipped["homepage"] = known["homepage"]
    sys.stdout.write(json.dumps(shipped, indent=2) + "\n")


if __name__ == "__main__":
    main()
