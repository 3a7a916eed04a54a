/** States with sub-agents, plans, background commands and the model's questions, for tests and pictures. */
import type { BackgroundCommand, PlanResult } from "../../src/protocol.ts";
import type { PanelState, Part, Question, ToolPart, Turn } from "../../src/shared/state/state.ts";

/** The functions of `scenes.ts` that make parts of a state. */
export interface Makers {
  readonly base: (more?: Partial<PanelState>) => PanelState;
  readonly turn: (number: number, more?: Partial<Turn>) => Turn;
  readonly text: (key: string, words: string) => Part;
  readonly tool: (id: string, name: string, target: string, more?: Partial<ToolPart>) => ToolPart;
}

export const PLAN: PlanResult = {
  state: "proposed",
  path: "/state/plans/s1.md",
  text: `## Move the tax rules out of \`invoice.py\`

1. Make \`tax.py\` with \`rate_for(line)\`.
2. Move the three rules there, one after the other; run \`pytest -q\` after each.
3. Keep \`invoice.tax\` as a thin call, so that nothing else changes.

**Risk:** \`report.py\` imports \`_rates\` directly.`,
};

export const COMMANDS: readonly BackgroundCommand[] = [
  {
    id: "b1",
    command: "npm run dev -- --port 5173",
    state: "running",
    exitCode: null,
    seconds: 93,
    tail: "> shop@1.0.0 dev\n> vite\n\n  VITE v7.1.2  ready in 412 ms\n\n  ➜  Local:   http://localhost:5173/\n",
    path: "",
    by: "",
  },
  {
    id: "b2",
    command: "pytest -q --looponfail",
    state: "running",
    exitCode: null,
    seconds: 12,
    tail: "",
    path: "",
    by: "",
  },
  {
    id: "b3",
    command: "make docs",
    state: "ended",
    exitCode: 2,
    seconds: 3.4,
    tail: "make: *** No rule to make target 'docs'.  Stop.\n",
    path: "",
    by: "",
  },
];

/** A question that the model asks. */
export function modelAsks(more: Partial<Extract<Question, { kind: "ask" }>> = {}): Question {
  return {
    kind: "ask",
    nonce: "m1",
    prompt: "Two places round the totals. Which one is to stay?",
    placeholder: "or in words of your own",
    by: "model",
    options: [
      "invoice.total: once, at the end",
      "report.row: per line, as the tax office wants it",
    ],
    ...more,
  };
}

/** States by name. */
export function workScenes(make: Makers): Readonly<Record<string, () => PanelState>> {
  const { base, turn, text, tool } = make;
  const explore = tool("a1", "agent", "explore: Where are tax rates looked up?", {
    state: "running",
    seconds: null,
    tokens: 12_400,
    inner: [
      tool("a1.1", "glob", "**/*tax*", { figure: "4 files" }),
      tool("a1.2", "grep", "rate_for", { figure: "9 hits in 3 files" }),
      tool("a1.3", "read_file", "shop/report.py 1-80", { state: "running", seconds: null }),
    ],
  });
  const done = tool("a2", "agent", "general: Write the tests of the tax rules", {
    figure: "6 rounds, 31k tokens",
    seconds: 41,
    tokens: 31_000,
    result: "The three rules have a test each in `tests/test_tax.py`; **all pass.**",
    arguments: '{"task":"Write the tests of the tax rules"}',
    inner: [
      tool("a2.1", "read_file", "shop/tax.py", { figure: "48 lines" }),
      tool("a2.2", "write_file", "tests/test_tax.py", {
        figure: "+3 −0",
        diffs: [
          {
            path: "tests/test_tax.py",
            added: 3,
            removed: 0,
            created: true,
            diff: "--- /dev/null\n+++ b/tests/test_tax.py\n@@ -0,0 +1,3 @@\n+def test_rate():\n+    assert rate_for(BOOK) == 7\n+\n",
          },
        ],
      }),
      tool("a2.3", "bash", "pytest -q tests/test_tax.py", {
        figure: "3 passed",
        output: "...\n3 passed in 0.12s\n",
      }),
      { kind: "line", key: "n", what: "warning", text: "Its budget of tokens is nearly used." },
    ],
  });
  const planned = (more: Partial<PanelState> = {}) =>
    base({
      turns: [
        turn(1, {
          words: "Move the tax rules out of invoice.py",
          mode: "plan",
          parts: [
            tool("1", "read_file", "invoice.py", { figure: "120 lines" }),
            tool("2", "plan", "", { figure: "proposed" }),
          ],
        }),
      ],
      plan: PLAN,
      ...more,
    });
  const working = (more: Partial<PanelState> = {}) =>
    base({
      turns: [
        turn(1, {
          words: "Find out how the tax is computed, and test it",
          ending: "running",
          seconds: null,
          parts: [text("t", "Two of them look at it at once."), explore, done],
        }),
      ],
      ...more,
    });
  return {
    agents: () => working(),
    plan: () => planned(),
    "plan-approved": () =>
      planned({
        plan: { ...PLAN, state: "approved" },
        todo: [
          { text: "Make tax.py", state: "done", after: [] },
          { text: "Move the three rules", state: "doing", after: [1] },
          { text: "Keep invoice.tax as a thin call", state: "open", after: [2] },
          { text: "Say it in the changelog", state: "open", after: [2, 3] },
        ],
      }),
    commands: () => planned({ plan: null, commands: COMMANDS }),
    "ask-model": () => working({ questions: [modelAsks()] }),
    "ask-model-words": () => working({ questions: [modelAsks({ options: [], placeholder: "" })] }),
    "permission-agent": () =>
      working({
        questions: [
          {
            kind: "permission",
            nonce: "n1",
            tool: "bash",
            agent: "general: Write the tests of the tax rules",
            asked: {
              id: "q1",
              title: "Sub-agent general: Run a command in ~/shop?",
              detail: "pip install pytest-cov",
              reason: "it reaches the network",
              rule: "",
              cwd: "~/shop",
              session: "",
              sandbox: "sandboxed, no network",
              more: "with network to packages.example.org",
              why: "",
              wanted: false,
              risky: [],
              hunks: [],
              kind: "command",
            },
          },
        ],
      }),
  };
}
