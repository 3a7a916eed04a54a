"""Write the list of parts that Indwell ships with (SBOM, CycloneDX), and a notice of licences.

    python scripts/shipped_parts.py FOLDER
    python scripts/shipped_parts.py --frozen FOLDER

With --frozen, write only the notice of the frozen server: the Python packages, and Python itself.
The parts are the pinned Python packages of requirements/runtime.txt and the npm packages that the
VS Code extension's bundles contain. Licences come from the installed packages, so run the script in
the environment of scripts/setup. Equal input gives equal bytes.
"""

from __future__ import annotations

import base64
import json
import platform
import re
import sys
import sysconfig
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from wheels import REQUIREMENTS, pinned

from indwell import __version__

ROOT = Path(__file__).resolve().parents[1]
EXTENSION = ROOT / "vscode-extension"
SCHEMA = "1.6"  # of CycloneDX
ELSEWHERE: Mapping[str, str] = {
    "agent-client-protocol": "Apache-2.0",
    "backports-tarfile": "MIT",
    "colorama": "BSD-3-Clause",
    "importlib-metadata": "Apache-2.0",
    "jeepney": "MIT",
    "lazy-importer": "Apache-2.0",
    "pywin32": "PSF-2.0",
    "pywin32-ctypes": "BSD-3-Clause",
    "secretstorage": "BSD-3-Clause",
    "zipp": "MIT",
}
"""The licences of packages that another system installs, or that name theirs in a text only."""
SPDX: Mapping[str, str] = {
    "apache license 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache": "Apache-2.0",
    "bsd license": "BSD-3-Clause",
    "bsd": "BSD-3-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
    "psf": "PSF-2.0",
}
_LICENCE_FILE = re.compile(r"(^|/)(licen[cs]e|copying|notice|authors)[^/]*$", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """A package that ships: its licence as an SPDX expression, its digest, and licence texts."""

    kind: str
    name: str
    version: str
    licence: str
    digests: tuple[tuple[str, str], ...]
    texts: tuple[str, ...]

    @property
    def address(self) -> str:
        """The package URL."""
        return f"pkg:{self.kind}/{self.name.replace('@', '%40')}@{self.version}"


def python_parts(*, installed: bool = False) -> Iterator[Part]:
    """Yield the pinned Python packages, or those of them that are installed here."""
    text = REQUIREMENTS.read_text("utf-8")
    for one in pinned(text):
        if "emscripten" in str(one.marker):
            continue  # No package of Indwell is for browsers.
        (version,) = (spec.version for spec in one.specifier)
        name = one.name.lower().replace("_", "-")
        block = text.split(f"\n{one.name}==", 1)[-1] if not text.startswith(one.name) else text
        block = re.split(r"\n(?=[A-Za-z0-9])", block, maxsplit=1)[0]
        digests = tuple(("SHA-256", found) for found in re.findall(r"sha256:(\w{64})", block))
        try:
            found = metadata.distribution(one.name)
        except metadata.PackageNotFoundError:
            if installed:
                continue
            yield Part("pypi", name, version, ELSEWHERE[name], digests, ())
            continue
        licence = ELSEWHERE.get(name) or _licence(found)
        yield Part("pypi", name, version, licence, digests, tuple(_texts(found)))


def npm_parts() -> Iterator[Part]:
    """Yield the packages in the bundles of the extension, as its lock file names them."""
    lock = json.loads((EXTENSION / "package-lock.json").read_text("utf-8"))
    for place, facts in sorted(lock["packages"].items()):
        if not place or {"dev", "devOptional", "optional", "peer"} & facts.keys():
            continue
        files = sorted((EXTENSION / place).glob("*"))
        texts = [one.read_text("utf-8") for one in files if _LICENCE_FILE.search(one.name)]
        name = place.rpartition("node_modules/")[2]
        kind, _, digest = facts["integrity"].partition("-")
        digests = ((kind.upper().replace("SHA", "SHA-"), base64.b64decode(digest).hex()),)
        yield Part("npm", name, facts["version"], facts["license"], digests, tuple(texts))


def _licence(found: metadata.Distribution) -> str:
    """Return the SPDX expression of a package's licence.

    Raises:
        SystemExit: The package names no licence that the script knows.
    """
    facts = found.metadata
    if expression := facts.get("License-Expression"):
        return str(expression)
    kinds = [
        line.rsplit(" :: ", 1)[1]
        for line in facts.get_all("Classifier") or []
        if line.startswith("License :: OSI Approved :: ")
    ]
    known = {*SPDX.values(), "Unlicense"}
    for words in (facts.get("License") or "", *kinds):
        if words and {*words.split(" OR ")} <= known:
            return words
        if words.lower() in SPDX:
            return SPDX[words.lower()]
    raise SystemExit(f"{facts['Name']} names no licence that scripts/shipped_parts.py knows")


def _texts(found: metadata.Distribution) -> Iterator[str]:
    for file in sorted(found.files or [], key=str):
        if ".dist-info/" in str(file) and _LICENCE_FILE.search(str(file)):
            yield file.read_text("utf-8")


def bill(parts: list[Part]) -> dict[str, Any]:
    """Return the list of parts in CycloneDX's JSON; its serial number is made from its content."""
    components = [
        {
            "type": "library",
            "bom-ref": part.address,
            "name": part.name,
            "version": part.version,
            "purl": part.address,
            "licenses": [{"expression": part.licence}],
            # A package has a file for each platform, and the list of an entry has one digest.
            **(
                {"hashes": [{"alg": part.digests[0][0], "content": part.digests[0][1]}]}
                if len(part.digests) == 1
                else {}
            ),
        }
        for part in parts
    ]
    ours = {
        "type": "application",
        "bom-ref": f"pkg:pypi/indwell@{__version__}",
        "name": "indwell",
        "version": __version__,
        "purl": f"pkg:pypi/indwell@{__version__}",
        "licenses": [{"expression": "MIT"}],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps([ours, components]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": SCHEMA,
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": ours},
        "components": components,
        "dependencies": [
            {"ref": ours["bom-ref"], "dependsOn": [part.address for part in parts]},
        ],
    }


def notice(parts: list[Part], about: Sequence[str]) -> str:
    """Return the names, the licences and the licence texts of all parts, each text once."""
    lines = [
        f"Indwell {__version__} is under the MIT licence; see LICENSE.",
        *about,
        "",
        *(f"{part.name} {part.version} ({part.kind}): {part.licence}" for part in parts),
    ]
    owners: dict[str, list[str]] = {}
    for part in parts:
        for text in dict.fromkeys(one.strip() for one in part.texts):
            owners.setdefault(text, []).append(f"{part.name} {part.version}")
    for text, names in owners.items():
        lines += ["", "-" * 80, ", ".join(names), "", text]
    return "\n".join(lines) + "\n"


ABOUT_RELEASE = (
    "The wheel contains only code of Indwell and installs the Python packages below. The VS",
    "Code packages contain the npm packages; those for a platform also the Python packages and",
    "Python itself, which is under PSF-2.0.",
)
ABOUT_FROZEN = ("This program contains Python and the Python packages below.",)


def python_itself() -> Part:
    """Return the Python that runs this script, with its licence."""
    place = Path(sysconfig.get_path("stdlib"))
    found = [one for one in (place / "LICENSE.txt", place.parent / "LICENSE.txt") if one.exists()]
    texts = tuple(one.read_text("utf-8") for one in found[:1])
    return Part("generic", "python", platform.python_version(), "PSF-2.0", (), texts)


def main() -> None:
    """Write the files into the folder that the last argument names."""
    folder = Path(sys.argv[-1])
    if sys.argv[1] == "--frozen":
        parts = [
            python_itself(),
            *sorted(python_parts(installed=True), key=lambda part: part.address),
        ]
        (folder / "NOTICE.txt").write_text(notice(parts, ABOUT_FROZEN), "utf-8", newline="\n")
        return
    parts = sorted([*python_parts(), *npm_parts()], key=lambda part: part.address)
    made = json.dumps(bill(parts), indent=2) + "\n"
    (folder / f"indwell-{__version__}.cdx.json").write_text(made, "utf-8", newline="\n")
    (folder / "NOTICE.txt").write_text(notice(parts, ABOUT_RELEASE), "utf-8", newline="\n")
    print(f"{len(parts)} parts")


if __name__ == "__main__":
    main()
