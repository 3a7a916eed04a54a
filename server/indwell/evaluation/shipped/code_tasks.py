"""The templates of the shipped suite's tasks that change code. Pure data."""

from __future__ import annotations

from indwell.evaluation.shipped.check_beginnings import (
    JAVASCRIPT_START,
    PYTHON_START,
)
from indwell.evaluation.tasks import TaskTemplate

_PAGES = '''"""Splits a list of @THINGS@ into pages."""


def page(@THINGS@, number, size=@SIZE@):
    """Return a page; the first page has the number 1."""
    start = number * size
    return @THINGS@[start : start + size]


def n_pages(@THINGS@, size=@SIZE@):
    """Return the number of pages."""
    return len(@THINGS@) // size
'''

_MERGE = '''"""Joins @SPANS@ that overlap or touch."""


def joined(@SPANS@, found=[]):
    """Return the @SPANS@, as pairs of start and stop, without overlaps, in ascending order."""
    for start, stop in @SPANS@:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], stop)
        else:
            found.append((start, stop))
    return found
'''

_SHOP = '''"""Prices of a @SHOP@."""


def invoice_total(lines):
    """Return the total of an invoice."""
    total = 0
    for amount, price in lines:
        part = amount * price
        if amount >= @MANY@:
            part = part * (100 - @CUT@) // 100
        total += part
    return total
'''

_OFFER = '''"""Offers of a @SHOP@."""


def offer_text(name, amount, price):
    """Return the text of an offer."""
    part = amount * price
    if amount >= @MANY@:
        part = part * (100 - @CUT@) // 100
    return f"{amount} x {name}: {part}"
'''

_SHARED = '''"""The discount of a @SHOP@."""


def line_price(amount, price):
    """Return the price of a line."""
    part = amount * price
    if amount >= @MANY@:
        part = part * (100 - @CUT@) // 100
    return part
'''

_QUERY = """// Parses the query of an address.

/** Returns an object; a key that occurs several times has an array of its values, in order. */
export function parse(query) {
  const found = {};
  for (const part of query.replace("?", "").split("&")) {
    const [key, value] = part.split("=");
    found[key] = decodeURIComponent(value);
  }
  return found;
}
"""

_QUERY_SOLVED = """// Parses the query of an address.

const decoded = (text) => decodeURIComponent(text.replaceAll("+", " "));

/** Returns an object; a key that occurs several times has an array of its values, in order. */
export function parse(query) {
  const found = {};
  for (const part of query.replace(/^\\?/, "").split("&")) {
    if (!part) continue;
    const at = part.includes("=") ? part.indexOf("=") : part.length;
    const key = decoded(part.slice(0, at));
    const value = decoded(part.slice(at + 1));
    found[key] = Object.hasOwn(found, key) ? [found[key], value].flat() : value;
  }
  return found;
}
"""

_RANK = """// Ranks @THINGS@.

/** Returns the `n` largest numbers, largest first; the argument stays as it is. */
export function largest(@THINGS@, n) {
  return @THINGS@.sort().reverse().slice(0, n);
}

/** Returns the middle number, or the mean of the two middle ones; undefined if there are none. */
export function median(@THINGS@) {
  return @THINGS@.sort()[@THINGS@.length / 2];
}
"""

_RANK_SOLVED = """// Ranks @THINGS@.

/** Returns the `n` largest numbers, largest first; the argument stays as it is. */
export function largest(@THINGS@, n) {
  return [...@THINGS@].sort((a, b) => b - a).slice(0, n);
}

/** Returns the middle number, or the mean of the two middle ones; undefined if there are none. */
export function median(@THINGS@) {
  if (!@THINGS@.length) return undefined;
  const ordered = [...@THINGS@].sort((a, b) => a - b);
  const half = ordered.length >> 1;
  return ordered.length % 2 ? ordered[half] : (ordered[half - 1] + ordered[half]) / 2;
}
"""

_CART = """export function cartLine(name, cents) {
  const whole = Math.floor(cents / 100);
  const rest = String(cents % 100).padStart(2, "0");
  return `${name}: ${whole}@POINT@${rest} @COIN@`;
}
"""

_BILL = """export function billTotal(lines) {
  const cents = lines.reduce((sum, line) => sum + line, 0);
  const whole = Math.floor(cents / 100);
  const rest = String(cents % 100).padStart(2, "0");
  return `Total ${whole}@POINT@${rest} @COIN@`;
}
"""

