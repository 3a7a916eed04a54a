/** Files into which the tests place code. */
import assert from "node:assert/strict";

/** A module in Python. */
export const SHOP = `"""Totals of invoices."""

import math

RATE = 0.2


def total(items):
    result = 0
    for item in items:
        result += item.price
    return result


def tax(items):
    return total(items) * RATE


class Invoice:
    """One invoice."""

    def __init__(self, items):
        self.items = items

    def total(self):
        return total(self.items)

    @property
    def empty(self):
        return not self.items


if __name__ == "__main__":
    print(total([]))
`;

/** A module in TypeScript. */
export const CART = `import { price } from "./price";

export class Cart {
  #items: Item[] = [];

  add(item: Item): void {
    this.#items.push(item);
  }

  get total(): number {
    return this.#items.reduce((sum, item) => sum + price(item), 0);
  }
}

export function empty(): Cart {
  return new Cart();
}

export const double = (n: number): number => {
  return n * 2;
};
`;

/** The file after `changes`, each of whose old texts must occur exactly once. */
export function swapped(file: string, ...changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((text, [from, to]) => {
    assert.equal(text.split(from).length, 2, `once in the file: ${from}`);
    return text.replace(from, () => to);
  }, file);
}
