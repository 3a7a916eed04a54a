/** States with session lists, bars and the first run, for tests and pictures. */
import type { ChangeRow, McpRow, ProvidersResult, SessionRow } from "../../src/protocol.ts";
import type { McpPage } from "../../src/shared/mcp-page.ts";
import type { FirstRunState, PanelState } from "../../src/shared/state/state.ts";
import { permission } from "./scenes-questions.ts";

type State = (more?: Partial<PanelState>) => PanelState;

const HOUR = 3_600_000;

function session(
  id: string,
  title: string,
  hours: number,
  more: Partial<SessionRow> = {},
): SessionRow {
  return {
    id,
    at: new Date(Date.now() - hours * HOUR).toISOString(),
    model: "qwen3-coder:30b",
    title,
    preview: "The totals differ by a cent from what the customer sees",
    turns: 3,
    usage: { input: 20_000, cached: 15_000, output: 900, cost: 0.04 },
    open: false,
    notices: [],
    task: "",
    ...more,
  };
}

export const SESSIONS: readonly SessionRow[] = [
  session("s1", "Fix the rounding in invoice totals", 0.4, { open: true }),
  session("s2", "Write tests for the importer", 3, { turns: 1 }),
  session(
    "s3",
    "A very long title that does not fit into a narrow side bar, whatever one does about it",
    27,
  ),
  session("s4", "Explain the build", 80, {
    notices: ["2 records in the middle cannot be read; what stands after them is shown"],
    usage: { input: 1, cached: 0, output: 1, cost: null },
  }),
  session("s5", "Move to the new API", 900),
];

/** Background sessions and the state of their work. */
export const MARKS: PanelState["marks"] = [
  { session: "s2", title: "Write tests for the importer", work: "asking" },
  {
    session: "s3",
    title: "A very long title that does not fit into a narrow side bar, whatever one does about it",
    work: "running",
  },
  { session: "s4", title: "Explain the build", work: "failed" },
  { session: "s5", title: "Move to the new API", work: "done" },
];

function change(id: string, path: string, more: Partial<ChangeRow> = {}): ChangeRow {
  return {
    id,
    uri: `file:///w/${path}`,
    path,
    range: { start: { line: 1, character: 0 }, end: { line: 2, character: 0 } },
    old: "a\n",
    new: "b\nc\nd\ne\n",
    turn: 1,
    session: "s1",
    touched: false,
    kind: "change",
    note: "",
    ...more,
  };
}

export const PENDING: PanelState["pending"] = {
  undo: "accepted 1 change in shop/cart.py",
  total: 4,
  files: 3,
  added: 16,
  removed: 3,
  rows: [
    change("c1", "shop/billing/invoice.py"),
    change("c2", "shop/billing/invoice.py"),
    change("c3", "tests/test_invoice.py", { kind: "create", old: "" }),
    change("c4", "README.md"),
  ],
};

export const PROVIDERS: ProvidersResult = {
  lacking: "no model is set",
  local: [
    {
      name: "ollama",
      title: "Ollama",
      url: "http://127.0.0.1:11434/v1",
      models: ["qwen3-coder:30b", "gpt-oss:20b"],
      ready: true,
      note: "its context is 4,096 tokens, too few for work on code: set OLLAMA_CONTEXT_LENGTH to 32768 or more",
    },
  ],
  known: [
    {
      name: "openai",
      title: "OpenAI",
      url: "https://api.openai.com/v1",
      page: "https://platform.openai.com/api-keys",
    },
    { name: "mistral", title: "Mistral", url: "https://api.mistral.ai/v1", page: "" },
  ],
  editor: ["copilot/gpt-5-mini@vscode", "copilot/claude-sonnet-5@vscode"],
};

export function flow(more: Partial<FirstRunState> = {}): FirstRunState {
  return {
    reason: "No model can be called: no address and no key are set.",
    providers: PROVIDERS,
    busy: false,
    outcome: null,
    error: "",
    ...more,
  };
}

export const FAILED = {
  ok: false,
  model: "",
  message: "",
  steps: [
    { name: "reachable", state: "ok", sentence: "OpenAI answers (0.3 s)", fix: "" },
    {
      name: "key",
      state: "fail",
      sentence: "OpenAI refuses the key",
      fix: "make a new one at https://platform.openai.com/api-keys",
    },
    { name: "streaming", state: "skipped", sentence: "streaming was not tried", fix: "" },
  ],
  notes: [],
  models: [],
  origin: "",
} as const;

export const CHOICE = {
  ...FAILED,
  steps: [
    { name: "reachable", state: "ok", sentence: "OpenAI answers (0.3 s)", fix: "" },
    { name: "key", state: "ok", sentence: "the key is accepted", fix: "" },
    { name: "models", state: "fail", sentence: "no model was chosen of …", fix: "name one" },
  ],
  models: ["gpt-6", "gpt-6-mini", "o5"],
} as const;

