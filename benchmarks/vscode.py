"""Measures the VS Code extension: activation without the server, and the package's size.

    python benchmarks/vscode.py [--json]

Node loads the bundle with a fake `vscode` in a new process each time. For comparison, the script
loads an extension that does nothing, and one that makes a language client during activation, as
most do. The figures are median milliseconds. The script needs the packages that `scripts/setup`
installs.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from zipfile import ZipFile

from report import show

ROOT = Path(__file__).resolve().parents[1]
EXTENSION = ROOT / "vscode-extension"
NODE = str(Path(sys.executable).parent / "node")
ROUNDS = 15
GOAL_MS = 50
GOAL_KB = 1_500

NOTHING = "exports.activate = () => {};"
USUAL = """
import { LanguageClient } from "vscode-languageclient/node";
export const activate = (context) => context.subscriptions.push(() => LanguageClient);
"""


def bundled(folder: Path, text: str) -> Path:
    """Return the bundle of an extension with this text, made like ours."""
    out = folder / f"{abs(hash(text))}.js"
    flags = ["--bundle", "--minify", "--platform=node", "--external:vscode", f"--outfile={out}"]
    program = str(EXTENSION / "node_modules" / ".bin" / "esbuild")
    subprocess.run(
        [program, *flags, "--log-level=error"], cwd=EXTENSION, input=text, text=True, check=True
    )
    return out


def once(bundle: Path) -> dict[str, float]:
    command = [NODE, str(ROOT / "benchmarks" / "activation.mjs"), str(bundle)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        packaging = [str(ROOT / "scripts" / "package-vscode"), name]
        package = Path(
            subprocess.run(packaging, capture_output=True, text=True, check=True).stdout.strip()
        )
        with ZipFile(package) as archive:
            archive.extractall(folder)
            ours = folder / "extension" / "dist" / "extension.js"
            sizes = {entry.filename: entry.compress_size for entry in archive.infolist()}
        bundles = {
            "does nothing": bundled(folder, NOTHING),
            "indwell": ours,
            "makes a client at once": bundled(folder, USUAL),
        }
        taken: dict[str, list[dict[str, float]]] = {name: [] for name in bundles}
        for _ in range(ROUNDS):
            for which, bundle in bundles.items():
                taken[which].append(once(bundle))
        whole_kb = package.stat().st_size / 1e3
    medians = {
        name: [statistics.median(one[key] for one in rows) for key in ("load", "activate")]
        for name, rows in taken.items()
    }
    fastest = {
        name: min(one["load"] + one["activate"] for one in rows) for name, rows in taken.items()
    }
    usual = sum(medians["makes a client at once"])
    show(
        f"Activation without the server, milliseconds, median of {ROUNDS}",
        {
            name: {
                "load": load,
                "activate": activate,
                "both": load + activate,
                "fastest": fastest[name],
                "ratio": (load + activate) / usual,
            }
            for name, (load, activate) in medians.items()
        },
        goal=f"both ≤ {GOAL_MS} ms",
    )
    parts = {
        "the server's wheel": "server/indwell",
        "the rest of server/": "server/req",
        "dist/": "dist/",
    }
    rows = {
        title: {"kB": sum(size for path, size in sizes.items() if f"/{part}" in path) / 1e3}
        for title, part in parts.items()
    }
    rows["the package"] = {"kB": whole_kb}
    show("Size of the package", rows, goal=f"the package ≤ {GOAL_KB} kB")


if __name__ == "__main__":
    main()
