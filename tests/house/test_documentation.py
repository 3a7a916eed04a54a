"""Tests that each link of the documentation leads somewhere, and that each command in it exists."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from indwell.cli.parser import make_parser

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "site"))
stage = importlib.import_module("stage")
foreign_links = importlib.import_module("foreign_links")

NAMES = sorted(
    one.relative_to(ROOT).as_posix() for one in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
)
PAGES = (*NAMES, "vscode-extension/README.md")
OF_USERS = tuple(one for one in PAGES if "/decisions/" not in one)
# What a page writes in place of a value that the reader has to choose.
PLACEHOLDERS = {"EDITOR": "vim", "N": "1", "M": "2", "YOUR-MODEL": "m"}
# An end of a command line for the shell, and what stands before a command.
_SHELL_ENDS = re.compile(r"^(\|\|?|&&|;|[12]?>>?.*|<.*|&)$")
_ASSIGNMENT = re.compile(r"^[A-Z_]+=")


@cache
def text(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


@cache
def anchors(page: str) -> frozenset[str]:
    """Return the anchors that the forge gives to the headings of a page."""
    seen: Counter[str] = Counter()
    found: set[str] = set()

    def note(lines: str) -> str:
        for line in re.findall(r"^#+ (.*)$", lines, re.MULTILINE):
            shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line).strip().lower()
            slug = re.sub(r"[^\w\- ]", "", shown.replace("`", "")).replace(" ", "-")
            found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
        return lines

    stage.prose(text(page), note)
    return frozenset(found)


def lost_links(page: str) -> Iterator[str]:
    for _, target in stage.links(text(page)):
        if not stage.is_local(target):
            continue
        path, anchor = stage.resolve(page, target)
        if not (ROOT / path).exists():
            yield f"{page}: {target}: no such file"
        elif (ROOT / path).is_file() and not (ROOT / path).stat().st_size:
            yield f"{page}: {target}: an empty file"
        elif anchor and path.endswith(".md") and anchor[1:] not in anchors(path):
            yield f"{page}: {target}: no such heading"


def test_each_link_leads_to_a_file_and_a_heading_that_exist() -> None:
    assert [lost for page in PAGES for lost in lost_links(page)] == []


def test_the_index_leads_to_each_page() -> None:
    listed = {
        stage.resolve("docs/README.md", target)[0]
        for _, target in stage.links(text("docs/README.md"))
    }
    pages = {one for one in NAMES if one.startswith("docs/") and "/decisions/" not in one}
    assert pages - listed - {"docs/README.md"} == set()


def test_the_pages_of_the_web_site_link_to_one_another(tmp_path: Path) -> None:
    stage.stage(tmp_path)
    pages = {one.relative_to(tmp_path).as_posix() for one in tmp_path.rglob("*.md")}
    lost = []
    for page in pages:
        for _, target in stage.links((tmp_path / page).read_text("utf-8")):
            path = stage.resolve(page, target)[0] if stage.is_local(target) else page
            if not (tmp_path / path).exists():
                lost.append(f"{page}: {target}")
    assert lost == []
    assert {"index.md", "faq.md", "editors/index.md", "decisions/index.md"} <= pages


def fenced_lines(page: str) -> Iterator[str]:
    """Yield the lines of the fenced blocks of a page, continued lines as one."""
    is_inside, begun = False, ""
    for line in text(page).splitlines():
        if line.lstrip().startswith("```"):
            is_inside, begun = not is_inside, ""
        elif is_inside:
            begun += line.strip().removeprefix("$ ")
            if begun.endswith("\\"):
                begun = begun[:-1]
            else:
                yield begun
                begun = ""


def command_words(line: str) -> list[str]:
    """Return the words of the first command of a line, without what is for the shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in lexer:
        if _SHELL_ENDS.match(word):
            break
        if words or not _ASSIGNMENT.match(word):
            words.append(PLACEHOLDERS.get(word, word))
    return words


