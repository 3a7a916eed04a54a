"""Print a package.json or `indwell.el` as users receive it: with the addresses of pyproject.toml.

The fields of a package.json that only this checkout needs are left out.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from shipped_readme import addresses, project_of

OURS = frozenset(["private", "scripts", "devDependencies", "dependencies"])
"""The packages that the extension depends on are in its bundles."""


def emacs_package(text: str, project: Mapping[str, object]) -> str:
    """Return the Emacs package with a URL header, or unchanged if there is no public address.

    Args:
        text: the package's source, with a header `Version`.
        project: the table `[project]` of pyproject.toml.
    """
    homepage = addresses(project).get("homepage")
    if homepage is None:
        return text
    return re.sub(r"(?m)^;; Version:.*\n", lambda it: f"{it[0]};; URL: {homepage}\n", text, count=1)


def main() -> None:
    """Print the file that the first argument names."""
    path = Path(sys.argv[1]).resolve()
    if path.suffix == ".el":
        root = next(one for one in path.parents if (one / "pyproject.toml").exists())
        sys.stdout.write(emacs_package(path.read_text("utf-8"), project_of(root)))
        return
    manifest = json.loads(path.read_text("utf-8"))
    shipped = {name: it for name, it in manifest.items() if name not in OURS}
    if known := addresses(project_of(path.parents[1])):
        shipped["repository"] = {"type": "git", "url": known["source"]}
        shipped["bugs"] = {"url": known["issues"]}
        shipped["homepage"] = known["homepage"]
    sys.stdout.write(json.dumps(shipped, indent=2) + "\n")


if __name__ == "__main__":
    main()
