"""The templates of the shipped suite's tasks that write tests. Pure data."""

from __future__ import annotations

from indwell.evaluation.shipped.check_beginnings import (
    JAVASCRIPT_RUN_TESTS,
    PYTHON_RUN_TESTS,
)
from indwell.evaluation.tasks import TaskTemplate

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

_CLAMP = """/**
 * Returns the value, but at least `low` and at most `high`.
 *
 * A value that is no number gives `low`. If `low` is above `high`, a RangeError is thrown.
 */
export function @NAME@(value, low = @LOW@, high = @HIGH@) {
  if (low > high) throw new RangeError("low is above high");
  if (typeof value !== "number" || Number.isNaN(value)) return low;
  return Math.min(high, Math.max(low, value));
}
"""

_CACHE = """/** Keeps the `size` values that were used last; get and set both use a key. */
export class @NAME@ {
  #kept = new Map();
  constructor(size = @SIZE@) {
    this.size = size;
  }
  /** Returns the value of a key, or undefined. */
  get(key) {
    if (!this.#kept.has(key)) return undefined;
    const value = this.#kept.get(key);
    this.#kept.delete(key);
    this.#kept.set(key, value);
    return value;
  }
  /** Sets a key; the key that was unused for the longest time leaves a full cache. */
  set(key, value) {
    this.#kept.delete(key);
    this.#kept.set(key, value);
    if (this.#kept.size > this.size) this.#kept.delete(this.#kept.keys().next().value);
  }
}
"""

TEMPLATES: tuple[TaskTemplate, ...] = (
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
        check=PYTHON_RUN_TESTS
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
        check=PYTHON_RUN_TESTS
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
        name="clamp",
        kind="test",
        language="javascript",
        prompt="Write tests for clamp.mjs in clamp.test.mjs, which `node clamp.test.mjs` runs; use "
        "node:assert only. Each sentence of the comment, and both defaults, must have a test that "
        "fails if it is no longer true. Leave clamp.mjs as it is.",
        files={"clamp.mjs": _CLAMP},
        solution=(
            (
                "clamp.test.mjs",
                "",
                'import assert from "node:assert/strict";\nimport { @NAME@ } from "./clamp.mjs";\n\n'
                "assert.equal(@NAME@(5, 1, 9), 5);\nassert.equal(@NAME@(-1e6), @LOW@);\n"
                "assert.equal(@NAME@(1e6), @HIGH@);\nassert.equal(@NAME@(NaN, 1, 9), 1);\n"
                'assert.equal(@NAME@("7", 1, 9), 1);\nassert.throws(() => @NAME@(5, 9, 1), RangeError);\n',
            ),
        ),
        mutants=(
            (("clamp.test.mjs", "assert.throws(() => @NAME@(5, 9, 1), RangeError);\n", ""),),
            (("clamp.test.mjs", "assert.equal(@NAME@(1e6), @HIGH@);\n", ""),),
            (("clamp.test.mjs", 'assert.equal(@NAME@("7", 1, 9), 1);\n', ""),),
            (("clamp.test.mjs", "@NAME@(5, 1, 9), 5", "@NAME@(5, 1, 9), 6"),),
        ),
        check=JAVASCRIPT_RUN_TESTS.replace("MODULE", '"clamp.mjs"').replace(
            "TESTS", '"clamp.test.mjs"'
        )
        + "const SOURCE = `"
        + _CLAMP.replace("`", "\\`")
        + """`;
judge([
  ["Math.max(low, value)", "value"], ["Math.min(high, Math.max(low, value))", "Math.max(low, value)"],
  ["low = @LOW@", "low = @LOW@ + 1"], ["high = @HIGH@", "high = @HIGH@ + 1"],
  ["|| Number.isNaN(value)", ""], ['typeof value !== "number" ||', ""], ["throw new RangeError", "throw new Error"],
]);
""",
        words={"NAME": ("clamp", "bounded", "within"), "LOW": ("0", "10"), "HIGH": ("100", "255")},
    ),
    TaskTemplate(
        name="cache",
        kind="test",
        language="javascript",
        prompt="Write tests for cache.mjs in cache.test.mjs, which `node cache.test.mjs` runs; use "
        "node:assert only. Each sentence of the comments, and the default size, must have a test "
        "that fails if it is no longer true. Leave cache.mjs as it is.",
        files={"cache.mjs": _CACHE},
        solution=(
            (
                "cache.test.mjs",
                "",
                'import assert from "node:assert/strict";\nimport { @NAME@ } from "./cache.mjs";\n\n'
                "const one = new @NAME@(2);\nassert.equal(one.get(1), undefined);\n"
                "one.set(1, 10);\none.set(2, 20);\nassert.equal(one.get(1), 10);\none.set(3, 30);\n"
                "assert.equal(one.get(2), undefined);\nassert.equal(one.get(1), 10);\n"
                "one.set(3, 31);\none.set(4, 40);\nassert.equal(one.get(1), undefined);\n"
                "assert.equal(one.get(3), 31);\nassert.equal(new @NAME@().size, @SIZE@);\n",
            ),
        ),
        mutants=(
            (("cache.test.mjs", "assert.equal(new @NAME@().size, @SIZE@);\n", ""),),
            (
                (
                    "cache.test.mjs",
                    "one.set(3, 31);\none.set(4, 40);\nassert.equal(one.get(1), undefined);\n"
                    "assert.equal(one.get(3), 31);\n",
                    "",
                ),
            ),
            (
                (
                    "cache.test.mjs",
                    "assert.equal(one.get(2), undefined)",
                    "assert.equal(one.get(2), 20)",
                ),
            ),
        ),
        check=JAVASCRIPT_RUN_TESTS.replace("MODULE", '"cache.mjs"').replace(
            "TESTS", '"cache.test.mjs"'
        )
        + "const SOURCE = `"
        + _CACHE.replace("`", "\\`")
        + """`;
judge([
  ["    this.#kept.delete(key);\\n    this.#kept.set(key, value);\\n    return value;", "    return value;"],
  ["    this.#kept.delete(key);\\n    this.#kept.set(key, value);\\n    if", "    this.#kept.set(key, value);\\n    if"],
  ["this.#kept.size > this.size", "this.#kept.size > this.size + 1"],
  ["size = @SIZE@", "size = @SIZE@ + 1"],
]);
""",
        words={"NAME": ("Cache", "Recent", "Shelf"), "SIZE": ("8", "16", "50")},
    ),
)
