"""Tests the public CI and the release check for correct names, although neither runs here."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
FORGE = ROOT / ".ci" / "github-actions.yml"
PAGE = ROOT / "docs" / "platforms.md"
sys.path.insert(0, str(ROOT / "scripts"))
wheels = importlib.import_module("wheels")


def jobs() -> dict[str, Any]:
    return yaml.safe_load(FORGE.read_text("utf-8"))["jobs"]


def commands() -> list[str]:
    return [step["run"] for job in jobs().values() for step in job["steps"] if "run" in step]


def classified() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert project["requires-python"] == f">={found[0]}"
    return found


def test_every_script_and_folder_that_the_forge_names_exists() -> None:
    words = " ".join(commands()).split()
    named = [one for one in words if re.match(r"(\.ci|scripts|tests|vscode-extension)/", one)]
    assert len(named) > 20
    assert [one for one in named if not (ROOT / one).exists()] == []


def test_the_forge_runs_each_python_that_the_package_names_on_three_systems() -> None:
    matrix = jobs()["tests"]["strategy"]["matrix"]
    systems = ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert matrix == {"os": systems, "python": classified()}
    assert jobs()["vscode"]["strategy"]["matrix"] == {"os": systems}


def test_the_forge_runs_every_folder_of_tests_that_needs_no_system_program() -> None:
    run = set(re.findall(r"tests/(\w+)", " ".join(commands())))
    quick = re.search(r'together="([^"]*)"', (ROOT / "scripts" / "test").read_text("utf-8"))
    assert quick is not None
    left_out = {"house"}  # these tests check the repository itself, so one system is enough
    assert set(quick[1].split()) - left_out <= run


def test_the_public_ci_runs_all_tests_of_the_windows_lane() -> None:
    script = (ROOT / "scripts" / "test-windows").read_text("utf-8")
    whole = re.search(r'^whole="([^"]*)"', script, re.MULTILINE)
    assert whole is not None
    steps = [one for one in jobs()["tests"]["steps"] if "run" in one]
    elsewhere = ("runner.os == 'Linux'", "runner.os != 'Windows'")
    run = set(" ".join(one["run"] for one in steps if one.get("if") not in elsewhere).split())
    either = {one: {f"tests/{one}", f"tests/{one.partition('/')[0]}"} for one in whole[1].split()}
    assert [one for one, paths in either.items() if not paths & run] == []


def test_the_forge_pins_every_action_and_names_no_registry() -> None:
    text = FORGE.read_text("utf-8")
    used = re.findall(r"uses: (\S+)", text)
    assert used
    assert [one for one in used if not re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", one)] == []
    assert "://" not in text
    assert not re.search(r"\b(pypi|npmjs|registry)\b", text)


def test_a_pinned_version_applies_where_its_marker_is_true() -> None:
    text = (
        "# a comment\n"
        "a==1 \\\n    --hash=sha256:00\n    # via b\n"
        "b==2 ; sys_platform == 'win32' \\\n    --hash=sha256:00\n"
        "c==3 ; python_full_version < '3.12' \\\n    --hash=sha256:00\n"
    )
    pins = list(wheels.pinned(text))
    assert wheels.needed(pins, "linux", "x86_64", "3.11") == ["a==1", "c==3"]
    assert wheels.needed(pins, "win32", "ARM64", "3.14") == ["a==1", "b==2"]


def test_the_release_looks_for_wheels_of_each_python_that_the_package_names() -> None:
    assert list(wheels.PYTHONS) == classified()


def test_the_page_of_platforms_lists_the_wheels_of_every_platform() -> None:
    text = PAGE.read_text("utf-8")
    assert f"| platform | {' | '.join(wheels.PYTHONS)} |" in text
    assert [one for one in wheels.PLATFORMS if f"\n| {one} | " not in text] == []
    assert [one for one, words in wheels.FALLBACKS.items() if f"{one}: {words}" not in text] == []


def test_every_fallback_is_of_a_pinned_package() -> None:
    names = {one.name for one in wheels.pinned(wheels.REQUIREMENTS.read_text("utf-8"))}
    assert names >= wheels.FALLBACKS.keys()
