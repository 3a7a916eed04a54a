import assert from "node:assert/strict";
import { test } from "node:test";
import { connectionOf } from "../../../../src/extension/chat/server-backend.ts";

test("a stopped server counts as stopped by the user unless it crashed", () => {
  const stopped = (crashed: boolean) =>
    connectionOf({ kind: "stopped", reason: "The server was stopped.", crashed }, 0);
  assert.deepEqual(stopped(false), {
    kind: "stopped",
    reason: "The server was stopped.",
    byUser: true,
  });
  assert.deepEqual(stopped(true), {
    kind: "stopped",
    reason: "The server was stopped.",
    byUser: false,
  });
});
