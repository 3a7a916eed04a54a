/** MCP servers as lines of a list, and a typed line as a server to add. Pure. */
import type { McpParams, McpResult, McpRow } from "../../../protocol.ts";
import { visible } from "../../../shared/visible.ts";
import type { PickRow } from "./session-rows.ts";

/** A change that the user chose in the list. */
export type McpWish = Pick<McpParams, "action" | "name"> & Partial<McpParams>;

/** The parts of the list that need the editor or the server. */
export interface McpList {
  /** Carries out a change, and returns the list after it. */
  ask(wish: McpWish): Promise<McpResult>;
  /** Shows a list; null if the user closed it. */
  choose(found: McpResult): Promise<McpWish | null>;
  /** Asks whether a server is to be removed. */
  isSure(name: string): Promise<boolean>;
}

const STANDINGS: Readonly<Record<McpRow["standing"], string>> = {
  usable: "used",
  open: "waits for your decision",
  declined: "you decided not to use it",
  restricted: "this folder is not trusted",
  off: "turned off",
};

/** A server with its status, the place of its definition, and its command. */
export function serverRow(server: McpRow): PickRow<McpRow> {
  const tools = server.tools === null ? "" : `, ${server.tools} tools`;
  const problem = server.problem === "" ? "" : `${visible(server.problem)} · `;
  const state = server.standing === "usable" && server.state !== "idle" ? server.state : "";
  return {
    label: visible(server.name),
    description: `${state || STANDINGS[server.standing]}${tools} · ${visible(server.source)}`,
    detail: `${problem}${visible(server.runs.replace(/\s+/g, " "))}`,
    value: server,
  };
}

/** Shows the list again after each change, as the server returned it, until the user closes it. */
export async function showUntilClosed({ ask, choose, isSure }: McpList): Promise<void> {
  let found = await ask({ action: "list", name: "" });
  for (;;) {
    const wish = await choose(found);
    if (wish === null) return;
    if (wish.action === "remove" && !(await isSure(wish.name ?? ""))) continue;
    found = await ask(wish);
  }
}

/** Would the user's answer about a server change its status? */
export function isUndecided(server: McpRow): boolean {
  return server.standing === "open" || server.standing === "declined";
}

/** The command or the address in a line; null for an empty line. */
export function serverOf(
  line: string,
): { readonly command: readonly string[] } | { readonly url: string } | null {
  const words = wordsOf(line);
  const [first] = words;
  if (first === undefined) return null;
  return words.length === 1 && /^https?:\/\//i.test(first) ? { url: first } : { command: words };
}

/** The words of a line; quotes preserve blanks, and a backslash is an ordinary character, as in paths. */
function wordsOf(line: string): readonly string[] {
  const found = line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g);
  return [...found].map(([word]) => word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}
