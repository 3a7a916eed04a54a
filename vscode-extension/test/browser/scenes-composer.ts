/** States of the composer for tests and pictures. */
import type { ContextResult } from "../../src/protocol.ts";
import type { Attachment, PanelState } from "../../src/shared/state/state.ts";
import { emptyState, turn } from "./scenes.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export const chips: readonly Attachment[] = [
  { kind: "context", id: "selection", label: "invoice.py:41–58", tokens: 212 },
  { kind: "context", id: "opened", label: "invoice.py", tokens: 24 },
  {
    kind: "mention",
    id: "mention:src/shop/totals.py#L1-20",
    label: "totals.py:1–20",
    path: "src/shop/totals.py#L1-20",
  },
  { kind: "mention", id: "mention:src/", label: "src/", path: "src/" },
  { kind: "image", id: "image:1", label: "screenshot.png", mime: "image/png", data: PIXEL },
  { kind: "text", id: "text:1", label: "Pasted text, 52 lines", text: "line\n".repeat(52) },
  { kind: "problems", id: "problems:", label: "2 problems", uri: null },
];

export const context: ContextResult = {
  session: "s1",
  model: "qwen3-coder:30b",
  window: 40_960,
  budget: 32_768,
  used: 12_430,
  share: 0.379,
  preset: "default",
  headroom: [
    { layer: "digest", at: 16_384, left: 3_954, pays: true },
    { layer: "digest", at: 29_491, left: 17_061, pays: false },
  ],
  sources: {
    schemas: 3_900,
    system: 1_450,
    environment: 120,
    instructions: 800,
    ide_selection: 212,
    mention: 1_400,
    tool: 3_600,
    user: 220,
    assistant: 620,
    summary: 90,
  },
  tiers: { "0": 5_470, "1": 220, "2": 2_412, "3": 4_310 },
  blocks: [
    block("tools", "schemas", 3_900, "sent", false),
    block("system", "system", 1_450, "sent", true),
    block("user", "instructions", 800, "sent", false),
    block("user", "user", 120, "sent", false),
    block("assistant", "assistant", 400, "sent", false),
    block("user", "tool", 2_900, "sent", true),
    block("assistant", "assistant", 220, "new", false),
  ],
  attached: [],
  health: { turn: {}, session: { "indwell.cache.hit_rate": 0.82 }, misses: 0 },
  parts: [
    { name: "system", tokens: 1_570, share: 0.038, limit: null },
    { name: "tools", tokens: 3_900, share: 0.095, limit: null },
    { name: "instructions", tokens: 800, share: 0.02, limit: null },
    { name: "card", tokens: 0, share: 0, limit: 1_638 },
    { name: "words", tokens: 220, share: 0.005, limit: null },
    { name: "older", tokens: 4_100, share: 0.1, limit: null },
    { name: "newest", tokens: 1_840, share: 0.045, limit: null },
    { name: "reply", tokens: 8_192, share: 0.2, limit: null },
    { name: "free", tokens: 20_338, share: 0.497, limit: null },
  ],
};

function block(
  role: "tools" | "system" | "user" | "assistant",
  source: string,
  tokens: number,
  state: "sent" | "new",
  anchor: boolean,
): ContextResult["blocks"][number] {
  return {
    message: 0,
    role,
    kind: "text",
    source,
    tier: 0,
    tokens,
    turn: 1,
    pinned: false,
    compactable: true,
    anchor,
    state,
    altered: false,
    first: 0,
    last: 0,
    why: "",
    preview: "",
  };
}

const models: PanelState["models"] = [
  { name: "qwen3-coder:30b", window: 40_960, input: 0, output: 0, tools: true, chosen: true },
  {
    name: "mistralai/devstral-medium-2512",
    window: 262_144,
    input: 0.4,
    output: 2,
    tools: true,
    chosen: false,
  },
  {
    name: "some-lab/a-model-with-a-really-long-name-that-goes-on-2026-11-01",
    window: 1_048_576,
    input: 0.075,
    output: 15,
    tools: null,
    chosen: false,
  },
  { name: "tiny", window: null, input: null, output: null, tools: false, chosen: false },
];

/** A session with a turn that has ended, chips, models and a window that is a third full. */
export function composerState(more: Partial<PanelState> = {}): PanelState {
  return emptyState({
    turns: [turn(1, { cost: 0.012 })],
    attachments: chips.slice(0, 3),
    models,
    context,
    history: ["Explain the totals", "Fix the rounding\nin invoice totals", "Hello"],
    ...more,
  });
}

/** The same session while a turn runs, with prompts in the queue. */
export function busyState(more: Partial<PanelState> = {}): PanelState {
  const state = composerState();
  return composerState({
    status: state.status === null ? null : { ...state.status, running: 2 },
    turns: [turn(1), turn(2, { ending: "running" })],
    attachments: [],
    queue: {
      seq: 3,
      held: "",
      waiting: [
        {
          id: "q1",
          title: "Update the tests",
          text: "Update the tests for the new rounding, and add one for refunds",
          session: "s1",
          attached: [],
        },
        {
          id: "q2",
          title: "Write the changelog",
          text: "Write the changelog\nin one sentence",
          session: "s1",
          attached: ["totals.py"],
        },
      ],
    },
    ...more,
  });
}

/** States by name. A function, because this file and `scenes.ts` import each other. */
export function composerScenes(): Readonly<Record<string, () => PanelState>> {
  return {
    composer: () => composerState(),
    composerFull: () => composerState({ attachments: chips }),
    composerBusy: () => busyState(),
    composerHeld: () =>
      busyState({ queue: { ...busyState().queue, held: "the turn was stopped" } }),
  };
}
