"""Ask pip's configured index for wheels of every runtime dependency, for each system and Python.

    python scripts/wheels.py [--platform WORD]

The script checks a release in five minutes; CI never runs it. The script prints the table of
docs/platforms.md. The exit code is 1 if a package has no wheel on a platform and no entry in
`FALLBACKS`.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from packaging.requirements import Requirement

REQUIREMENTS = Path(__file__).resolve().parents[1] / "requirements" / "runtime.txt"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "Linux x86_64, glibc": ("linux", "x86_64", ("manylinux_2_28_x86_64", "manylinux2014_x86_64")),
    "Linux arm64, glibc": ("linux", "aarch64", ("manylinux_2_28_aarch64", "manylinux2014_aarch64")),
    "Linux x86_64, musl": ("linux", "x86_64", ("musllinux_1_2_x86_64", "musllinux_1_1_x86_64")),
    "Linux arm64, musl": ("linux", "aarch64", ("musllinux_1_2_aarch64", "musllinux_1_1_aarch64")),
    "macOS arm64": ("darwin", "arm64", ("macosx_14_0_arm64",)),
    "macOS x86_64": ("darwin", "x86_64", ("macosx_13_0_x86_64",)),
    "Windows amd64": ("win32", "AMD64", ("win_amd64",)),
    "Windows arm64": ("win32", "ARM64", ("win_arm64",)),
}
"""The platform's `sys.platform`, its machine, and the tags that pip looks for."""
FALLBACKS: Mapping[str, str] = {
    "pyyaml": "pip builds it without its C part, which needs no compiler",
    "tree-sitter": "pip compiles it: install gcc, musl-dev and python3-dev first",
    "watchdog": "pip builds it from source; on Linux that needs no compiler",
}
_MISSING = re.compile(r"No matching distribution found for ([A-Za-z0-9._-]+)==")


def pinned(text: str) -> Iterator[Requirement]:
    """Yield the requirements of a file of pins and hashes."""
    for line in text.splitlines():
        if line[:1].isalnum():
            yield Requirement(line.rstrip("\\ "))


def needed(pins: Iterable[Requirement], platform: str, machine: str, python: str) -> list[str]:
    """Return the pins whose marker holds on another system, as `name==version`."""
    environment = {
        "sys_platform": platform,
        "platform_machine": machine,
        "platform_system": {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}[platform],
        "os_name": "nt" if platform == "win32" else "posix",
        "python_version": python,
        "python_full_version": f"{python}.0",
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
    }
    return [
        f"{pin.name}{pin.specifier}"
        for pin in pins
        if pin.marker is None or pin.marker.evaluate(environment)
    ]


def without_wheel(pins: list[str], tags: tuple[str, ...], python: str) -> list[str]:
    """Return the names of the pins for which pip finds no wheel; nothing is installed.

    Raises:
        SystemExit: pip fails for another reason.
    """
    missing: list[str] = []
    wanted = list(pins)
    while wanted:
        told = _pip(wanted, tags, python)
        if told.returncode == 0:
            assert len(json.loads(told.stdout)["install"]) == len(wanted)
            return missing
        found = _MISSING.search(told.stderr)
        if found is None:
            sys.exit(told.stderr)
        missing.append(found[1])
        wanted = [one for one in wanted if not one.startswith(f"{found[1]}==")]
    return missing


def _pip(wanted: list[str], tags: tuple[str, ...], python: str) -> subprocess.CompletedProcess[str]:
    platforms = [word for tag in tags for word in ("--platform", tag)]
    with tempfile.TemporaryDirectory() as nowhere:
        return subprocess.run(
            [
                *(sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"),
                *("--dry-run", "--report", "-", "--no-deps", "--only-binary", ":all:"),
                *("--ignore-installed", "--target", nowhere, "--python-version", python),
                *platforms,
                *wanted,
            ],
            capture_output=True,
            encoding="utf-8",
            check=False,
        )


def main() -> int:
    """Print the table; return 1 if a wheel is missing and has no fallback."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--platform", default="", help="only the platforms with this word")
    chosen = parser.parse_args().platform
    pins = list(pinned(REQUIREMENTS.read_text(encoding="utf-8")))
    lost: set[str] = set()
    print(f"| platform | {' | '.join(PYTHONS)} |\n| --- {'| --- ' * len(PYTHONS)}|")
    for label, (platform, machine, tags) in PLATFORMS.items():
        if chosen not in label:
            continue
        cells = []
        for python in PYTHONS:
            missing = without_wheel(needed(pins, platform, machine, python), tags, python)
            lost.update(missing)
            cells.append(f"not {', '.join(missing)}" if missing else "all")
        print(f"| {label} | {' | '.join(cells)} |", flush=True)
    for name in sorted(lost):
        print(f"\n{name}: {FALLBACKS.get(name, 'nothing replaces it')}")
    return int(not lost <= FALLBACKS.keys())


if __name__ == "__main__":
    sys.exit(main())
