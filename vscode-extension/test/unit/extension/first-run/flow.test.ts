import assert from "node:assert/strict";
import { test } from "node:test";
import { keysForServer } from "../../../../src/extension/client/keys.ts";
import { FirstRunFlow } from "../../../../src/extension/first-run/flow.ts";
import type { LoginResult, ProvidersResult } from "../../../../src/protocol.ts";
import type { Action } from "../../../../src/shared/state/action.ts";
import { memorySecrets } from "./memory-secrets.ts";

const KEY = "sk-canary-0123456789";
const PROVIDERS: ProvidersResult = { lacking: "no model", local: [], known: [], editor: [] };
const OK: LoginResult = {
  ok: true,
  model: "m",
  message: "",
  steps: [{ name: "key", state: "ok", sentence: "the key is accepted", fix: "" }],
  notes: [],
  models: [],
  origin: "https://api.example.com",
};

interface Sent {
  readonly method: string;
  readonly params: Record<string, unknown>;
}

function flowWith(answers: readonly (LoginResult | Error)[], providers = PROVIDERS) {
  const sent: Sent[] = [];
  const actions: Action[] = [];
  const secrets = memorySecrets();
  const left = [...answers];
  const flow = new FirstRunFlow({
    secrets,
    dispatch: (action) => actions.push(action),
    request: async <Result>(method: string, params: object): Promise<Result> => {
      sent.push({ method, params: { ...params } });
      const answer = method === "indwell/providers" ? providers : left.shift();
      if (answer instanceof Error || answer === undefined) throw answer ?? new Error("no answer");
      return answer as Result;
    },
  });
  const last = () => {
    const action = actions.at(-1);
    return action?.type === "firstRun" ? action.firstRun : undefined;
  };
  const login = (key: string | null, model: string | null = null) =>
    flow.handle({ type: "login", provider: "openai", key, url: null, model });
  return { flow, sent, actions, secrets, last, login };
}

test("a successful login answers the server's request and stores the key by its origin", async () => {
  const { flow, sent, secrets, last, login } = flowWith([OK]);
  const answer = flow.ask("no model is set");
  await flow.handle({ type: "firstRun", step: "refresh" });
  assert.equal(last()?.reason, "no model is set");
  await login(KEY);
  assert.deepEqual(await answer, { ok: true });
  assert.deepEqual(await keysForServer(secrets), { "https://api.example.com": KEY });
  assert.equal(sent.at(-1)?.params.keep, "client");
  assert.equal(last(), null);
});

test("no action of the flow contains the key, also after an error and during a choice of models", async () => {
  const choice = { ...OK, ok: false, models: ["a", "b"], origin: "" };
  const { flow, actions, login } = flowWith([new Error(`refused: ${KEY}`), choice, OK]);
  await flow.open();
  await login(KEY);
  await login(KEY);
  await login(null, "a");
  assert.ok(actions.length > 6);
  assert.ok(!JSON.stringify(actions).includes(KEY));
});

test("choosing a model for the same provider and address sends and stores the key that was typed before", async () => {
  const choice = { ...OK, ok: false, models: ["a", "b"], origin: "" };
  const { flow, sent, secrets } = flowWith([choice, choice, OK]);
  await flow.open();
  const login = (url: string, key: string | null, model: string | null) =>
    flow.handle({ type: "login", provider: "openai", key, url, model });
  await login("https://one.example", KEY, null);
  await login("https://one.example", null, "a");
  await login("https://one.example", null, "b");
  const keys = sent.slice(1).map(({ params }) => [params["url"], params["key"], params["model"]]);
  assert.deepEqual(keys, [
    ["https://one.example", KEY, null],
    ["https://one.example", KEY, "a"],
    ["https://one.example", KEY, "b"],
  ]);
  assert.deepEqual(await keysForServer(secrets), { "https://api.example.com": KEY });
});

test("choosing a model for another address of the same provider sends no key", async () => {
  const choice = { ...OK, ok: false, models: ["a", "b"], origin: "" };
  const { flow, sent } = flowWith([choice, choice]);
  await flow.open();
  const login = (url: string, key: string | null) =>
    flow.handle({ type: "login", provider: "openai", key, url, model: null });
  await login("https://one.example", KEY);
  await login("https://two.example", null);
  assert.equal(sent.at(-1)?.params["key"], null);
});

