"""The package that users install: its contents, its size, and the installation of its server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from editors.place import missing

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "vscode-extension"
LIMIT = 2_200_000  # limit in bytes; the server takes 1.3 MB, and the code for colouring 0.25 MB
INSTALL_S = 280  # limit for a busy machine; an idle machine needs 30 s
BESIDE = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
NODE = shutil.which("node", path=BESIDE)

ALLOWED = re.compile(
    r"package\.json|readme\.md|changelog\.md|LICENSE\.txt"
    r"|dist/(extension\.js|client\.js|colours\.js|onig\.wasm|webview\.js|webview\.css|codicon\.ttf)"
    r"|dist/THIRD-PARTY\.txt"
    r"|media/[\w-]+\.(svg|png)|walkthrough/[\w-]+\.(md|svg|png)"
    r"|server/(indwell-[\w.]+-py3-none-any\.whl|requirements\.txt)"
)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if NODE is None or not (EXTENSION / "node_modules").is_dir():
        missing("Node or the extension's packages are not installed: scripts/setup")
    out = tmp_path_factory.mktemp("package")
    command = [str(ROOT / "scripts" / "package-vscode"), str(out)]
    made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert made.returncode == 0, made.stderr
    return next(out.glob("*.vsix"))


def inside(package: Path) -> list[str]:
    with ZipFile(package) as archive:
        return [name[10:] for name in archive.namelist() if name.startswith("extension/")]


def read(package: Path, name: str) -> str:
    with ZipFile(package) as archive:
        return archive.read(f"extension/{name}").decode("utf-8")


def test_the_package_contains_only_run_time_files(package: Path) -> None:
    assert [name for name in inside(package) if not ALLOWED.fullmatch(name)] == []


def test_the_package_contains_every_file_in_its_manifest(package: Path) -> None:
    names = set(inside(package))
    manifest = read(package, "package.json")
    built = re.findall(r'"(?:\./)?(dist/[\w./-]+)"', manifest)
    drawn = re.findall(r'"((?:media|walkthrough)/[\w./-]+)"', manifest)
    assert built
    assert {*built, *drawn} - names == set()
    assert {
        "LICENSE.txt",
        "changelog.md",
        "dist/client.js",
        "dist/THIRD-PARTY.txt",
        "server/requirements.txt",
    } <= names


def test_the_package_is_small(package: Path) -> None:
    assert package.stat().st_size <= LIMIT


def test_the_package_has_no_source_map_no_local_path_and_no_other_version(package: Path) -> None:
    for name in ("dist/extension.js", "dist/client.js", "dist/webview.js"):
        text = read(package, name)
        assert "sourceMappingURL" not in text
        assert str(ROOT) not in text
    version = json.loads(read(package, "package.json"))["version"]
    assert f"server/indwell-{version}-py3-none-any.whl" in inside(package)


def test_the_packaged_manifest_has_no_development_fields(package: Path) -> None:
    shipped = json.loads(read(package, "package.json"))
    written = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    dropped = {"private", "scripts", "devDependencies", "dependencies"}
    assert shipped == {name: it for name, it in written.items() if name not in dropped}


def test_the_changelog_is_of_this_version(package: Path) -> None:
    version = json.loads(read(package, "package.json"))["version"]
    assert f"\n## {version}\n" in read(package, "changelog.md")


def test_the_packaged_readme_names_the_installation_requirements(package: Path) -> None:
    page = read(package, "readme.md")
    engine = json.loads(read(package, "package.json"))["engines"]["vscode"]
    assert engine.removeprefix("^").removesuffix(".0") in page
    for need in ("package index", "150 MB", "Python 3.11"):
        assert need in page, need
    keys = json.loads(read(package, "package.json"))["contributes"]["keybindings"]
    told = page.lower().replace("`", "").replace("+", " ")
    assert [one["key"] for one in keys if one["key"].replace("+", " ") not in told] == []


def test_every_package_in_the_bundles_is_named_with_its_licence(package: Path) -> None:
    notices = read(package, "dist/THIRD-PARTY.txt")
    for name in ("preact", "vscode-textmate", "vscode-languageclient", "@vscode/codicons"):
        assert re.search(rf"^{re.escape(name)} [\d.]+ \(", notices, re.MULTILINE), name


@pytest.mark.timeout(INSTALL_S + 20)
def test_the_packaged_server_installs_into_its_own_folder(package: Path, tmp_path: Path) -> None:
    with ZipFile(package) as archive:
        archive.extractall(tmp_path)
    command = [str(NODE), "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", "--test"]
    ran = subprocess.run(
        [*command, str(EXTENSION / "test" / "install" / "install.test.ts")],
        env={**os.environ, "INDWELL_BUNDLE": str(tmp_path / "extension" / "server")},
        capture_output=True,
        text=True,
        check=False,
        timeout=INSTALL_S,
    )
    assert ran.returncode == 0, ran.stdout


def test_the_lock_file_names_no_registry_and_covers_every_platform() -> None:
    # If a registry lacks a platform's part, npm drops the part from the lock, then refuses the
    # lock.
    packages = json.loads((EXTENSION / "package-lock.json").read_text("utf-8"))["packages"]
    assert [name for name, entry in packages.items() if "resolved" in entry] == []
    wanted = {
        f"node_modules/{part}"
        for entry in packages.values()
        for part in entry.get("optionalDependencies", {})
        if part.startswith(("@biomejs/", "@esbuild/", "@typescript/"))
    }
    assert len(wanted) > 40  # the lock has three tools, each for many platforms
    assert wanted - set(packages) == set()
