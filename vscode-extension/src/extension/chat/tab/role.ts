/** Describes a window's chats: the panel changes from session to session, a tab keeps one session. */
import type { StatusResult } from "../../../protocol.ts";

/** A chat in an editor tab: it has one session, which its first prompt may begin. */
export interface TabRole {
  /** The mode that the user chose in this tab: each prompt of the tab takes it; null: the session's. */
  mode: StatusResult["mode"] | null;
}

/** What a user did with a session in one chat: other chats with the same session must show it. */
export type Elsewhere = "rewound" | "renamed" | "deleted";
