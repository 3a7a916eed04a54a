import assert from "node:assert/strict";
import { test } from "node:test";
import {
  serverVariables,
  settingsForServer,
} from "../../../../src/extension/server/configuration.ts";
import { readLine, tracedLine, whyNotStarted } from "../../../../src/extension/server/log-lines.ts";

test("the server gets the user's environment variables without those of the editor", () => {
  const own = {
    PATH: "/usr/bin",
    HOME: "/home/ada",
    ELECTRON_RUN_AS_NODE: "1",
    VSCODE_IPC_HOOK: "/run/x.sock",
    NODE_OPTIONS: "--inspect",
    INDWELL_PROVIDER: "scripted",
    GONE: undefined,
  };
  assert.deepEqual(serverVariables(own, {}), {
    PATH: "/usr/bin",
    HOME: "/home/ada",
    INDWELL_PROVIDER: "scripted",
  });
});

test("the server gets only the keys that the editor stores, by origin", () => {
  const keys = { "https://api.example": "k-1" };
  assert.deepEqual(serverVariables({ INDWELL_KEYS: "someone else's" }, {}), {});
  assert.deepEqual(serverVariables({}, keys), { INDWELL_KEYS: JSON.stringify(keys) });
});

test("a line of the server's log gets the level that it begins with", () => {
  assert.deepEqual(readLine("WARNING slow disk"), { level: "warn", text: "slow disk" });
  assert.deepEqual(readLine("CRITICAL broken"), { level: "error", text: "broken" });
  assert.deepEqual(readLine("Traceback (most recent call last):"), {
    level: "info",
    text: "Traceback (most recent call last):",
  });
});

test("a trace contains the names of messages but not their contents", () => {
  const traced = 'Sending request \'indwell/login - (7)\'.\nParams: {"key": "sk-secret"}';
  assert.equal(tracedLine(traced), "Sending request 'indwell/login - (7)'.");
  assert.equal(tracedLine('{"key": "sk-secret"}'), undefined);
});

test("only server settings with a value are sent to the server", () => {
  const set: Record<string, object> = {
    mode: { globalValue: "plan" },
    max_output: { globalValue: null },
    budget_day: {},
    serverPath: { globalValue: "/opt/indwell" },
    trace: { globalValue: { server: "verbose" } },
  };
  const sent = settingsForServer(Object.keys(set), (name) => set[name]);
  assert.deepEqual(sent, { mode: "plan" });
});

test("names and choices of the settings page are translated into the server's settings", () => {
  const set: Record<string, object> = {
    mode: { globalValue: "config" },
    model: { globalValue: "" },
    reviewHints: { globalValue: "on", workspaceValue: "off" },
    checkEdits: { globalValue: "off", workspaceValue: "on" },
    attachSelection: { globalValue: "config" },
    redactSecrets: { globalValue: true },
    checkTimeout: { globalValue: 5 },
    budgetTurnTokens: { globalValue: 100 },
    enterSends: { globalValue: false },
  };
  const sent = settingsForServer(Object.keys(set), (name) => set[name]);
  assert.deepEqual(sent, {
    review_hints: false,
    check_edits: false,
    redact_secrets: true,
    check_timeout_s: 5,
    budget_turn_tokens: 100,
  });
});

test("a workspace can override the user's model, but cannot set the mode, rules or base URL", () => {
  const set: Record<string, object> = {
    model: { globalValue: "large", workspaceValue: "small" },
    mode: { globalValue: "plan", workspaceValue: "auto" },
    rules_deny: { globalValue: ["curl"], workspaceFolderValue: [] },
    base_url: { workspaceValue: "https://elsewhere.example" },
  };
  const sent = settingsForServer(Object.keys(set), (name) => set[name]);
  assert.deepEqual(sent, { model: "small", mode: "plan", rules_deny: ["curl"] });
});

test("a failed start is explained by the server's last line of output, never by an error of a pipe", () => {
  const said = "write EPIPE";
  assert.equal(
    whyNotStarted({ lastLine: "config.toml, line 3: no value", said, isLate: false }),
    "The server did not start: config.toml, line 3: no value",
  );
  assert.equal(
    whyNotStarted({ lastLine: "", said, isLate: false }),
    "The server ended while it started.",
  );
  assert.equal(
    whyNotStarted({
      lastLine: "",
      said: "Launching server using command x failed.",
      isLate: false,
    }),
    "The server's program could not be run.",
  );
  assert.match(whyNotStarted({ lastLine: "x", said, isLate: true }), /within a minute/);
});
