"""The templates of the shipped suite's Python tasks. Pure data."""

from __future__ import annotations

from indwell.evaluation.tasks import TaskTemplate

_START = "import ast, json, os, re, shutil, subprocess, sys, tempfile\nsys.path.insert(0, os.getcwd())\n"

_RUN_TESTS = (
    _START
    + '''
RUN = "import sys, unittest; sys.path.insert(0, '.'); unittest.main(module=None, argv=['x', 'discover', '-s', 'tests', '-t', '.'])"

def passes(old, new):
    with tempfile.TemporaryDirectory() as place:
        tree = os.path.join(place, "tree")
        shutil.copytree(".", tree, ignore=shutil.ignore_patterns(".git"))
        path = os.path.join(tree, MODULE)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        assert text == SOURCE, "the module must stay as it is"
        assert text.count(old) == 1
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))
        ran = subprocess.run([sys.executable, "-SB", "-c", RUN], cwd=tree, capture_output=True, text=True)
        assert "Ran 0 tests" not in ran.stderr, "there are no tests"
        return ran.returncode == 0

def judge(changes):
    assert passes(changes[0][0], changes[0][0]), "the tests fail with the right code"
    for old, new in changes:
        assert not passes(old, new), f"no test fails if {old!r} becomes {new!r}"
'''
)

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

_SLUG = '''"""Makes names for addresses."""


def slug(title, limit=@LIMIT@):
    """Return the title in lower case with `@SEP@` between words, at most `limit` characters.

    Characters other than letters and digits separate words. No name begins or ends with `@SEP@`.
    A title without words gives `@EMPTY@`.
    """
    words = "".join(one if one.isalnum() else " " for one in title.lower()).split()
    name = "@SEP@".join(words)[:limit].rstrip("@SEP@")
    return name or "@EMPTY@"
'''

_SPLIT = '''"""Splits an amount of money."""


def shares(cents, n_@PEOPLE@):
    """Return a fair share in cents for each of the @PEOPLE@.

    The shares add up to `cents`, no two differ by more than one, and the larger ones come first.
    With no @PEOPLE@, or a negative amount, a ValueError is raised.
    """
    if n_@PEOPLE@ < 1 or cents < 0:
        raise ValueError("nothing to share")
    part, rest = divmod(cents, n_@PEOPLE@)
    return [part + 1] * rest + [part] * (n_@PEOPLE@ - rest)
'''

_UNITS = '''"""Converts @UNIT@ values."""

FACTOR = @FACTOR@


def to_small(value):
    return round(value * FACTOR)


def to_large(value, digits=1):
    return round(value / FACTOR, digits)
'''
_UNITS_SOLVED = '''"""Converts @UNIT@ values."""

FACTOR = @FACTOR@


def to_small(value):
    """Return the value in the small unit.

    >>> to_small(2) // FACTOR
    2
    """
    return round(value * FACTOR)


def to_large(value, digits=1):
    """Return the value in the large unit, rounded.

    >>> to_large(FACTOR)
    1.0
    """
    return round(value / FACTOR, digits)
'''

