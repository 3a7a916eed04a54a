/**
 * Opens links to files of the workspace, and https links after a question that shows the real
 * target; no others.
 */
import { t } from "../../../shared/l10n.ts";
import { visible } from "../../../shared/visible.ts";
import type { HandlersOf } from "../panel/bridge.ts";
import { type Room, tell } from "../room.ts";
import { placeIn } from "./code.ts";

const OPEN = t("Open");
const COPY = t("Copy");

/** Handlers for links and files of the conversation. */
export function linkHandlers(room: Room): HandlersOf<"openLink" | "openFile"> {
  const { dialogs, documents, shell } = room.ports;
  return {
    openLink: async ({ href }) => {
      const target = webTarget(href);
      if (target === null) {
        tell(room, "warning", t("Only https links open from here."));
        return;
      }
      // The host comes first, on its own line, because the rest of the address can contain any text.
      const detail = t("{0}\n\nThe address comes from the conversation.", visible(target.href));
      const chosen = await dialogs.confirm(t("Open {0}?", target.host), detail, [OPEN, COPY]);
      if (chosen === OPEN) await shell.openExternal(target.href);
      if (chosen === COPY) await shell.copy(target.href);
    },
    openFile: ({ target }) => documents.open(placeIn(target)),
  };
}

/** Returns the address that will be requested, or null for any scheme but plain https. */
export function webTarget(href: string): { readonly href: string; readonly host: string } | null {
  const url = URL.parse(href);
  if (url === null || url.protocol !== "https:" || url.hostname === "") return null;
  if (url.username !== "" || url.password !== "") return null;
  return { href: url.href, host: url.host };
}
