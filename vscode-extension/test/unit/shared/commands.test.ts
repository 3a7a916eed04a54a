import assert from "node:assert/strict";
import { test } from "node:test";
import { COMMANDS, commandOutcome } from "../../../src/shared/commands.ts";

const OFFERED = {
  modes: ["plan", "review"],
  models: ["small", "maker/large:2"],
  efforts: ["low", "high"],
};
const outcome = (text: string) => commandOutcome(text, OFFERED);

test("the panel handles every command except tasks and worktree, which go to the server", () => {
  const sent = COMMANDS.filter(({ name }) => outcome(`/${name}`).kind === "none");
  assert.deepEqual(
    sent.map(({ name }) => name),
    ["tasks", "worktree"],
  );
  assert.deepEqual(outcome("/worktree merge"), { kind: "none" });
});

test("a command posts the same message as its button", () => {
  assert.deepEqual(outcome("/new"), { kind: "post", message: { type: "command", command: "new" } });
  assert.deepEqual(outcome("/keys "), {
    kind: "post",
    message: { type: "command", command: "manageKeys" },
  });
  assert.deepEqual(outcome("/mode plan"), {
    kind: "post",
    message: { type: "mode", mode: "plan" },
  });
  assert.deepEqual(outcome("/model maker/large:2"), {
    kind: "post",
    message: { type: "model", model: "maker/large:2" },
  });
  assert.deepEqual(outcome("/effort high"), {
    kind: "post",
    message: { type: "effort", effort: "high" },
  });
  assert.deepEqual(outcome("/effort auto"), {
    kind: "post",
    message: { type: "effort", effort: "" },
  });
  assert.deepEqual(outcome("/sessions tax rate"), {
    kind: "post",
    message: { type: "sessions", query: "tax rate", more: false },
  });
});

test("a command without its required value starts the completion of that value", () => {
  assert.deepEqual(outcome("/mode"), { kind: "complete", text: "/mode " });
  assert.deepEqual(outcome("/model "), { kind: "complete", text: "/model " });
  assert.deepEqual(outcome("/effort"), { kind: "complete", text: "/effort " });
});

test("a text that is not a known command is sent unchanged", () => {
  for (const text of [
    "/usr/bin",
    "/foo",
    "/compact the last part",
    "/mode root",
    " /new",
    "/new\nplease",
    "new",
  ]) {
    assert.deepEqual(outcome(text), { kind: "none" }, text);
  }
});
