/** The project of the screenshots. */
import type { Files } from "./place.ts";

/** A module with a bug: it rounds each line. */
export const INVOICE = `"""Invoices of the shop."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One line of an invoice."""

    name: str
    quantity: int
    price: float


def total(lines: list[Line], discount: float = 0.0) -> float:
    """What the customer pays, in the shop's currency."""
    amount = 0.0
    for line in lines:
        amount += round(line.quantity * line.price, 2)
    return amount * (1 - discount)


def describe(lines: list[Line]) -> str:
    """The invoice as text, one line each."""
    rows = [f"{line.quantity} x {line.name}: {line.price}" for line in lines]
    return "\\n".join(rows)
`;

/** The files of the project by path. */
export const SHOP: Files = {
  "shop/invoice.py": INVOICE,
  "shop/__init__.py": "",
  "tests/test_invoice.py":
    "from shop.invoice import Line, total\n\n\ndef test_total() -> None:\n    assert total([Line('tea', 3, 0.333)]) == 1.0\n",
  "README.md": "# Shop\n\nInvoices for a small shop.\n",
  Makefile: "install:\n\t@echo installed\n",
};
