/**
 * Carries out the panel's buttons, menus and pickers: mode, model, verdicts, the plan, the queue,
 * background commands, export.
 */
import type { QueueParams } from "../../../protocol.ts";
import { t } from "../../../shared/l10n.ts";
import type { ToHost } from "../../../shared/messages.ts";
import { ownWaiting } from "../../../shared/state/selectors.ts";
import type { HandlersOf } from "../panel/bridge.ts";
import { type Room, tell, tellInPassing } from "../room.ts";
import type { Chosen } from "../session/chosen.ts";
import type { Refresh } from "../session/refresh.ts";
import type { Sessions } from "../session/sessions.ts";

/**
 * The handlers. The server opens the plan's document and stores the plan's state; events report the
 * outcome.
 */
export function planHandlers({ store, backend, ports, tab }: Room): HandlersOf<"plan"> {
  return {
    plan: async ({ action, text, words }) => {
      const { session } = store.state;
      if (session === null) return;
      switch (action) {
        case "open":
          await backend.execute("indwell.plan", { session, action, wait: true });
          return;
        case "approve": {
          // If the plan's document is open, the document's text is the plan, because the user may
          // have changed it.
          const { path } = await backend.request("indwell/plan", { session, action: "show" });
          const shown = path !== "" && ports.documents.isOpen(path) ? null : text;
          // The server chooses the mode in which the plan is carried out.
          if (tab !== undefined) tab.mode = null;
          await backend.request("indwell/plan", { session, action, text: shown });
          return;
        }
        case "reject":
          await backend.request("indwell/plan", { session, action, words });
          return;
        default:
          action satisfies never;
      }
    },
  };
}

/** The handler; the answer has the current output, which no event contains. */
export function commandHandlers({ store, backend }: Room): HandlersOf<"commands"> {
  return {
    commands: async ({ stop }) => {
      const { session, connection } = store.state;
      if (session === null || connection.kind !== "ready") return;
      const { commands } = await backend.request("indwell/commands", { session, stop });
      store.dispatch({ type: "commands", session, commands });
    },
  };
}

/** The handler of the queue's buttons; the server refuses a change to a queue that has changed since. */
export function queueHandlers({ store, backend }: Room): HandlersOf<"queue"> {
  return {
    queue: async ({ action, id, to, text }) => {
      const { queue } = store.state;
      const own = ownWaiting(store.state).waiting;
      // The panel shows only the prompts of its session, but the server counts the prompts of all
      // sessions.
      const row = to === null ? undefined : own[Math.min(to, own.length - 1)];
      const place = row === undefined ? to : queue.waiting.indexOf(row);
      const params: QueueParams = { action, seq: queue.seq, id, to: place, text };
      try {
        const queue = await backend.request("indwell/queue", params);
        store.dispatch({ type: "queue", queue });
      } catch (error) {
        const queue = await backend.request("indwell/queue", {});
        store.dispatch({ type: "queue", queue });
        throw error;
      }
    },
  };
}

/** Handlers to accept or reject the hunks of an edit card, and to open diffs in the editor. */
export function verdictHandlers(room: Room, refresh: Refresh): HandlersOf<"verdict" | "openDiff"> {
  const { store, backend, ports } = room;
  return {
    verdict: async ({ verdict, hunks }) => {
      if (hunks.length === 0) return;
      const command = verdict === "accept" ? "indwell.accept" : "indwell.reject";
      const result = await backend.execute(command, { hunks, wait: true });
      if (result !== null && (result.kept.length > 0 || result.gone.length > 0)) {
        tell(room, "info", result.message);
      }
      refresh.soon("changes");
    },
    openDiff: async ({ path, turn }) => {
      const { session, pending } = store.state;
      const span = turn === null || session === null ? {} : { session, turn };
      if (path === null) {
        await ports.shell.run("indwell.review", span);
        return;
      }
      const row = pending.rows.find((one) => one.path === path);
      const uri = row?.uri ?? (await ports.documents.locate(path));
      if (uri === null) tell(room, "warning", t("{0} is in none of the open folders.", path));
      else await ports.shell.run("indwell.openDiff", { uri, ...span });
    },
  };
}

/** Asks for a path, and writes the file. */
export async function exportSession(room: Room, session: string | null): Promise<void> {
  const wanted = session ?? room.store.state.session;
  if (wanted === null) {
    tellInPassing(room, t("There is no session to export yet."));
    return;
  }
  const text = await room.ports.documents.read(`indwell-transcript:${wanted}.md`);
  if (await room.ports.documents.save(`${fileName(room, wanted)}.md`, text)) {
    room.ports.dialogs.say(t("Exported"));
  }
}