_CLI = '''"""The command line of @TOOL@."""

import argparse


def parser():
    one = argparse.ArgumentParser("@TOOL@")
    one.add_argument("--@FLAG@", type=int, default=@SIZE@, help="the limit")
    one.add_argument("--output", default="@TOOL@.txt", help="the file to write")
    one.add_argument("--dry-run", action="store_true", help="write nothing")
    return one
'''

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
        check=_START
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
        check=_START
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
        check=_START
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
            (("core.py", "    return text.split()\n", "    return text.split()\n\n\n@OLD@ = @NEW@\n"),),
        ),
        check=_START
        + """
import core, menu, report
assert core.@NEW@("a b") == ["a", "b"] and not hasattr(core, "@OLD@")
assert menu.run("@OLD@", "a b") == ["a", "b"]
assert report.report("a b c") == "@OLD@: 3"
""",
        words={"OLD": ("cut", "parts", "proc"), "NEW": ("split_words", "word_list", "words_of")},
    ),
    TaskTemplate(
        name="examples",
        kind="document",
        language="python",
        prompt="Give each function in units.py a docstring with at least one doctest example that "
        "passes. Do not change the code.",
        files={"units.py": _UNITS},
        solution=(("units.py", "", _UNITS_SOLVED),),
        mutants=(
            (("units.py", "    2\n", "    3\n"),),
            (("units.py", "digits=1", "digits=2"),),
            (("units.py", "    >>> to_large(FACTOR)\n    1.0\n", ""),),
        ),
        check=_START
        + '''
import doctest, units
SOURCE = """'''
        + _UNITS.replace('"""', "'''")
        + '''"""

def code(text):
    tree = ast.parse(text)
    for one in ast.walk(tree):
        if isinstance(one, (ast.Module, ast.FunctionDef)) and ast.get_docstring(one) is not None:
            one.body = one.body[1:]
    return ast.dump(tree)

with open("units.py", encoding="utf-8") as file:
    assert code(file.read()) == code(SOURCE), "the code has changed"
for name in ("to_small", "to_large"):
    found = doctest.DocTestFinder(recurse=False).find(getattr(units, name), name, units)
    assert found and found[0].examples, f"{name} has no example"
    assert name in "".join(one.source for one in found[0].examples), name
    assert doctest.DocTestRunner(verbose=False).run(found[0], out=sys.stderr.write).failed == 0
''',
        words={
            "UNIT": ("length", "weight"),
            "FACTOR": ("12", "16"),
        },
    ),
    TaskTemplate(
        name="options",
        kind="document",
        language="python",
        prompt="README.md lists the options of cli.py in a table, with the default of each option "
        "that has one (otherwise a hyphen). Bring the table up to date with cli.py: one row for "
        "each option, in the same order. Do not change cli.py.",
        files={
            "cli.py": _CLI,
            "README.md": "# @TOOL@\n\n| Option | Default |\n| --- | --- |\n"
            "| `--@FLAG@` | `5` |\n| `--verbose` | - |\n",
        },
        solution=(
            (
                "README.md",
                "| `--@FLAG@` | `5` |\n| `--verbose` | - |\n",
                "| `--@FLAG@` | `@SIZE@` |\n| `--output` | `@TOOL@.txt` |\n| `--dry-run` | - |\n",
            ),
        ),
        mutants=(
            (("README.md", "| `--dry-run` | - |\n", "| `--dry-run` | - |\n| `--verbose` | - |\n"),),
            (("README.md", "`@SIZE@`", "`5`"),),
            (("README.md", "| `--output` | `@TOOL@.txt` |\n", ""),),
        ),
        check=_START
        + """
with open("README.md", encoding="utf-8") as file:
    rows = [[cell.strip(" `") for cell in line.strip().strip("|").split("|")] for line in file if line.startswith("|")]
assert [row[:2] for row in rows[2:]] == [["--@FLAG@", "@SIZE@"], ["--output", "@TOOL@.txt"], ["--dry-run", "-"]], rows
import cli
assert vars(cli.parser().parse_args([])) == {"@FLAG@": @SIZE@, "output": "@TOOL@.txt", "dry_run": False}
""",
        words={
            "TOOL": ("sift", "mixer", "tally"),
            "FLAG": ("limit", "most", "width"),
            "SIZE": ("40", "72", "100"),
        },
    ),
    TaskTemplate(
        name="slug",
        kind="test",
        language="python",
        prompt="Write unittest tests for slug.py in tests/test_slug.py. Each sentence of the "
        "docstring must have a test that fails if the sentence is no longer true. Leave slug.py as "
        "it is.",
        files={"slug.py": _SLUG, "tests/__init__.py": ""},
        solution=(
            (
                "tests/test_slug.py",
                "",
                "import unittest\n\nfrom slug import slug\n\n\nclass Slugs(unittest.TestCase):\n"
                "    def test_words(self):\n"
                '        self.assertEqual(slug("Hello, World 2!"), "hello@SEP@world@SEP@2")\n\n'
                "    def test_limit(self):\n"
                '        self.assertEqual(slug("ab cd", 3), "ab")\n'
                '        self.assertEqual(len(slug("x" * 200)), @LIMIT@)\n\n'
                "    def test_empty(self):\n"
                '        self.assertEqual(slug("?!"), "@EMPTY@")\n',
            ),
        ),
        mutants=(
            (("tests/test_slug.py", 'self.assertEqual(slug("?!"), "@EMPTY@")', "pass"),),
            (("tests/test_slug.py", 'self.assertEqual(slug("ab cd", 3), "ab")', "pass"),),
            (("tests/test_slug.py", '"hello@SEP@world@SEP@2"', '"hello"'),),
        ),
        check=_RUN_TESTS
        + "MODULE = 'slug.py'\nSOURCE = '''"
        + _SLUG
        + """'''
judge([(".lower()", ""), ('.rstrip("@SEP@")', ""), ('name or "@EMPTY@"', "name"), ("[:limit]", "")])
""",
        words={"SEP": ("-", "_"), "EMPTY": ("untitled", "none"), "LIMIT": ("40", "60")},
    ),
    TaskTemplate(
        name="shares",
        kind="test",
        language="python",
        prompt="Write unittest tests for shares.py in tests/test_shares.py. Each sentence of the "
        "docstring must have a test that fails if the sentence is no longer true. Leave shares.py "
        "as it is.",
        files={"shares.py": _SPLIT, "tests/__init__.py": ""},
        solution=(
            (
                "tests/test_shares.py",
                "",
                "import unittest\n\nfrom shares import shares\n\n\nclass Shares(unittest.TestCase):\n"
                "    def test_fair(self):\n        self.assertEqual(shares(11, 3), [4, 4, 3])\n\n"
                "    def test_wrong(self):\n        for given in ((10, 0), (-1, 2)):\n"
                "            with self.assertRaises(ValueError):\n                shares(*given)\n",
            ),
        ),
        mutants=(
            (("tests/test_shares.py", "((10, 0), (-1, 2))", "((10, 0),)"),),
            (("tests/test_shares.py", "shares(11, 3), [4, 4, 3]", "sum(shares(11, 3)), 11"),),
            (("tests/test_shares.py", "[4, 4, 3]", "[3, 4, 4]"),),
        ),
        check=_RUN_TESTS
        + "MODULE = 'shares.py'\nSOURCE = '''"
        + _SPLIT
        + """'''
judge([
    (" or cents < 0", ""), ("[part + 1] * rest", "[part] * rest"),
    ("[part + 1] * rest + [part] * (n_@PEOPLE@ - rest)", "[part] * (n_@PEOPLE@ - rest) + [part + 1] * rest"),
    ("[part + 1] * rest + [part] * (n_@PEOPLE@ - rest)", "[part + rest] + [part] * (n_@PEOPLE@ - 1)"),
])
""",
        words={"PEOPLE": ("guests", "friends", "heirs")},
    ),
    TaskTemplate(
        name="caller",
        kind="navigate",
        language="python",
        prompt="Which function reaches `storage.@SINK@` when `app.handle(\"@EVENT@\")` runs, as the "
        "direct caller of `storage.@SINK@`? Write `module.function` of the direct caller to "
        "answer.txt, and change nothing else.",
        files={
            "app.py": "import first\nimport second\n\nROUTES = {\n    \"open\": first.begin,\n"
            '    "@EVENT@": second.begin,\n}\n\n\ndef handle(event):\n    return ROUTES[event]()\n',
            "first.py": "import storage\n\n\ndef begin():\n    return finish()\n\n\ndef finish():\n"
            "    return storage.@SINK@()\n",
            "second.py": "import first\nimport storage\n\n\ndef begin():\n    return @MIDDLE@(first)\n\n\n"
            "def @MIDDLE@(module):\n    storage.touch()\n    return getattr(module, \"finish\")()\n\n\n"
            "def finish():\n    return storage.@SINK@()\n",
            "storage.py": "def @SINK@():\n    return 1\n\n\ndef touch():\n    return 2\n",
        },
        solution=(("answer.txt", "", "first.finish\n"),),
        mutants=(
            (("answer.txt", "", "second.finish\n"),),
            (("answer.txt", "", "second.@MIDDLE@\n"),),
            (("storage.py", "return 2", "return 3"),),
        ),
        check=_START
        + """
with open("answer.txt", encoding="utf-8") as file:
    assert file.read().strip().strip("`").removesuffix("()") == "first.finish"
with open("storage.py", encoding="utf-8") as file:
    assert file.read() == "def @SINK@():\\n    return 1\\n\\n\\ndef touch():\\n    return 2\\n"
""",
        words={
            "SINK": ("save", "flush", "commit"),
            "EVENT": ("close", "quit", "send"),
            "MIDDLE": ("through", "relay", "step"),
        },
    ),
    TaskTemplate(
        name="setting",
        kind="navigate",
        language="python",
        prompt="Which value does `settings.load(\"@STAGE@\")[\"@KEY@\"]` have? Find it by reading, and "
        "write only the value to answer.txt. Change nothing else.",
        files={
            "settings.py": '"""Merges settings; later layers override earlier ones."""\n\n'
            "import base\nimport stages\n\n\ndef load(stage):\n"
            "    layers = [base.VALUES, *stages.layers(stage)]\n    merged = {}\n"
            "    for layer in layers:\n        merged.update({key: value for key, value in layer.items() "
            "if value is not None})\n    return merged\n",
            "base.py": 'VALUES = {"@KEY@": @BASE@, "name": "base"}\n',
            "stages.py": 'PARENTS = {"@STAGE@": "common", "common": None, "other": "common"}\n'
            'VALUES = {\n    "common": {"@KEY@": @COMMON@},\n    "@STAGE@": {"@KEY@": None},\n'
            '    "other": {"@KEY@": 1},\n}\n\n\ndef layers(stage):\n    found = []\n'
            "    while stage:\n        found.insert(0, VALUES[stage])\n        stage = PARENTS[stage]\n"
            "    return found\n",
        },
        solution=(("answer.txt", "", "@COMMON@\n"),),
        mutants=(
            (("answer.txt", "", "@BASE@\n"),),
            (("answer.txt", "", "None\n"),),
            (("base.py", '"name": "base"', '"name": "x"'),),
        ),
        check=_START
        + """
with open("answer.txt", encoding="utf-8") as file:
    assert file.read().strip() == "@COMMON@"
with open("base.py", encoding="utf-8") as file:
    assert file.read() == 'VALUES = {"@KEY@": @BASE@, "name": "base"}\\n'
import settings
assert settings.load("@STAGE@")["@KEY@"] == @COMMON@
""",
        words={
            "KEY": ("timeout", "retries", "workers"),
            "STAGE": ("production", "staging"),
            "BASE": ("30", "45"),
            "COMMON": ("70", "90"),
        },
    ),
)
