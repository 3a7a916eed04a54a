/** Only the user's requests start a server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isGone } from "../../../../src/extension/chat/backend.ts";
import { serverBackend } from "../../../../src/extension/chat/server-backend.ts";

function stopped() {
  const asked: string[] = [];
  const answer = async <Result>(name: string): Promise<Result> => {
    asked.push(name);
    throw new Error("a server was started");
  };
  const server = { client: undefined, request: answer, execute: answer };
  return { backend: serverBackend(server), asked };
}

test("requests that the panel sends by itself start no server", async () => {
  const { backend, asked } = stopped();
  const requests = [
    backend.request("indwell/status", {}),
    backend.request("indwell/context", {}),
    backend.request("indwell/changes", {}),
    backend.request("indwell/queue", {}),
    backend.request("indwell/models", {}),
    backend.request("indwell/events", { session: "s", after: 0 }),
    backend.request("indwell/session", { session: "s" }),
    backend.request("indwell/detach", { id: "selection" }),
  ];
  for (const request of requests) await assert.rejects(request, (error) => isGone(error));
  assert.deepEqual(asked, []);
});

test("the user's requests start the server", async () => {
  const { backend, asked } = stopped();
  await assert.rejects(backend.request("indwell/prompt", { text: "go on" }));
  await assert.rejects(backend.request("indwell/sessions", {}));
  await assert.rejects(backend.execute("indwell.compact", null));
  assert.deepEqual(asked, ["indwell/prompt", "indwell/sessions", "indwell.compact"]);
});
