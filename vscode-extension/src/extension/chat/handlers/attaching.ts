/** Adds and removes chips, the attachments of the next prompt. */
import { plural, t } from "../../../shared/l10n.ts";
import type { Attachment } from "../../../shared/state/state.ts";
import type { HandlersOf } from "../panel/bridge.ts";
import type { Room } from "../room.ts";
import { tell, tellInPassing } from "../room.ts";

/** The maximum number of pictures of one prompt, as in the server. */
const MOST_PICTURES = 10;
/** The most chips of one prompt. */
const MOST = 100;

type Attaching =
  | "attachMention"
  | "attachImage"
  | "attachText"
  | "attachUris"
  | "pickContext"
  | "unattach";

/** The handlers of everything that can be attached. */
export function attachHandlers(room: Room): HandlersOf<Attaching> {
  const { store, backend, ports } = room;
  let last = 0;
  const fresh = (kind: string): string => {
    last += 1;
    return `${kind}:${room.clock.now()}:${last}`;
  };
  const attach = (attachment: Attachment): void => {
    const own = store.state.attachments;
    const isPicture = (one: Attachment): boolean => one.kind === "image";
    if (isPicture(attachment) && own.filter(isPicture).length >= MOST_PICTURES) {
      tell(
        room,
        "warning",
        t("A prompt takes {0} pictures; this one was left out.", MOST_PICTURES),
      );
    } else if (own.length >= MOST) {
      tell(room, "warning", t("A prompt takes {0} attachments; this one was left out.", MOST));
    } else store.dispatch({ type: "attach", attachment });
  };
  const mention = async (value: string, label: string): Promise<void> => {
    if (value === "terminal") {
      const text = await ports.finding.terminal();
      if (text === null) tellInPassing(room, t("Nothing is marked in the terminal."));
      else attach({ kind: "text", id: fresh("text"), label: t("terminal"), text });
    } else if (value === "terminal:last") {
      const run = ports.finding.lastCommand();
      if (run === null) tellInPassing(room, t("No command of a terminal is known."));
      else attach({ kind: "text", id: fresh("text"), ...run });
    } else if (value === "selection") {
      const chosen = ports.finding.selection();
      if (chosen === null) tellInPassing(room, t("Nothing is selected in the editor."));
      else if (chosen.kind === "text") attach({ ...chosen, id: fresh("text") });
      else await mention(chosen.value, chosen.label);
    } else if (value === "changes") {
      attach({ kind: "changes", id: "changes", label });
    } else if (value.startsWith("problems:")) {
      const uri = value.slice("problems:".length);
      attach({ kind: "problems", id: value, label, uri: uri === "" ? null : uri });
    } else attach({ kind: "mention", id: `mention:${value}`, label, path: value });
  };
  return {
    attachMention: ({ value, label }) => mention(value, label),
    attachImage: ({ label, mime, data }) =>
      attach({ kind: "image", id: fresh("image"), label, mime, data }),
    attachText: ({ label, text }) => attach({ kind: "text", id: fresh("text"), label, text }),
    attachUris: async ({ uris }) => {
      const found = await ports.finding.mentions(uris);
      for (const { value, label } of found) await mention(value, label);
      const missed = uris.length - found.length;
      if (missed > 0) tell(room, "warning", leftOut(missed));
    },
    pickContext: async () => {
      const found = await ports.finding.find("", new AbortController().signal);
      const rows = found.filter((one) => one.kind !== "narrow"); // The picker has its own filter.
      const value = await ports.dialogs.pick(t("Add Context"), rows);
      const row = rows.find((one) => one.value === value);
      if (row !== undefined) await mention(row.value, row.label);
    },
    unattach: async ({ id }) => {
      const gone = store.state.attachments.find((one) => one.id === id);
      store.dispatch({ type: "unattach", id });
      if (gone?.kind !== "context") return;
      const { attached } = await backend.request("indwell/detach", { id });
      const { context } = store.state;
      if (context !== null) store.dispatch({ type: "context", context: { ...context, attached } });
    },
  };
}

function leftOut(count: number): string {
  return plural(
    count,
    "One of them is outside of the open folders and was left out.",
    "{0} of them are outside of the open folders and were left out.",
  );
}