const SERVER: McpRow = {
  name: "files",
  standing: "usable",
  state: "ready",
  problem: "",
  source: "your settings",
  own: true,
  runs: "npx -y @modelcontextprotocol/server-filesystem /home/ann/shop/with/a/long/path",
  tools: 3,
  prompts: [{ text: "/files:tidy", description: "Tidies a folder" }],
  resources: [],
  remote: false,
  offers: [
    {
      name: "read_file",
      description: "Reads a file of the folders that it may read",
      claims: ["read-only"],
      permission: "allow",
      rule: "tool: files__read_*",
    },
    { name: "write_file", description: "Writes a file", claims: [], permission: "ask", rule: "" },
    {
      name: `delete_${"everything_".repeat(20)}\u202egnp`,
      description: "Removes \u200ball of it",
      claims: ["destructive"],
      permission: "deny",
      rule: "tool: files__delete_*",
    },
  ],
};

function bare(name: string, more: Partial<McpRow>): McpRow {
  return { ...SERVER, name, tools: null, prompts: [], offers: [], ...more };
}

export const MCP: McpPage = {
  servers: [
    SERVER,
    bare("tracker", {
      standing: "open",
      state: "idle",
      source: ".mcp.json",
      own: false,
      runs: "uvx tracker-mcp",
    }),
    bare("docs", {
      state: "needs login",
      problem: "it wants a login: run `indwell mcp login docs`",
      runs: "https://docs.example/mcp",
      remote: true,
    }),
    bare(`odd-${"name-".repeat(30)}`, {
      state: "failed",
      problem: "it ended before it answered: \u202eno such file",
      runs: `python \u202e${"x".repeat(300)}`,
    }),
  ],
  problems: [
    ".vscode/mcp.json: the server 'db' takes variables from an 'envFile'; write them in 'env'",
  ],
  busy: "",
  error: "",
  added: 0,
};

const REFUSED = "No MCP server 'docs' is here; `indwell mcp list` lists them.";

/** States by name; `base` makes a state of a running server. */
export function placeScenes(base: State): Readonly<Record<string, () => PanelState>> {
  const none = { session: null, status: null };
  const status = base().status;
  return {
    "sessions-working": () =>
      base({
        marks: MARKS,
        list: { query: "", rows: SESSIONS, more: false, loading: false },
      }),
    "others-ask": () =>
      base({
        marks: MARKS,
        questions: [permission({ session: "s2", title: "Run a command?" }, "behind")],
      }),
    "others-one": () => base({ marks: MARKS.slice(1, 2) }),
    sessions: () => base({ list: { query: "", rows: SESSIONS, more: true, loading: false } }),
    "sessions-none": () =>
      base({ list: { query: "webhooks", rows: [], more: false, loading: false } }),
    start: () =>
      base({
        session: null,
        status: status === null ? null : { ...status, model: "", lacking: "no model is set; x" },
      }),
    mcp: () => base({ mcp: MCP }),
    "mcp-none": () => base({ mcp: { ...MCP, servers: [], problems: [], error: REFUSED } }),
    "first-run": () => base({ ...none, firstRun: flow() }),
    "first-run-failed": () => base({ ...none, firstRun: flow({ outcome: FAILED }) }),
    "first-run-choice": () => base({ ...none, firstRun: flow({ outcome: CHOICE }) }),
    "first-run-busy": () => base({ ...none, firstRun: flow({ busy: true }) }),
    suggestions: () =>
      base({
        session: null,
        suggestions: [
          { title: "Fix 2 problems in invoice.py", prompt: "Fix the 2 problems in invoice.py." },
          { title: "Explain total() in invoice.py", prompt: "Explain total() in invoice.py." },
          { title: "Review the changes on branch rounding", prompt: "Review the changes." },
        ],
      }),
    offline: () =>
      base({
        banner: {
          level: "error",
          text: "api.example.com cannot be reached. Your words are kept below.",
          retry: true,
        },
        pending: PENDING,
        todo: [
          { text: "Find the rounding", state: "done", after: [] },
          { text: "Round once, at the end", state: "done", after: [] },
          { text: "Update the tests", state: "doing", after: [] },
          { text: "Write a note in the change log", state: "open", after: [] },
        ],
      }),
    stopped: () =>
      base({
        connection: { kind: "stopped", reason: "The server has ended five times in a minute." },
        status: status === null ? null : { ...status, trusted: false },
      }),
    undecided: () =>
      base({
        status:
          status === null
            ? null
            : {
                ...status,
                undecided: "1 file of settings, 2 files of instructions and 3 files that tools run",
                unapproved: ["paper"],
              },
      }),
    "start-near": () =>
      base({
        session: null,
        status: status === null ? null : { ...status, model: "", lacking: "no model is set; x" },
        near: {
          title: "Ollama",
          url: "http://127.0.0.1:11434/v1",
          model: "qwen3-coder:30b-a3b-q4_K_M",
        },
      }),
    demo: () =>
      base({
        session: null,
        turns: [],
        status: status === null ? null : { ...status, model: "scripted", demo: "scripted" },
      }),
    "demo-connected": () =>
      base({
        status: status === null ? null : { ...status, model: "scripted", demo: "connected" },
      }),
    restricted: () => base({ status: status === null ? null : { ...status, trusted: false } }),
    starting: () =>
      base({ connection: { kind: "starting", reason: "" }, status: null, session: null }),
  };
}