function fileName(room: Room, session: string): string {
  const { status, list } = room.store.state;
  const row = list?.rows.find((one) => one.id === session);
  const title = row?.title ?? (status?.session === session ? status.title : "");
  const plain = title
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .toLowerCase();
  return plain === "" ? `session-${session.slice(0, 8)}` : plain.slice(0, 60);
}

type Command = Extract<ToHost, { readonly type: "command" }>["command"];

/** Functions of other parts of the extension that these handlers call. */
interface Elsewhere {
  exportCurrent(): Promise<void>;
  /** Continues an interrupted turn. */
  goOn(): void;
  /** Compacts the conversation of a tab. */
  compactOwn(): void;
  connect(): Promise<void>;
  /** Connects the first of the editor's own models. */
  useEditorModels(): Promise<void>;
  manageKeys(): Promise<void>;
}

/** The handlers of the footer's pickers, the menus and the banner. */
export function choiceHandlers(
  room: Room,
  refresh: Refresh,
  sessions: Sessions,
  choice: Pick<Chosen, "choose">,
  elsewhere: Elsewhere,
): HandlersOf<"mode" | "model" | "effort" | "command" | "closeBanner"> {
  const { store, backend, ports, tab } = room;
  const perform = async (command: Command): Promise<void> => {
    switch (command) {
      case "new":
        return sessions.begin();
      case "compact":
        if (tab === undefined) await backend.execute("indwell.compact", null);
        else elsewhere.compactOwn();
        return;
      case "continue":
        return elsewhere.goOn();
      case "restart":
        await ports.shell.run("indwell.restartServer");
        return;
      case "showLog":
        await ports.shell.run("indwell.showLog");
        return;
      case "review":
        await ports.shell.run("indwell.review", {});
        return;
      case "acceptAll":
        await ports.shell.run("indwell.acceptAll");
        return;
      case "undoVerdict":
        await ports.shell.run("indwell.undoVerdict");
        return;
      case "rejectAll":
        await ports.shell.run("indwell.rejectAll");
        return;
      case "export":
        return elsewhere.exportCurrent();
      case "openSettings":
        await ports.shell.run("workbench.action.openSettings", "@ext:indwell.indwell");
        return;
      case "manageKeys":
        return elsewhere.manageKeys();
      case "mcp":
        await ports.shell.run("indwell.mcp");
        return;
      case "explainRequest":
        // The server explains the next request of its current session, which a tab does not have.
        if (tab === undefined) await ports.shell.run("indwell.explainRequest");
        else tellInPassing(room, t("To see the next request, open the session in the panel."));
        return;
      case "trust":
        // The command finds out whether the editor's or Indwell's trust is missing.
        await ports.shell.run("indwell.trust");
        refresh.soon("status");
        return;
      case "chooseModel":
        await ports.shell.run("indwell.model");
        return;
      case "connect":
        return elsewhere.connect();
      case "useEditorModels":
        return elsewhere.useEditorModels();
      case "demo":
        await ports.shell.run("indwell.tryDemo");
        return;
      case "openFolder":
        await ports.shell.run("workbench.action.files.openFolder");
        return;
      default:
        command satisfies never;
    }
  };
  return {
    mode: async ({ mode }) => {
      const chosen = store.state.status?.modes.find((one) => one === mode);
      if (chosen === undefined) {
        tell(room, "warning", t("The mode {0} cannot be chosen here.", mode));
        return;
      }
      const { session, status } = store.state;
      if (tab !== undefined) {
        tab.mode = chosen;
        // A running turn gets the mode at once; a session that is not open gets the mode with its
        // next prompt.
        if ((status?.running ?? null) !== null)
          await backend.execute("indwell.mode", { mode: chosen, session });
        await refresh.now("status");
        return;
      }
      const isBeside = status?.beside.some((one) => one.session === session) ?? false;
      await backend.execute("indwell.mode", { mode: chosen, ...(isBeside && { session }) });
      await refresh.now("status");
      choice.choose({ mode: chosen });
    },
    model: async ({ model }) => {
      await backend.request("indwell/setModel", { model });
      refresh.soon("models", "context");
      await refresh.now("status");
      choice.choose({ model });
    },
    effort: async ({ effort }) => {
      const { session, status } = store.state;
      const chosen = ["" as const, ...(status?.efforts ?? [])].find((one) => one === effort);
      if (chosen === undefined) {
        tell(room, "warning", t("The effort {0} cannot be chosen for this model.", effort));
        return;
      }
      const isBeside = status?.beside.some((one) => one.session === session) ?? false;
      await backend.execute("indwell.effort", { effort: chosen, ...(isBeside && { session }) });
      await refresh.now("status");
    },
    command: ({ command }) => perform(command),
    closeBanner: () => store.dispatch({ type: "banner", banner: null }),
  };
}
