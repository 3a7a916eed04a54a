/** Commands about sessions; the user chooses in lists of sessions, turns, models and modes. */
import * as vscode from "vscode";
import type {
  ModelRow,
  ModelsResult,
  SessionRow,
  SessionsResult,
  StatusResult,
} from "../../../protocol.ts";
import { number, plural, t } from "../../../shared/l10n.ts";
import type { Turn } from "../../../shared/state/state.ts";
import { AUTO, costFigure, effortWords, modeWords } from "../../../shared/words.ts";
import { sayInPassing } from "../../say.ts";
import type { Server } from "../../server/server.ts";
import type { ChatHere, ChatLink } from "../chat-link.ts";
import { argumentOf, type Handler, numberIn, stringIn } from "./run.ts";

/** A line; `value` is the item that it represents. */
interface PickRow<Value> {
  readonly label: string;
  readonly description: string;
  readonly detail: string;
  readonly value: Value;
}

/** The line of a past session. */
function sessionRow(row: SessionRow): PickRow<string> {
  const cost = row.usage.cost === null ? "" : `, ${costFigure(row.usage.cost) ?? ""}`;
  const turns = plural(row.turns, "{0} turn", "{0} turns");
  return {
    label: row.open ? `$(check) ${row.title || row.preview}` : row.title || row.preview || row.id,
    description: `${turns}${cost}`,
    detail: `${row.at.slice(0, 16).replace("T", " ")} · ${row.model}`,
    value: row.id,
  };
}

/**
 * Returns the turns to which a session can be rewound: after each turn but the last, newest first,
 * and the beginning.
 */
function rewindRows(turns: readonly Turn[], session: string | null): readonly PickRow<number>[] {
  const own = turns.filter((one) => one.session === session && !one.left);
  const rows = own.slice(0, -1).map((one) => ({
    label: t("After turn {0}", one.number),
    description: oneLine(one.words),
    detail: "",
    value: one.number,
  }));
  const first = own[0];
  if (first === undefined) return [];
  const start =
    first.number === 1
      ? [
          {
            label: t("Before the first turn"),
            description: oneLine(first.words),
            detail: "",
            value: 0,
          },
        ]
      : [];
  return [...start, ...rows].reverse();
}

/** The line of a model, with its window and prices. */
function modelRow(row: ModelRow): PickRow<string> {
  const window = row.window === null ? "" : t("{0}k tokens", number(Math.round(row.window / 1000)));
  const price =
    row.input === null || row.output === null
      ? ""
      : t("{0} in, {1} out per million tokens", `$${number(row.input)}`, `$${number(row.output)}`);
  return {
    label: row.chosen ? `$(check) ${row.name}` : row.name,
    description: [window, price].filter((one) => one !== "").join(" · "),
    detail:
      row.tools === false ? t("Does not support tool calls: it can answer, but not edit") : "",
    value: row.name,
  };
}

/** The choices of reasoning effort; the first lets the model decide. */
function effortRows(efforts: readonly string[], current: string): readonly PickRow<string>[] {
  return ["", ...efforts].map((one) => {
    const name = one === "" ? AUTO : one;
    const label = one === current ? `$(check) ${name}` : name;
    return { label, description: effortWords(name), detail: "", value: one };
  });
}

/** The line of a mode, with a sentence that describes the mode. */
function modeRow(mode: string, current: string): PickRow<string> {
  return {
    label: mode === current ? `$(check) ${mode}` : mode,
    description: modeWords(mode),
    detail: "",
    value: mode,
  };
}

function oneLine(words: string): string {
  const line = words.replace(/\s+/g, " ").trim();
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}

/** Milliseconds for which a line of the status bar is shown. */
const PASSING_MS = 8_000;
/** Milliseconds without typing before the server searches. */
const REST_MS = 150;
/** The maximum number of sessions in the list. */
const LIMIT = 50;

