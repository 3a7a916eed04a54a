/** Where the code of an answer is placed in a file. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { changedPart } from "../../../../../src/extension/chat/placing/code-lines.ts";
import { placeCode } from "../../../../../src/extension/chat/placing/place-code.ts";
import { CART, SHOP, swapped } from "./sample-files.ts";

interface Case {
  readonly name: string;
  readonly file: string;
  readonly code: string;
  /** The file afterwards, or the reason why the code is not placed. */
  readonly gives: string;
  readonly near?: number;
  readonly whole?: true;
}

const LOOP = "    for item in items:\n        result += item.price\n";

const CASES: readonly Case[] = [
  {
    name: "a function replaces the function of the same name and nothing else",
    file: SHOP,
    code: "def tax(items):\n    if not items:\n        return 0\n    return total(items) * RATE\n",
    gives: swapped(SHOP, [
      "def tax(items):\n    return",
      "def tax(items):\n    if not items:\n        return 0\n    return",
    ]),
  },
  {
    name: "a function with other parameters replaces the function of the same name",
    file: SHOP,
    code: "def tax(items, rate=RATE):\n    return total(items) * rate",
    gives: swapped(SHOP, [
      "def tax(items):\n    return total(items) * RATE",
      "def tax(items, rate=RATE):\n    return total(items) * rate",
    ]),
  },
  {
    name: "a new line between two known lines is inserted there",
    file: SHOP,
    code: "result = 0\nfor item in items:\n    if item.sold:\n        result += item.price\nreturn result",
    gives: swapped(SHOP, [
      LOOP,
      "    for item in items:\n        if item.sold:\n            result += item.price\n",
    ]),
  },
  {
    name: "lines that the file already has change nothing",
    file: SHOP,
    code: LOOP,
    gives: "there",
  },
  {
    name: "lines that differ only in indentation change nothing",
    file: SHOP,
    code: "for item in items:\n  result += item.price\n".replace("  ", "    "),
    gives: "there",
  },
  {
    name: "a line that occurs twice is not placed",
    file: "a = 1\nshow(a)\nb = 2\nshow(a)\n",
    code: "show(a)",
    gives: "several",
  },
  {
    name: "lines that occur twice are placed near the line that the model named",
    file: "def f():\n    x = 1\n    return x\n\n\nclass A:\n    def f():\n        x = 1\n        return x\n",
    code: "x = 1\nx += 1\nreturn x",
    near: 7,
    gives:
      "def f():\n    x = 1\n    return x\n\n\nclass A:\n    def f():\n        x = 1\n        x += 1\n        return x\n",
  },
  {
    name: "a new line between two lines that occur twice is not placed",
    file: "def f():\n    x = 1\n    return x\n\n\nclass A:\n    def f():\n        x = 1\n        return x\n",
    code: "x = 1\nx += 1\nreturn x",
    gives: "several",
  },
  {
    name: "of a function and a method with one name, the one at the same depth is replaced",
    file: SHOP,
    code: "def total(items):\n    return sum(item.price for item in items)",
    gives: swapped(SHOP, [
      `    result = 0\n${LOOP}    return result`,
      "    return sum(item.price for item in items)",
    ]),
  },
  {
    name: "a method that is written without its class gets the indentation of the class",
    file: SHOP,
    code: "@property\ndef empty(self):\n    return len(self.items) == 0",
    gives: swapped(SHOP, ["return not self.items", "return len(self.items) == 0"]),
  },
  {
    name: "a method that is written without its decorator keeps the decorator",
    file: SHOP,
    code: "def empty(self):\n    return len(self.items) == 0",
    gives: swapped(SHOP, ["return not self.items", "return len(self.items) == 0"]),
  },
  {
    name: "a method that two classes have is not placed",
    file: "class A:\n    def go(self):\n        return 1\n\n\nclass B:\n    def go(self):\n        return 2\n\n    def stay(self):\n        return 3\n\n    def wait(self):\n        return 4\n",
    code: "def go(self):\n    return 5",
    gives: "several",
  },
  {
    name: "the class in the code selects the method, and the other methods of the class stay",
    file: "class A:\n    def go(self):\n        return 1\n\n\nclass B:\n    def go(self):\n        return 2\n\n    def stay(self):\n        return 3\n\n    def wait(self):\n        return 4\n",
    code: "class B:\n    def go(self):\n        return 5",
    gives:
      "class A:\n    def go(self):\n        return 1\n\n\nclass B:\n    def go(self):\n        return 5\n\n    def stay(self):\n        return 3\n\n    def wait(self):\n        return 4\n",
  },
  {
    name: "a new function is inserted after the known function before it",
    file: SHOP,
    code: "def tax(items):\n    return total(items) * RATE\n\n\ndef net(items):\n    return total(items) - tax(items)",
    gives: swapped(SHOP, [
      "    return total(items) * RATE\n",
      "    return total(items) * RATE\n\n\ndef net(items):\n    return total(items) - tax(items)\n",
    ]),
  },
  {
    name: "a new function is inserted before the known function after it",
    file: SHOP,
    code: "def net(items):\n    return 1\n\n\ndef tax(items):\n    return total(items) * RATE",
    gives: swapped(SHOP, ["def tax(items)", "def net(items):\n    return 1\n\n\ndef tax(items)"]),
  },
  {
    name: "a single function that the file does not have is not placed",
    file: SHOP,
    code: "def discount(items):\n    return 0",
    gives: "unknown",
  },
  {
    name: "a line that the file does not have is not placed",
    file: SHOP,
    code: "pip install indwell",
    gives: "unknown",
  },
  {
    name: "lines of which only the first is known are not placed",
    file: SHOP,
    code: "result = 0\nreturn sum(item.price for item in items)",
    gives: "unknown",
  },
  {
    name: "an import and a function are placed separately",
    file: SHOP,
    code: "from decimal import Decimal\n\ndef tax(items):\n    return Decimal(total(items)) * RATE",
    gives: swapped(
      SHOP,
      ["import math\n", "import math\nfrom decimal import Decimal\n"],
      ["return total(items) * RATE", "return Decimal(total(items)) * RATE"],
    ),
  },
  {
    name: "an import with more names from the same module replaces the old import",
    file: CART,
    code: 'import { price, tax } from "./price";',
    gives: swapped(CART, ["{ price }", "{ price, tax }"]),
  },
  {
    name: "the part of a function that a comment omits stays",
    file: SHOP,
    code: "def total(items):\n    check(items)\n    # ... existing code ...\n",
    gives: swapped(SHOP, ["    result = 0\n", "    check(items)\n    result = 0\n"]),
  },
  {
    name: "the part of a class that comments omit stays, one method changes and another is added",
    file: SHOP,
    code: "class Invoice:\n    # ... existing code ...\n\n    def total(self):\n        return round(total(self.items), 2)\n\n    def tax(self):\n        return tax(self.items)\n\n    # rest of the class\n",
    gives: swapped(SHOP, [
      "        return total(self.items)\n",
      "        return round(total(self.items), 2)\n\n    def tax(self):\n        return tax(self.items)\n",
    ]),
  },
  {
    name: "a new method is added after the omitted methods",
    file: SHOP,
    code: "class Invoice:\n    # ... existing methods ...\n\n    def tax(self):\n        return tax(self.items)\n",
    gives: swapped(SHOP, [
      "        return not self.items\n",
      "        return not self.items\n\n    def tax(self):\n        return tax(self.items)\n",
    ]),
  },
  {
    name: "the part of a class that three dots omit stays",
    file: CART,
    code: "export class Cart {\n  ...\n  add(item: Item, count = 1): void {\n    for (let n = 0; n < count; n += 1) this.#items.push(item);\n  }\n  ...\n}\n",
    gives: swapped(
      CART,
      ["add(item: Item): void", "add(item: Item, count = 1): void"],
      [
        "    this.#items.push(item);",
        "    for (let n = 0; n < count; n += 1) this.#items.push(item);",
      ],
    ),
  },
  {
    name: "the parts omitted at the start and the end of the file stay",
    file: CART,
    code: "// ... existing code ...\n\nexport function empty(): Cart {\n  return Cart.of([]);\n}\n\n// ... rest of the file ...\n",
    gives: swapped(CART, ["new Cart()", "Cart.of([])"]),
  },
  {
    name: "an unknown last line after a gap is not placed",
    file: SHOP,
    code: "def total(items):\n    # ... existing code ...\n    check(result)",
    gives: "unknown",
  },
  {
    name: "a return after a gap replaces the return at the end of the function",
    file: SHOP,
    code: "def total(items):\n    # ... existing code ...\n    return round(result, 2)",
    gives: swapped(SHOP, ["    return result\n", "    return round(result, 2)\n"]),
  },
  {
    name: "changed lines after a gap replace the lines up to the end of the function",
    file: SHOP,
    code: "def total(items):\n    # ... existing code ...\n    for item in items:\n        result += item.price * item.count\n    return round(result, 2)\n",
    gives: swapped(SHOP, [
      "        result += item.price\n    return result\n",
      "        result += item.price * item.count\n    return round(result, 2)\n",
    ]),
  },
  {
    name: "code with gaps changes several places at once",
    file: SHOP,
    code: "import decimal\n\n# ... existing code ...\n\ndef total(items):\n    # ...\n    return round(result, 2)\n\n\ndef tax(items):\n    return round(total(items) * RATE, 2)\n",
    gives: swapped(
      SHOP,
      ["import math\n", "import math\nimport decimal\n"],
      ["    return result\n", "    return round(result, 2)\n"],
      ["    return total(items) * RATE\n", "    return round(total(items) * RATE, 2)\n"],
    ),
  },
  {
    name: "a diff with a header changes the lines that it shows, even with wrong line numbers",
    file: SHOP,
    code: "--- a/shop.py\n+++ b/shop.py\n@@ -90,3 +90,4 @@\n def tax(items):\n+    check(items)\n     return total(items) * RATE\n \n@@ -95,2 +96,2 @@\n     @property\n-    def empty(self):\n+    def is_empty(self):\n",
    gives: swapped(
      SHOP,
      ["def tax(items):\n", "def tax(items):\n    check(items)\n"],
      ["def empty(self)", "def is_empty(self)"],
    ),
  },
  {
    name: "a diff without header and indentation changes its line",
    file: SHOP,
    code: "-result += item.price\n+result += item.price * item.count\n",
    gives: swapped(SHOP, ["result += item.price\n", "result += item.price * item.count\n"]),
  },
  {
    name: "a diff whose old lines occur twice is not placed",
    file: "a = 1\nb = 2\na = 1\n",
    code: "-a = 1\n+a = 3\n",
    gives: "several",
  },
  {
    name: "a diff whose old lines are not in the file is not placed",
    file: SHOP,
    code: "@@\n-nothing like it\n+something\n",
    gives: "unknown",
  },
  {
    name: "three dots that are an empty body in Python omit nothing",
    file: "class A(Protocol):\n    def go(self) -> int:\n        ...\n\n\nclass B:\n    def stay(self):\n        return 1\n\n    def wait(self):\n        return 2\n",
    code: "class A(Protocol):\n    def go(self) -> str:\n        ...\n",
    gives:
      "class A(Protocol):\n    def go(self) -> str:\n        ...\n\n\nclass B:\n    def stay(self):\n        return 1\n\n    def wait(self):\n        return 2\n",
  },
  {
    name: "a constant with a function replaces the constant of the same name",
    file: CART,
    code: "export const double = (n: number): number => n + n;",
    gives: swapped(CART, [
      "export const double = (n: number): number => {\n  return n * 2;\n};",
      "export const double = (n: number): number => n + n;",
    ]),
  },
  {
    name: "a getter that is written without its class replaces the getter of the same name",
    file: CART,
    code: "get total(): number {\n  return 0;\n}",
    gives: swapped(CART, ["this.#items.reduce((sum, item) => sum + price(item), 0)", "0"]),
  },
  {
    name: "code with LF gets the CRLF line ends of the file",
    file: SHOP.replaceAll("\n", "\r\n"),
    code: "def tax(items):\n    if not items:\n        return 0\n    return total(items) * RATE\n",
    gives: swapped(SHOP, [
      "def tax(items):\n    return",
      "def tax(items):\n    if not items:\n        return 0\n    return",
    ]).replaceAll("\n", "\r\n"),
  },
  {
    name: "code with CRLF gets the LF line ends of the file",
    file: SHOP,
    code: "def tax(items):\r\n    return 0\r\n",
    gives: swapped(SHOP, ["    return total(items) * RATE", "    return 0"]),
  },
  {
    name: "in a file with mixed line ends, the lines that the code does not contain keep their own",
    file: "one = 1\r\ntwo = 2\nthree = 3\r\nfour = 4\r\nfive = 5",
    code: "two = 2\ntwo += 1\nthree = 3",
    gives: "one = 1\r\ntwo = 2\r\ntwo += 1\r\nthree = 3\r\nfour = 4\r\nfive = 5",
  },
  {
    name: "a file without a final line end keeps none",
    file: "def f():\n    return 1\n\n\ndef g():\n    a = 1\n    return 2",
    code: "def g():\n    return 3\n",
    gives: "def f():\n    return 1\n\n\ndef g():\n    return 3",
  },
  {
    name: "code with spaces gets the tabs of the file",
    file: "package shop\n\nfunc Total(items []Item) int {\n\tsum := 0\n\treturn sum\n}\n\nfunc Tax() int {\n\treturn 1\n}\n",
    code: "func Tax() int {\n    if off {\n        return 0\n    }\n    return 1\n}",
    gives:
      "package shop\n\nfunc Total(items []Item) int {\n\tsum := 0\n\treturn sum\n}\n\nfunc Tax() int {\n\tif off {\n\t\treturn 0\n\t}\n\treturn 1\n}\n",
  },
  {
    name: "a method in Go replaces only the method of its own type",
    file: "package s\n\nfunc (a *A) Go() int {\n\treturn 1\n}\n\nfunc (b *B) Go() int {\n\treturn 2\n}\n",
    code: "func (b *B) Go() int {\n\treturn 3\n}",
    gives:
      "package s\n\nfunc (a *A) Go() int {\n\treturn 1\n}\n\nfunc (b *B) Go() int {\n\treturn 3\n}\n",
  },
  {
    name: "a style sheet rule replaces the rule with the same selector",
    file: "a {\n  color: red;\n}\n\n.card {\n  margin: 0;\n}\n\n.row {\n  padding: 0;\n}\n",
    code: ".card {\n  margin: 4px;\n}",
    gives: "a {\n  color: red;\n}\n\n.card {\n  margin: 4px;\n}\n\n.row {\n  padding: 0;\n}\n",
  },
  {
    name: "a comment with the file's name is not inserted",
    file: SHOP,
    code: "# src/shop.py\ndef tax(items):\n    return 0",
    gives: swapped(SHOP, ["    return total(items) * RATE", "    return 0"]),
  },
  {
    name: "a function whose signature spans several lines is replaced in full",
    file: "def f(\n    a,\n    b,\n) -> int:\n    return a\n\n\ndef g():\n    return 1\n\n\ndef h():\n    return 2\n",
    code: "def f(a, b) -> int:\n    return b",
    gives:
      "def f(a, b) -> int:\n    return b\n\n\ndef g():\n    return 1\n\n\ndef h():\n    return 2\n",
  },
  {
    name: "a definition whose end is not recognised is not replaced",
    file: 'def f():\n    return """\nleft\n"""\n\n\ndef g():\n    return 1\n\n\ndef h():\n    return 2\n',
    code: "def f():\n    return 3",
    gives: "unknown",
  },
  {
    name: "code that ends inside a block is not placed",
    file: CART,
    code: "export function empty(): Cart {\n  return new Cart(",
    gives: "unknown",
  },
  {
    name: "an empty file gets all of the code",
    file: "\n",
    code: "print(1)\n",
    gives: "print(1)\n",
    whole: true,
  },
  {
    name: "a whole file with one changed line replaces the file",
    file: SHOP,
    code: SHOP.replace("RATE = 0.2", "RATE = 0.19"),
    gives: SHOP.replace("RATE = 0.2", "RATE = 0.19"),
    whole: true,
  },
  {
    name: "a whole file without one of its functions replaces the file",
    file: SHOP,
    code: SHOP.replace("def tax(items):\n    return total(items) * RATE\n\n\n", ""),
    gives: SHOP.replace("def tax(items):\n    return total(items) * RATE\n\n\n", ""),
    whole: true,
  },
  {
    name: "a few lines that begin and end like the file are not placed",
    file: SHOP,
    code: '"""Totals of invoices."""\n\nfoo()\n\n    print(total([]))',
    gives: "unknown",
  },
  {
    name: "code that begins and ends like the file but has a gap is not placed",
    file: "import a\n\nx = 1\ny = 2\nz = 3\nw = 4\n",
    code: "import a\n\nx = 1\ny = 5\n# ... existing code ...\nw = 4\n",
    gives: "unknown",
  },
];

