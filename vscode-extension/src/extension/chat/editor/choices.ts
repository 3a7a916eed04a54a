/** Handles mode, model, and the commands of the panel's menus. */
import { t } from "../../../shared/l10n.ts";
import type { ToHost } from "../../../shared/messages.ts";
import { type Room, tell, tellInPassing } from "../room.ts";
import type { Chosen } from "../session/chosen.ts";
import type { Refresh } from "../session/refresh.ts";
import type { Sessions } from "../session/sessions.ts";
import type { HandlersOf } from "../wire/bridge.ts";

type Command = Extract<ToHost, { readonly type: "command" }>["command"];

/** Functions of other parts of the extension that these handlers call. */
export interface Elsewhere {
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