/** Handlers that let the panel carry out the command, so that the panel shows the result. */
export function sessionCommands(server: Server, chat: ChatLink): Readonly<Record<string, Handler>> {
  return {
    "indwell.newSession": async () => {
      await chat.perform({ type: "command", command: "new" });
      await chat.show(true);
    },
    "indwell.newSessionInEditor": () => chat.openTab(null),
    "indwell.openInEditor": async (...args) => {
      const session = stringIn(argumentOf(args), "session") ?? chat.here.state.session;
      if (session === null) throw new Error(t("There is no session yet. Send a prompt first."));
      await chat.openTab(session);
    },
    "indwell.compact": () => chat.here.perform({ type: "command", command: "compact" }),
    "indwell.continue": async () => {
      await chat.here.perform({ type: "command", command: "continue" });
      await chat.here.show(true);
    },
    "indwell.cancel": async (...args) => {
      // A chat document names its session; the panel may show another session, whose turn continues.
      const session = stringIn(argumentOf(args), "session");
      if (session === null) await chat.here.perform({ type: "stop" });
      else await server.execute("indwell.cancel", { session });
    },
    "indwell.export": () => chat.here.perform({ type: "command", command: "export" }),
    "indwell.trust": () => trust(server),
    "indwell.memory": (...args) => server.execute("indwell.memory", argumentOf(args) ?? {}),
    "indwell.plan": () =>
      chat.here.perform({ type: "plan", action: "open", text: null, words: null }),
    "indwell.approvePlan": async (...args) => {
      const path = args[0] instanceof vscode.Uri ? args[0].path : "";
      const own = chat.all.find(({ state }) => state.plan?.path === path) ?? chat.here;
      await own.perform({ type: "plan", action: "approve", text: null, words: null });
      await own.show(true);
    },
    "indwell.resume": async (...args) => {
      const session = stringIn(argumentOf(args), "session") ?? (await chooseSession(server));
      if (session === null) return;
      await chat.perform({ type: "openSession", session });
      await chat.show(true);
    },
    "indwell.fork": async (...args) => {
      const turn = numberIn(argumentOf(args), "turn") ?? lastEnded(chat.here);
      if (turn === null) throw new Error(t("There is no finished turn to fork from."));
      await chat.here.perform({ type: "fork", turn });
      await chat.here.show(true);
    },
    "indwell.rewind": async (...args) => {
      const turn = numberIn(argumentOf(args), "turn") ?? (await chooseTurn(chat.here));
      const files = turn === null ? null : await chooseFiles();
      if (turn === null || files === null) return;
      await chat.here.perform({ type: "rewind", turn, files });
      await chat.here.show(true);
    },
    "indwell.mode": async (...args) => {
      const mode = stringIn(argumentOf(args), "mode") ?? (await chooseMode(server));
      if (mode !== null) await chat.here.perform({ type: "mode", mode });
    },
    "indwell.effort": async (...args) => {
      const effort = stringIn(argumentOf(args), "effort") ?? (await chooseEffort(server));
      if (effort !== null) await chat.here.perform({ type: "effort", effort });
    },
    "indwell.model": async (...args) => {
      const model = stringIn(argumentOf(args), "model") ?? (await chooseModel(server));
      if (model !== null) await chat.here.perform({ type: "model", model });
    },
    "indwell.chat": (...args) => server.execute("indwell.chat", argumentOf(args) ?? {}),
    "indwell.send": (...args) => server.execute("indwell.send", argumentOf(args) ?? chatHere()),
  };
}

/**
 * Asks for trust; if the editor restricts the window, only the editor's own page can lift the
 * restriction, before Indwell asks its question.
 */
async function trust(server: Server): Promise<void> {
  if (!vscode.workspace.isTrusted) {
    await vscode.commands.executeCommand("workbench.trust.manage");
    return;
  }
  const before = await server.request<StatusResult>("indwell/status", {});
  const isTrusted = await server.execute<boolean | null>("indwell.trust", { wait: true });
  // Nobody may have been asked, and a command without a visible effect would look broken.
  if (isTrusted === true && before.trusted && before.undecided === "")
    sayInPassing(t("No file of this folder waits for your decision."), PASSING_MS);
}

