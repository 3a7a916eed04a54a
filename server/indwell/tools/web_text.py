"""Converts a web page (HTML) to Markdown. Pure, apart from a time limit.

The page is read in one pass, without recursion. If a page takes too long, the rest is left out.
Navigation, forms, scripts, pictures and hidden parts are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from time import monotonic
from urllib.parse import urljoin

from indwell.lazy_pattern import lazy_pattern

TIME_S = 5.0  # An ordinary page takes 0.1 s.
PIECE = 16_384  # The clock is checked after this many characters.
ADDRESS_CHARACTERS = 500  # A link's address has at most 500 characters.
MOST_NESTED = 12  # Each of at most 12 nested lists and quotes indents its lines.

_SPACE = lazy_pattern(r"\s+")
_HIDDEN = lazy_pattern(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_LANGUAGE = lazy_pattern(r"(?:^|\s)lang(?:uage)?-([\w+#-]{1,20})")
_VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905
)
_LEFT_OUT = frozenset(
    [
        "script",
        "style",
        "noscript",
        "template",
        "svg",
        "math",
        "iframe",
        "object",
        "form",
        "nav",
        "aside",
        "footer",
        "button",
        "select",
        "textarea",
        "audio",
        "video",
        "canvas",
        "dialog",
    ]
)
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "blockquote",
        "body",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "header",
        "html",
        "main",
        "p",
        "section",
        "summary",
    ]
)
_HEADINGS = {f"h{number}": "#" * number + " " for number in range(1, 7)}
_LISTS = frozenset({"ul", "ol"})
_OF_TABLES = frozenset({"table", "tr", "td", "th"})
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`"}


def markdown_of(html: str, address: str) -> tuple[str, bool]:
    """Return the Markdown of a page, and whether the rest could not be read.

    Args:
        html: The page.
        address: The address of the page, for its relative links.
    """
    reader = _Reader(address)
    until = monotonic() + TIME_S
    try:
        for at in range(0, len(html), PIECE):
            reader.feed(html[at : at + PIECE])
            if monotonic() > until:
                return reader.text(), True
        # The call replaces `close`, which takes minutes for many open comments.
        reader.feed("\n<p>")
    except ValueError:  # A character reference has thousands of digits.
        return reader.text(), True
    return reader.text(), False


class _Reader(HTMLParser):
    """Collects the lines of a page."""

    def __init__(self, address: str) -> None:
        super().__init__(convert_charrefs=True)
        self._address = address
        self._lines: list[str] = []
        self._words: list[str] = []  # The words of the current block or table cell.
        self._links: list[tuple[int, str]] = []  # The start and address of each open link.
        # The number of the next item for each open list; 0 for a list without numbers.
        self._lists: list[int] = []
        self._row: list[str] | None = None
        self._is_first_row = False
        self._is_in_cell = False
        self._lead = ""  # The marker of a heading or list item, for the next line.
        self._n_quoted = 0
        # The text of a `pre` element, after the name of the language.
        self._code: list[str] | None = None
        self._skipped = ""
        self._n_skipped = 0
        self._title: list[str] = []
        self._is_title = False
        self._main: list[int] = []  # The line numbers at which the main part begins and ends.

    def text(self) -> str:
        """Return the lines of the page's main part, or all lines if the page has no main part."""
        self._flush()
        lines = self._lines
        if self._main:
            start, stop = (*self._main, len(lines))[:2]
            lines = lines[start:stop] if any(lines[start:stop]) else lines
        title = _plain("".join(self._title))
        has_heading = any(line.startswith("# ") for line in lines)
        head = [f"# {title}", ""] if title and not has_heading else []
        return "\n".join((*head, *lines)).strip("\n")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element."""
        if self._skipped:
            self._n_skipped += tag == self._skipped
            return
        given = {name: value or "" for name, value in attrs}
        if tag not in _VOID and (tag in _LEFT_OUT or _is_hidden(given)):
            self._skipped, self._n_skipped = tag, 1
        elif self._code is None:
            self._begin(tag, given)
        elif tag == "code" and not self._code[0]:
            self._code[0] = _language(given)

    def _begin(self, tag: str, given: dict[str, str]) -> None:
        if tag == "title":
            self._is_title = True
        elif tag == "pre":
            self._block()
            self._code = [_language(given)]
        elif tag == "a":
            self._end_of_link()  # A link inside a link ends the outer link.
            self._links.append((len(self._words), given.get("href", "")))
        elif tag in _MARKS:
            self._words.append(_MARKS[tag])
        elif tag in _OF_TABLES:
            self._begin_of_table(tag)
        elif tag == "br" and self._is_in_cell:
            self._words.append(" ")
        elif tag == "br":
            self._flush()
        else:
            self._begin_of_block(tag, given)

    def handle_endtag(self, tag: str) -> None:
        """End an element."""
        if self._skipped:
            self._n_skipped -= tag == self._skipped
            if not self._n_skipped:
                self._skipped = ""
        elif self._code is None:
            self._end(tag)
        elif tag == "pre":
            self._end_of_code()

    def _end(self, tag: str) -> None:
        if tag == "title":
            self._is_title = False
        elif tag == "a":
            self._end_of_link()
        elif tag in _MARKS:
            self._words.append(_MARKS[tag])
        elif tag in _OF_TABLES:
            self._end_of_table(tag)
        elif tag == "li":
            self._flush()
        elif tag in _LISTS:
            self._flush()
            self._lists = self._lists[:-1]
            self._gap()
        elif tag in _BLOCKS or tag in _HEADINGS:
            self._block()
            self._n_quoted = max(0, self._n_quoted - (tag == "blockquote"))
            if tag == "main" and len(self._main) == 1:
                self._main.append(len(self._lines))

    def handle_data(self, data: str) -> None:
        """Collect text of the page."""
        if self._skipped:
            return
        if self._is_title:
            self._title.append(data)
        elif self._code is not None:
            self._code.append(data)
        else:
            self._words.append(data)

    def _begin_of_block(self, tag: str, given: dict[str, str]) -> None:
        if tag in _LISTS:
            self._flush()
            self._lists.append(1 if tag == "ol" else 0)
        elif tag == "li":
            self._flush()
            number = self._lists[-1] if self._lists else 0
            self._lead = f"{number}. " if number else "- "
            if number:
                self._lists[-1] += 1
        elif tag == "hr":
            self._block()
            self._lines += ["---", ""]
        elif tag in _BLOCKS or tag in _HEADINGS:
            self._block()
            self._lead = _HEADINGS.get(tag, self._lead)
            self._n_quoted += tag == "blockquote"
            if not self._main and (tag == "main" or given.get("role") == "main"):
                self._main.append(len(self._lines))

    def _begin_of_table(self, tag: str) -> None:
        if tag == "table":
            self._block()
            self._is_first_row = True
        elif tag == "tr":
            self._end_of_row()
            self._row = []
        elif self._row is not None:
            self._end_of_cell()
            self._words, self._links, self._is_in_cell = [], [], True

    def _end_of_table(self, tag: str) -> None:
        if tag in {"td", "th"}:
            self._end_of_cell()
            return
        self._end_of_row()
        if tag == "table":
            self._gap()

    def _end_of_cell(self) -> None:
        if self._is_in_cell and self._row is not None:
            self._row.append(_plain("".join(self._words)).replace("|", "\\|"))
        self._words, self._links, self._is_in_cell = [], [], False

    def _end_of_row(self) -> None:
        self._end_of_cell()
        row, self._row = self._row, None
        if not row:
            return
        self._lines.append(f"| {' | '.join(row)} |")
        if self._is_first_row:
            self._is_first_row = False
            self._lines.append(f"|{' --- |' * len(row)}")

    def _end_of_code(self) -> None:
        language, *pieces = self._code or [""]
        self._code = None
        text = "".join(pieces).strip("\n")
        if text.strip():
            fence = "`" * max(3, 1 + _longest_run(text))
            self._lines += [f"{fence}{language}", *text.splitlines(), fence, ""]

    def _end_of_link(self) -> None:
        if not self._links:
            return
        start, address = self._links.pop()
        text = _plain("".join(self._words[start:]))
        target = _target(self._address, address)
        if text and target:
            self._words[start:] = [f"[{text}]({target})"]

    def _block(self) -> None:
        """End the current block with an empty line, or, inside a table cell, with a blank."""
        if self._is_in_cell:
            self._words.append(" ")
            return
        self._flush()
        self._gap()

    def _flush(self) -> None:
        """End the current line."""
        if self._is_in_cell:
            return
        text = _plain("".join(self._words))
        self._words, self._links = [], []
        if not text:
            return
        indent = "  " * min(max(0, len(self._lists) - 1), MOST_NESTED)
        lead, self._lead = self._lead, "  " if self._lists else ""
        self._lines.append("> " * min(self._n_quoted, MOST_NESTED) + indent + lead + text)
        if not self._lists:
            self._lead = ""

    def _gap(self) -> None:
        if not self._lists and self._lines and self._lines[-1]:
            self._lines.append("")


def _is_hidden(given: dict[str, str]) -> bool:
    if "hidden" in given or given.get("aria-hidden") == "true":
        return True
    return _HIDDEN.search(given.get("style", "")) is not None


def _language(given: dict[str, str]) -> str:
    match = _LANGUAGE.search(given.get("class", ""))
    return match[1] if match else ""


def _target(address: str, link: str) -> str:
    """Return the absolute address of a link, or empty if it should not be shown as a link."""
    link = link.strip()
    if not link or link.startswith("#") or len(link) > ADDRESS_CHARACTERS:
        return ""
    try:
        whole = urljoin(address, link)
    except ValueError:
        return ""
    whole = whole.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
    return whole if whole.startswith(("https://", "http://", "mailto:")) else ""


def _plain(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def _longest_run(text: str) -> int:
    runs: Sequence[str] = re.findall(r"`+", text)
    return max(map(len, runs), default=0)
