import assert from "node:assert/strict";
import { test } from "node:test";
import {
  messagesOf,
  pieceOf,
  refusalOf,
  selectorOf,
  toolsOf,
} from "../../../../src/extension/models/translate.ts";
import type { ModelRequest } from "../../../../src/protocol.ts";
import { API, LanguageModelThinkingPart } from "./fake-api.ts";

const REQUEST: ModelRequest = {
  model: "copilot/small",
  messages: [
    { role: "user", parts: [{ kind: "text", text: "You are Indwell." }] },
    {
      role: "user",
      parts: [
        { kind: "text", text: "what is this?" },
        { kind: "picture", mime: "image/png", data: "AQID" },
        { kind: "hologram", data: "of a newer server" },
      ],
    },
    {
      role: "assistant",
      parts: [
        { kind: "text", text: "I look." },
        { kind: "call", id: "c1", name: "read_file", arguments: '{"path":"a.py"}' },
      ],
    },
    { role: "user", parts: [{ kind: "result", id: "c1", text: "1: x" }] },
  ],
  tools: [{ name: "read_file", description: "Reads.", schema: '{"type":"object"}' }],
  justification: "why",
};

test("a request becomes messages of the editor's API, with calls, results and pictures", () => {
  const messages = messagesOf(API, REQUEST).map(({ role, content }) => ({ role, content }));
  assert.deepEqual(JSON.parse(JSON.stringify(messages)), [
    { role: 1, content: [{ value: "You are Indwell." }] },
    {
      role: 1,
      content: [
        { value: "what is this?" },
        { data: { "0": 1, "1": 2, "2": 3 }, mimeType: "image/png" },
      ],
    },
    {
      role: 2,
      content: [{ value: "I look." }, { callId: "c1", name: "read_file", input: { path: "a.py" } }],
    },
    { role: 1, content: [{ callId: "c1", content: [{ value: "1: x" }] }] },
  ]);
  assert.deepEqual(toolsOf(REQUEST), [
    { name: "read_file", description: "Reads.", inputSchema: { type: "object" } },
  ]);
});

test("a model's name is split at its first slash into vendor and id", () => {
  assert.deepEqual(selectorOf("copilot/small"), { vendor: "copilot", id: "small" });
  assert.deepEqual(selectorOf("open/maker/model"), { vendor: "open", id: "maker/model" });
  assert.deepEqual(selectorOf("nameless"), { vendor: "", id: "nameless" });
});

test("the parts of a reply become pieces, and empty or unknown parts become null", () => {
  const { LanguageModelTextPart, LanguageModelToolCallPart, LanguageModelDataPart } = API;
  const pieces = [
    new LanguageModelTextPart("Well."),
    new LanguageModelTextPart(""),
    new LanguageModelToolCallPart("c1", "grep", { pattern: "x" }),
    new LanguageModelThinkingPart(["let me ", "see"]),
    new LanguageModelDataPart(new Uint8Array([1]), "stateful_marker"),
    { value: "looks like text" },
    null,
  ].map((part) => pieceOf(API, part));
  assert.deepEqual(pieces, [
    { kind: "text", text: "Well." },
    null,
    { kind: "call", id: "c1", name: "grep", arguments: '{"pattern":"x"}' },
    { kind: "thinking", text: "let me see" },
    null,
    null,
    null,
  ]);
});

test("a failure has the editor's error code and the message of the error or of its causes", () => {
  const blocked = Object.assign(new Error("", { cause: new Error("quota used up") }), {
    code: "Blocked",
  });
  assert.deepEqual(refusalOf(blocked), { code: "Blocked", message: "quota used up" });
  const odd = new Error("Request failed: 503", { cause: new Error("503") });
  assert.deepEqual(refusalOf(odd), { code: "", message: "Request failed: 503" });
  assert.deepEqual(refusalOf(Object.assign(new Error(""), { code: "NotFound" })), {
    code: "NotFound",
    message: "NotFound",
  });
  assert.notEqual(refusalOf(new Error("")).message, "");
  const ring = new Error("a");
  ring.cause = ring;
  assert.equal(refusalOf(ring).message, "a");
});
