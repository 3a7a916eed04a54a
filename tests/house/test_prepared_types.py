"""Threads prepare a type for decoding in turns, and each typed decode prepares its type."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "server" / "indwell"

# While the first thread prepares `Outer`, an annotation of `Inner` lets a second thread decode.
# The second thread has to wait: without `prepared` it crashes the process at once.
TWO_THREADS = """
from __future__ import annotations
import threading
import msgspec
from indwell.prepared_types import prepared

class Inner(msgspec.Struct):
    number: whole_number() = 0

class Outer(msgspec.Struct):
    inner: Inner
    name: str = ""

def decode():
    return msgspec.json.decode(b'{"inner":{"number":3},"name":"x"}', type=prepared(Outer))

second = threading.Thread(target=decode)

def whole_number():
    if not second.ident:
        second.start()
        second.join(0.2)
        print("second waits" if second.is_alive() else "second ended")
    return int

print(decode())
second.join()
"""


def test_a_second_thread_waits_until_a_type_is_prepared() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", TWO_THREADS], capture_output=True, text=True, check=False
    )
    expected = "second waits\nOuter(inner=Inner(number=3), name='x')\n"
    assert (ended.returncode, ended.stdout) == (0, expected), ended.stderr


# Values of these types have no rules that threads share.
PLAIN = {"dict", "list", "tuple", "frozenset", "str", "int", "float", "bool", "bytes", "Any"}
PLAIN |= {"msgspec"}


def type_of(call: ast.Call) -> ast.expr | None:
    """Return the type into which a call decodes."""
    named = next((one.value for one in call.keywords if one.arg == "type"), None)
    position = {"msgspec.convert": 1, "msgspec.json.Decoder": 0, "msgspec.json.decode": 9}
    place = position.get(ast.unparse(call.func))
    if place is None:
        return None
    return named or (call.args[place] if place < len(call.args) else None)


def unprepared(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        found = type_of(node) if isinstance(node, ast.Call) else None
        if found is None or (isinstance(found, ast.Call) and ast.unparse(found.func) == "prepared"):
            continue
        if {one.id for one in ast.walk(found) if isinstance(one, ast.Name)} - PLAIN:
            yield ast.unparse(found)


def test_each_decode_prepares_its_type() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): sorted(names)
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "prepared_types.py"
        and (names := set(unprepared(ast.parse(path.read_text("utf-8")))))
    }
    assert found == {}


def test_a_decode_without_preparation_is_found() -> None:
    source = "msgspec.convert(x, Hook); msgspec.json.decode(x, type=dict[str, Any]); Decoder(T)\n"
    source += "msgspec.json.Decoder(T); msgspec.json.decode(x, type=prepared(T))"
    assert [*unprepared(ast.parse(source))] == ["Hook", "T"]
