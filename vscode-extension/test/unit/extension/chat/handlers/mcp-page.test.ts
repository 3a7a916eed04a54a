/** How the extension host handles the page of MCP servers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { mcpHandlers } from "../../../../../src/extension/chat/handlers/mcp-page.ts";
import type { McpResult, McpRow } from "../../../../../src/protocol.ts";
import { EMPTY_FORM } from "../../../../../src/shared/mcp-page.ts";
import { fakeRoom, settle } from "../fake-room.ts";

const FILES: McpRow = {
  name: "files",
  standing: "usable",
  state: "ready",
  problem: "",
  source: "your settings",
  own: true,
  runs: "npx files",
  tools: 1,
  prompts: [],
  resources: [],
  remote: false,
  offers: [],
};

test("the open page refreshes only while a server starts, and closing the page clears its state", async () => {
  const room = fakeRoom();
  const { mcp } = mcpHandlers(room);
  const states = ["starting", "ready"];
  room.backend.answer(
    "indwell/mcp",
    (): McpResult => ({
      servers: [{ ...FILES, state: states.shift() ?? "failed" }],
      problems: [],
      log: [],
    }),
  );
  await mcp({ type: "mcp", action: "open" });
  assert.equal(room.store.state.mcp?.servers[0]?.state, "starting");
  room.clock.advance(1500);
  await settle();
  assert.equal(room.store.state.mcp?.servers[0]?.state, "ready");
  room.clock.advance(60_000);
  await settle();
  assert.equal(room.backend.requests.length, 2);
  await mcp({ type: "mcp", action: "close" });
  assert.equal(room.store.state.mcp, null);
});

test("an added server closes the form, and a refused server keeps the form and shows the reason", async () => {
  const room = fakeRoom();
  const { mcp, mcpAdd } = mcpHandlers(room);
  const listed: McpResult = { servers: [FILES], problems: [], log: [] };
  room.backend.answer("indwell/mcp", () => listed);
  await mcp({ type: "mcp", action: "open" });
  const form = { ...EMPTY_FORM, name: "files", line: "npx files", variables: "TOKEN" };
  room.backend.answer("indwell/mcp", () => {
    throw new Error("its name is taken");
  });
  await mcpAdd({ type: "mcpAdd", form });
  assert.equal(room.store.state.mcp?.error, "Its name is taken.");
  assert.equal(room.store.state.mcp?.added, 0);
  room.backend.answer("indwell/mcp", () => listed);
  await mcpAdd({ type: "mcpAdd", form });
  assert.deepEqual([room.store.state.mcp?.error, room.store.state.mcp?.added], ["", 1]);
  assert.deepEqual(room.backend.requests.at(-1)?.params, {
    action: "add",
    name: "files",
    command: ["npx", "files"],
    variables: ["TOKEN"],
    hosts: [],
  });
});

test("a server is removed only after a confirmation, and a pending login can be cancelled", async () => {
  let answer: string | null = null;
  const room = fakeRoom(() => answer);
  const { mcp, mcpServer } = mcpHandlers(room);
  room.backend.answer("indwell/mcp", () => ({ servers: [FILES], problems: [], log: [] }));
  await mcp({ type: "mcp", action: "open" });
  await mcpServer({ type: "mcpServer", action: "remove", name: "files" });
  assert.equal(room.backend.requests.length, 1);
  answer = "Remove";
  await mcpServer({ type: "mcpServer", action: "remove", name: "files" });
  assert.equal(room.backend.requests.length, 2);
  room.backend.answer("indwell/mcp", (_params, token) => {
    return new Promise((_resolve, reject) =>
      token?.onCancellationRequested(() =>
        reject(Object.assign(new Error("no"), { code: -32800 })),
      ),
    );
  });
  const login = mcpServer({ type: "mcpServer", action: "login", name: "files" });
  await settle();
  assert.match(room.store.state.mcp?.busy ?? "", /in your browser/);
  await mcp({ type: "mcp", action: "cancel" });
  await login;
  assert.deepEqual([room.store.state.mcp?.busy, room.store.state.mcp?.error], ["", ""]);
});

test("opening a server's log reads the log again and does not end a running action", async () => {
  const room = fakeRoom();
  const { mcp, mcpServer } = mcpHandlers(room);
  let lines = ["[stderr] one"];
  room.backend.answer("indwell/mcp", () => ({ servers: [FILES], problems: [], log: lines }));
  await mcp({ type: "mcp", action: "open" });
  await mcpServer({ type: "mcpServer", action: "log", name: "files" });
  lines = [...lines, "[stderr] two"];
  await mcpServer({ type: "mcpServer", action: "log", name: "files" });
  assert.deepEqual(room.backend.requests.at(-1)?.params, { action: "log", name: "files" });
  assert.deepEqual(room.ports.did, [
    "show mcp files as MCP server files.log: [stderr] one\n",
    "show mcp files as MCP server files.log: [stderr] one\n[stderr] two\n",
  ]);
  const words = "no open session uses the MCP server 'files'";
  room.backend.answer("indwell/mcp", (params, token) => {
    if (params?.action === "log") throw new Error(words);
    return new Promise((_resolve, reject) =>
      token?.onCancellationRequested(() => reject(new Error("given up"))),
    );
  });
  void mcpServer({ type: "mcpServer", action: "login", name: "files" });
  await settle();
  await mcpServer({ type: "mcpServer", action: "log", name: "files" });
  assert.match(room.store.state.mcp?.busy ?? "", /in your browser/);
  assert.equal(room.store.state.mcp?.error, `N${words.slice(1)}.`);
});