PARSER = make_parser()


def refusal(words: list[str]) -> str:
    """Return why the argument parser refuses a command; empty if it takes it."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            PARSER.parse_args(words[1:])
        except SystemExit as end:
            return said.getvalue().splitlines()[-1] if end.code else ""
    return ""


def wrong_command(line: str) -> str:
    """Return what is wrong with a line of a page; empty if it is no command of ours."""
    if not re.match(r"([A-Z_]+=\S* )*(indwell|scripts/[\w/-]+)( |$)", line):
        return ""
    words = command_words(line)
    if words[0] == "indwell":
        return refusal(words)
    return "" if (ROOT / words[0]).is_file() else "no such script"


def test_each_command_in_a_block_of_the_documentation_is_one_that_exists() -> None:
    lines = [(page, line) for page in OF_USERS for line in fenced_lines(page)]
    commands = [(page, line) for page, line in lines if line.startswith(("indwell ", "scripts/"))]
    assert len(commands) > 40
    wrong = [f"{page}: {line}: {why}" for page, line in lines if (why := wrong_command(line))]
    assert wrong == []


def test_each_command_named_in_a_sentence_is_one_that_exists() -> None:
    wrong = []
    for page in OF_USERS:
        for line in re.findall(r"(?<!`)`((?:indwell |scripts/)[^`]*)`(?!`)", text(page)):
            why = wrong_command(line)
            # A sentence may name a command without the arguments that it needs.
            if why and "arguments are required" not in why and "expected one argument" not in why:
                wrong.append(f"{page}: {line}: {why}")
    assert wrong == []


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("indwell runn x", "invalid choice"),
        ("indwell run --no-such-option x", "unrecognized arguments"),
        ("A=b indwell run x --no-such-option | cat", "unrecognized arguments"),
        ("scripts/no-such-script", "no such script"),
        ("indwell run x || indwell no", ""),
        ("make", ""),
    ],
)
def test_a_wrong_command_is_found(line: str, why: str) -> None:
    found = wrong_command(line)
    assert (why in found) if why else found == ""


def answer(status: str, address: str, info: str = "") -> str:
    found = {"filename": "faq.md", "lineno": 3, "status": status, "uri": address, "info": info}
    return json.dumps({**found, "code": 0})


def report_of(*lines: str) -> tuple[int, str]:
    return foreign_links.report([*foreign_links.read(lines)])


NO_NAME = "HTTPSConnectionPool(host='a.example'): Max retries exceeded (NameResolutionError)"


def test_a_machine_without_a_network_is_told_so_and_no_link_is_called_dead() -> None:
    lines = [answer("broken", f"https://{host}.example/x", NO_NAME) for host in "aab"]
    code, said = report_of(*lines, answer("local", "other.md"))
    assert code == 2
    assert said.startswith("none of the 2 hosts answered, so no foreign link was checked.")


def test_only_an_address_that_its_host_does_not_know_is_dead() -> None:
    alive = answer("working", "https://c.example")
    code, said = report_of(
        alive,
        answer("broken", "https://b.example/x", "403 Client Error: Forbidden"),
        answer("timeout", "https://a.example/1", NO_NAME),
        answer("broken", "https://a.example/2", NO_NAME),
    )
    assert code == 0
    assert said.splitlines() == [
        "1 of 4 foreign links answer",
        "not for programs; look at these in a browser:",
        "  https://b.example/x (faq.md, line 3): 403 Client Error: Forbidden",
        "no answer, although other hosts answered; try again later:",
        f"  a.example, 2 links: {NO_NAME}",
    ]
    for info in ("404 Client Error: Not Found", "Anchor 'x' not found"):
        code, said = report_of(alive, answer("broken", "https://b.example/x", info))
        assert code == 1
        assert f"dead; change or remove:\n  https://b.example/x (faq.md, line 3): {info}" in said
