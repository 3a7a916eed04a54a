/** UI-05: the extension host checks every message of the webview. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Bridge, checked, type Handlers } from "../../../../../src/extension/chat/panel/bridge.ts";
import type { ToHost } from "../../../../../src/shared/messages.ts";

const GOOD: readonly ToHost[] = [
  { type: "ready" },
  { type: "send", text: "words", how: "auto" },
  { type: "answer", nonce: "n", answer: "once", hunks: ["a"] },
  { type: "answer", nonce: "n", answer: "no", hunks: null },
  { type: "attachImage", label: "x", mime: "image/png", data: "aGk=" },
  { type: "queue", action: "move", id: "1", to: 0, text: null },
  { type: "command", command: "connect" },
  { type: "rewind", turn: 0, files: null },
];

/** Unknown, oversized and malformed messages that a webview could post. */
const BAD: readonly (readonly [string, unknown])[] = [
  ["nothing", undefined],
  ["a string", "ready"],
  ["a list", [{ type: "ready" }]],
  ["an unknown type", { type: "executeCommand", command: "workbench.action.terminal.new" }],
  ["a name of Object", { type: "constructor" }],
  ["a name of Object's prototype", { type: "__proto__" }],
  ["a type that is not a string", { type: 7 }],
  ["a field too many", { type: "ready", command: "x" }],
  ["a field missing", { type: "send", text: "words" }],
  ["a wrong choice", { type: "send", text: "words", how: "now" }],
  ["huge words", { type: "send", text: "x".repeat(1_000_001), how: "auto" }],
  [
    "a huge picture",
    { type: "attachImage", label: "", mime: "image/png", data: "A".repeat(7_000_001) },
  ],
  [
    "a picture of another kind",
    { type: "attachImage", label: "", mime: "image/svg+xml", data: "aGk=" },
  ],
  ["data that is not base64", { type: "attachImage", label: "", mime: "image/png", data: "<svg>" }],
  ["a huge pasted text", { type: "attachText", label: "", text: "x".repeat(100_001) }],
  ["an answer without a nonce", { type: "answer", answer: "always", hunks: null }],
  ["an answer that is not offered", { type: "answer", nonce: "n", answer: "forever", hunks: null }],
  [
    "too many hunks",
    { type: "answer", nonce: "n", answer: "once", hunks: Array(10_001).fill("a") },
  ],
  ["a command of the editor", { type: "command", command: "workbench.action.quit" }],
  ["a turn that is a string", { type: "rewind", turn: "1", files: false }],
  ["a turn below 0", { type: "rewind", turn: -1, files: false }],
  ["a turn that is NaN", { type: "openTool", id: "x", turn: Number.NaN }],
  ["a fractional turn", { type: "openTool", id: "x", turn: 1.5 }],
  ["a long path", { type: "openFile", target: "a".repeat(4097) }],
  ["many uris", { type: "attachUris", uris: Array(101).fill("file:///a") }],
];

/** A text that must not reach the log. */
const SECRET = "canary-0123456789";

/** Messages with the secret in a value or in the name of a field, each with its line in the log. */
const SECRETIVE: readonly (readonly [string, unknown])[] = [
  ["the whole: variant", SECRET],
  ["type: variant", [SECRET]],
  ["type: variant", { type: SECRET }],
  ["command: picklist", { type: "command", command: SECRET }],
  ["text: max_length", { type: "send", text: SECRET.repeat(100_000), how: "auto" }],
  ["how: picklist", { type: "send", text: SECRET, how: SECRET }],
  ["data: regex", { type: "attachImage", label: "", mime: "image/png", data: `<${SECRET}>` }],
  ["hunks.1: string", { type: "answer", nonce: "n", answer: "no", hunks: ["a", [SECRET]] }],
  ["the whole: strict_object", { type: "ready", [SECRET]: 1 }],
  ["the whole: strict_object", { type: "ready", [`\n${SECRET.repeat(1_000)}`]: 1 }],
  [
    "key: string",
    { type: "login", provider: "p", key: { [SECRET]: SECRET }, url: null, model: null },
  ],
  [
    "form: strict_object",
    {
      type: "mcpAdd",
      form: {
        name: "",
        kind: "program",
        line: "",
        url: "",
        variables: "",
        hosts: "",
        header: "",
        headerVariable: "",
        [SECRET]: SECRET,
      },
    },
  ],
];

test("UI-05 the line in the log about a dropped message has only names of the schema", () => {
  for (const [line, message] of SECRETIVE) assert.deepEqual(checked(message), { wrong: line });
});

test("valid messages of the panel are accepted unchanged", () => {
  for (const message of GOOD) assert.deepEqual(checked(structuredClone(message)), { message });
});

test("UI-05 unknown, oversized and malformed messages are dropped, each with a line in the log", async () => {
  const called: string[] = [];
  const dropped: string[] = [];
  const handlers = new Proxy({} as Handlers, {
    get: (_, type) => () => void called.push(String(type)),
  });
  const bridge = new Bridge(handlers, {
    dropped: (why) => void dropped.push(why),
    failed: (error) => assert.fail(String(error)),
  });
  for (const [, message] of BAD) await bridge.take(message);
  assert.deepEqual(called, []);
  assert.equal(dropped.length, BAD.length);
  for (const [index, [name]] of BAD.entries())
    assert.match(dropped[index] ?? "", /^(?:the whole|[a-z]+): [a-z_ ]+$/, name);
  for (const message of GOOD) await bridge.take(message);
  assert.deepEqual(
    called,
    GOOD.map((one) => one.type),
  );
});

test("a handler's failure is reported, and the next message is handled", async () => {
  const failed: string[] = [];
  const handlers = new Proxy({} as Handlers, {
    get: () => () => {
      throw new Error("no such session");
    },
  });
  const bridge = new Bridge(handlers, {
    dropped: assert.fail,
    failed: (error, message) => void failed.push(`${message.type}: ${String(error)}`),
  });
  await bridge.take({ type: "openSession", session: "x" });
  await bridge.take({ type: "older" });
  assert.deepEqual(failed, [
    "openSession: Error: no such session",
    "older: Error: no such session",
  ]);
});
