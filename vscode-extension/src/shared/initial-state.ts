/** The initial state of the panel. */
import type { PanelState } from "./state.ts";

/** No turns, no questions, and no server yet. */
export const initialState: PanelState = {
  revision: 0,
  connection: { kind: "starting", reason: "" },
  status: null,
  models: null,
  session: null,
  title: "",
  isRemembered: false,
  seq: 0,
  turns: [],
  outgoing: [],
  older: "none",
  questions: [],
  queue: { seq: 0, held: "", waiting: [] },
  pending: { total: 0, files: 0, added: 0, removed: 0, rows: [], undo: "" },
  todo: [],
  plan: null,
  commands: [],
  attachments: [],
  context: null,
  sentSelections: [],
  firstRun: null,
  list: null,
  marks: [],
  suggestions: [],
  draft: { id: 0, text: "", mode: "append" },
  history: [],
  banner: null,
  looks: { enterSends: true, reducedMotion: false },
};
