"""Tests completions, the man page, the list of parts, and the release script."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import pytest
import tree_sitter_ruby
from tree_sitter import Language, Parser

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
install_check = importlib.import_module("install_check")
shell_files = importlib.import_module("shell_files")
newcomer = importlib.import_module("newcomer")
ready_to_publish = importlib.import_module("ready_to_publish")
shipped_parts = importlib.import_module("shipped_parts")
shipped_manifest = importlib.import_module("shipped_manifest")
shipped_readme = importlib.import_module("shipped_readme")

LINES = {
    "indwell r": {"run", "review", "replay", "record", "replay-cassette"},
    "indwell run --mode ": {"plan", "ask", "review", "auto"},
    "indwell run --max-": {"--max-cost", "--max-tokens", "--max-rounds"},
    "indwell permissions e": {"explain"},
}
OF_OTHERS = {"https://pipx.pypa.io", "https://docs.astral.sh/uv/"}  # linked from the README
BASH = """
source "$1"
IFS=' ' read -ra COMP_WORDS <<<"$2"
[ "${2% }" = "$2" ] || COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_indwell
printf '%s\\n' "${COMPREPLY[@]}"
"""


def said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="shells of POSIX")
def test_each_shell_on_this_machine_completes_commands_options_and_choices() -> None:
    share, names = shell_files.SHARE, shell_files.NAMES
    for line, expected in LINES.items():
        found = said("bash", "-c", BASH, "bash", str(share / names["bash"]), line)
        assert set(found.split()) == expected
        if shutil.which("fish"):
            script = f"source {share / names['fish']}; complete -C '{line}'"
            rows = said("fish", "--no-config", "-c", script).splitlines()
            words = {row.split("\t")[0] for row in rows}
            assert {one for one in words if not one.endswith(("/", ".md", ".toml"))} == expected
    if shutil.which("zsh"):
        said("zsh", "-f", "-n", str(share / names["zsh"]))


def test_the_man_page_and_the_completions_have_every_public_command_and_option() -> None:
    root = shell_files.command_of(shell_files.make_parser(), "indwell", "")
    assert {"indwell run", "indwell mcp add", "indwell setup"} <= {one.path for one in root.walk()}
    for path, text in shell_files.texts().items():
        assert "--metered" not in text, path
        plain = text.replace("\\-", "-")
        for one in root.walk():
            assert one.path in plain
            for option in one.options:
                names = [f"-l {name[2:]}" for name in option.names if path.suffix == ".fish"]
                assert all(name in plain for name in (names or option.names) if len(name) > 2)


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_man_page_has_no_error() -> None:
    page = shell_files.SHARE / shell_files.NAMES["man"]
    command = ["groff", "-man", "-ww", "-z", "-Tutf8", str(page)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stderr == ""


def test_the_list_of_parts_has_each_pinned_package_once_with_its_licence(tmp_path) -> None:
    parts = [*shipped_parts.python_parts()]
    pinned = shipped_parts.pinned(shipped_parts.REQUIREMENTS.read_text("utf-8"))
    assert len(parts) == len([one for one in pinned if "emscripten" not in str(one.marker)])
    made = shipped_parts.bill(parts)
    assert made == json.loads(json.dumps(shipped_parts.bill(parts)))
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    listed = [one["purl"] for one in made["components"]]
    assert len(set(listed)) == len(listed)
    assert sorted(made["dependencies"][0]["dependsOn"]) == sorted(listed)
    by_name = {one.name: one for one in parts}
    assert by_name["openai"].licence == "Apache-2.0"
    assert by_name["pygls"].digests
    assert all(one.licence and "GPL" not in one.licence for one in parts)
    text = shipped_parts.notice(parts, shipped_parts.ABOUT_RELEASE)
    assert f"\nopenai {by_name['openai'].version} (pypi): Apache-2.0\n" in text
    assert "Copyright" in text


def test_the_licence_of_each_package_that_some_pythons_do_not_install_is_known() -> None:
    pins = shipped_parts.pinned(shipped_parts.REQUIREMENTS.read_text("utf-8"))
    some = {one.name for one in pins if "python_full_version <" in str(one.marker)}
    assert some
    assert some - shipped_parts.ELSEWHERE.keys() == set()


def test_an_index_links_each_file_with_its_digest(tmp_path) -> None:
    wheel = tmp_path / "Jaraco.Classes-1.0-py3-none-any.whl"
    wheel.write_bytes(b"x")
    install_check.make_index(tmp_path / "index", [wheel])
    page = (tmp_path / "index" / "jaraco-classes" / "index.html").read_text("utf-8")
    assert f'href="{wheel.name}#sha256={hashlib.sha256(b"x").hexdigest()}"' in page


def test_an_earlier_version_of_a_wheel_differs_in_its_version_alone(tmp_path) -> None:
    wheel = tmp_path / "indwell-1.2.3-py3-none-any.whl"
    facts = "indwell-1.2.3.dist-info"
    record = f"indwell/__init__.py,sha256=x,21\n{facts}/METADATA,sha256=y,9\n{facts}/RECORD,,\n"
    with ZipFile(wheel, "w") as made:
        made.writestr("indwell/__init__.py", '__version__ = "1.2.3"')
        made.writestr(
            f"{facts}/METADATA", "Name: indwell\nVersion: 1.2.3\nRequires-Dist: x>=1.2.3\n"
        )
        made.writestr(f"{facts}/RECORD", record)
    (tmp_path / "old").mkdir()
    old = newcomer.older_wheel(wheel, tmp_path / "old")
    assert old.name == "indwell-0.0.9-py3-none-any.whl"
    facts = "indwell-0.0.9.dist-info"
    with ZipFile(old) as packed:
        assert {name: packed.read(name).decode() for name in packed.namelist()} == {
            "indwell/__init__.py": '__version__ = "0.0.9"',
            f"{facts}/METADATA": "Name: indwell\nVersion: 0.0.9\nRequires-Dist: x>=1.2.3\n",
            f"{facts}/RECORD": f"indwell/__init__.py,,\n{facts}/METADATA,,\n{facts}/RECORD,,\n",
        }


def test_a_file_that_is_left_in_a_home_is_found_unless_the_user_or_the_installer_keeps_it(
    tmp_path,
) -> None:
    user = newcomer.Newcomer(tmp_path / "home", {})
    for name in ("project/a.py", ".cache/uv/indwell.whl", ".local/state/pipx/log/x.log"):
        (user.home / name).parent.mkdir(parents=True)
        (user.home / name).write_bytes(b"four")
    assert user.left() == ([], 8)
    (user.home / "tmp" / "x").touch()
    (user.home / ".config" / "indwell").mkdir(parents=True)
    (user.home / ".local" / "bin").mkdir()
    (user.home / ".local" / "bin" / "indwell").symlink_to("nowhere")
    left = [".config/indwell", ".local/bin/indwell", "tmp/x"]
    assert user.left() == (left, 8)


def test_a_step_of_the_new_user_that_fails_ends_the_proof(tmp_path) -> None:
    user = newcomer.Newcomer(tmp_path / "home", {})
    assert user.run("said", sys.executable, "-c", "print(1)").split() == ["1"]
    with pytest.raises(SystemExit, match="failed"):
        user.run("said", sys.executable, "-c", "raise SystemExit(3)")
    assert set(user.seconds) == {"said"}


def test_the_release_uploads_nothing_and_builds_twice() -> None:
    text = (ROOT / "scripts" / "release").read_text("utf-8")
    assert text.count("\nbuild ") == 2
    assert "cmp " in text
    for word in ("twine", "publish-vscode\n", "gh release", "git push", "curl", "TOKEN"):
        assert word not in text


def test_an_archive_that_is_compressed_again_has_the_same_contents_or_stays_as_it_was(
    tmp_path,
) -> None:
    pytest.importorskip("zopfli")
    condense = importlib.import_module("dense_archive").condense
    archive = tmp_path / "x.zip"
    with ZipFile(archive, "w") as made:
        entry = ZipInfo("grün/a.txt", (2020, 2, 2, 1, 2, 4))
        entry.external_attr = 0o100755 << 16
        made.writestr(entry, b"a sentence, " * 500)
    before = archive.read_bytes()
    for wrong in (lambda _: zlib.compress(b"b"), lambda content: content):
        with pytest.raises(SystemExit, match="other contents"):
            condense(archive, wrong)
        assert archive.read_bytes() == before
    condense(archive)
    assert archive.stat().st_size < 300
    with ZipFile(archive) as packed:
        (found,) = packed.infolist()
        assert packed.read(found) == b"a sentence, " * 500
    assert (found.filename, found.date_time) == (entry.filename, entry.date_time)
    assert found.external_attr == entry.external_attr


def test_a_wheel_is_ready_for_the_index_once_its_page_has_addresses_and_working_links(
    tmp_path,
) -> None:
    wheel = tmp_path / "x-1-py3-none-any.whl"
    folder = "x-1.dist-info"

    def problems(head: str, page: str, licence: str) -> list[str]:
        with ZipFile(wheel, "w") as archive:
            archive.writestr(f"{folder}/METADATA", f"Name: x\n{head}\n{page}")
            archive.writestr(f"{folder}/licenses/{licence}", "")
        return [*ready_to_publish.problems(wheel)]

    url = "Project-URL: Source, https://example.org/x\n"
    assert problems(url, "[a](https://example.org) [b](#b)", "LICENSE") == []
    urls, links, licence = problems("", "[a](docs/a.md) ![b](b.png)", "README")
    assert "set `Source` in `[project.urls]` of pyproject.toml" in urls
    assert links == "2 links of the README lead nowhere on the index, such as docs/a.md"
    assert licence == "the wheel has no licence file"


@pytest.mark.parametrize(
    ("source", "form"),
    [
        ("https://github.example/us/indwell.git", "/us/indwell/{}/v1.2.3/"),
        ("https://gitlab.example/us/indwell", "/us/indwell/-/{}/v1.2.3/"),
    ],
)
def test_each_link_of_the_shipped_readme_leads_to_a_file_at_the_tag_of_the_release(
    source: str, form: str
) -> None:
    project = {"version": "1.2.3", "urls": {"Source": source}}
    page = shipped_readme.shipped((ROOT / "README.md").read_text("utf-8"), "", project)
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", page)
    ours = [(sign, address) for sign, address in links if address not in OF_OTHERS]
    assert len(ours) > 30
    for sign, address in ours:
        kind = form.format("raw" if sign else "blob")
        assert kind in address, address
        path = address.partition("/v1.2.3/")[2].partition("#")[0]
        assert (ROOT / path).is_file(), address


def test_the_shipped_emacs_package_names_the_public_address_in_its_header() -> None:
    text = (ROOT / "server/indwell/cli/setup/emacs/indwell.el").read_text("utf-8")
    assert shipped_manifest.emacs_package(text, {}) == text
    project = {"urls": {"Source": "https://codeberg.org/us/indwell.git"}}
    lines = shipped_manifest.emacs_package(text, project).splitlines()
    (at,) = (at for at, line in enumerate(lines) if line.startswith(";; URL:"))
    assert lines[at] == ";; URL: https://codeberg.org/us/indwell"
    assert lines[at - 1].startswith(";; Version:")
    assert lines[:at] + lines[at + 1 :] == text.splitlines()


def test_the_shipped_readme_has_no_link_without_a_public_address() -> None:
    page = shipped_readme.shipped((ROOT / "README.md").read_text("utf-8"), "", {"version": "1"})
    assert set(re.findall(r"\]\(([^)]+)\)", page)) == OF_OTHERS
    assert "Safety (`docs/safety.md`) says when" in page


def test_a_forge_whose_addresses_are_unknown_stops_the_release() -> None:
    project = {"version": "1", "urls": {"Source": "https://forge.example/us/indwell"}}
    with pytest.raises(SystemExit, match="add to FORMS"):
        shipped_readme.shipped("[a](b.md)", "", project)


def test_the_notice_of_the_frozen_server_has_python_and_each_licence_text_once(tmp_path) -> None:
    script = ROOT / "scripts" / "shipped_parts.py"
    subprocess.run([sys.executable, str(script), "--frozen", str(tmp_path)], check=True)
    text = (tmp_path / "NOTICE.txt").read_text("utf-8")
    assert re.search(r"^python [\d.]+ \(generic\): PSF-2\.0$", text, re.MULTILINE)
    assert "PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2" in text
    _, *bodies = re.split(r"^-{80}$", text, flags=re.MULTILINE)
    texts = [one.strip().partition("\n\n")[2] for one in bodies]
    assert len(texts) > 20
    assert len(set(texts)) == len(texts)


def test_the_recipes_name_the_files_of_the_release_with_their_digests(tmp_path) -> None:
    wheel = tmp_path / "indwell-1.2.3-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    script = str(ROOT / "scripts" / "recipes" / "write.py")
    command = [sys.executable, script, str(tmp_path), "https://example.org/indwell/1.2.3/"]
    subprocess.run(command, check=True)
    digests = [
        hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        for name in (wheel.name, "requirements.txt")
    ]
    made = {one.name: one.read_text("utf-8") for one in (tmp_path / "recipes").iterdir()}
    assert sorted(made) == ["PKGBUILD", "indwell.rb", "package.nix"]
    for text in made.values():
        assert f"https://example.org/indwell/1.2.3/{wheel.name}" in text
        assert all(one in text for one in digests)
        assert not re.search(r"@[A-Z_0-9]{5,}@", text)
        assert "share" in text  # the man page and the completions
    subprocess.run(["bash", "-n", str(tmp_path / "recipes" / "PKGBUILD")], check=True)
    ruby = Parser(Language(tree_sitter_ruby.language()))
    assert not ruby.parse(made["indwell.rb"].encode()).root_node.has_error
    command[-1] = "http://example.org"
    assert subprocess.run(command, check=False, capture_output=True).returncode == 1
