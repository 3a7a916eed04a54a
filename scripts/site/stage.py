"""Write the pages of the web site into a folder, from the Markdown that the forge shows.

    python scripts/site/stage.py FOLDER

The forge and the site show the same pages. This script only moves `docs/` to the root, follows each
link to where its page is now, and makes the navigation from the sections of docs/README.md.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Pages outside docs/, and their names on the site.
OTHERS = {
    "README.md": "about.md",
    "SECURITY.md": "security-policy.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "CHANGELOG.md": "changes.md",
    "vscode-extension/README.md": "editors/vscode-extension.md",
}
DECISIONS = "docs/decisions"
# A piece of code, which holds no link, or the target of a link.
_LINK = re.compile(
    r"(?P<ticks>`+)[^`].*?(?P=ticks)(?!`)|"
    r"\[(?P<words>(?:[^\[\]`]|`[^`]*`|!\[[^\]]*\]\([^)]*\))*)\]\((?P<target>[^)\s]+)\)",
    re.DOTALL,
)
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")


def prose(text: str, change: Callable[[str], str]) -> str:
    """Return a page with each paragraph changed, and each fenced block as it was."""
    parts: list[str] = []
    lines: list[str] = []
    fence = ""

    def flush() -> None:
        if lines:
            parts.append(change("".join(lines)))
            lines.clear()

    for line in text.splitlines(keepends=True):
        begun = _FENCE.match(line)
        if fence:
            parts.append(line)
            if begun and begun[1].startswith(fence):
                fence = ""
        elif begun:
            flush()
            fence = begun[1]
            parts.append(line)
        else:
            lines.append(line)
    flush()
    return "".join(parts)


def links(text: str) -> list[tuple[str, str]]:
    """Return the words and the target of each link of a page, in order."""
    found: list[tuple[str, str]] = []

    def note(lines: str) -> str:
        found.extend(
            (one["words"], one["target"]) for one in _LINK.finditer(lines) if one["target"]
        )
        return lines

    prose(text, note)
    return found


def place(path: str) -> str | None:
    """Return where a file of the repository is on the site; None if it is not there."""
    if path in OTHERS:
        return OTHERS[path]
    if path.rstrip("/") == DECISIONS:
        return "decisions/index.md"
    if not path.startswith("docs/"):
        return path if path.endswith((".png", ".gif", ".svg")) else None
    within = path.removeprefix("docs/")
    return re.sub(r"(^|/)README\.md$", r"\1index.md", within)


def is_local(target: str) -> bool:
    """Return whether a target is a file or a heading of the repository."""
    return not re.match(r"[a-z]+:", target)


def resolve(page: str, target: str) -> tuple[str, str]:
    """Return the file that a link of a page leads to, and the anchor with its `#`."""
    file, mark, anchor = target.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), file)) if file else page
    return path, mark + anchor


def moved(page: str, text: str) -> str:
    """Return the text of a page with its links as the site needs them."""
    here = place(page)
    assert here is not None

    def one(match: re.Match[str]) -> str:
        target = match["target"]
        if target is None or not is_local(target):
            return match[0]
        path, anchor = resolve(page, target)
        there = path if not (ROOT / path).exists() else place(path)
        if there is None:  # a source file: the site does not hold it
            return f"{match['words']} (`{path}`)"
        way = posixpath.relpath(there, posixpath.dirname(here) or ".")
        return f"[{match['words']}]({way}{anchor})"

    return prose(text, lambda lines: _LINK.sub(one, lines))


def toctree(caption: str, pages: list[str]) -> str:
    """Return a hidden list of pages for the navigation."""
    entries = "\n".join(pages)
    head = f":caption: {caption}\n" if caption else ""
    return f"\n```{{toctree}}\n:hidden:\n{head}\n{entries}\n```\n"


def below(folder: str, pages: dict[str, str]) -> list[str]:
    """Return the other pages of a folder that has an index, with short titles."""
    found = []
    for page, there in sorted(pages.items()):
        if posixpath.dirname(there) == folder and not there.endswith("/index.md"):
            title = (ROOT / page).read_text("utf-8").splitlines()[0].lstrip("# ")
            title = "The VS Code extension" if page in OTHERS else title.removeprefix("Indwell in ")
            found.append(f"{title} <{posixpath.basename(there)}>")
    return found


def start_page(text: str, pages: dict[str, str]) -> str:
    """Return the index with one list of the navigation for each of its sections."""
    folders = {posixpath.dirname(one) for one in pages.values() if one.endswith("/index.md")}
    listed: set[str] = set()
    lists: list[str] = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        names: list[str] = []
        for words, target in links(body):
            name = pages.get(resolve("docs/README.md", target)[0]) if is_local(target) else None
            if name is None or name in listed:
                continue
            listed.add(name)
            is_inside = posixpath.dirname(name) in folders and not name.endswith("/index.md")
            if not is_inside:
                names.append(f"{words[:1].upper()}{words[1:]} <{name}>")
        lists.append(toctree(title, names))
    return text + "".join(lists)


def decisions_page() -> str:
    """Return the list of decision records, which the forge shows as a folder."""
    rows = [
        f"- [{one.name[:4]}]({one.name}): {one.read_text('utf-8').splitlines()[0].lstrip('# ')}"
        for one in sorted((ROOT / DECISIONS).glob("*.md"))
    ]
    return (
        "# Decisions\n\nEach record says what was decided, why, and what follows.\n\n"
        + "\n".join(rows)
    )


def stage(folder: Path) -> None:
    """Write all pages, and every other file that a page shows or offers."""
    sources = [*DOCS.rglob("*.md"), *(ROOT / one for one in OTHERS)]
    names = [one.relative_to(ROOT).as_posix() for one in sources if one.exists()]
    pages = {one: there for one in names if (there := place(one))}
    pages[DECISIONS] = "decisions/index.md"
    for page, there in pages.items():
        to = folder / there
        to.parent.mkdir(parents=True, exist_ok=True)
        if page == DECISIONS:
            text = decisions_page()
        else:
            original = (ROOT / page).read_text("utf-8")
            text = moved(page, original)
            for _, target in links(original):
                path = resolve(page, target)[0] if is_local(target) else ""
                file = place(path) if path and not path.endswith(".md") else None
                if file and (ROOT / path).is_file():
                    (folder / file).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(ROOT / path, folder / file)
        if page == "docs/README.md":
            text = moved(page, start_page(original, {key: pages[key] for key in pages}))
        elif there.endswith("/index.md"):
            text += toctree("", below(posixpath.dirname(there), pages))
        to.write_text(text, "utf-8")


if __name__ == "__main__":
    stage(Path(sys.argv[1]))