TEMPLATES: tuple[TaskTemplate, ...] = (
    TaskTemplate(
        name="pages",
        kind="fix",
        language="python",
        prompt="`page` in pages.py returns the wrong page, and `n_pages` is sometimes too small. "
        "Fix both functions so that they do what their docstrings say.",
        files={"pages.py": _PAGES},
        solution=(
            ("pages.py", "start = number * size", "start = (number - 1) * size"),
            ("pages.py", "return len(@THINGS@) // size", "return -(-len(@THINGS@) // size)"),
        ),
        mutants=(
            (("pages.py", "(number - 1) * size", "(number - 1) * size + 1"),),
            (("pages.py", "-(-len(@THINGS@) // size)", "len(@THINGS@) // size + 1"),),
        ),
        check=PYTHON_START
        + """
import pages
things = list(range(3 * @SIZE@ + 1))
assert pages.page(things, 1) == things[:@SIZE@]
assert pages.page(things, 4) == things[-1:]
assert pages.page(things, 2, size=2) == [2, 3]
assert [pages.n_pages(range(n)) for n in (0, 1, @SIZE@, @SIZE@ + 1)] == [0, 1, 1, 2]
""",
        words={"THINGS": ("orders", "invoices", "books", "letters"), "SIZE": ("10", "20", "25")},
    ),
    TaskTemplate(
        name="spans",
        kind="fix",
        language="python",
        prompt="`joined` in spans.py gives wrong results when it is called twice, for @SPANS@ that "
        "are not sorted, and when one lies within another. Fix it; it must not change its argument.",
        files={"spans.py": _MERGE},
        solution=(
            ("spans.py", "joined(@SPANS@, found=[]):", "joined(@SPANS@):"),
            (
                "spans.py",
                "    for start, stop in @SPANS@:",
                "    found = []\n    for start, stop in sorted(@SPANS@):",
            ),
            ("spans.py", "(found[-1][0], stop)", "(found[-1][0], max(stop, found[-1][1]))"),
        ),
        mutants=(
            (("spans.py", "max(stop, found[-1][1])", "stop"),),
            (("spans.py", "sorted(@SPANS@)", "@SPANS@"),),
            (("spans.py", "start <= found", "start < found"),),
        ),
        check=PYTHON_START
        + """
from spans import joined
given = [(5, 8), (1, 4), (2, 3), (8, 9)]
for _ in range(2):
    assert joined(given) == [(1, 4), (5, 9)], joined(given)
assert given == [(5, 8), (1, 4), (2, 3), (8, 9)]
assert joined([]) == []
""",
        words={"SPANS": ("shifts", "bookings", "meetings", "ranges")},
    ),
    TaskTemplate(
        name="discount",
        kind="refactor",
        language="python",
        prompt="invoice.py and offer.py compute the price of a line with the same code. Move the "
        "computation to a function `line_price(amount, price)` in a new module pricing.py, and use "
        "it in both. The results must stay the same.",
        files={"invoice.py": _SHOP, "offer.py": _OFFER},
        solution=(
            ("pricing.py", "", _SHARED),
            (
                "invoice.py",
                _SHOP,
                '"""Prices of a @SHOP@."""\n\nfrom pricing import line_price\n\n\n'
                'def invoice_total(lines):\n    """Return the total of an invoice."""\n'
                "    return sum(line_price(amount, price) for amount, price in lines)\n",
            ),
            (
                "offer.py",
                _OFFER,
                '"""Offers of a @SHOP@."""\n\nfrom pricing import line_price\n\n\n'
                'def offer_text(name, amount, price):\n    """Return the text of an offer."""\n'
                '    return f"{amount} x {name}: {line_price(amount, price)}"\n',
            ),
        ),
        mutants=(
            (("pricing.py", "amount >= @MANY@", "amount > @MANY@"),),
            (("invoice.py", "sum(line_price(amount, price)", "sum(amount * price"),),
            (("offer.py", "", _OFFER),),
        ),
        check=PYTHON_START
        + """
import invoice, offer, pricing
assert pricing.line_price(@MANY@ - 1, 10) == (@MANY@ - 1) * 10
assert pricing.line_price(@MANY@, 10) == @MANY@ * 10 * (100 - @CUT@) // 100
assert invoice.invoice_total([(1, 7), (@MANY@, 10)]) == 7 + pricing.line_price(@MANY@, 10)
assert offer.offer_text("pen", @MANY@, 10) == f"@MANY@ x pen: {pricing.line_price(@MANY@, 10)}"
pricing.line_price = lambda amount, price: 1
for name in ("invoice", "offer"):
    with open(f"{name}.py", encoding="utf-8") as file:
        text = file.read()
    assert "line_price" in text and "@CUT@" not in text and "@MANY@" not in text, name
""",
        words={
            "SHOP": ("bakery", "garage", "florist"),
            "MANY": ("12", "24", "50"),
            "CUT": ("15", "8", "30"),
        },
    ),
    TaskTemplate(
        name="rename",
        kind="refactor",
        language="python",
        prompt="Rename the function `@OLD@` to `@NEW@` in the whole project. The command that users "
        'type stays "@OLD@", and so do the messages. Leave no alias behind.',
        files={
            "core.py": '"""The core."""\n\n\ndef @OLD@(text):\n    """Return the words of a text."""\n'
            "    return text.split()\n",
            "menu.py": '"""The menu."""\n\nimport core\n\nCOMMANDS = {"@OLD@": core.@OLD@}\n\n\n'
            'def run(name, text):\n    """Run a command."""\n    return COMMANDS[name](text)\n',
            "report.py": '"""Reports."""\n\nfrom core import @OLD@ as _words\n\n\n'
            'def report(text):\n    """Return a report."""\n'
            '    return f"@OLD@: {len(_words(text))}"\n',
        },
        solution=(
            ("core.py", "def @OLD@(", "def @NEW@("),
            ("menu.py", "core.@OLD@", "core.@NEW@"),
            ("report.py", "import @OLD@ as", "import @NEW@ as"),
        ),
        mutants=(
            (("menu.py", '{"@OLD@":', '{"@NEW@":'),),
            (("report.py", 'f"@OLD@:', 'f"@NEW@:'),),
            (
                (
                    "core.py",
                    "    return text.split()\n",
                    "    return text.split()\n\n\n@OLD@ = @NEW@\n",
                ),
            ),
        ),
        check=PYTHON_START
        + """
import core, menu, report
assert core.@NEW@("a b") == ["a", "b"] and not hasattr(core, "@OLD@")
assert menu.run("@OLD@", "a b") == ["a", "b"]
assert report.report("a b c") == "@OLD@: 3"
""",
        words={"OLD": ("cut", "parts", "proc"), "NEW": ("split_words", "word_list", "words_of")},
    ),
    TaskTemplate(
        name="query",
        kind="fix",
        language="javascript",
        prompt="`parse` in query.mjs is wrong for repeated keys, encoded keys, `+` (a space), values "
        "with `=`, keys without a value (an empty text) and an empty query (no keys). Fix it.",
        files={
            "query.mjs": _QUERY,
            "main.mjs": 'export { parse } from "./query.mjs";\n// @WORD@\n',
        },
        solution=(("query.mjs", "", _QUERY_SOLVED),),
        mutants=(
            (("query.mjs", "if (!part) continue;", ""),),
            (("query.mjs", '.replaceAll("+", " ")', ""),),
            (("query.mjs", "part.slice(at + 1)", 'part.split("=")[1] ?? ""'),),
            (("query.mjs", "[found[key], value].flat()", "[value, found[key]].flat()"),),
        ),
        check=JAVASCRIPT_START
        + """
const { parse } = await load("query.mjs");
assert.deepEqual(parse("?@WORD@=1&b=x%26y"), { "@WORD@": "1", b: "x&y" });
assert.deepEqual(parse("a=1&a=2&a=3"), { a: ["1", "2", "3"] });
assert.deepEqual(parse("a+b=c+d&e%20f=g=h&flag"), { "a b": "c d", "e f": "g=h", flag: "" });
assert.deepEqual(parse("?"), {});
""",
        words={"WORD": ("page", "sort", "lang")},
    ),
    TaskTemplate(
        name="rank",
        kind="fix",
        language="javascript",
        prompt="Both functions of rank.mjs are wrong for numbers with several digits, change their "
        "argument, and `median` is wrong in other cases, too. Fix them as their comments say.",
        files={"rank.mjs": _RANK},
        solution=(("rank.mjs", "", _RANK_SOLVED),),
        mutants=(
            (
                (
                    "rank.mjs",
                    "[...@THINGS@].sort((a, b) => b - a)",
                    "@THINGS@.sort((a, b) => b - a)",
                ),
            ),
            (("rank.mjs", "[...@THINGS@].sort((a, b) => a - b)", "[...@THINGS@].sort()"),),
            (("rank.mjs", "  if (!@THINGS@.length) return undefined;\n", ""),),
        ),
        check=JAVASCRIPT_START
        + """
const { largest, median } = await load("rank.mjs");
const given = [9, 10, 100, 2];
assert.deepEqual(largest(given, 2), [100, 10]);
assert.equal(median(given), 9.5);
assert.deepEqual(given, [9, 10, 100, 2]);
assert.equal(median([30, 4, 100]), 30);
assert.equal(median([]), undefined);
""",
        words={"THINGS": ("scores", "prices", "ages", "sizes")},
    ),
    TaskTemplate(
        name="money",
        kind="refactor",
        language="javascript",
        prompt="cart.mjs and bill.mjs format money with the same code. Move the code to an exported "
        "function `money(cents)` in a new module money.mjs, and use it in both. The results must "
        "stay the same.",
        files={"cart.mjs": _CART, "bill.mjs": _BILL},
        solution=(
            (
                "money.mjs",
                "",
                "export function money(cents) {\n  const whole = Math.floor(cents / 100);\n"
                '  const rest = String(cents % 100).padStart(2, "0");\n'
                "  return `${whole}@POINT@${rest} @COIN@`;\n}\n",
            ),
            (
                "cart.mjs",
                "",
                'import { money } from "./money.mjs";\n\nexport function cartLine(name, cents) {\n'
                "  return `${name}: ${money(cents)}`;\n}\n",
            ),
            (
                "bill.mjs",
                "",
                'import { money } from "./money.mjs";\n\nexport function billTotal(lines) {\n'
                "  return `Total ${money(lines.reduce((sum, line) => sum + line, 0))}`;\n}\n",
            ),
        ),
        mutants=(
            (("money.mjs", '.padStart(2, "0")', ""),),
            (("bill.mjs", "", _BILL),),
            (("cart.mjs", "${name}: ", "${name} "),),
        ),
        check=JAVASCRIPT_START
        + """
const { money } = await load("money.mjs");
const { cartLine } = await load("cart.mjs");
const { billTotal } = await load("bill.mjs");
assert.equal(money(1205), "12@POINT@05 @COIN@");
assert.equal(cartLine("tea", 250), "tea: 2@POINT@50 @COIN@");
assert.equal(billTotal([199, 2]), "Total 2@POINT@01 @COIN@");
for (const name of ["cart.mjs", "bill.mjs"]) {
  assert(text(name).includes("money.mjs") && !text(name).includes("padStart"), name);
}
""",
        words={"POINT": (".", ","), "COIN": ("EUR", "CHF", "USD")},
    ),
    TaskTemplate(
        name="exports",
        kind="refactor",
        language="javascript",
        prompt="@NAME@.mjs has a default export, an object. Replace it by named exports of the two "
        "functions, and change all modules that import it. No default export may stay.",
        files={
            "@NAME@.mjs": "export default {\n  begin(n) {\n    return `begin ${n}`;\n  },\n"
            "  end(n) {\n    return `end ${n}`;\n  },\n};\n",
            "one.mjs": 'import tool from "./@NAME@.mjs";\n\nexport const one = () => tool.begin(1);\n',
            "two.mjs": 'import * as all from "./@NAME@.mjs";\n\nconst end = "default";\n'
            "export const two = () => `${end} ${all.default.end(2)}`;\n",
        },
        solution=(
            (
                "@NAME@.mjs",
                "",
                "export function begin(n) {\n  return `begin ${n}`;\n}\n\n"
                "export function end(n) {\n  return `end ${n}`;\n}\n",
            ),
            (
                "one.mjs",
                "",
                'import { begin } from "./@NAME@.mjs";\n\nexport const one = () => begin(1);\n',
            ),
            ("two.mjs", "all.default.end(2)", "all.end(2)"),
        ),
        mutants=(
            (("two.mjs", "all.end(2)", "all.default.end(2)"),),
            (("two.mjs", "${end} ", ""),),
            (("one.mjs", "begin(1)", "begin(2)"),),
        ),
        check=JAVASCRIPT_START
        + """
const all = await load("@NAME@.mjs");
assert.deepEqual(Object.keys(all).sort(), ["begin", "end"]);
assert.equal((await load("one.mjs")).one(), "begin 1");
assert.equal((await load("two.mjs")).two(), "default end 2");
""",
        words={"NAME": ("timer", "tracer", "lamp")},
    ),
)