/** Returns the active chat document, if any. */
function chatHere(): { readonly uri?: string } {
  const uri = vscode.window.activeTextEditor?.document.uri;
  return uri?.path.endsWith(".chat.md") ? { uri: uri.toString() } : {};
}

function lastEnded(chat: ChatHere): number | null {
  const { session, turns } = chat.state;
  const ended = turns.findLast((one) => one.session === session && one.ending !== "running");
  return ended?.number ?? null;
}

async function pick<Value>(
  title: string,
  rows: readonly PickRow<Value>[],
  empty: string,
): Promise<Value | null> {
  if (rows.length === 0) throw new Error(empty);
  const chosen = await vscode.window.showQuickPick([...rows], {
    title: `Indwell: ${title}`,
    matchOnDescription: true,
  });
  return chosen?.value ?? null;
}

function chooseTurn(chat: ChatHere): Promise<number | null> {
  const rows = rewindRows(chat.state.turns, chat.state.session);
  return pick(t("go back to"), rows, t("There is no turn to go back to."));
}

/** Asks whether to restore files; null if the list was closed. */
function chooseFiles(): Promise<boolean | null> {
  const row = (label: string, description: string, value: boolean): PickRow<boolean> => ({
    label,
    description,
    detail: "",
    value,
  });
  const rows = [
    row(t("Keep the files as they are"), t("only the conversation goes back"), false),
    row(t("Restore the files too"), t("as they were then; your own work is asked for"), true),
  ];
  return pick(t("go back with the files?"), rows, "");
}

async function chooseMode(server: Server): Promise<string | null> {
  const status = await server.request<StatusResult>("indwell/status", {});
  const rows = status.modes.map((one) => modeRow(one, status.mode));
  return pick(t("choose the mode"), rows, t("No mode is available here."));
}

async function chooseEffort(server: Server): Promise<string | null> {
  const { effort, efforts, model } = await server.request<StatusResult>("indwell/status", {});
  const rows = efforts.length === 0 ? [] : effortRows(efforts, effort);
  return pick(
    t("choose how much the model thinks"),
    rows,
    t("{0} is not known to think, so there is nothing to choose.", model || t("The model")),
  );
}

async function chooseModel(server: Server): Promise<string | null> {
  const { models } = await server.request<ModelsResult>("indwell/models", {});
  return pick(t("choose the model"), models.map(modelRow), t("The provider offers no model."));
}

/** Shows a list that the server searches while the user types. */
async function chooseSession(server: Server): Promise<string | null> {
  const box = vscode.window.createQuickPick<PickRow<string> & vscode.QuickPickItem>();
  box.title = t("Indwell: resume a session");
  box.placeholder = t("Search in titles and in your words");
  let timer: NodeJS.Timeout | undefined;
  let newest = 0;
  const load = async (query: string): Promise<void> => {
    newest += 1;
    const own = newest;
    box.busy = true;
    try {
      const found = await server.request<SessionsResult>("indwell/sessions", {
        limit: LIMIT,
        query,
      });
      // The server has already searched, so the box must not filter the results again.
      if (own === newest)
        box.items = found.sessions.map((one) => ({ ...sessionRow(one), alwaysShow: true }));
    } finally {
      if (own === newest) box.busy = false;
    }
  };
  try {
    box.show();
    await load("");
    return await new Promise<string | null>((resolve, reject) => {
      box.onDidChangeValue((value) => {
        clearTimeout(timer);
        timer = setTimeout(() => load(value).catch(reject), REST_MS);
      });
      box.onDidAccept(() => resolve(box.selectedItems[0]?.value ?? null));
      box.onDidHide(() => resolve(null));
    });
  } finally {
    clearTimeout(timer);
    box.dispose();
  }
}