test("choosing a model of another provider does not send the key that was typed before", async () => {
  const choice = { ...OK, ok: false, models: ["a", "b"], origin: "" };
  const { flow, sent, secrets, login } = flowWith([choice, choice, OK]);
  await flow.open();
  await login(KEY);
  await flow.handle({
    type: "login",
    provider: "https://other.example",
    key: null,
    url: null,
    model: "a",
  });
  assert.equal(sent.at(-1)?.params.key, null);
  await login(KEY);
  assert.deepEqual(await keysForServer(secrets), { "https://api.example.com": KEY });
});

test("a failed login and a login without a key store no key", async () => {
  const { flow, secrets, sent, login } = flowWith([
    { ...OK, ok: false, origin: "" },
    { ...OK, origin: "" },
  ]);
  await flow.open();
  await login(KEY);
  await login("");
  assert.equal(sent.at(-1)?.params.key, null);
  assert.equal(secrets.stored.size, 0);
});

test("the notes of a successful login are shown before the flow closes", async () => {
  const noted = { ...OK, notes: ["its context is small"] };
  const { flow, last, login } = flowWith([noted]);
  const answer = flow.ask("no model");
  await flow.handle({ type: "firstRun", step: "refresh" });
  await login(KEY);
  assert.deepEqual(last()?.outcome?.notes, ["its context is small"]);
  await flow.handle({ type: "firstRun", step: "cancel" });
  assert.deepEqual(await answer, { ok: true });
});

test("cancelling the flow answers every waiting request with no", async () => {
  const { flow, last } = flowWith([]);
  const answers = [flow.ask("one"), flow.ask("two")];
  await flow.handle({ type: "firstRun", step: "cancel" });
  assert.deepEqual(await Promise.all(answers), [{ ok: false }, { ok: false }]);
  assert.equal(last(), null);
  assert.equal(flow.isOpen, false);
});

test("a server error is shown in the flow, which accepts another attempt", async () => {
  const { flow, last, login } = flowWith([new Error("no place for keys")]);
  await flow.open();
  await login(KEY);
  assert.equal(last()?.error, "no place for keys");
  assert.equal(last()?.busy, false);
});

test("one press logs in with the first of the editor's models and without a key", async () => {
  const providers = { ...PROVIDERS, editor: ["gpt-5@vscode", "mini@vscode"] };
  const { flow, last, sent } = flowWith([OK], providers);
  await flow.useEditorModels();
  const { provider, key, model } = sent.at(-1)?.params ?? {};
  assert.deepEqual(
    { provider, key, model },
    { provider: "vscode", key: null, model: "gpt-5@vscode" },
  );
  assert.equal(last(), null);
});

test("an editor without models gives an error, and the other providers stay listed", async () => {
  const { flow, last, sent } = flowWith([]);
  await flow.useEditorModels();
  assert.match(last()?.error ?? "", /Sign in to GitHub Copilot/);
  assert.deepEqual(last()?.providers, PROVIDERS);
  assert.deepEqual(
    sent.map(({ method }) => method),
    ["indwell/providers"],
  );
});

test("an empty panel offers a ready local model, and one press logs in with it", async () => {
  const busy = {
    name: "vllm",
    title: "vLLM",
    url: "http://b/v1",
    models: [],
    ready: false,
    note: "",
  };
  const row = {
    ...busy,
    title: "Ollama",
    url: "http://a/v1",
    models: ["small", "large"],
    ready: true,
  };
  const { flow, actions, sent, last } = flowWith([OK], { ...PROVIDERS, local: [busy, row] });
  await flow.handle({ type: "firstRun", step: "look" });
  const near = { title: "Ollama", url: "http://a/v1", model: "small" };
  assert.deepEqual(actions, [{ type: "near", near }]);
  assert.equal(flow.isOpen, false);
  await flow.handle({ type: "login", provider: near.url, key: "", url: null, model: near.model });
  assert.equal(sent.at(-1)?.params["model"], "small");
  assert.equal(last(), null);
});
