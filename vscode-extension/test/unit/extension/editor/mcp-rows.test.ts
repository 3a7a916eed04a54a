import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isUndecided,
  type McpWish,
  serverOf,
  serverRow,
  showUntilClosed,
} from "../../../../src/extension/editor/commands/mcp-rows.ts";
import type { McpResult, McpRow } from "../../../../src/protocol.ts";

const FILES: McpRow = {
  name: "files",
  standing: "usable",
  state: "idle",
  problem: "",
  source: "your settings",
  own: true,
  runs: "npx  -y\nfiles",
  tools: null,
  prompts: [],
  resources: [],
};

test("a row says whether a server is used, where it is defined, and what it runs", () => {
  const { label, description, detail } = serverRow(FILES);
  assert.deepEqual([label, description, detail], ["files", "used · your settings", "npx -y files"]);
});

test("a row of a server that failed says why", () => {
  const { description, detail } = serverRow({
    ...FILES,
    state: "failed",
    problem: "it ended",
    tools: 3,
  });
  assert.equal(description, "failed, 3 tools · your settings");
  assert.equal(detail, "it ended · npx -y files");
});

test("a text that a project wrote cannot hide characters in a row", () => {
  const { detail } = serverRow({ ...FILES, runs: "uvx \u202egnp" });
  assert.equal(detail.includes("\u202e"), false);
});

test("only a server without a yes is undecided", () => {
  const undecided = (["usable", "open", "declined", "restricted", "off"] as const).filter(
    (standing) => isUndecided({ ...FILES, standing }),
  );
  assert.deepEqual(undecided, ["open", "declined"]);
});

test("a typed line is a program with its arguments, or an address", () => {
  assert.deepEqual(serverOf("npx -y files ."), { command: ["npx", "-y", "files", "."] });
  assert.deepEqual(serverOf(`C:\\bin\\x.exe "a b" --c='d e'`), {
    command: ["C:\\bin\\x.exe", "a b", "--c=d e"],
  });
  assert.deepEqual(serverOf(" https://host/mcp "), { url: "https://host/mcp" });
  assert.equal(serverOf("  "), null);
});

test("after a removal the list is shown as the server returned it, after a refused one as before", async () => {
  const asked: string[] = [];
  const shown: string[][] = [];
  const wishes: (McpWish | null)[] = [
    { action: "remove", name: "kept" },
    { action: "remove", name: "files" },
    null,
  ];
  const servers = new Map<string, McpRow>([
    ["files", FILES],
    ["kept", { ...FILES, name: "kept" }],
  ]);
  await showUntilClosed({
    ask: async ({ action, name }): Promise<McpResult> => {
      await new Promise((resolve) => setImmediate(resolve));
      if (action === "remove") servers.delete(name ?? "");
      asked.push(`${action} ${name}`);
      return { servers: [...servers.values()], problems: [] };
    },
    choose: async (found) => {
      shown.push(found.servers.map((one) => one.name));
      return wishes.shift() ?? null;
    },
    isSure: async (name) => name === "files",
  });
  assert.deepEqual(asked, ["list ", "remove files"]);
  assert.deepEqual(shown, [["files", "kept"], ["files", "kept"], ["kept"]]);
});
