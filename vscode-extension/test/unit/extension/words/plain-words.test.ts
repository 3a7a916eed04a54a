import assert from "node:assert/strict";
import { test } from "node:test";
import { levelOf, safeFirst } from "../../../../src/extension/client/message-order.ts";
import { makePlain, plainWords } from "../../../../src/extension/plain-words.ts";

/** How VS Code finds links in notifications and prompts (its `linkedText.ts`). */
const LINK = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)(?: (["'])(.+?)(\3))?\)/i;

const HOSTILE = [
  "[Retry](command:workbench.action.terminal.sendSequence?%7B%22text%22%3A%22id%0A%22%7D)",
  'See [the fix](command:x "A title") now',
  "[a](https://evil.example/) [b](file:///etc/passwd)",
  "[[nested]](command:x)",
  "[a]\u200b(command:x)",
  "[a]\u202e(command:x)",
  "[a](\u0000command:x)",
  "[a]](command:x)",
  "$([a](command:x))",
];

test("escaped text contains no link in a notification, a progress message or a prompt", () => {
  assert.ok(HOSTILE.some((one) => LINK.test(one)));
  for (const one of HOSTILE) {
    assert.doesNotMatch(plainWords(one), LINK, one);
    assert.doesNotMatch(plainWords(one).replace(/\s*\n\s*/g, ""), LINK, one);
    assert.equal(plainWords(plainWords(one)), plainWords(one));
  }
});

test("escaped text contains no icon and no direction character", () => {
  assert.equal(plainWords("$(check) done\u202egnp.exe"), "$ (check) done\\u202egnp.exe");
});

test("ordinary text stays unchanged", () => {
  const plain = "Indwell: f(x)[0] failed (see `a.py:1`): 3 of 4 [tests] passed.";
  assert.equal(plainWords(plain), plain);
});

test("the title and message of the server's progress are escaped in place", () => {
  const progress = { kind: "begin", title: "[a](command:x)", message: "[b](command:y)" };
  makePlain(progress);
  assert.deepEqual(progress, {
    kind: "begin",
    title: "[a] (command:x)",
    message: "[b] (command:y)",
  });
});

test("the answer that changes nothing comes first, and each message type has its level", () => {
  const items = [{ title: "Trust this folder" }, { title: "Not now" }];
  assert.deepEqual(
    safeFirst(items).map((one) => one.title),
    ["Not now", "Trust this folder"],
  );
  assert.deepEqual(
    [levelOf(1), levelOf(2), levelOf(3), levelOf(4)],
    ["error", "warning", "info", "info"],
  );
});
