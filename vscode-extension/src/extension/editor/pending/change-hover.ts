/** Shows the hover of a pending change, with links for the verdicts. */

import * as vscode from "vscode";
import { t } from "../../../shared/l10n.ts";
import type { PendingLines } from "./pending-lines.ts";

/** The maximum number of characters of the old lines in a hover. */
const MOST_OLD = 4_000;

/** The commands that a hover may run, and no others. */
const ALLOWED = ["indwell.accept", "indwell.reject", "indwell.openDiff"] as const;

/**
 * Returns two parts: the links to accept or reject (trusted, only Indwell's own text), and the old
 * lines as code.
 */
export function changeHover(
  one: PendingLines,
  document: vscode.TextDocument,
): readonly vscode.MarkdownString[] {
  const which = { hunks: [one.id] };
  const words = [t("Turn {0}", one.turn), `+${one.count} −${one.removed}`];
  if (one.touched) words.push(t("edited since"));
  const verdicts = new vscode.MarkdownString(
    `**Indwell** ${words.join(", ")} · ${link(t("Accept"), "indwell.accept", which)} · ` +
      `${link(t("Reject"), "indwell.reject", which)} · ` +
      link(t("Open diff"), "indwell.openDiff", { uri: document.uri.toString(), line: one.first }),
  );
  verdicts.isTrusted = { enabledCommands: ALLOWED };
  if (one.removed === 0) return [verdicts];
  const old = one.old.length > MOST_OLD ? `${one.old.slice(0, MOST_OLD)}…` : one.old;
  const before = new vscode.MarkdownString();
  before.appendCodeblock(old.replace(/\r?\n$/, ""), document.languageId);
  return [verdicts, before];
}

function link(title: string, command: string, argument: object): string {
  return `[${title}](command:${command}?${encodeURIComponent(JSON.stringify([argument]))})`;
}
