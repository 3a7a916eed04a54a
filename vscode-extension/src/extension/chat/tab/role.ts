/** Describes a window's chats: the panel changes from session to session, a tab keeps one session. */
import type { StatusResult } from "../../../protocol.ts";

/** A chat in an editor tab, with one session, which the tab's first prompt may begin. */
export interface TabRole {
  /**
   * The mode that the user chose in this tab, for each prompt of the tab; null for the session's
   * mode.
   */
  mode: StatusResult["mode"] | null;
}

/**
 * What the user did with a session in one chat, which other chats with the same session must show,
 * too.
 */
export type Elsewhere = "rewound" | "renamed" | "deleted";
