/** Accepts, rejects and opens diffs from the conversation. */
import { t } from "../../../shared/l10n.ts";
import { type Room, tell } from "../room.ts";
import type { Refresh } from "../session/refresh.ts";
import type { HandlersOf } from "../wire/bridge.ts";

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