for (const { name, file, code, gives, near, whole } of CASES) {
  test(`placing code: ${name}`, () => {
    const placing = placeCode(file, code, near ?? null);
    if (placing.kind === "unknown") {
      assert.equal(placing.several ? "several" : "unknown", gives);
    } else if (placing.kind === "there") {
      assert.equal("there", gives);
    } else {
      assert.equal(placing.text, gives);
      assert.equal(placing.isWhole, whole === true);
    }
  });
}

test("every piece of a file leaves the file unchanged or is not placed", () => {
  for (const file of [SHOP, CART]) {
    const lines = file.split("\n");
    for (let from = 0; from < lines.length; from += 1) {
      for (let to = from + 1; to <= lines.length; to += 1) {
        const placing = placeCode(file, lines.slice(from, to).join("\n"));
        if (placing.kind === "placed") assert.equal(placing.text, file, `lines ${from} to ${to}`);
      }
    }
  }
});

test("the changed part covers whole lines and turns the old text into the new text", () => {
  const texts = [
    "",
    "\n",
    "a",
    "a\n",
    "a\nb\n",
    "b\n",
    "a\nb",
    "\na\n",
    "a\na\n",
    "a\r\nb\r\n",
    "a\r\n",
    "c\r\nb\r\n",
    "a\nc\nb\n",
    "xa\nb\n",
  ];
  for (const before of texts) {
    for (const after of texts) {
      const { from, to, text } = changedPart(before, after);
      assert.equal(before.slice(0, from) + text + before.slice(to), after);
      assert.ok(from === 0 || before[from - 1] === "\n", `${JSON.stringify([before, after])}`);
      assert.ok(
        to === before.length || to === 0 || before[to - 1] === "\n",
        `${JSON.stringify([before, after])}`,
      );
    }
  }
  assert.deepEqual(changedPart("a\nb\nc\n", "a\nB\nc\n"), { from: 2, to: 4, text: "B\n" });
});
