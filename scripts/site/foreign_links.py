"""Say which foreign links of the site are dead, from the file that Sphinx's linkcheck wrote.

    python scripts/site/foreign_links.py FILE

It exits with 0 if no link is dead, with 1 if one is, and with 2 if not one host answered: then the
cause is the network of this machine, and nothing is known about the links.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

Kind: TypeAlias = Literal["alive", "dead", "refused", "silent"]
ANSWERED = frozenset(["working", "redirected", "rate-limited"])
UNASKED = frozenset(["ignored", "unchecked", "local"])
DEAD = re.compile(r"(404|410) |Anchor ")
REFUSED = re.compile(r"[1-5]\d\d |unauthorized")


@dataclass(frozen=True, slots=True)
class Link:
    """A foreign link of a page, and the answer of its host."""

    page: str
    line: int
    address: str
    kind: Kind
    reason: str

    @property
    def host(self) -> str:
        """The host that the link names."""
        return urlsplit(self.address).netloc

    @property
    def words(self) -> str:
        """The link as a line of the report."""
        return f"  {self.address} ({self.page}, line {self.line}): {self.reason}"


def read(lines: Sequence[str]) -> Iterator[Link]:
    """Give each link that linkcheck asked for."""
    for line in lines:
        found = json.loads(line)
        if found["status"] not in UNASKED:
            yield Link(
                found["filename"], found["lineno"], found["uri"], _kind(found), found["info"]
            )


def _kind(found: dict[str, str]) -> Kind:
    if found["status"] in ANSWERED:
        return "alive"
    if DEAD.match(found["info"]):
        return "dead"
    return "refused" if REFUSED.match(found["info"]) else "silent"


def report(links: Sequence[Link]) -> tuple[int, str]:
    """Return the exit code and the text for the user."""
    by_kind = {
        kind: [one for one in links if one.kind == kind]
        for kind in ("alive", "dead", "refused", "silent")
    }
    silent = by_kind["silent"]
    hosts = sorted({one.host for one in silent})
    if silent and len(silent) == len(links):
        return 2, (
            f"none of the {len(hosts)} hosts answered, so no foreign link was checked. "
            f"Check this machine's network. The first reason: {silent[0].reason}"
        )
    parts = [f"{len(by_kind['alive'])} of {len(links)} foreign links answer"]
    if by_kind["dead"]:
        parts += ["dead; change or remove:", *(one.words for one in by_kind["dead"])]
    if by_kind["refused"]:
        parts += [
            "not for programs; look at these in a browser:",
            *(one.words for one in by_kind["refused"]),
        ]
    if silent:
        parts.append("no answer, although other hosts answered; try again later:")
        for host in hosts:
            own = [one for one in silent if one.host == host]
            parts.append(f"  {host}, {len(own)} links: {own[0].reason}")
    return (1 if by_kind["dead"] else 0), "\n".join(parts)


def main() -> int:
    """Report on the file that the argument names."""
    code, text = report([*read(Path(sys.argv[1]).read_text("utf-8").splitlines())])
    sys.stdout.write(f"{text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
