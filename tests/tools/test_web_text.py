"""Web pages as Markdown: kept parts, omitted parts, and hostile pages."""

from __future__ import annotations

import time

import pytest

from indwell.tools.web_text import PIECE, TIME_S, markdown_of

ADDRESS = "https://docs.example/guide/"


def text(html: str) -> str:
    """Return the Markdown of a page without blank lines."""
    lines = markdown_of(html, ADDRESS)[0].splitlines()
    return "\n".join(line for line in lines if line)


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<h1>A</h1><p>b <b>c</b>  d<br>e</p><h3>F</h3>", "# A\nb **c** d\ne\n### F"),
        ("<p>one<p>two<div>three</div>four", "one\ntwo\nthree\nfour"),
        ("<p>a &amp; b &lt;c> &#233;&nbsp;f", "a & b <c> é f"),
        ("<ul><li>a<li>b<ol><li>c<li>d</ol><li>e</ul>", "- a\n- b\n  1. c\n  2. d\n- e"),
        ("<ul><li><p>a</p><p>more</p></li></ul>", "- a\n  more"),
        ("<blockquote><p>q</blockquote><p>r", "> q\nr"),
        (
            "<pre><code class='language-py'>if a &lt; b:\n    c\n</code></pre>",
            "```py\nif a < b:\n    c\n```",
        ),
        ("<pre>a ``` b</pre>", "````\na ``` b\n````"),
        ("<p>call <code>f(x)</code>", "call `f(x)`"),
        ("<a href='../api#x'>API</a>", "[API](https://docs.example/api#x)"),
        ("<a href='javascript:alert(1)'>x</a> <a href='#y'>y</a>", "x y"),
        (
            "<table><tr><th>a<th>b<tr><td>1<td>2|3</table>after",
            "| a | b |\n| --- | --- |\n| 1 | 2\\|3 |\nafter",
        ),
        ("<table><tr><td><p>x</p><p>y</p></table>", "| x y |\n| --- |"),
        ("<title>T</title><p>x", "# T\nx"),
        ("<title>T</title><h1>H</h1>", "# H"),
        ("<p>x<hr>y", "x\n---\ny"),
        ("<p>before</p><main><p>it</p></main><p>behind</p>", "it"),
        ("plain words", "plain words"),
    ],
)
def test_a_page_becomes_markdown(html: str, markdown: str) -> None:
    assert text(html) == markdown


@pytest.mark.parametrize(
    "html",
    [
        "<script>NO</script>", "<style>NO</style>", "<nav>NO</nav>", "<footer>NO</footer>",
        "<p hidden>NO</p>", "<p style='display : none'>NO</p>", "<div aria-hidden=true>NO</div>",
        "<nav><nav>NO</nav>NO</nav>", "<form><p>NO</form>", "<!-- NO -->", "<img alt=NO src=x>",
        "<template>NO</template>", "<input value=NO hidden>", "<svg><text>NO</text></svg>",
    ],
)  # fmt: skip
def test_parts_that_no_reader_sees_are_left_out(html: str) -> None:
    assert text(f"<p>a</p>{html}<p>b</p>") == "a\nb"


@pytest.mark.parametrize(
    "html",
    [
        *("<div>" * 100_000, "<p>" * 100_000, "<ul><li>" * 20_000, "<table><tr><td>" * 20_000),
        *("<" * 500_000, "<!--" * 100_000, "<a " * 300_000, '<a "' * 300_000, "&" * 500_000),
        *("<a href=x>" * 100_000, "<blockquote>" * 20_000, "<a " + "b=c " * 200_000 + ">"),
        *("<pre>" + "`" * 500_000, "<b>" * 200_000, "<script>" * 50_000, "</p>" * 200_000),
    ],
    ids=lambda html: html[:12],
)
def test_reading_a_hostile_page_ends_in_time(html: str) -> None:
    begun = time.thread_time()
    markdown_of(html, ADDRESS)
    assert time.thread_time() - begun < TIME_S + 3


@pytest.mark.parametrize(
    "html",
    [
        *("<blockquote>a" * 20_000, "<ul><li>a" * 20_000),
        "<a href=/x>" * 10_000 + "w " * 50_000 + "</a>" * 10_000,
    ],
    ids=lambda html: html[:12],
)
def test_the_text_of_a_page_is_about_as_long_as_the_page(html: str) -> None:
    found, is_cut = markdown_of(html, ADDRESS)
    assert len(found) < 4 * len(html)
    assert not is_cut


def test_a_character_reference_with_an_impossible_number_ends_the_page() -> None:
    assert markdown_of(f"<p>read{' ' * PIECE}<p>&#{'9' * 5_000};", ADDRESS) == ("read", True)
