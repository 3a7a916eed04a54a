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
LIMIT = 2_600_000  # limit in bytes; the server takes 1.8 MB, and the code for colouring 0.25 MB
MARKETPLACE_PICTURE = 1_500_000  # limit of a README picture in bytes
INSTALL_S = 280  # limit for a busy machine; an idle machine needs 30 s
BESIDE = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
NODE = shutil.which("node", path=BESIDE)

LANGUAGES = ("de", "zh-cn")
STATES = ("asking", "plain", "running")
ALWAYS = {
    *("package.json", "readme.md", "changelog.md", "LICENSE.txt"),
    *(f"dist/{name}.js" for name in ("extension", "client", "colours", "webview")),
    *("dist/onig.wasm", "dist/webview.css", "dist/codicon.ttf", "dist/THIRD-PARTY.txt"),
    *(f"l10n/bundle.l10n.{language}.json" for language in LANGUAGES),
    *(f"package.nls{language}.json" for language in ("", *(f".{one}" for one in LANGUAGES))),
    *("media/icon.png", "media/indwell.svg", "server/requirements.txt"),
    *(f"media/tab/{state}-{theme}.svg" for state in STATES for theme in ("dark", "light")),
    *(
        f"walkthrough/{name}.svg"
        for name in ("ask", "fix", "model", "permission", "review", "trust")
    ),
}
FORGE = "https://github.example/us/indwell"
ADDRESSED = f'[project]\nversion = "1.2.3"\n[project.urls]\nSource = "{FORGE}"\n'


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if NODE is None or not (EXTENSION / "node_modules").is_dir():
        missing("Node or the extension's packages are not installed: scripts/setup")
    out = tmp_path_factory.mktemp("package")
    command = [str(ROOT / "scripts" / "package-vscode"), str(out)]
    made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert made.returncode == 0, made.stderr
    return next(out.glob("*.vsix"))


def inside(package: Path) -> list[str]:
    with ZipFile(package) as archive:
        return [name[10:] for name in archive.namelist() if name.startswith("extension/")]


def read(package: Path, name: str) -> str:
    with ZipFile(package) as archive:
        return archive.read(f"extension/{name}").decode("utf-8")


def test_the_package_contains_exactly_the_run_time_files(package: Path) -> None:
    version = json.loads(read(package, "package.json"))["version"]
    assert set(inside(package)) == {*ALWAYS, f"server/indwell-{version}-py3-none-any.whl"}


def test_the_package_contains_every_file_in_its_manifest(package: Path) -> None:
    manifest = read(package, "package.json")
    built = re.findall(r'"(?:\./)?(dist/[\w./-]+)"', manifest)
    drawn = re.findall(r'"((?:media|walkthrough)/[\w./-]+)"', manifest)
    assert built
    assert {*built, *drawn} - set(inside(package)) == set()


def test_the_packaged_readme_has_no_picture_that_vscode_would_not_show(package: Path) -> None:
    """Without a public address of the project, no picture is left."""
    assert re.findall(r"!\[[^\]]*\]\((?!https://)", read(package, "readme.md")) == []


def test_the_readme_names_pictures_by_the_address_of_the_forge_if_there_is_one(
    tmp_path: Path,
) -> None:
    page = of_addressed("shipped_readme.py", EXTENSION / "README.md", tmp_path)
    addresses = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", page)
    assert f"{FORGE}/raw/v1.2.3/vscode-extension/pictures/recording.gif" in addresses
    assert len(addresses) > 3
    for address in addresses:
        path = address.removeprefix(f"{FORGE}/raw/v1.2.3/")
        assert (ROOT / path).stat().st_size < MARKETPLACE_PICTURE, path


def of_addressed(script: str, file: Path, root: Path) -> str:
    """Run a script on a copy of the file, in a checkout whose project has an address."""
    (root / "pyproject.toml").write_text(ADDRESSED, "utf-8")
    folder = root / "vscode-extension"
    folder.mkdir(exist_ok=True)
    copied = shutil.copy(file, folder)
    about = folder if file.name == "README.md" else copied
    command = [sys.executable, str(ROOT / "scripts" / script), str(about)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_package_without_public_addresses_cannot_be_published(
    package: Path, tmp_path: Path
) -> None:
    manifest = of_addressed("shipped_manifest.py", EXTENSION / "package.json", tmp_path)
    page = of_addressed("shipped_readme.py", EXTENSION / "README.md", tmp_path)
    addressed, refused = tmp_path / "addressed.vsix", tmp_path / "refused.vsix"
    fields = ("repository", "bugs", "homepage")
    bare = {name: it for name, it in json.loads(manifest).items() if name not in fields}
    for made, texts in (
        (addressed, (manifest, page)),
        (refused, (json.dumps(bare), "# Indwell")),
    ):
        new = dict(zip(("package.json", "readme.md"), texts, strict=True))
        with ZipFile(package) as old, ZipFile(made, "w") as archive:
            for name in old.namelist():
                content = new.get(name.removeprefix("extension/"))
                archive.writestr(name, old.read(name) if content is None else content)
    assert published(addressed).stderr == ""
    said = published(refused)
    assert said.returncode == 1
    for field in fields:
        assert f"package.json has no https address in `{field}`" in said.stderr
    assert "the README has no picture" in said.stderr


def published(package: Path) -> subprocess.CompletedProcess[str]:
    script = ROOT / "scripts" / "ready_to_publish.py"
    command = [sys.executable, str(script), str(package)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


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
    texts = json.loads(read(package, "package.nls.json"))
    named = re.sub(
        r'"%(\w+)%"', lambda name: json.dumps(texts[name[1]]), read(package, "package.json")
    )
    shipped = json.loads(named)
    written = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    dropped = {"private", "scripts", "devDependencies", "dependencies"}
    for name in ("repository", "bugs", "homepage"):  # of pyproject.toml, once it has an address
        shipped.pop(name, None)
    assert shipped == {name: it for name, it in written.items() if name not in dropped}


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_every_text_of_the_manifest(package: Path, language: str) -> None:
    english = json.loads(read(package, "package.nls.json"))
    other = json.loads(read(package, f"package.nls.{language}.json"))
    assert set(other) == set(english)
    assert sum(other[name] != text for name, text in english.items()) > len(english) * 0.95


def test_the_packaged_changelog_describes_this_version(package: Path) -> None:
    version = json.loads(read(package, "package.json"))["version"]
    assert f"\n## {version}\n" in read(package, "changelog.md")


def test_the_packaged_readme_names_the_installation_requirements(package: Path) -> None:
    page = read(package, "readme.md")
    engine = json.loads(read(package, "package.json"))["engines"]["vscode"]
    assert engine.removeprefix("^").removesuffix(".0") in page
    for need in ("package index", "150 MB", "Python 3.11"):
        assert need in page, need
    keys = json.loads(read(package, "package.json"))["contributes"]["keybindings"]
    page_words = page.lower().replace("`", "").replace("+", " ")
    assert [one["key"] for one in keys if one["key"].replace("+", " ") not in page_words] == []


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
