"""Generates a small project with a failing test; a seed determines names, lines and bug.

``make_folder`` writes the project of a demo in an editor, into a folder of Indwell's own. Only in
that folder does a server use the scripted model without being told so.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
import platformdirs

from indwell.errors import UserError
from indwell.files.append_log import make_private_folder
from indwell.files.private import write_private
from indwell.files.system import calls
from indwell.providers.scripted import CHECK

PACE_S = 0.01  # seconds between two pieces of the scripted text, so that a person can follow
_SEED = 2  # a project whose bug a reader sees at once
_PREFIX = "made-up-project-"
_KEPT_S = 24 * 3600.0  # seconds after which an unused project of an earlier demo is deleted


class _Subject(NamedTuple):
    """A function of a demo project, with its possible bugs."""

    module: str
    names: tuple[str, ...]
    source: str
    faults: tuple[tuple[str, str], ...]
    checks: tuple[str, ...]


class Project(msgspec.Struct, frozen=True):
    """A project to write.

    Attributes:
        files: The text of each file, by path relative to the project's folder.
        path: The path of the file with the bug.
        function: The name of the faulty function.
        first_line: The function's first line, 1-based.
        last_line: The function's last line, 1-based.
    """

    files: dict[str, str]
    path: str
    function: str
    first_line: int
    last_line: int


_SUBJECTS = (
    _Subject(
        "invoice",
        ("invoice_total", "basket_total", "order_sum", "amount_due"),
        '''\
def {name}(items):
    """Return the sum of price times quantity over all items."""
    total = 0
    for item in items:
        total += item["price"] * item["quantity"]
    return total
''',
        (
            ("total += item", "total = item"),
            ('["price"] * item', '["price"] + item'),
            ("total = 0", "total = 1"),
        ),
        (
            "self.assertEqual({name}([]), 0)",
            'self.assertEqual({name}([{"price": 5, "quantity": 3}]), 15)',
            'self.assertEqual({name}([{"price": 5, "quantity": 3}] * 2), 30)',
        ),
    ),
    _Subject(
        "shipping",
        ("ships_free", "has_free_delivery", "is_free_of_charge"),
        '''\
def {name}(amount, limit=50):
    """Say whether an order of at least limit is shipped for free."""
    if amount < 0:
        raise ValueError("an amount is never negative")
    return amount >= limit
''',
        (("amount >= limit", "amount > limit"), ("amount >= limit", "amount <= limit")),
        (
            "self.assertTrue({name}(50))",
            "self.assertTrue({name}(51))",
            "self.assertFalse({name}(49))",
        ),
    ),
    _Subject(
        "grades",
        ("mean_grade", "average_of", "middle_mark"),
        '''\
def {name}(grades):
    """Return the mean of all grades, or None if missing."""
    if not grades:
        return None
    return sum(grades) / len(grades)
''',
        (
            ("/ len(grades)", "/ (len(grades) + 1)"),
            ("/ len(grades)", "/ (len(grades) - 1)"),
            ("sum(grades)", "max(grades)"),
        ),
        (
            "self.assertIsNone({name}([]))",
            "self.assertEqual({name}([2, 4]), 3)",
            "self.assertEqual({name}([1, 2, 6]), 3)",
        ),
    ),
    _Subject(
        "weather",
        ("hottest_day", "warmest", "peak_of"),
        '''\
def {name}(temperatures):
    """Return the index of the highest temperature; the first one counts."""
    best = 0
    for index in range(len(temperatures)):
        if temperatures[index] > temperatures[best]:
            best = index
    return best
''',
        (
            ("[index] > temp", "[index] < temp"),
            ("[index] > temp", "[index] >= temp"),
            ("range(len(temperatures))", "range(len(temperatures) - 1)"),
        ),
        (
            "self.assertEqual({name}([3, 9, 4]), 1)",
            "self.assertEqual({name}([1, 2, 7]), 2)",
            "self.assertEqual({name}([5, 8, 8, 2]), 1)",
        ),
    ),
    _Subject(
        "prices",
        ("reduced_price", "price_after_discount", "sale_price"),
        '''\
def {name}(price, percent):
    """Return the price minus percent of it, rounded to cents."""
    return round(price - price * percent / 100, 2)
''',
        (
            ("price - price", "price + price"),
            ("price * percent", "price + percent"),
            (", 2)", ", 0)"),
        ),
        (
            "self.assertEqual({name}(200, 10), 180)",
            "self.assertEqual({name}(19.99, 0), 19.99)",
            "self.assertEqual({name}(9.98, 50), 4.99)",
        ),
    ),
)

_FILLERS = (
    '''\
def is_known(code, codes):
    """Say whether a code is one of codes, whatever its case."""
    return code.casefold() in {one.casefold() for one in codes}
''',
    '''\
def initials(name):
    """Return the first letters of a name."""
    return "".join(part[0].upper() for part in name.split())
''',
    '''\
def chunks(values, size):
    """Split values into lists of size; the last one may be shorter."""
    return [values[at : at + size] for at in range(0, len(values), size)]
''',
)


def make_project(seed: int) -> Project:
    """Choose the function, names, position and bug; the same seed gives the same project."""
    chance = random.Random(seed)
    subject = chance.choice(_SUBJECTS)
    name = chance.choice(subject.names)
    right = subject.source.replace("{name}", name)
    fault, wrong = chance.choice(subject.faults)
    assert right.count(fault) == 1, (subject.module, fault)
    faulty = right.replace(fault, wrong)
    above = chance.sample(_FILLERS, chance.randrange(len(_FILLERS)))
    head = f'"""Small helpers for {subject.module}."""\n\n\n'
    text = head + "".join(f"{filler}\n\n" for filler in above)
    first_line = text.count("\n") + 1
    checks = "\n        ".join(check.replace("{name}", name) for check in subject.checks)
    package = chance.choice(("shop", "app", "core", "lib"))
    test = (
        "import unittest\n\n"
        f"from {package}.{subject.module} import {name}\n\n\n"
        "class Check(unittest.TestCase):\n"
        f"    def test_{name}(self):\n        {checks}\n"
    )
    return Project(
        files={
            f"{package}/__init__.py": "",
            f"{package}/{subject.module}.py": text + faulty,
            f"test_{subject.module}.py": test,
            "README.md": f"# A made-up project\n\nIts check: `{CHECK}`\n",
        },
        path=f"{package}/{subject.module}.py",
        function=name,
        first_line=first_line,
        last_line=first_line + faulty.count("\n") - 1,
    )


def demo_folder() -> Path:
    """Return the folder of the made-up projects, which only the user can write."""
    return platformdirs.user_cache_path("indwell", appauthor=False) / "demo"


def is_demo(roots: Sequence[Path]) -> bool:
    """Return whether the workspace is one made-up project of ``make_folder``."""
    (root, *others) = roots or (Path(),)
    real, place = root.resolve(), demo_folder().resolve()
    return not others and real.parent == place and real.name.startswith(_PREFIX)


def project_in_editor() -> Project:
    """Return the project that ``make_folder`` writes."""
    return make_project(_SEED)


def make_folder() -> Path:
    """Write the project into a new folder, and delete the projects of old demos; blocks.

    Raises:
        UserError: The folder cannot be written.
    """
    place = demo_folder()
    try:
        make_private_folder(place)
        for old in place.glob(f"{_PREFIX}*"):
            if time.time() - old.stat().st_mtime > _KEPT_S:
                with suppress(OSError):  # another process may delete the folder
                    calls.remove_tree(old)
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
        for name, text in project_in_editor().files.items():
            make_private_folder((folder / name).parent)
            write_private(folder / name, text.encode())
    except OSError as error:
        raise UserError(f"the made-up project cannot be written ({error}); free some space") from (
            error
        )
    return folder
